//! `ClusterQueue`: a pool of quota and the rules by which it is given out.

use kueue_core::quantity::Quantity;
use kueue_core::selector::LabelSelector;

use super::{FairSharing, FairSharingStatus, ResourceGroup, StopPolicy};
use crate::kueue::GROUP;
use crate::kueue::v1beta2::VERSION;
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
        pub cohort_name?: String,
        /// In which order workloads are tried.
        pub queueing_strategy?: Option<QueueingStrategy>,
        /// Namespaces that may submit; not set means none, an empty selector means all.
        pub namespace_selector?: Option<LabelSelector>,
        /// When to go on to the next flavor.
        pub flavor_fungibility?: Option<FlavorFungibility>,
        /// Whom a workload that does not fit may push out.
        pub preemption?: Option<ClusterQueuePreemption>,
        /// What else must agree before a workload runs.
        pub admission_checks_strategy?: Option<AdmissionChecksStrategy>,
        /// Whether the queue is held.
        pub stop_policy?: Option<StopPolicy>,
        /// Its share of idle quota in the cohort.
        pub fair_sharing?: Option<FairSharing>,
        /// How LocalQueues of this queue compete.
        pub admission_scope?: Option<AdmissionScope>,
        /// Whether a workload tries several flavors at once.
        pub concurrent_admission_policy?: Option<ConcurrentAdmissionPolicy>,
    }
}

string_enum! {
    /// In which order workloads are tried.
    pub enum QueueingStrategy {
        /// A workload that does not fit blocks those behind it.
        StrictFIFO,
        /// Those behind it are tried too.
        BestEffortFIFO,
    }
}

wire_struct! {
    /// What else must agree before a workload runs.
    pub struct AdmissionChecksStrategy {
        /// The checks.
        pub admission_checks?: Vec<AdmissionCheckStrategyRule>,
    }
}

wire_struct! {
    /// When one check applies.
    pub struct AdmissionCheckStrategyRule {
        /// The AdmissionCheck.
        pub name?: String,
        /// Flavors it applies to; empty means all.
        pub on_flavors?: Vec<String>,
    }
}

string_enum! {
    /// What to do with a flavor that would do only at a cost.
    pub enum FlavorFungibilityPolicy {
        /// Take it unless a later flavor is strictly better.
        MayStopSearch,
        /// Look at the next flavor first.
        TryNextFlavor,
    }
}

string_enum! {
    /// Which cost is the lesser one.
    pub enum FlavorFungibilityPreference {
        /// Rather borrow than preempt.
        BorrowingOverPreemption,
        /// Rather preempt than borrow.
        PreemptionOverBorrowing,
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

string_enum! {
    /// Which workloads may be pushed out.
    pub enum PreemptionPolicy {
        /// None.
        Never,
        /// Any, whatever its priority.
        Any,
        /// Those of lower priority.
        LowerPriority,
        /// Those of lower priority, and those of equal priority that came later.
        LowerOrNewerEqualPriority,
    }
}

string_enum! {
    /// Which workloads of other queues may be pushed out by one that borrows.
    pub enum BorrowWithinCohortPolicy {
        /// None.
        Never,
        /// Those of lower priority.
        LowerPriority,
    }
}

wire_struct! {
    /// Whom a workload that does not fit may push out.
    pub struct ClusterQueuePreemption {
        /// Workloads of other queues that use borrowed quota.
        pub reclaim_within_cohort?: Option<PreemptionPolicy>,
        /// The same when the workload itself would borrow.
        pub borrow_within_cohort?: Option<BorrowWithinCohort>,
        /// Workloads of this queue.
        pub within_cluster_queue?: Option<PreemptionPolicy>,
    }
}

wire_struct! {
    /// Preemption in the cohort by a workload that borrows.
    pub struct BorrowWithinCohort {
        /// Which workloads may be pushed out.
        pub policy?: Option<BorrowWithinCohortPolicy>,
        /// Only those of at most this priority; not set means any below the workload's own.
        pub max_priority_threshold?: Option<i32>,
    }
}

string_enum! {
    /// How LocalQueues of one ClusterQueue compete.
    pub enum AdmissionMode {
        /// Those that used less lately go first.
        UsageBasedAdmissionFairSharing,
        /// Past usage does not matter.
        NoAdmissionFairSharing,
    }
}

wire_struct! {
    /// How LocalQueues of this queue compete.
    pub struct AdmissionScope {
        /// The mode.
        pub admission_mode?: AdmissionMode,
    }
}

wire_struct! {
    /// How a workload tries several flavors at once.
    pub struct ConcurrentAdmissionPolicy {
        /// What happens after the first admission.
        pub migration?: ConcurrentAdmissionMigration,
    }
}

string_enum! {
    /// What happens after the first admission.
    pub enum ConcurrentAdmissionMigrationMode {
        /// Better flavors are still tried, and the workload moves there.
        TryPreferredFlavors,
        /// The workload stays where it is.
        RetainFirstAdmission,
    }
}

wire_struct! {
    /// What happens after the first admission.
    pub struct ConcurrentAdmissionMigration {
        /// The mode.
        pub mode?: ConcurrentAdmissionMigrationMode,
        /// Limits to moving.
        pub constraints?: Option<ConcurrentAdmissionConstraints>,
    }
}

wire_struct! {
    /// Limits to moving.
    pub struct ConcurrentAdmissionConstraints {
        /// The least preferred flavor that the workload may move to.
        pub last_acceptable_flavor_name?: Option<String>,
    }
}

wire_struct! {
    /// What is used and who waits.
    pub struct ClusterQueueStatus {
        /// Whether the queue works.
        pub conditions?: Vec<Condition>,
        /// Quota that is reserved, by flavor.
        pub flavors_reservation?: Vec<FlavorUsage>,
        /// Quota of admitted workloads, by flavor.
        pub flavors_usage?: Vec<FlavorUsage>,
        /// Workloads that wait.
        pub pending_workloads: i32,
        /// Workloads with reserved quota.
        pub reserving_workloads: i32,
        /// Workloads that are admitted and not finished.
        pub admitted_workloads: i32,
        /// What fair sharing computed.
        pub fair_sharing?: Option<FairSharingStatus>,
    }
}

wire_struct! {
    /// What is used of one flavor.
    pub struct FlavorUsage {
        /// The ResourceFlavor.
        pub name?: String,
        /// Usage by resource.
        pub resources?: Vec<ResourceUsage>,
    }
}

wire_struct! {
    /// What is used of one resource.
    pub struct ResourceUsage {
        /// The resource.
        pub name?: String,
        /// All of it, with what is borrowed.
        pub total: Quantity,
        /// What is above the nominal quota.
        pub borrowed: Quantity,
    }
}
