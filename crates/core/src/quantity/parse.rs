//! Reading a quantity, with Go's exact idea of what is one and in which way it is wrong.

use std::fmt;
use std::str::FromStr;

use super::decimal::Decimal;
use super::{Format, NANO, Quantity, Rare, power_of_ten};

/// Why a text is not a quantity, in the API server's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseQuantityError {
    /// It does not look like a number with a suffix.
    Format,
    /// It has a suffix but no digits.
    Number,
    /// There is no such suffix.
    Suffix,
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            Self::Number => "unable to parse numeric part of quantity",
            Self::Suffix => "unable to parse quantity's suffix",
        })
    }
}

impl std::error::Error for ParseQuantityError {}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        let parts = Parts::scan(text)?;
        let suffix = Suffix::read(parts.suffix).ok_or(ParseQuantityError::Suffix)?;
        let Some((mantissa, scale)) = parts.plain_number(suffix) else {
            return parts.rounded_number(suffix);
        };
        let signed = if parts.negative { -mantissa } else { mantissa };
        let mut quantity = Self::small(signed.into(), scale, suffix.format);
        if parts.go_repeats_text(suffix, mantissa, scale) && !parts.is_canonical(suffix) {
            quantity.rare = Some(Box::new(Rare::Written(text.into())));
        }
        Ok(quantity)
    }
}

/// A text taken apart: sign, digits before and after the point, suffix.
struct Parts<'a> {
    text: &'a str,
    negative: bool,
    /// Without leading zeros.
    whole: &'a [u8],
    fraction: &'a [u8],
    suffix: &'a str,
    has_digits: bool,
}

