//! Quantities against a naive model: a whole number of nano in 128 bits.

use proptest::prelude::*;

use super::Quantity;

/// A text and the number it stands for.
#[derive(Clone, Debug)]
struct Sample {
    text: String,
    nano: i128,
}

impl Sample {
    fn quantity(&self) -> Quantity {
        self.text.parse().unwrap()
    }
}

/// Suffix and value; a negative one is a divisor.
const SUFFIXES: [(&str, i128); 20] = [
    ("", 1),
    ("n", -1_000_000_000),
    ("u", -1_000_000),
    ("m", -1_000),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("P", 1_000_000_000_000_000),
    ("E", 1_000_000_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("Pi", 1 << 50),
    ("Ei", 1 << 60),
    ("e3", 1_000),
    ("E+07", 10_000_000),
    ("e-4", -10_000),
    ("e-12", -1_000_000_000_000),
];

prop_compose! {
    fn sample()(
        negative: bool,
        digits in prop_oneof![0..10i128, 0..5000i128, 0..10_000_000_000i128],
        decimals in 0..12usize,
        (suffix, factor) in prop::sample::select(&SUFFIXES[..]),
    ) -> Sample {
        let padded = format!("{digits:0>width$}", width = decimals + 1);
        let (whole, fraction) = padded.split_at(padded.len() - decimals);
        let sign = if negative { "-" } else { "" };
        let point = if decimals > 0 { "." } else { "" };
        let text = format!("{sign}{whole}{point}{fraction}{suffix}");

        let numerator = digits * 1_000_000_000 * factor.max(1);
        let denominator = 10i128.pow(decimals as u32) * (-factor).max(1);
        let exact = numerator.unsigned_abs().div_ceil(denominator.unsigned_abs()) as i128;
        let largest = if suffix.ends_with('i') { i128::from(i64::MAX) * 1_000_000_000 } else { i128::MAX };
        let magnitude = exact.min(largest);
        Sample { text, nano: if negative { -magnitude } else { magnitude } }
    }
}

fn from_nano(nano: i128) -> Quantity {
    format!("{nano}n").parse().unwrap()
}

/// What `value` must give: away from zero, clamped.
fn rounded(nano: i128, unit: i128) -> i64 {
    let away = nano.unsigned_abs().div_ceil(unit.unsigned_abs()) as i128;
    (if nano < 0 { -away } else { away }).clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// What is printed reads back as the same number and prints the same again.
fn check_round_trip(quantity: &Quantity) {
    let text = quantity.to_string();
    let again: Quantity = text.parse().unwrap();
    assert_eq!(again, *quantity);
    assert_eq!(again.to_string(), text);
}

proptest! {
    #[test]
    fn a_text_stands_for_its_number(sample in sample()) {
        let quantity = sample.quantity();
        prop_assert_eq!(&quantity, &from_nano(sample.nano));
        prop_assert_eq!(quantity.value(), rounded(sample.nano, 1_000_000_000));
        prop_assert_eq!(quantity.milli_value(), rounded(sample.nano, 1_000_000));
        prop_assert_eq!(quantity.sign(), sample.nano.signum() as i32);
        check_round_trip(&quantity);
    }

    #[test]
    fn order_agrees_with_the_model(a in sample(), b in sample()) {
        prop_assert_eq!(a.quantity().cmp(&b.quantity()), a.nano.cmp(&b.nano));
    }

    #[test]
    fn sums_agree_with_the_model(a in sample(), b in sample()) {
        prop_assert_eq!(&a.quantity() + &b.quantity(), from_nano(a.nano + b.nano));
        prop_assert_eq!(&a.quantity() - &b.quantity(), from_nano(a.nano - b.nano));
        prop_assert_eq!(-&a.quantity(), from_nano(-a.nano));
    }

    #[test]
    fn floats_are_close(sample in sample()) {
        let (float, exact) = (sample.quantity().as_f64(), sample.nano as f64 / 1e9);
        prop_assert!((float - exact).abs() <= exact.abs() * 1e-15, "{} is not {}", float, exact);
    }

    /// Numbers far beyond 128 bits behave like the same numbers in another unit.
    #[test]
    fn size_does_not_matter(a: i64, b: i64, zeros in 30..100usize) {
        let huge = |number: i64| format!("{number}{}", "0".repeat(zeros)).parse::<Quantity>().unwrap();
        let sum = i128::from(a) + i128::from(b);
        prop_assert_eq!(huge(a).cmp(&huge(b)), a.cmp(&b));
        prop_assert_eq!(&huge(a) + &huge(b), format!("{sum}e{zeros}").parse().unwrap());
        prop_assert_eq!(&(&huge(a) + &from_nano(b.into())) - &huge(a), from_nano(b.into()));
        check_round_trip(&huge(a));
    }

    #[test]
    fn scaling_down_rounds_towards_zero(sample in sample(), thousandths in 0..1000i128) {
        let factor = thousandths as f64 / 1000.0;
        prop_assert_eq!(sample.quantity().scaled_by(factor), from_nano(sample.nano / 1000 * thousandths
            + sample.nano % 1000 * thousandths / 1000));
    }

    #[test]
    fn what_is_accepted_prints_back(text in "[-+]?[0-9]{0,25}[.]?[0-9]{0,25}([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]{0,10})?") {
        if let Ok(quantity) = text.parse() {
            check_round_trip(&quantity);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text: String, close in "[-+0-9.eEinumkKMGTP]{0,12}") {
        for text in [text, close] {
            if let Ok(quantity) = text.parse() {
                check_round_trip(&quantity);
            }
        }
    }
}
