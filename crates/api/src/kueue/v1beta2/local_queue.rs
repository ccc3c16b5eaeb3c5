//! `LocalQueue`: where the jobs of one namespace are submitted.

use kueue_core::quantity::Quantity;
use kueue_core::time::Time;

use super::{FairSharing, StopPolicy};
use crate::core_v1::ResourceList;
use crate::kueue::GROUP;
use crate::kueue::v1beta2::VERSION;
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
    /// Where the quota comes from.
    pub struct LocalQueueSpec {
        /// The ClusterQueue behind this queue.
        pub cluster_queue?: String,
        /// Whether the queue is held.
        pub stop_policy?: Option<StopPolicy>,
        /// Its share among the LocalQueues of the ClusterQueue.
        pub fair_sharing?: Option<FairSharing>,
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
        pub flavors_reservation?: Vec<LocalQueueFlavorUsage>,
        /// Quota of admitted workloads, by flavor.
        pub flavors_usage?: Vec<LocalQueueFlavorUsage>,
        /// What fair sharing computed.
        pub fair_sharing?: Option<LocalQueueFairSharingStatus>,
    }
}

wire_struct! {
    /// What fair sharing computed.
    pub struct LocalQueueFairSharingStatus {
        /// The largest share of borrowed over lendable quota among the resources, divided by the weight.
        pub weighted_share: i64,
        /// Usage that fades with time.
        pub admission_fair_sharing_status?: Option<AdmissionFairSharingStatus>,
    }
}

wire_struct! {
    /// Usage that fades with time.
    pub struct AdmissionFairSharingStatus {
        /// Usage by resource, older usage counting less.
        pub consumed_resources: ResourceList,
        /// When it was last computed.
        pub last_update: Time,
    }
}

wire_struct! {
    /// What is used of one flavor.
    pub struct LocalQueueFlavorUsage {
        /// The ResourceFlavor.
        pub name: String,
        /// Usage by resource.
        pub resources?: Vec<LocalQueueResourceUsage>,
    }
}

wire_struct! {
    /// What is used of one resource.
    pub struct LocalQueueResourceUsage {
        /// The resource.
        pub name?: String,
        /// How much.
        pub total: Quantity,
    }
}
