//! Priorities that pods name. Only ever read, so nothing else is kept.

use super::VERSION;
use crate::meta::object;

/// The API group of priority classes.
const SCHEDULING_GROUP: &str = "scheduling.k8s.io";

object! {
    /// A name for a priority of pods.
    pub struct PriorityClass in SCHEDULING_GROUP/VERSION/"priorityclasses", namespaced: false {
        /// The priority; higher goes first.
        pub value: i32,
        /// Whether pods that name no class get this one.
        pub global_default?: bool,
    }
}