impl<'a> Parts<'a> {
    fn scan(text: &'a str) -> Result<Self, ParseQuantityError> {
        if text.is_empty() {
            return Err(ParseQuantityError::Format);
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let nonzero = unsigned.trim_start_matches('0');
        let (whole, rest) = split_digits(nonzero);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        let exponent = suffix.trim_start_matches(['e', 'E', 'i', 'n', 'u', 'm', 'k', 'K', 'M', 'G', 'T', 'P']);
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ParseQuantityError::Format);
        }
        Ok(Self {
            text,
            negative: text.starts_with('-'),
            whole: whole.as_bytes(),
            fraction: fraction.as_bytes(),
            suffix,
            // A lone sign passes for zero.
            has_digits: unsigned.len() > nonzero.len() || whole.len() + fraction.len() > 0 || unsigned.is_empty(),
        })
    }

    /// How many digits Go counts: at least one before the point.
    fn digit_count(&self) -> usize {
        self.whole.len().max(1) + self.fraction.len()
    }

    /// Mantissa and scale as written, for the numbers that Go keeps in 64 bits.
    fn plain_number(&self, suffix: Suffix) -> Option<(i64, i32)> {
        let digits = i32::try_from(self.digit_count()).ok()?;
        match suffix.format {
            Format::BinarySi => {
                let fits = self.fraction.is_empty() && digits <= 14 - suffix.exponent * 3 / 10;
                fits.then(|| (self.digits_as_i64() << suffix.exponent, 0))
            }
            Format::DecimalSi | Format::DecimalExponent => {
                let scale = suffix.exponent.checked_sub(self.fraction.len().try_into().ok()?)?;
                (digits <= 18 && scale >= NANO).then(|| (self.digits_as_i64(), scale))
            }
        }
    }

    /// All digits as one integer; the caller knows that there are at most 18.
    fn digits_as_i64(&self) -> i64 {
        self.whole.iter().chain(self.fraction).fold(0, |sum, byte| sum * 10 + i64::from(byte - b'0'))
    }

    /// Whether Go prints this text again rather than the canonical form. It takes a text without trailing thousands
    /// for canonical, which it need not be: `1.500`, `+5`, `007` and `1E3` all stay as they are.
    fn go_repeats_text(&self, suffix: Suffix, mantissa: i64, scale: i32) -> bool {
        match suffix.format {
            Format::BinarySi => (mantissa >> suffix.exponent) & 0b111 != 0,
            Format::DecimalSi | Format::DecimalExponent => {
                scale % 3 == 0 && mantissa % 1000 != 0 && !self.whole.is_empty()
            }
        }
    }

    /// Whether a text that Go repeats is spelled as we would print it.
    fn is_canonical(&self, suffix: Suffix) -> bool {
        let without_sign = self.text.strip_prefix('-').unwrap_or(self.text);
        let number_is_plain = without_sign.len() == self.whole.len() + self.suffix.len();
        number_is_plain && (suffix.format != Format::DecimalExponent || suffix.is_canonical(self.suffix))
    }

    /// The number as Go keeps it when it does not fit its 64 bits: in nano, rounded up; binary ones capped.
    fn rounded_number(&self, suffix: Suffix) -> Result<Quantity, ParseQuantityError> {
        if !self.has_digits {
            return Err(ParseQuantityError::Number);
        }
        let mut magnitude = self.small_in_nano(suffix).unwrap_or_else(|| self.any_in_nano(suffix));
        if suffix.format == Format::BinarySi {
            if magnitude > Quantity::from_units(i64::MAX) {
                magnitude = Quantity::small(i64::MAX.into(), 0, Format::BinarySi);
            } else if !magnitude.is_zero() && magnitude < Quantity::from_units(1) {
                magnitude.format = Format::DecimalSi;
            }
        }
        Ok(if self.negative { -&magnitude } else { magnitude })
    }

    /// The common case of [`Self::any_in_nano`], without allocating.
    fn small_in_nano(&self, suffix: Suffix) -> Option<Quantity> {
        let mut digits = self.whole.iter().chain(self.fraction);
        let digits = digits.try_fold(0i128, |sum, byte| sum.checked_mul(10)?.checked_add((byte - b'0').into()))?;
        let (mantissa, exponent) = match suffix.format {
            Format::BinarySi => (digits.checked_mul(1 << suffix.exponent)?, 0),
            Format::DecimalSi | Format::DecimalExponent => (digits, suffix.exponent),
        };
        let scale = exponent.checked_sub(self.fraction.len().try_into().ok()?)?;
        let power = power_of_ten(scale.abs_diff(NANO))?;
        let nano = if scale >= NANO {
            mantissa.checked_mul(power)?
        } else {
            mantissa.unsigned_abs().div_ceil(power.unsigned_abs()).try_into().ok()?
        };
        Some(Quantity::small(nano, NANO, suffix.format))
    }

    fn any_in_nano(&self, suffix: Suffix) -> Quantity {
        let number = match suffix.format {
            Format::BinarySi => {
                let digits = Decimal::from_ascii(self.whole, self.fraction, 0);
                digits.times(&Decimal::from_small(1 << suffix.exponent, 0))
            }
            Format::DecimalSi | Format::DecimalExponent => {
                Decimal::from_ascii(self.whole, self.fraction, suffix.exponent.into())
            }
        };
        let nano = number.cut_to(NANO.into(), true).extended_to(NANO.into());
        Quantity::from_decimal(nano, suffix.format)
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// What a suffix stands for: a power of two for [`Format::BinarySi`], of ten otherwise.
#[derive(Clone, Copy)]
struct Suffix {
    format: Format,
    exponent: i32,
}

impl Suffix {
    fn read(text: &str) -> Option<Self> {
        let decimal = |exponent| Some(Self { format: Format::DecimalSi, exponent });
        let binary = |exponent| Some(Self { format: Format::BinarySi, exponent });
        match text {
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "" => decimal(0),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => binary(10),
            "Mi" => binary(20),
            "Gi" => binary(30),
            "Ti" => binary(40),
            "Pi" => binary(50),
            "Ei" => binary(60),
            _ => {
                let exponent: i64 = text.strip_prefix(['e', 'E'])?.parse().ok()?;
                // Go keeps the low 32 bits of a larger exponent.
                Some(Self { format: Format::DecimalExponent, exponent: exponent as i32 })
            }
        }
    }

    /// Whether an exponent is spelled as we print it: `e3`, `e-3`, and nothing at all for 0.
    fn is_canonical(self, text: &str) -> bool {
        let exponent = text.strip_prefix('e').unwrap_or_default();
        let digits = exponent.strip_prefix('-').unwrap_or(exponent);
        digits.starts_with(|first| ('1'..='9').contains(&first)) && exponent.parse() == Ok(self.exponent)
    }
}
