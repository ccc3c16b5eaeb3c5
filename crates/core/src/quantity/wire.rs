//! Quantities in JSON: a string or a bare number in, a string out.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Format, Quantity};

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
        text.trim().parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Quantity, E> {
        Ok(Quantity::from_units(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Quantity, E> {
        Ok(Quantity::small(number.into(), 0, Format::DecimalSi))
    }

    /// The shortest decimal that denotes the same `f64`; what the user typed is gone by now.
    fn visit_f64<E: Error>(self, number: f64) -> Result<Quantity, E> {
        let text = format!("{number:?}");
        text.parse().map_err(|_| E::invalid_value(Unexpected::Float(number), &self))
    }

    /// Go leaves a null quantity at zero.
    fn visit_unit<E: Error>(self) -> Result<Quantity, E> {
        Ok(Quantity::default())
    }
}
