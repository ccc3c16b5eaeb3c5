//! Reasons of conditions, by condition type. A word that stands for several things is listed once in each place.

/// `QuotaReserved` is true; also why `Evicted`, `Preempted` and `BlockedOnPreemptionGates` turned false.
pub const QUOTA_RESERVED: &str = "QuotaReserved";

/// Why `QuotaReserved` is false.
pub mod quota {
    /// No flavor suits the pods.
    pub const NO_MATCHING_FLAVOR: &str = "NoMatchingFlavor";
    /// Others use the quota.
    pub const WAITING_FOR_QUOTA: &str = "WaitingForQuota";
    /// It could not fit even if nothing else ran.
    pub const EXCEEDS_MAX_QUOTA: &str = "ExceedsMaxQuota";
    /// No set of domains takes the pods.
    pub const TOPOLOGY_PLACEMENT_FAILED: &str = "TopologyPlacementFailed";
    /// Victims are chosen and have to go first.
    pub const WAITING_FOR_PREEMPTED_WORKLOADS: &str = "WaitingForPreemptedWorkloads";
    /// A queue is missing or broken.
    pub const MISCONFIGURED: &str = "Misconfigured";
    /// A queue is held.
    pub const SUSPENDED: &str = "Suspended";
    /// It was not looked at yet.
    pub const PENDING_EVALUATION: &str = "PendingEvaluation";
    /// Workloads admitted before are not ready yet.
    pub const WAITING_FOR_PODS_READY: &str = "WaitingForPodsReady";
    /// A gate of the user keeps it back.
    pub const ADMISSION_GATED: &str = "AdmissionGated";
    /// It gave the quota back on purpose and does not want it again yet.
    pub const ON_HOLD: &str = "OnHold";
    /// `spec.active` is false.
    pub const DEACTIVATED: &str = "Deactivated";
    /// Coarse form of most of the above, with gate `UnadmittedWorkloadsObservability` off.
    pub const PENDING: &str = "Pending";
    /// Coarse form of what the queues are the cause of.
    pub const INADMISSIBLE: &str = "Inadmissible";
    /// Coarse form of [`WAITING_FOR_PODS_READY`].
    pub const WAITING: &str = "Waiting";
}

/// Reasons of `Admitted`.
pub mod admitted {
    /// It may run.
    pub const ADMITTED: &str = "Admitted";
    /// It has no quota.
    pub const NO_RESERVATION: &str = "NoReservation";
    /// A check did not agree yet.
    pub const UNSATISFIED_ADMISSION_CHECKS: &str = "UnsatisfiedAdmissionChecks";
    /// Its domains are not chosen yet.
    pub const PENDING_DELAYED_TOPOLOGY_REQUESTS: &str = "PendingDelayedTopologyRequests";
    /// Older form of [`UNSATISFIED_ADMISSION_CHECKS`].
    pub const UNSATISFIED_CHECKS: &str = "UnsatisfiedChecks";
    /// Older form: neither quota nor checks.
    pub const NO_RESERVATION_UNSATISFIED_CHECKS: &str = "NoReservationUnsatisfiedChecks";
}

/// Why `Finished` is true.
pub mod finished {
    /// The job succeeded.
    pub const SUCCEEDED: &str = "Succeeded";
    /// The job failed.
    pub const FAILED: &str = "Failed";
    /// The job no longer matches the Workload made for it beforehand.
    pub const OUT_OF_SYNC: &str = "OutOfSync";
    /// The job is gone.
    pub const OWNER_NOT_FOUND: &str = "OwnerNotFound";
    /// A new slice took its place.
    pub const WORKLOAD_SLICE_REPLACED: &str = "WorkloadSliceReplaced";
    /// The job could not be started.
    pub const FAILED_TO_START: &str = "FailedToStart";
}

/// Reasons of `PodsReady`.
pub mod pods_ready {
    /// All pods became ready for the first time.
    pub const STARTED: &str = "Started";
    /// All pods are ready again.
    pub const RECOVERED: &str = "Recovered";
    /// Pods are not ready yet.
    pub const WAIT_FOR_START: &str = "WaitForStart";
    /// Pods that were ready are not any more.
    pub const WAIT_FOR_RECOVERY: &str = "WaitForRecovery";
    /// Older form, for either status.
    pub const PODS_READY: &str = "PodsReady";
}

/// Why `WaitingForReplacementPods` is true or false, but for evicted workloads: there it is the reason of that.
pub mod waiting_for_replacement_pods {
    /// Pods were lost and have no successors yet.
    pub const PODS_FAILED: &str = "PodsFailed";
    /// All pods are there.
    pub const PODS_READY: &str = "PodsReady";
}

