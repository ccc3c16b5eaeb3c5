//! Quota amounts: 64-bit, saturating, and possibly unlimited.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;
use crate::resource::{self, CPU};

/// An amount of one resource in its base unit: thousandths for CPU, units for everything else.
///
/// Arithmetic never wraps. The largest `i64` means "unlimited" and absorbs what is added to or taken from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Amount(i64);

impl Amount {
    pub const ZERO: Self = Self(0);

    /// More than any bounded amount.
    pub const UNLIMITED: Self = Self(i64::MAX);

    /// An amount in the base unit of its resource; `i64::MAX` is unlimited.
    pub const fn new(value: i64) -> Self {
        Self(value)
    }

    /// A quota as the user wrote it. What the base unit cannot express is unlimited.
    pub fn from_quantity(resource: &str, quantity: &Quantity) -> Self {
        // Kueue gives up the few thousandths between the last whole CPU and the end of `i64`.
        match resource == CPU && *quantity >= Quantity::from_units(i64::MAX / 1000) {
            true => Self::UNLIMITED,
            false => Self(resource::base_units(resource, quantity)),
        }
    }

    pub const fn get(self) -> i64 {
        self.0
    }

    pub fn is_unlimited(self) -> bool {
        self == Self::UNLIMITED
    }

    /// The sum; unlimited if either is.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        match self.is_unlimited() || other.is_unlimited() {
            true => Self::UNLIMITED,
            false => Self(self.0.saturating_add(other.0)),
        }
    }

    /// The difference. Unlimited minus a bounded amount is unlimited; a bounded amount minus unlimited is the lowest
    /// there is; unlimited minus unlimited is nothing.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        match (self.is_unlimited(), other.is_unlimited()) {
            (true, true) => Self(0),
            (true, false) => Self::UNLIMITED,
            (false, true) => Self(i64::MIN),
            (false, false) => Self(self.0.saturating_sub(other.0)),
        }
    }

    /// In the unit users think in: whole CPUs, units of everything else. Unlimited is infinite.
    pub fn as_f64(self, resource: &str) -> f64 {
        match (self.is_unlimited(), resource) {
            (true, _) => f64::INFINITY,
            (false, CPU) => self.0 as f64 / 1000.0,
            (false, _) => self.0 as f64,
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_unlimited() {
            true => f.pad("<unlimited>"),
            false => fmt::Display::fmt(&self.0, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNLIMITED: Amount = Amount::UNLIMITED;
    const MAX: i64 = i64::MAX;

    fn amount(value: i64) -> Amount {
        Amount::new(value)
    }

    #[test]
    fn unlimited_absorbs_what_is_added_or_taken() {
        assert_eq!(UNLIMITED.plus(amount(-5)), UNLIMITED);
        assert_eq!(amount(5).plus(UNLIMITED), UNLIMITED);
        assert_eq!(UNLIMITED.minus(amount(5)), UNLIMITED);
        assert_eq!(UNLIMITED.minus(UNLIMITED), amount(0));
        assert_eq!(amount(5).minus(UNLIMITED), amount(i64::MIN));
    }

    #[test]
    fn bounded_arithmetic_saturates() {
        assert_eq!(amount(MAX - 1).plus(amount(2)), UNLIMITED);
        assert_eq!(amount(i64::MIN).minus(amount(1)), amount(i64::MIN));
        assert_eq!(amount(7).minus(amount(9)), amount(-2));
    }

    #[test]
    fn a_quota_beyond_the_base_unit_is_unlimited() {
        for (resource, text, want) in [
            ("cpu", "1500m", amount(1500)),
            ("cpu", "9223372036854775", UNLIMITED),
            ("cpu", "9223372036854774.9995", amount(9_223_372_036_854_775_000)),
            ("cpu", "2E", UNLIMITED),
            ("memory", "1.5Ki", amount(1536)),
            ("memory", "9223372036854775807", UNLIMITED),
            ("memory", "9223372036854775806.5", UNLIMITED),
            ("memory", "1e40", UNLIMITED),
        ] {
            assert_eq!(Amount::from_quantity(resource, &text.parse().unwrap()), want, "{resource} {text}");
        }
    }

    #[test]
    fn metrics_show_cpus_and_infinity() {
        assert_eq!(amount(2500).as_f64("cpu"), 2.5);
        assert_eq!(amount(2500).as_f64("memory"), 2500.0);
        assert_eq!(UNLIMITED.as_f64("cpu"), f64::INFINITY);
        assert_eq!(format!("{} {}", UNLIMITED, amount(-3)), "<unlimited> -3");
    }
}
