//! Instants as API objects carry them: RFC 3339 in UTC, whole seconds ([`Time`]) or microseconds ([`MicroTime`]).
//!
//! Whatever finer part an instant has is dropped when the value is made, so that a value compares equal to what comes
//! back from the API server. "Not set" is JSON `null`; it is read as, and printed from, the default value.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::duration::Duration;

mod rfc3339;

pub use rfc3339::ParseTimeError;

/// Go's zero time, 0001-01-01T00:00:00Z, which stands for "not set".
const ZERO_SECONDS: i64 = -62_135_596_800;

/// An instant in whole seconds since 1970.
///
/// Not a [`Timestamp`] inside because that ends a day before the year 9999 does, and "for ever" is often written so.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// An instant in whole microseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroTime(i64);

macro_rules! instant {
    ($name:ident, $per_second:literal, $layout:expr) => {
        impl $name {
            const NANOS: i64 = 1_000_000_000 / $per_second;

            /// Drops what is finer than the precision, towards the past.
            pub fn new(instant: Timestamp) -> Self {
                // The range of a timestamp, in these units, is far inside that of the integer.
                Self(instant.as_nanosecond().div_euclid(i128::from(Self::NANOS)) as i64)
            }

            /// The same instant for computing with; the last day of the year 9999 becomes the latest timestamp.
            pub fn timestamp(self) -> Timestamp {
                let limit = if self.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
                Timestamp::from_nanosecond(i128::from(self.0) * i128::from(Self::NANOS)).unwrap_or(limit)
            }

            /// Whether this is the value that stands for "not set".
            pub fn is_zero(self) -> bool {
                self == Self::default()
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self(ZERO_SECONDS * $per_second)
            }
        }

        impl From<Timestamp> for $name {
            fn from(instant: Timestamp) -> Self {
                Self::new(instant)
            }
        }

        impl FromStr for $name {
            type Err = ParseTimeError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let (seconds, nanos) = rfc3339::parse(text, $layout)?;
                Ok(Self(seconds * $per_second + nanos / Self::NANOS))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (seconds, rest) = (self.0.div_euclid($per_second), self.0.rem_euclid($per_second));
                rfc3339::print(f, seconds, rest * Self::NANOS, $layout)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if self.is_zero() { serializer.serialize_none() } else { serializer.collect_str(self) }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match Option::<String>::deserialize(deserializer)? {
                    None => Ok(Self::default()),
                    Some(text) => text.parse().map_err(D::Error::custom),
                }
            }
        }
    };
}

instant!(Time, 1, rfc3339::Layout::Seconds);
instant!(MicroTime, 1_000_000, rfc3339::Layout::Micros);

impl std::ops::Add<Duration> for Time {
    type Output = Self;

    /// A part of a second is dropped, as it would be when the sum is written down.
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.nanos().div_euclid(Self::NANOS)))
    }
}

#[cfg(test)]
mod tests;
