//! `ResourceFlavor`: one sort of machine.

use std::collections::BTreeMap;

use crate::core_v1::{Taint, Toleration};
use crate::kueue::GROUP;
use crate::kueue::v1beta2::VERSION;
use crate::meta::object;
use crate::wire::wire_struct;

object! {
    /// One sort of machine.
    pub struct ResourceFlavor in GROUP/VERSION/"resourceflavors", namespaced: false {
        /// How its nodes are recognised.
        pub spec: ResourceFlavorSpec,
    }
}

wire_struct! {
    /// How the nodes of a flavor are recognised.
    pub struct ResourceFlavorSpec {
        /// Labels of its nodes; admitted pods are sent there.
        pub node_labels?: BTreeMap<String, String>,
        /// Taints of its nodes; only workloads that tolerate them may use the flavor.
        pub node_taints?: Vec<Taint>,
        /// Tolerations that admitted pods are given.
        pub tolerations?: Vec<Toleration>,
        /// The Topology of its nodes.
        pub topology_name?: Option<String>,
    }
}
