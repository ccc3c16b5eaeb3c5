//! Reading, comparing, adding and printing everyday quantities never touches the heap.
//!
//! The counting allocator is global to the process, so this is the only test in its file.

use std::fmt::{self, Write};

use kueue_core::quantity::Quantity;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const EVERYDAY: [&str; 22] = [
    "0",
    "1",
    "100",
    "1000",
    "250m",
    "1500m",
    "0.5",
    "1.5",
    "2k",
    "10M",
    "1.25G",
    "64Mi",
    "1536Mi",
    "1.5Gi",
    "1.1Gi",
    "2.5Ti",
    "1Ei",
    "12e6",
    "1e-3",
    "-3",
    "5n",
    "99999999999999999999",
];

/// Text printed into a fixed buffer.
struct Printed {
    bytes: [u8; 256],
    length: usize,
}

impl Write for Printed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Reads, compares, adds, subtracts and prints; how many bytes were printed.
fn exercise(text: &str) -> usize {
    let mut printed = Printed { bytes: [0; 256], length: 0 };
    let [quantity, gibibyte]: [Quantity; 2] = [text, "1Gi"].map(|text| text.parse().expect("a quantity"));
    let (sum, difference) = (&quantity + &gibibyte, &quantity - &gibibyte);
    write!(printed, "{quantity} {} {sum} {difference}", quantity < gibibyte).expect("it all fits the buffer");
    printed.length
}

#[test]
fn everyday_quantities_do_not_allocate() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let blocks = || dhat::HeapStats::get().total_blocks;

    let before = blocks();
    for text in EVERYDAY {
        assert!(exercise(text) > 0);
    }
    assert_eq!(blocks() - before, 0, "no quantity of everyday size may allocate");

    // The counter works: a number beyond 128 bits does allocate.
    let before = blocks();
    assert!(exercise("1234567890123456789012345678901234567890.5") > 0);
    assert!(blocks() > before);
}
