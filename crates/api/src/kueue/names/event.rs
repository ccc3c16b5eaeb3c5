//! Reasons of events, by the object they are about. Conditions that are announced have the condition's own word.

/// Events about a Workload.
pub mod workload {
    /// Quota was set aside.
    pub const QUOTA_RESERVED: &str = "QuotaReserved";
    /// It may run.
    pub const ADMITTED: &str = "Admitted";
    /// No domains were found after the quota was reserved.
    pub const SECOND_PASS_FAILED: &str = "SecondPassFailed";
    /// Another workload pushed it out.
    pub const PREEMPTED: &str = "Preempted";
    /// It pushed out another workload.
    pub const PREEMPTED_WORKLOAD: &str = "PreemptedWorkload";
    /// It was evicted; the reason of the condition follows.
    pub const EVICTED_DUE_TO_PREFIX: &str = "EvictedDueTo";
    /// It ran too long.
    pub const MAXIMUM_EXECUTION_TIME_EXCEEDED: &str = "MaximumExecutionTimeExceeded";
    /// A check refused it.
    pub const ADMISSION_CHECK_REJECTED: &str = "AdmissionCheckRejected";
    /// A gate of the user keeps it back.
    pub const ADMISSION_GATED: &str = "AdmissionGated";
    /// The last gate of the user is gone.
    pub const ADMISSION_GATE_CLEARED: &str = "AdmissionGateCleared";
    /// A new slice took its place.
    pub const WORKLOAD_SLICE_REPLACED: &str = "WorkloadSliceReplaced";
    /// It was deleted after the time that finished workloads are kept.
    pub const DELETED: &str = "Deleted";
    /// A worker cluster was chosen, lost or asked again.
    pub const MULTIKUEUE: &str = "MultiKueue";
    /// The autoscaler was asked for nodes.
    pub const PROVISIONING_REQUEST_CREATED: &str = "ProvisioningRequestCreated";
    /// The autoscaler could not be asked.
    pub const FAILED_CREATE: &str = "FailedCreate";
    /// A check changed its state.
    pub const ADMISSION_CHECK_UPDATED: &str = "AdmissionCheckUpdated";
    /// Somebody decided a check that has another controller.
    pub const ADMISSION_CHECK_CONTESTED: &str = "AdmissionCheckContested";
    /// Pods of the group became owners.
    pub const OWNER_REFERENCES_ADDED: &str = "OwnerReferencesAdded";
    /// A variant was made.
    pub const CREATED_VARIANT: &str = "CreatedVariant";
    /// A variant was deleted.
    pub const DELETED_VARIANT: &str = "DeletedVariant";
    /// A variant may be tried.
    pub const ACTIVATED_VARIANT: &str = "ActivatedVariant";
    /// A variant may no longer be tried.
    pub const DEACTIVATED_VARIANT: &str = "DeactivatedVariant";
    /// A variant may preempt.
    pub const PREEMPTION_UNGATED_VARIANT: &str = "PreemptionUngatedVariant";
}

/// Events about a job.
pub mod job {
    /// It runs.
    pub const STARTED: &str = "Started";
    /// It was suspended before it ever ran.
    pub const SUSPENDED: &str = "Suspended";
    /// It was stopped.
    pub const STOPPED: &str = "Stopped";
    /// It was deleted.
    pub const DELETED: &str = "Deleted";
    /// Its Workload was made.
    pub const CREATED_WORKLOAD: &str = "CreatedWorkload";
    /// A Workload that does not match it was deleted.
    pub const DELETED_WORKLOAD: &str = "DeletedWorkload";
    /// Its Workload was changed to match it.
    pub const UPDATED_WORKLOAD: &str = "UpdatedWorkload";
    /// Its Workload is done.
    pub const FINISHED_WORKLOAD: &str = "FinishedWorkload";
    /// Its Workload could not be made.
    pub const ERR_WORKLOAD_COMPOSE: &str = "ErrWorkloadCompose";
    /// A check said something about it.
    pub const UPDATED_ADMISSION_CHECK: &str = "UpdatedAdmissionCheck";
    /// It has too many owners above each other.
    pub const JOB_NESTING_TOO_DEEP: &str = "JobNestingTooDeep";
    /// Its WorkloadPriorityClass is missing.
    pub const WORKLOAD_PRIORITY_CLASS_NOT_FOUND: &str = "WorkloadPriorityClassNotFound";
    /// A Workload of the same name belongs to another pod group.
    pub const WORKLOAD_NAME_CONFLICT: &str = "WorkloadNameConflict";
}

/// Events about a pod.
pub mod pod {
    /// The group had more pods than it says.
    pub const EXCESS_POD_DELETED: &str = "ExcessPodDeleted";
    /// The scheduler refused the node that the pod was assigned to.
    pub const POD_TERMINATED_BY_KUEUE: &str = "PodTerminatedByKueue";
    /// Its node is lost and it was deleted by force.
    pub const KUEUE_FORCEFULLY_DELETED: &str = "KueueForcefullyDeleted";
}

/// About a MultiKueueCluster: its kubeconfig is outside the allowed folder.
pub const DEPRECATED_PATH_USAGE: &str = "DeprecatedPathUsage";
