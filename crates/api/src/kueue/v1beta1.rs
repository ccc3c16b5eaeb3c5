//! `kueue.x-k8s.io/v1beta1`: served for clients that still use it, deprecated.
//!
//! What is the same as in v1beta2 is that very type; see [`super::conversion`] for how the rest maps.

mod admission_check;
mod cluster_queue;
mod local_queue;
mod multi_kueue;
mod same;
mod workload;

pub use admission_check::*;
pub use cluster_queue::*;
pub use local_queue::*;
pub use multi_kueue::*;
pub use same::*;
pub use workload::*;

/// The version's name.
pub const VERSION: &str = "v1beta1";
