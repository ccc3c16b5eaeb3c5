//! `LocalQueue` with an older name for the usage, and a description of flavors that is no longer written.

use std::collections::BTreeMap;

use super::{FairSharingStatus, VERSION};
use crate::core_v1::Taint;
use crate::kueue::GROUP;
use crate::kueue::v1beta2::{LocalQueueFlavorUsage, LocalQueueSpec};
use crate::meta::{Condition, object};
use crate::wire::wire_struct;

object! {
    /// Where the jobs of one namespace are submitted.
    pub struct LocalQueue in GROUP/VERSION/"localqueues", namespaced: true {
        /// Where the quota comes from.
        pub spec: LocalQueueSpec,
        /// What is used and who waits.
        pub status?: LocalQueueStatus,
    }
}

wire_struct! {
    /// What is used and who waits.
    pub struct LocalQueueStatus {
        /// Whether the queue works.
        pub conditions?: Vec<Condition>,
        /// Workloads that wait.
        pub pending_workloads: i32,
        /// Workloads with reserved quota.
        pub reserving_workloads: i32,
        /// Workloads that are admitted and not finished.
        pub admitted_workloads: i32,
        /// Quota that is reserved, by flavor.
        pub flavors_reservation: Vec<LocalQueueFlavorUsage>,
        /// Quota of admitted workloads, by flavor.
        pub flavor_usage: Vec<LocalQueueFlavorUsage>,
        /// No longer written.
        pub flavors?: Vec<LocalQueueFlavorStatus>,
        /// What fair sharing computed.
        pub fair_sharing?: Option<FairSharingStatus>,
    }
}

wire_struct! {
    /// A flavor that the queue's workloads may get.
    pub struct LocalQueueFlavorStatus {
        /// The ResourceFlavor.
        pub name: String,
        /// Resources there is quota for.
        pub resources?: Vec<String>,
        /// Labels of its nodes.
        pub node_labels?: BTreeMap<String, String>,
        /// Taints of its nodes.
        pub node_taints?: Vec<Taint>,
        /// How its nodes are grouped.
        pub topology?: Option<TopologyInfo>,
    }
}

wire_struct! {
    /// How the nodes of a flavor are grouped.
    pub struct TopologyInfo {
        /// The Topology.
        pub name: String,
        /// Its levels, from the highest to the lowest.
        pub levels: Vec<String>,
    }
}
