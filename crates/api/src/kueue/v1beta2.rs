//! `kueue.x-k8s.io/v1beta2`, the version that is stored.
//!
//! A field is an `Option` where "not set" differs from the zero value. Strings with a fixed set of values are enums that
//! keep unknown values. Defaults of the schema are not applied on decoding: what is read is what was written.

mod admission_check;
mod cluster_queue;
mod cohort;
mod local_queue;
mod multi_kueue;
mod provisioning_request_config;
mod quota;
mod resource_flavor;
mod topology;
mod workload;
mod workload_priority_class;
mod workload_status;

pub use admission_check::*;
pub use cluster_queue::*;
pub use cohort::*;
pub use local_queue::*;
pub use multi_kueue::*;
pub use provisioning_request_config::*;
pub use quota::*;
pub use resource_flavor::*;
pub use topology::*;
pub use workload::*;
pub use workload_priority_class::*;
pub use workload_status::*;

/// The version's name.
pub const VERSION: &str = "v1beta2";
