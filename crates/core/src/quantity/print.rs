//! The canonical form: no fraction, the largest suffix that leaves a whole number, nothing lost.

use std::fmt;

use super::decimal::Decimal;
use super::{Format, Quantity, Rare, power_of_ten};

const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rare.as_deref() {
            Some(Rare::Written(text)) => f.write_str(text),
            Some(Rare::Big(decimal)) => print_big(decimal.clone(), self.format, f),
            None => match canonical(self.mantissa, self.scale, self.format) {
                Some((mantissa, suffix)) => write!(f, "{mantissa}{suffix}"),
                None => print_big(self.to_decimal(), self.format, f),
            },
        }
    }
}

/// Mantissa and suffix, unless the mantissa of the canonical form needs more than 128 bits.
fn canonical(mantissa: i128, scale: i32, format: Format) -> Option<(i128, Suffix)> {
    if mantissa == 0 {
        return Some((0, Suffix::Name("")));
    }
    let (mantissa, zeros) = strip_zeros(mantissa);
    let exponent = i64::from(scale) + i64::from(zeros);
    if format == Format::BinarySi
        && let Ok(power) = u32::try_from(exponent)
    {
        let whole = mantissa.checked_mul(power_of_ten(power)?)?;
        if whole.unsigned_abs() >= 1024 {
            return Some(strip_kibi(whole));
        }
    }
    let shift = exponent.rem_euclid(3);
    let mantissa = mantissa.checked_mul([1, 10, 100][shift as usize])?;
    Some((mantissa, Suffix::decimal(exponent - shift, format)))
}

/// Moves factors of ten out of the mantissa, which is not zero, and counts them.
fn strip_zeros(mut mantissa: i128) -> (i128, u32) {
    let mut zeros = 0;
    while i64::try_from(mantissa).is_err() && mantissa % 10 == 0 {
        mantissa /= 10;
        zeros += 1;
    }
    // Division is several times faster on 64 bits, and nearly every mantissa fits.
    let Ok(mut mantissa) = i64::try_from(mantissa) else { return (mantissa, zeros) };
    while mantissa % 10 == 0 {
        mantissa /= 10;
        zeros += 1;
    }
    (mantissa.into(), zeros)
}

fn strip_kibi(mut whole: i128) -> (i128, Suffix) {
    let steps = (whole.trailing_zeros() / 10).min(BINARY_SUFFIXES.len() as u32 - 1);
    whole >>= 10 * steps;
    (whole, Suffix::Name(BINARY_SUFFIXES[steps as usize]))
}

/// The same rules on numbers of any size, all of them far beyond 1024.
fn print_big(number: Decimal, format: Format, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let number = number.without_trailing_zeros();
    if format == Format::BinarySi {
        let mut whole = number.clone().extended_to(0);
        if whole.scale() == 0 {
            let mut steps = 0;
            while let Some(quotient) = whole.divided_exactly(1024).filter(|_| steps + 1 < BINARY_SUFFIXES.len()) {
                whole = quotient;
                steps += 1;
            }
            whole.write_mantissa(f)?;
            return f.write_str(BINARY_SUFFIXES[steps]);
        }
    }
    let exponent = number.scale() - number.scale().rem_euclid(3);
    number.extended_to(exponent).write_mantissa(f)?;
    write!(f, "{}", Suffix::decimal(exponent, format))
}

enum Suffix {
    Name(&'static str),
    Exponent(i64),
}

impl Suffix {
    /// The exponent is a multiple of three. Beyond exa there is no name: Go prints none at all then, which turns
    /// 10^21 into 1; we print the exponent.
    fn decimal(exponent: i64, format: Format) -> Self {
        let name = usize::try_from(exponent / 3 + 3).ok().and_then(|index| DECIMAL_SUFFIXES.get(index));
        match (format, name) {
            _ if exponent == 0 => Self::Name(""),
            (Format::DecimalSi | Format::BinarySi, Some(name)) => Self::Name(name),
            _ => Self::Exponent(exponent),
        }
    }
}

impl fmt::Display for Suffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Exponent(exponent) => write!(f, "e{exponent}"),
        }
    }
}
