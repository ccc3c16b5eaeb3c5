//! The status of a `Workload`: the reservation, the checks, and the history that decisions depend on.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_core::time::Time;

use crate::core_v1::{ResourceList, Toleration};
use crate::meta::Condition;
use crate::wire::{string_enum, wire_struct};

wire_struct! {
    /// What was decided about a workload.
    pub struct WorkloadStatus {
        /// The state in the usual form; see [`crate::kueue::names`] for types and reasons.
        pub conditions?: Vec<Condition>,
        /// The quota that is reserved; not set while the workload waits. Many workloads get the same, so copies share it.
        pub admission?: Option<Arc<Admission>>,
        /// How often and until when the workload was sent back to wait.
        pub requeue_state?: Option<RequeueState>,
        /// Pods that are no longer needed, so that their quota is free.
        pub reclaimable_pods?: Vec<ReclaimablePod>,
        /// Where each admission check of the queue stands.
        pub admission_checks?: Vec<AdmissionCheckState>,
        /// What the pods were found to request while the workload waits.
        pub resource_requests?: Vec<PodSetRequest>,
        /// Seconds of running before the last eviction.
        pub accumulated_past_execution_time_seconds?: Option<i32>,
        /// Counts kept for metrics.
        pub scheduling_stats?: Option<SchedulingStats>,
        /// Worker clusters that are asked to run the workload.
        pub nominated_cluster_names?: Vec<String>,
        /// The worker cluster that runs it.
        pub cluster_name?: Option<String>,
        /// Nodes with failed pods of the workload.
        pub unhealthy_nodes?: Vec<UnhealthyNode>,
        /// Which preemption gates are open.
        pub preemption_gates?: Vec<PreemptionGateState>,
    }
}

impl WorkloadStatus {
    /// Whether no worker cluster is to be looked for now: the check is not pending, or the last cluster was not left yet.
    /// A slice of an elastic job goes where its predecessor runs, so for it the cluster may be set.
    pub fn skips_cluster_nomination(&self, check: Option<&AdmissionCheckState>, is_elastic: bool) -> bool {
        let is_pending = check.is_some_and(|check| check.state == CheckState::Pending);
        !is_pending || (!is_elastic && self.cluster_name.is_some())
    }
}

wire_struct! {
    /// A reservation of quota.
    pub struct Admission {
        /// The ClusterQueue whose quota is used.
        pub cluster_queue: String,
        /// What each pod set got.
        pub pod_set_assignments: Vec<PodSetAssignment>,
    }
}

wire_struct! {
    /// What one pod set got.
    pub struct PodSetAssignment {
        /// The pod set.
        pub name: String,
        /// Flavor by resource.
        pub flavors?: BTreeMap<String, String>,
        /// Total of the pod set by resource.
        pub resource_usage?: ResourceList,
        /// How many pods may run, which is fewer than asked for under partial admission.
        pub count?: Option<i32>,
        /// On which topology domains the pods go.
        pub topology_assignment?: Option<TopologyAssignment>,
        /// Set when the domains are chosen after the quota was reserved.
        pub delayed_topology_request?: Option<DelayedTopologyRequestState>,
    }
}

string_enum! {
    /// Whether domains that are chosen late are known by now.
    pub enum DelayedTopologyRequestState {
        /// Not yet.
        Pending,
        /// Chosen.
        Ready,
    }
}

wire_struct! {
    /// The domains a pod set goes to, in compact form: [`crate::kueue::topology_assignment`] has the plain one.
    pub struct TopologyAssignment {
        /// Node labels, from the highest level to the lowest.
        pub levels?: Vec<String>,
        /// Runs of domains that are written together.
        pub slices?: Vec<TopologyAssignmentSlice>,
    }
}

wire_struct! {
    /// A run of domains.
    pub struct TopologyAssignmentSlice {
        /// How many domains.
        pub domain_count?: i32,
        /// The domains' names, level by level.
        pub values_per_level?: Vec<TopologyAssignmentSliceLevelValues>,
        /// How many pods go to each domain.
        pub pod_counts: TopologyAssignmentSlicePodCounts,
    }
}

