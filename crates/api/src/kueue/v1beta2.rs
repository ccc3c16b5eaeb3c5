//! `kueue.x-k8s.io/v1beta2`, the version that is stored.
//!
//! A field is an `Option` where "not set" differs from the zero value. Strings with a fixed set of values are enums that
//! keep unknown values. Defaults of the schema are not applied on decoding: what is read is what was written.

mod admission_check;
mod multi_kueue;
mod provisioning_request_config;
mod topology;
mod workload_priority_class;

pub use admission_check::*;
pub use multi_kueue::*;
pub use provisioning_request_config::*;
pub use topology::*;
pub use workload_priority_class::*;

/// The version's name.
pub const VERSION: &str = "v1beta2";
