//! Kubernetes quantities (`500m`, `1.5Gi`, `12e6`) as Go's API machinery reads, computes, compares and prints them.
//!
//! A quantity is `mantissa × 10^scale`, never finer than nano, together with the notation it prefers. Go's choice of
//! mantissa and scale is kept, because the conversion to floating point depends on it. Everything that fits 128 bits
//! lives inside the value; only absurd numbers, and spellings that Go repeats although they are not canonical, cost
//! an allocation.

mod decimal;
mod parse;
mod print;
mod wire;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use decimal::Decimal;
pub use parse::ParseQuantityError;

/// The finest power of ten a quantity keeps; what is finer is rounded up when it is read.
const NANO: i32 = -9;

/// The notation a quantity was written in and prints itself in where that loses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// `12M`, twelve million.
    #[default]
    DecimalSi,
    /// `12Mi`, twelve times 2^20.
    BinarySi,
    /// `12e6`.
    DecimalExponent,
}

/// An exact decimal number with a preferred notation.
///
/// Equality, order and hash look at the number alone: `1`, `1000m` and `1e0` are equal.
#[derive(Clone, Debug, Default)]
pub struct Quantity {
    /// The number is `mantissa × 10^scale`, unless `rare` holds it.
    mantissa: i128,
    /// At least [`NANO`], and 0 for zero.
    scale: i32,
    format: Format,
    rare: Option<Box<Rare>>,
}

/// What few quantities have.
#[derive(Clone, Debug)]
enum Rare {
    /// The number, when its mantissa does not fit 128 bits. It is then beyond 10^29, far outside `i64`.
    Big(Decimal),
    /// The text it was read from, where Go prints that text again although it is not the canonical one.
    Written(Box<str>),
}

impl Quantity {
    /// A whole number, printed with decimal suffixes.
    pub fn from_units(units: i64) -> Self {
        Self::small(units.into(), 0, Format::DecimalSi)
    }

    /// A number of thousandths, printed with decimal suffixes.
    pub fn from_milli(milli: i64) -> Self {
        Self::small(milli.into(), -3, Format::DecimalSi)
    }

    /// A number of bytes: binary suffixes where one fits, decimal ones otherwise (`1Ki`, but `1k`).
    pub fn from_bytes(bytes: i64) -> Self {
        let format = if bytes != 0 && bytes % 1024 == 0 { Format::BinarySi } else { Format::DecimalSi };
        Self::small(bytes.into(), 0, format)
    }

    fn small(mantissa: i128, scale: i32, format: Format) -> Self {
        Self { mantissa, scale: if mantissa == 0 { 0 } else { scale }, format, rare: None }
    }

    /// Keeps the number inline when it fits.
    fn from_decimal(decimal: Decimal, format: Format) -> Self {
        match decimal.to_small() {
            Some((mantissa, scale)) => Self::small(mantissa, scale, format),
            None => Self { mantissa: 0, scale: 0, format, rare: Some(Box::new(Rare::Big(decimal))) },
        }
    }

    fn big(&self) -> Option<&Decimal> {
        match self.rare.as_deref() {
            Some(Rare::Big(decimal)) => Some(decimal),
            _ => None,
        }
    }

    fn to_decimal(&self) -> Decimal {
        self.big().cloned().unwrap_or_else(|| Decimal::from_small(self.mantissa, self.scale))
    }

    /// The notation it prefers.
    pub fn format(&self) -> Format {
        self.format
    }

    pub fn is_zero(&self) -> bool {
        self.sign() == 0
    }

