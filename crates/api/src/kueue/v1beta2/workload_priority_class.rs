//! `WorkloadPriorityClass`: a name for a priority in the queue, apart from that of the pods.

use crate::kueue::GROUP;
use crate::kueue::v1beta2::VERSION;
use crate::meta::object;

object! {
    /// A name for a priority.
    pub struct WorkloadPriorityClass in GROUP/VERSION/"workloadpriorityclasses", namespaced: false {
        /// The priority; higher goes first.
        pub value: i32,
        /// When to use the class.
        pub description?: String,
    }
}
