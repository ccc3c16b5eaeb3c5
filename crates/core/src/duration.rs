//! Spans of time as Go writes them: `1m30s`, `-1.5h`, `100ms`.
//!
//! Configuration files and API objects carry durations in this notation, so reading, printing, rounding and the wording
//! of errors follow Go's `time` package; what is read and printed again is what Kueue would print.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::quote::ascii_quoted;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000 * MICROSECOND;
const SECOND: u64 = 1_000 * MILLISECOND;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// The magnitude of the most negative duration: the largest sum that reading may reach.
const MAGNITUDE_MAX: u64 = 1 << 63;

/// A signed number of nanoseconds; the largest is about 292 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

impl Duration {
    pub const ZERO: Self = Self(0);
    pub const MAX: Self = Self(i64::MAX);

    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Saturates at the ends of the range.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(MILLISECOND as i64))
    }

    /// Saturates at the ends of the range.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(SECOND as i64))
    }

    pub const fn nanos(self) -> i64 {
        self.0
    }
}

/// Text that is not a duration, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDurationError(String);

impl fmt::Display for ParseDurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseDurationError {}

impl FromStr for Duration {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if unsigned == "0" {
            return Ok(Self::ZERO);
        }
        let invalid = || ParseDurationError(format!("time: invalid duration {}", ascii_quoted(text)));
        if unsigned.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        let mut rest = unsigned;
        while !rest.is_empty() {
            let (number, after_number) = Number::read(rest).ok_or_else(invalid)?;
            let (unit, after_unit) = after_number.split_at(unit_length(after_number));
            if unit.is_empty() {
                return Err(ParseDurationError(format!("time: missing unit in duration {}", ascii_quoted(text))));
            }
            let Some(scale) = unit_nanos(unit) else {
                let (unit, text) = (ascii_quoted(unit), ascii_quoted(text));
                return Err(ParseDurationError(format!("time: unknown unit {unit} in duration {text}")));
            };
            let term = number.times(scale).ok_or_else(invalid)?;
            total = total.checked_add(term).filter(|sum| *sum <= MAGNITUDE_MAX).ok_or_else(invalid)?;
            rest = after_unit;
        }
        match is_negative {
            true => Ok(Self((total as i64).wrapping_neg())),
            false => i64::try_from(total).map(Self).map_err(|_| invalid()),
        }
    }
}

/// Digits before and after the point; the fraction stands for `fraction / divisor`.
struct Number {
    whole: u64,
    fraction: u64,
    divisor: f64,
}

impl Number {
    /// Reads `12`, `1.5`, `.5` or `1.`; `None` without any digit or when the whole part is out of range.
    fn read(text: &str) -> Option<(Self, &str)> {
        let (whole_digits, rest) = split_digits(text);
        let mut number = Self { whole: 0, fraction: 0, divisor: 1.0 };
        for digit in whole_digits.bytes() {
            let next = number.whole.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
            number.whole = Some(next).filter(|value| *value <= MAGNITUDE_MAX)?;
        }
        let Some(after_point) = rest.strip_prefix('.') else {
            return (!whole_digits.is_empty()).then_some((number, rest));
        };
        let (fraction_digits, rest) = split_digits(after_point);
        if whole_digits.is_empty() && fraction_digits.is_empty() {
            return None;
        }
        for digit in fraction_digits.bytes() {
            // Digits too small to matter are dropped instead of failing.
            let next = number.fraction.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')));
            let Some(next) = next.filter(|value| *value <= MAGNITUDE_MAX) else { break };
            number.fraction = next;
            number.divisor *= 10.0;
        }
        Some((number, rest))
    }

    /// Nanoseconds of this many units, `None` when out of range.
    fn times(&self, unit: u64) -> Option<u64> {
        let whole = self.whole.checked_mul(unit).filter(|value| *value <= MAGNITUDE_MAX)?;
        // Floating point, in this order, because Go computes the fraction so.
        let fraction = (self.fraction as f64 * (unit as f64 / self.divisor)) as u64;
        whole.checked_add(fraction).filter(|value| *value <= MAGNITUDE_MAX)
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// A unit ends where the next number starts.
fn unit_length(text: &str) -> usize {
    text.bytes().take_while(|byte| !byte.is_ascii_digit() && *byte != b'.').count()
}

fn unit_nanos(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        // Micro sign and Greek mu look the same and both are in use.
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return None,
    })
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        if nanos == 0 {
            return f.write_str("0s");
        }
        if nanos < SECOND {
            let (unit, name) = match nanos {
                _ if nanos < MICROSECOND => (1, "ns"),
                _ if nanos < MILLISECOND => (MICROSECOND, "\u{b5}s"),
                _ => (MILLISECOND, "ms"),
            };
            write_decimal(f, nanos, unit)?;
            return f.write_str(name);
        }
        if nanos >= HOUR {
            write!(f, "{}h", nanos / HOUR)?;
        }
        if nanos >= MINUTE {
            write!(f, "{}m", nanos % HOUR / MINUTE)?;
        }
        write_decimal(f, nanos % MINUTE, SECOND)?;
        f.write_str("s")
    }
}

/// Writes `nanos / unit` exactly, without trailing zeros; `unit` is a power of ten.
fn write_decimal(f: &mut fmt::Formatter<'_>, nanos: u64, unit: u64) -> fmt::Result {
    write!(f, "{}", nanos / unit)?;
    let (mut rest, mut place) = (nanos % unit, unit / 10);
    if rest > 0 {
        f.write_str(".")?;
    }
    while rest > 0 {
        write!(f, "{}", rest / place)?;
        rest %= place;
        place /= 10;
    }
    Ok(())
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