    /// -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        match self.big() {
            Some(decimal) => decimal.sign(),
            None => self.mantissa.signum() as i32,
        }
    }

    /// The number in whole units, fractions rounded away from zero, clamped to what an `i64` holds.
    pub fn value(&self) -> i64 {
        self.scaled_value(0)
    }

    /// The number in thousandths, fractions rounded away from zero, clamped to what an `i64` holds.
    pub fn milli_value(&self) -> i64 {
        self.scaled_value(-3)
    }

    fn scaled_value(&self, scale: i32) -> i64 {
        let clamped = if self.sign() < 0 { i64::MIN } else { i64::MAX };
        if self.big().is_some() {
            return clamped;
        }
        let exact = match power_of_ten(self.scale.abs_diff(scale)) {
            Some(power) if self.scale >= scale => self.mantissa.checked_mul(power),
            Some(power) => Some(divide_away_from_zero(self.mantissa, power)),
            // The number has a positive scale then: a negative one is within reach of every scale asked for.
            None => None,
        };
        exact.and_then(|value| value.try_into().ok()).unwrap_or(clamped)
    }

    /// The `f64` that Go computes: the mantissa times a power of ten, each rounded. Infinite when too large.
    pub fn as_f64(&self) -> f64 {
        let (mantissa, scale) = match self.big() {
            Some(decimal) => (decimal.mantissa_as_f64(), decimal.scale()),
            None => (self.mantissa as f64, self.scale.into()),
        };
        if mantissa == 0.0 { 0.0 } else { mantissa * power_of_ten_f64(scale) }
    }

    /// The exact product, in the notation of the first factor.
    #[must_use]
    pub fn times(&self, factor: &Self) -> Self {
        Self::from_decimal(self.to_decimal().times(&factor.to_decimal()), self.format)
    }

    /// The product in nano, rounded towards zero, so that scaling down again and again ends at zero.
    ///
    /// # Panics
    /// If the factor is infinite or not a number.
    #[must_use]
    pub fn scaled_by(&self, factor: f64) -> Self {
        assert!(factor.is_finite(), "a quantity can only be scaled by a finite factor, not {factor}");
        let product = self.to_decimal().times(&Decimal::from_f64(factor));
        Self::from_decimal(product.cut_to(NANO.into(), false).extended_to(NANO.into()), Format::DecimalSi)
    }

    /// The sum; a zero adopts the notation of what is added to it.
    fn plus(&self, other: &Self, subtract: bool) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        if self.big().is_none() && other.big().is_none() {
            let addend = if subtract { other.mantissa.checked_neg() } else { Some(other.mantissa) };
            let sum = addend.and_then(|addend| add_small((self.mantissa, self.scale), (addend, other.scale)));
            if let Some((mantissa, scale)) = sum {
                return Self::small(mantissa, scale, format);
            }
        }
        let addend = if subtract { other.to_decimal().negated() } else { other.to_decimal() };
        Self::from_decimal(self.to_decimal().plus(&addend), format)
    }
}

/// The sum at the finer of both scales; a zero has no scale of its own.
fn add_small(a: (i128, i32), b: (i128, i32)) -> Option<(i128, i32)> {
    match (a, b) {
        (_, (0, _)) => Some(a),
        ((0, _), _) => Some(b),
        _ => {
            let scale = a.1.min(b.1);
            let at_scale = |(mantissa, own): (i128, i32)| mantissa.checked_mul(power_of_ten(own.abs_diff(scale))?);
            Some((at_scale(a)?.checked_add(at_scale(b)?)?, scale))
        }
    }
}

fn power_of_ten(exponent: u32) -> Option<i128> {
    10i128.checked_pow(exponent)
}

fn divide_away_from_zero(dividend: i128, divisor: i128) -> i128 {
    let quotient = dividend / divisor;
    if dividend % divisor == 0 { quotient } else { quotient + dividend.signum() }
}

/// A power of ten with the rounding of Go's `math.Pow10`: one factor below 10^32, one a power of 10^32.
fn power_of_ten_f64(exponent: i64) -> f64 {
    const UNITS: [f64; 32] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31,
    ];
    const STEPS: [f64; 10] = [1e0, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288];
    match usize::try_from(exponent) {
        Ok(exponent @ 0..=308) => STEPS[exponent / 32] * UNITS[exponent % 32],
        Ok(_) => f64::INFINITY,
        Err(_) => 1.0 / UNITS[exponent.unsigned_abs().min(31) as usize],
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.big().is_some() || other.big().is_some() {
            return self.to_decimal().compare(&other.to_decimal());
        }
        let finest = self.scale.min(other.scale);
        let at_finest = |quantity: &Self| {
            power_of_ten(quantity.scale.abs_diff(finest)).and_then(|power| quantity.mantissa.checked_mul(power))
        };
        match (at_finest(self), at_finest(other)) {
            (Some(a), Some(b)) => a.cmp(&b),
            // One of the two is at the finest scale already, so whichever overflows is the larger in magnitude.
            (None, _) => self.sign().cmp(&0),
            (_, None) => 0.cmp(&other.sign()),
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_decimal().without_trailing_zeros().hash(state);
    }
}

impl AddAssign<&Quantity> for Quantity {
    fn add_assign(&mut self, other: &Quantity) {
        *self = self.plus(other, false);
    }
}

impl SubAssign<&Quantity> for Quantity {
    fn sub_assign(&mut self, other: &Quantity) {
        *self = self.plus(other, true);
    }
}

impl Add for &Quantity {
    type Output = Quantity;

    fn add(self, other: Self) -> Quantity {
        self.plus(other, false)
    }
}

impl Sub for &Quantity {
    type Output = Quantity;

    fn sub(self, other: Self) -> Quantity {
        self.plus(other, true)
    }
}

impl Neg for &Quantity {
    type Output = Quantity;

    fn neg(self) -> Quantity {
        match (self.big(), self.mantissa.checked_neg()) {
            (None, Some(mantissa)) => Quantity::small(mantissa, self.scale, self.format),
            _ => Quantity::from_decimal(self.to_decimal().negated(), self.format),
        }
    }
}
