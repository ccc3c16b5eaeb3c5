//! `ClusterQueue` and `Cohort`, with older names of fields and values, and status that is no longer written.

use kueue_core::selector::LabelSelector;
use kueue_core::time::Time;

use super::VERSION;
use crate::kueue::GROUP;
use crate::kueue::v1beta2::{
    AdmissionChecksStrategy, AdmissionFairSharingStatus, AdmissionScope, ClusterQueuePreemption, CohortSpec,
    FairSharing, FlavorFungibilityPreference, FlavorUsage, QueueingStrategy, ResourceGroup, StopPolicy,
};
use crate::meta::{Condition, object};
use crate::wire::{string_enum, wire_struct};

object! {
    /// A pool of quota.
    pub struct ClusterQueue in GROUP/VERSION/"clusterqueues", namespaced: false {
        /// What there is and how it is given out.
        pub spec: ClusterQueueSpec,
        /// What is used and who waits.
        pub status?: ClusterQueueStatus,
    }
}

wire_struct! {
    /// What there is and how it is given out.
    pub struct ClusterQueueSpec {
        /// Quotas; a resource and a flavor belong to one group only.
        pub resource_groups?: Vec<ResourceGroup>,
        /// The Cohort with which quota is shared; empty means none.
        pub cohort?: String,
        /// In which order workloads are tried.
        pub queueing_strategy?: Option<QueueingStrategy>,
        /// Namespaces that may submit; not set means none, an empty selector means all.
        pub namespace_selector?: Option<LabelSelector>,
        /// When to go on to the next flavor.
        pub flavor_fungibility?: Option<FlavorFungibility>,
        /// Whom a workload that does not fit may push out.
        pub preemption?: Option<ClusterQueuePreemption>,
        /// Checks that apply to all flavors; replaces `admission_checks_strategy`.
        pub admission_checks?: Vec<String>,
        /// Checks with the flavors they apply to.
        pub admission_checks_strategy?: Option<AdmissionChecksStrategy>,
        /// Whether the queue is held.
        pub stop_policy?: Option<StopPolicy>,
        /// Its share of idle quota in the cohort.
        pub fair_sharing?: Option<FairSharing>,
        /// How LocalQueues of this queue compete.
        pub admission_scope?: Option<AdmissionScope>,
    }
}

string_enum! {
    /// What to do with a flavor that would do only at a cost.
    pub enum FlavorFungibilityPolicy {
        /// Older word for `MayStopSearch` where the cost is borrowing.
        Borrow,
        /// Older word for `MayStopSearch` where the cost is preempting.
        Preempt,
        /// Take it unless a later flavor is strictly better.
        MayStopSearch,
        /// Look at the next flavor first.
        TryNextFlavor,
    }
}

wire_struct! {
    /// When to go on to the next flavor.
    pub struct FlavorFungibility {
        /// When the workload would fit by borrowing.
        pub when_can_borrow?: Option<FlavorFungibilityPolicy>,
        /// When the workload would fit by preempting.
        pub when_can_preempt?: Option<FlavorFungibilityPolicy>,
        /// Which of the two is preferred when all flavors were tried.
        pub preference?: Option<FlavorFungibilityPreference>,
    }
}

wire_struct! {
    /// What is used and who waits.
    pub struct ClusterQueueStatus {
        /// Whether the queue works.
        pub conditions?: Vec<Condition>,
        /// Quota that is reserved, by flavor.
        pub flavors_reservation: Vec<FlavorUsage>,
        /// Quota of admitted workloads, by flavor.
        pub flavors_usage: Vec<FlavorUsage>,
        /// Workloads that wait.
        pub pending_workloads: i32,
        /// Workloads with reserved quota.
        pub reserving_workloads: i32,
        /// Workloads that are admitted and not finished.
        pub admitted_workloads: i32,
        /// No longer written; the visibility API answers this.
        pub pending_workloads_status?: Option<ClusterQueuePendingWorkloadsStatus>,
        /// What fair sharing computed.
        pub fair_sharing?: Option<FairSharingStatus>,
    }
}

wire_struct! {
    /// The workloads that wait first in line.
    pub struct ClusterQueuePendingWorkloadsStatus {
        /// In order.
        #[serde(rename = "clusterQueuePendingWorkload")]
        pub head: Vec<ClusterQueuePendingWorkload>,
        /// When the list last changed.
        pub last_change_time: Time,
    }
}

wire_struct! {
    /// A workload that waits.
    pub struct ClusterQueuePendingWorkload {
        /// Its name.
        pub name: String,
        /// Its namespace.
        pub namespace: String,
    }
}

wire_struct! {
    /// What fair sharing computed.
    pub struct FairSharingStatus {
        /// The largest share of borrowed over lendable quota among the resources, divided by the weight.
        pub weighted_share: i64,
        /// Usage that fades with time; of LocalQueues only.
        pub admission_fair_sharing_status?: Option<AdmissionFairSharingStatus>,
    }
}

object! {
    /// A group of queues and cohorts that share quota.
    pub struct Cohort in GROUP/VERSION/"cohorts", namespaced: false {
        /// Its place in the tree and its own quota.
        pub spec: CohortSpec,
        /// What fair sharing computed.
        pub status?: CohortStatus,
    }
}

wire_struct! {
    /// What was computed for a cohort.
    pub struct CohortStatus {
        /// What fair sharing computed.
        pub fair_sharing?: Option<FairSharingStatus>,
    }
}
