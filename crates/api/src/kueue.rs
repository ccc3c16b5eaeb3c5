//! The `kueue.x-k8s.io` group: what users and administrators write, and what the manager answers in `status`.
//!
//! [`v1beta2`] is what is stored and what all other code works with. The older versions define only what differs.

pub mod v1alpha1;
pub mod v1beta1;
pub mod v1beta2;

pub mod conversion;
pub mod defaulting;
pub mod kinds;
pub mod names;
pub mod topology_assignment;

/// The API group of every kind here.
pub const GROUP: &str = "kueue.x-k8s.io";