/// Why `Evicted` is true, and why `Requeued` is false.
pub mod evicted {
    /// Another workload pushed it out.
    pub const PREEMPTED: &str = "Preempted";
    /// Its pods took too long to become ready.
    pub const PODS_READY_TIMEOUT: &str = "PodsReadyTimeout";
    /// A check does not agree any more.
    pub const ADMISSION_CHECK: &str = "AdmissionCheck";
    /// Its ClusterQueue is drained.
    pub const CLUSTER_QUEUE_STOPPED: &str = "ClusterQueueStopped";
    /// Its LocalQueue is drained.
    pub const LOCAL_QUEUE_STOPPED: &str = "LocalQueueStopped";
    /// A node failed and there is no replacement.
    pub const NODE_FAILURES: &str = "NodeFailures";
    /// A variant on a better flavor was admitted.
    pub const FLAVOR_MIGRATION: &str = "FlavorMigration";
    /// The manager cluster evicted it.
    pub const EVICTED_ON_MANAGER_CLUSTER: &str = "EvictedOnManagerCluster";
    /// `spec.active` is false.
    pub const DEACTIVATED: &str = "Deactivated";
    /// `spec.active` is false for a cause of [`super::deactivation`], which follows.
    pub const DEACTIVATED_DUE_TO_PREFIX: &str = "DeactivatedDueTo";
}

/// Why `DeactivationTarget` is true.
pub mod deactivation {
    /// It was sent back too often.
    pub const REQUEUING_LIMIT_EXCEEDED: &str = "RequeuingLimitExceeded";
    /// It ran too long.
    pub const MAXIMUM_EXECUTION_TIME_EXCEEDED: &str = "MaximumExecutionTimeExceeded";
    /// A check refused it.
    pub const ADMISSION_CHECK: &str = "AdmissionCheck";
}

/// Why `Preempted` is true.
pub mod preempted {
    /// For a workload of the same queue.
    pub const IN_CLUSTER_QUEUE: &str = "InClusterQueue";
    /// For a queue that wants its own quota back.
    pub const IN_COHORT_RECLAMATION: &str = "InCohortReclamation";
    /// For a queue that has less than its share.
    pub const IN_COHORT_FAIR_SHARING: &str = "InCohortFairSharing";
    /// For a queue that wants its own quota back and borrows besides.
    pub const IN_COHORT_RECLAIM_WHILE_BORROWING: &str = "InCohortReclaimWhileBorrowing";
}

/// Why `BlockedOnPreemptionGates` is true.
pub const PREEMPTION_GATED: &str = "PreemptionGated";

/// Why `Requeued` is true.
pub mod requeued {
    /// It was pushed out.
    pub const PREEMPTED: &str = "Preempted";
    /// A node failed.
    pub const NODE_FAILURES: &str = "NodeFailures";
    /// `spec.active` is true again.
    pub const REACTIVATED: &str = "Reactivated";
    /// The pause is over.
    pub const BACKOFF_FINISHED: &str = "BackoffFinished";
    /// Its ClusterQueue works again.
    pub const CLUSTER_QUEUE_RESTARTED: &str = "ClusterQueueRestarted";
    /// Its LocalQueue works again.
    pub const LOCAL_QUEUE_RESTARTED: &str = "LocalQueueRestarted";
}

/// Reasons of `Active` of a ClusterQueue.
pub mod cluster_queue {
    /// It works.
    pub const READY: &str = "Ready";
    /// It is being deleted.
    pub const TERMINATING: &str = "Terminating";
    /// It is held.
    pub const STOPPED: &str = "Stopped";
    /// A ResourceFlavor is missing.
    pub const FLAVOR_NOT_FOUND: &str = "FlavorNotFound";
    /// An AdmissionCheck is missing.
    pub const ADMISSION_CHECK_NOT_FOUND: &str = "AdmissionCheckNotFound";
    /// An AdmissionCheck does not work.
    pub const ADMISSION_CHECK_INACTIVE: &str = "AdmissionCheckInactive";
    /// Only one check may send workloads to other clusters.
    pub const MULTIPLE_MULTIKUEUE_ADMISSION_CHECKS: &str = "MultipleMultiKueueAdmissionChecks";
    /// Such a check must hold for all flavors.
    pub const MULTIKUEUE_ADMISSION_CHECK_APPLIED_PER_FLAVOR: &str = "MultiKueueAdmissionCheckAppliedPerFlavor";
    /// Such a check and one that asks for nodes exclude each other.
    pub const MULTIKUEUE_WITH_PROVISIONING_REQUEST: &str = "MultiKueueWithProvisioningRequest";
    /// A Topology is missing.
    pub const TOPOLOGY_NOT_FOUND: &str = "TopologyNotFound";
    /// Something else.
    pub const UNKNOWN: &str = "Unknown";
    /// The queue is not known to the scheduler.
    pub const NOT_FOUND: &str = "NotFound";
}

/// Reasons of `Active` of a LocalQueue.
pub mod local_queue {
    /// It works.
    pub const READY: &str = "Ready";
    /// It is held.
    pub const STOPPED: &str = "Stopped";
    /// Its ClusterQueue is missing.
    pub const CLUSTER_QUEUE_DOES_NOT_EXIST: &str = "ClusterQueueDoesNotExist";
    /// Its ClusterQueue does not work.
    pub const CLUSTER_QUEUE_IS_INACTIVE: &str = "ClusterQueueIsInactive";
}
