//! What the schema of the CRDs cannot say: the rules by which the admission webhooks accept or refuse objects.
//!
//! One module per kind, with `validate` for a new object and `validate_update` where the old one matters. Each returns
//! every mistake, in the order and in the words of Kueue; where Kueue's order is random, ours is that of the names.

pub mod admission_gates;
pub mod cluster_queue;
pub mod cohort;
pub mod resource_flavor;
pub mod workload;

mod conditions;
mod quota;
mod workload_status;
mod workload_update;

#[cfg(test)]
mod tests;

use kueue_core::field::{Error, Path};
use serde::Serialize;
use serde_json::Value;

const NEGATIVE: &str = "must be greater than or equal to 0";
const IMMUTABLE: &str = "field is immutable";

/// The error when a field that must stay as it is was changed.
fn immutable<T: PartialEq + Serialize>(new: &T, old: &T, at: &Path) -> Option<Error> {
    (new != old).then(|| Error::invalid(at, shown(new), IMMUTABLE))
}

/// A value of ours as users see it in a message.
fn shown<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