wire_struct! {
    /// The names of a run of domains at one level; exactly one field is set.
    pub struct TopologyAssignmentSliceLevelValues {
        /// The name that all of them share.
        pub universal?: Option<String>,
        /// One name each.
        pub individual?: Option<TopologyAssignmentSliceLevelIndividualValues>,
    }
}

wire_struct! {
    /// Different names with what they have in common written once.
    pub struct TopologyAssignmentSliceLevelIndividualValues {
        /// What every name begins with.
        pub prefix?: Option<String>,
        /// What every name ends with.
        pub suffix?: Option<String>,
        /// What is between the two, one per domain.
        pub roots?: Vec<String>,
    }
}

wire_struct! {
    /// Pods per domain; exactly one field is set.
    pub struct TopologyAssignmentSlicePodCounts {
        /// The number that all domains of the run share.
        pub universal?: Option<i32>,
        /// One number per domain.
        pub individual?: Vec<i32>,
    }
}

wire_struct! {
    /// Counts kept for metrics.
    pub struct SchedulingStats {
        /// Evictions by reason and cause.
        pub evictions?: Vec<WorkloadSchedulingStatsEviction>,
    }
}

wire_struct! {
    /// How often a workload was evicted for one reason.
    pub struct WorkloadSchedulingStatsEviction {
        /// The reason of the `Evicted` condition.
        pub reason: String,
        /// A finer cause, or empty.
        pub underlying_cause: String,
        /// How often.
        pub count: i32,
    }
}

wire_struct! {
    /// A node with failed pods.
    pub struct UnhealthyNode {
        /// The node.
        pub name: String,
    }
}

wire_struct! {
    /// How often and until when a workload was sent back to wait.
    pub struct RequeueState {
        /// How often.
        pub count?: Option<i32>,
        /// When it may be looked at again.
        pub requeue_at?: Option<Time>,
    }
}

string_enum! {
    /// Where an admission check stands.
    pub enum CheckState {
        /// Give the quota back and try again later.
        Retry,
        /// The workload must not run.
        Rejected,
        /// Not decided yet.
        Pending,
        /// The workload may run.
        Ready,
    }
}

wire_struct! {
    /// Where one admission check stands.
    pub struct AdmissionCheckState {
        /// The AdmissionCheck.
        pub name?: String,
        /// Where it stands.
        pub state?: CheckState,
        /// When `state` last changed.
        pub last_transition_time?: Time,
        /// Why, as a sentence for people.
        pub message: String,
        /// How long to wait before a retry.
        pub requeue_after_seconds?: Option<i32>,
        /// How often the check asked for a retry.
        pub retry_count?: Option<i32>,
        /// What to change in the pods before they start.
        pub pod_set_updates?: Vec<PodSetUpdate>,
    }
}

wire_struct! {
    /// What a check wants changed in the pods of one pod set.
    pub struct PodSetUpdate {
        /// The pod set.
        pub name: String,
        /// Labels to add.
        pub labels?: BTreeMap<String, String>,
        /// Annotations to add.
        pub annotations?: BTreeMap<String, String>,
        /// Node labels to ask for.
        pub node_selector?: BTreeMap<String, String>,
        /// Tolerations to add.
        pub tolerations?: Vec<Toleration>,
    }
}

wire_struct! {
    /// Pods of one pod set that are no longer needed.
    pub struct ReclaimablePod {
        /// The pod set.
        pub name: String,
        /// How many.
        pub count: i32,
    }
}

wire_struct! {
    /// What the pods of one pod set were found to request.
    pub struct PodSetRequest {
        /// The pod set.
        pub name: String,
        /// Total by resource.
        pub resources?: ResourceList,
    }
}

string_enum! {
    /// Whether a preemption gate is open.
    pub enum PreemptionGatePosition {
        /// The workload may not preempt.
        Closed,
        /// This gate does not stop it.
        Open,
    }
}

wire_struct! {
    /// One preemption gate.
    pub struct PreemptionGateState {
        /// The gate.
        pub name: String,
        /// Whether it is open.
        pub position?: PreemptionGatePosition,
        /// When `position` last changed.
        pub last_transition_time?: Time,
    }
}
