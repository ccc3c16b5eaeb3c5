//! Condition types. [`super::reason`] has what stands in `reason`.

/// Workload: quota is set aside for it.
pub const QUOTA_RESERVED: &str = "QuotaReserved";
/// Workload: its job may run.
pub const ADMITTED: &str = "Admitted";
/// Workload: its job is done.
pub const FINISHED: &str = "Finished";
/// Workload: all its pods are ready or done.
pub const PODS_READY: &str = "PodsReady";
/// Workload: it lost its quota.
pub const EVICTED: &str = "Evicted";
/// Workload: another one pushed it out.
pub const PREEMPTED: &str = "Preempted";
/// Workload: it waits again after an eviction.
pub const REQUEUED: &str = "Requeued";
/// Workload: it is about to be deactivated.
pub const DEACTIVATION_TARGET: &str = "DeactivationTarget";
/// Workload: it would have to preempt, and a gate forbids that.
pub const BLOCKED_ON_PREEMPTION_GATES: &str = "BlockedOnPreemptionGates";
/// Workload of a pod group: fewer pods exist than the group has.
pub const WAITING_FOR_REPLACEMENT_PODS: &str = "WaitingForReplacementPods";

/// ClusterQueue, LocalQueue, AdmissionCheck, MultiKueueCluster: it can be used.
pub const ACTIVE: &str = "Active";
/// ClusterQueue: its quota follows that of the worker clusters.
pub const MULTIKUEUE_MANAGER_QUOTA_AUTOMATION: &str = "MultiKueueManagerQuotaAutomation";

/// Pod: Kueue wants it to end.
pub const TERMINATION_TARGET: &str = "TerminationTarget";
