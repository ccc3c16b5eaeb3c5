//! A small deterministic source of numbers, so that a seed means the same inputs on every machine for ever.

/// SplitMix64: one word of state, good enough to pick mutations.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// An independent stream for each seed, target and round.
    pub fn new(seed: u64, stream: &str, round: u64) -> Self {
        let name = stream.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mut random = Self(name ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.word();
        random
    }

    /// Any number.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.word() % bound as u64).expect("less than a usize")
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of the items, of which there is at least one.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
