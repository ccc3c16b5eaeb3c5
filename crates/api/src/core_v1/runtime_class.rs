//! How containers are run, and what that costs. Only ever read, so nothing else is kept.

use kueue_core::resource_list::ResourceList;

use super::VERSION;
use crate::meta::object;
use crate::wire::wire_struct;

/// The API group of runtime classes.
const NODE_GROUP: &str = "node.k8s.io";

object! {
    /// A way to run containers.
    pub struct RuntimeClass in NODE_GROUP/VERSION/"runtimeclasses", namespaced: false {
        /// What a pod needs beyond its containers.
        pub overhead?: Option<Overhead>,
    }
}

wire_struct! {
    /// What a pod needs beyond its containers.
    pub struct Overhead {
        /// The same for every pod.
        pub pod_fixed?: ResourceList,
    }
}
