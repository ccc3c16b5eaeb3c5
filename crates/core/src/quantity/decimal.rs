//! Exact decimals of any size, for the few quantities that do not fit 128 bits.
//!
//! One digit per byte: slow, small, and easy to see right. Every operation takes time in proportion to the digits
//! written by the user, plus [`REACH`] at most, so that `1e999999999` costs nothing.

use std::cmp::Ordering;
use std::fmt::{self, Write};

/// How many digits an operation may add to those it was given. What is smaller than its partner by more than this
/// many digits is lost in a sum.
const REACH: i64 = 4096;

/// `± digits × 10^scale`.
///
/// Digits are 0 to 9, most significant first, without leading zeros; zero has none and is positive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    scale: i64,
}

impl Decimal {
    fn new(negative: bool, mut digits: Vec<u8>, scale: i64) -> Self {
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..zeros);
        match digits.is_empty() {
            true => Self { negative: false, digits, scale: 0 },
            false => Self { negative, digits, scale },
        }
    }

    /// Reads ASCII digits.
    pub(super) fn from_ascii(whole: &[u8], fraction: &[u8], exponent: i64) -> Self {
        let digits = whole.iter().chain(fraction).map(|byte| byte - b'0').collect();
        Self::new(false, digits, exponent - fraction.len() as i64)
    }

    pub(super) fn from_small(mantissa: i128, scale: i32) -> Self {
        let text = mantissa.unsigned_abs().to_string();
        Self { negative: mantissa < 0, ..Self::from_ascii(text.as_bytes(), b"", scale.into()) }
    }

    /// The shortest decimal that reads back as the same finite `f64`.
    pub(super) fn from_f64(number: f64) -> Self {
        let text = format!("{:e}", number.abs());
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let magnitude = Self::from_ascii(whole.as_bytes(), fraction.as_bytes(), exponent.parse().unwrap_or(0));
        if number < 0.0 { magnitude.negated() } else { magnitude }
    }

    /// The same mantissa and scale, if they fit.
    pub(super) fn to_small(&self) -> Option<(i128, i32)> {
        let magnitude =
            self.digits.iter().try_fold(0i128, |sum, digit| sum.checked_mul(10)?.checked_add((*digit).into()))?;
        Some((if self.negative { -magnitude } else { magnitude }, self.scale.try_into().ok()?))
    }

    pub(super) fn scale(&self) -> i64 {
        self.scale
    }

    pub(super) fn sign(&self) -> i32 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        }
    }

    pub(super) fn negated(mut self) -> Self {
        self.negative = !self.negative && !self.digits.is_empty();
        self
    }

    /// The digits as an integer, ignoring the scale, correctly rounded.
    pub(super) fn mantissa_as_f64(&self) -> f64 {
        let text = format!("{}{}", if self.negative { "-" } else { "" }, Digits(&self.digits));
        text.parse().unwrap_or(0.0)
    }

    pub(super) fn without_trailing_zeros(mut self) -> Self {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.scale += 1;
        }
        self
    }

    /// One more than the exponent of the leading digit.
    fn magnitude(&self) -> i64 {
        self.digits.len() as i64 + self.scale
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let by_size = || {
            let digits = |decimal: &Self| decimal.clone().without_trailing_zeros().digits;
            self.magnitude().cmp(&other.magnitude()).then_with(|| digits(self).cmp(&digits(other)))
        };
        self.sign().cmp(&other.sign()).then_with(|| match self.sign() {
            0 => Ordering::Equal,
            1 => by_size(),
            _ => by_size().reverse(),
        })
    }

    /// The sum, at the finer of both scales.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let (coarse, fine) = if self.scale >= other.scale { (self, other) } else { (other, self) };
        if fine.digits.is_empty() {
            return coarse.clone();
        }
        if coarse.digits.is_empty() {
            return fine.clone();
        }
        if coarse.scale - fine.magnitude() > REACH {
            return coarse.clone();
        }
        let mut aligned = coarse.digits.clone();
        aligned.resize(aligned.len() + (coarse.scale - fine.scale) as usize, 0);
        if coarse.negative == fine.negative {
            return Self::new(fine.negative, add(&aligned, &fine.digits), fine.scale);
        }
        let coarse_is_larger = (aligned.len(), &aligned) >= (fine.digits.len(), &fine.digits);
        match coarse_is_larger {
            true => Self::new(coarse.negative, subtract(&aligned, &fine.digits), fine.scale),
            false => Self::new(fine.negative, subtract(&fine.digits, &aligned), fine.scale),
        }
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        let mut digits = vec![0u8; self.digits.len() + other.digits.len()];
        for (i, a) in self.digits.iter().enumerate().rev() {
            let mut carry = 0;
            for (j, b) in other.digits.iter().enumerate().rev() {
                let sum = digits[i + j + 1] + a * b + carry;
                digits[i + j + 1] = sum % 10;
                carry = sum / 10;
            }
            digits[i] = carry;
        }
        Self::new(self.negative != other.negative, digits, self.scale + other.scale)
    }

    /// Cuts off what is finer than `scale`. A cut-off rest rounds away from zero if `up`, else towards it.
    pub(super) fn cut_to(self, scale: i64, up: bool) -> Self {
        let excess = scale - self.scale;
        if excess <= 0 {
            return self;
        }
        let kept = usize::try_from(self.digits.len() as i64 - excess).unwrap_or(0);
        let rest_is_zero = self.digits[kept..].iter().all(|digit| *digit == 0);
        let mut digits = self.digits;
        digits.truncate(kept);
        if up && !rest_is_zero {
            digits = add(&digits, &[1]);
        }
        Self::new(self.negative, digits, scale)
    }

    /// Writes zeros out until the scale is reached, unless they would be absurdly many.
    pub(super) fn extended_to(mut self, scale: i64) -> Self {
        if !self.digits.is_empty() && (1..=REACH).contains(&(self.scale - scale)) {
            self.digits.resize(self.digits.len() + (self.scale - scale) as usize, 0);
            self.scale = scale;
        }
        self
    }

    /// The number divided by `divisor`, if both it and the quotient are whole.
    pub(super) fn divided_exactly(&self, divisor: u32) -> Option<Self> {
        let mut remainder = 0;
        let divide = |digit: &u8| {
            let dividend = remainder * 10 + u32::from(*digit);
            remainder = dividend % divisor;
            (dividend / divisor) as u8
        };
        let digits = self.digits.iter().map(divide).collect();
        (self.scale == 0 && remainder == 0).then(|| Self::new(self.negative, digits, 0))
    }

    /// The mantissa alone, with its sign.
    pub(super) fn write_mantissa(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.negative { "-" } else { "" }, Digits(&self.digits))
    }
}

struct Digits<'a>(&'a [u8]);

impl fmt::Display for Digits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|digit| f.write_char(char::from(b'0' + digit)))
    }
}

/// The sum of two integers.
fn add(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut sum = Vec::with_capacity(a.len().max(b.len()) + 1);
    let (mut a, mut b, mut carry) = (a.iter().rev(), b.iter().rev(), 0);
    loop {
        let (x, y) = (a.next(), b.next());
        if x.is_none() && y.is_none() {
            break;
        }
        let digit = x.unwrap_or(&0) + y.unwrap_or(&0) + carry;
        sum.push(digit % 10);
        carry = digit / 10;
    }
    sum.push(carry);
    sum.reverse();
    sum
}

/// The difference of two integers; the first is not the smaller one.
fn subtract(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut difference = Vec::with_capacity(a.len());
    let (mut b, mut borrow) = (b.iter().rev(), 0);
    for x in a.iter().rev() {
        let y = b.next().unwrap_or(&0) + borrow;
        borrow = u8::from(*x < y);
        difference.push(x + 10 * borrow - y);
    }
    difference.reverse();
    difference
}
