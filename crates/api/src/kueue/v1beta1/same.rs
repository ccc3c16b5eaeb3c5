//! Kinds that differ from v1beta2 in their version only.

use super::VERSION;
use crate::kueue::GROUP;
use crate::kueue::v1beta2::{ProvisioningRequestConfigSpec, ResourceFlavorSpec, TopologySpec};
use crate::meta::object;

object! {
    /// One sort of machine.
    pub struct ResourceFlavor in GROUP/VERSION/"resourceflavors", namespaced: false {
        /// How its nodes are recognised.
        pub spec: ResourceFlavorSpec,
    }
}

object! {
    /// How nodes are grouped.
    pub struct Topology in GROUP/VERSION/"topologies", namespaced: false {
        /// The levels.
        pub spec: TopologySpec,
    }
}

object! {
    /// A name for a priority.
    pub struct WorkloadPriorityClass in GROUP/VERSION/"workloadpriorityclasses", namespaced: false {
        /// The priority; higher goes first.
        pub value: i32,
        /// When to use the class.
        pub description?: String,
    }
}

object! {
    /// How to ask the autoscaler for nodes.
    pub struct ProvisioningRequestConfig in GROUP/VERSION/"provisioningrequestconfigs", namespaced: false {
        /// The settings.
        pub spec: ProvisioningRequestConfigSpec,
    }
}
