//! Nodes, and pods that run on them. Only ever read, so nothing else is kept.

use kueue_core::time::Time;

use super::{GROUP, PodSpec, ResourceList, Taint, VERSION};
use crate::meta::object;
use crate::wire::wire_struct;

object! {
    /// A machine that pods run on.
    pub struct Node in GROUP/VERSION/"nodes", namespaced: false {
        /// Who may run there.
        pub spec?: NodeSpec,
        /// What it has, and how it is.
        pub status?: NodeStatus,
    }
}

wire_struct! {
    /// Who may run on a node.
    pub struct NodeSpec {
        /// Marks that keep pods away.
        pub taints?: Vec<Taint>,
        /// Whether it takes no new pods.
        pub unschedulable?: bool,
    }
}

wire_struct! {
    /// What a node has, and how it is.
    pub struct NodeStatus {
        /// What pods can be given.
        pub allocatable?: ResourceList,
        /// How it is.
        pub conditions?: Vec<NodeCondition>,
    }
}

wire_struct! {
    /// One thing that is known about a node.
    pub struct NodeCondition {
        /// What.
        pub r#type: String,
        /// `True`, `False` or `Unknown`.
        pub status: String,
        /// Since when.
        pub last_transition_time?: Time,
    }
}

object! {
    /// A pod, as far as it takes room on a node.
    pub struct Pod in GROUP/VERSION/"pods", namespaced: true {
        /// What it needs, and where it runs.
        pub spec?: PodSpec,
        /// How far it is.
        pub status?: PodStatus,
    }
}

wire_struct! {
    /// How far a pod is.
    pub struct PodStatus {
        /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
        pub phase?: String,
    }
}
