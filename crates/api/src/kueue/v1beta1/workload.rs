//! `Workload` with the priority class as two strings and topology domains written out one by one.

use std::collections::BTreeMap;

use super::VERSION;
use crate::core_v1::{PodTemplateSpec, ResourceList};
use crate::kueue::GROUP;
pub use crate::kueue::topology_assignment::TopologyDomainAssignment;
use crate::kueue::v1beta2::{
    AdmissionCheckState, DelayedTopologyRequestState, PodSetRequest, ReclaimablePod, RequeueState, SchedulingStats,
    UnhealthyNode,
};
use crate::meta::{Condition, object};
use crate::wire::{string_enum, wire_struct};

object! {
    /// A job's request for admission.
    pub struct Workload in GROUP/VERSION/"workloads", namespaced: true {
        /// What the job needs.
        pub spec: WorkloadSpec,
        /// What was decided.
        pub status?: WorkloadStatus,
    }
}

wire_struct! {
    /// What a job needs.
    pub struct WorkloadSpec {
        /// Groups of identical pods; admitted all together.
        pub pod_sets: Vec<PodSet>,
        /// The LocalQueue that the job was submitted to.
        pub queue_name?: String,
        /// The class that `priority` came from.
        pub priority_class_name?: String,
        /// Higher goes first.
        pub priority?: Option<i32>,
        /// What sort of class `priority_class_name` is.
        pub priority_class_source?: Option<PriorityClassSource>,
        /// `false` keeps the job from running, and stops it if it runs.
        pub active?: Option<bool>,
        /// After so many seconds of running the workload is deactivated.
        pub maximum_execution_time_seconds?: Option<i32>,
    }
}

string_enum! {
    /// What sort of class a priority came from.
    pub enum PriorityClassSource {
        /// A Kueue WorkloadPriorityClass.
        Workload = "kueue.x-k8s.io/workloadpriorityclass",
        /// A Kubernetes PriorityClass.
        Pod = "scheduling.k8s.io/priorityclass",
    }
}

wire_struct! {
    /// A group of identical pods.
    pub struct PodSet {
        /// Unique within the workload.
        pub name?: String,
        /// The pods' template; only labels and annotations of its metadata are kept.
        pub template: PodTemplateSpec,
        /// How many pods.
        pub count: i32,
        /// With fewer pods than this the job is of no use; not set means that it needs them all.
        pub min_count?: Option<i32>,
        /// How close to each other the pods should run.
        pub topology_request?: Option<PodSetTopologyRequest>,
    }
}

wire_struct! {
    /// How close to each other pods should run.
    pub struct PodSetTopologyRequest {
        /// All pods must be within one domain of this level.
        pub required?: Option<String>,
        /// All pods should be within one domain of this level, or of the lowest level above where they fit.
        pub preferred?: Option<String>,
        /// Any free capacity will do.
        pub unconstrained?: Option<bool>,
        /// The pod label that counts the pods of the group.
        pub pod_index_label?: Option<String>,
        /// The pod label that counts the replicated jobs within the group.
        pub sub_group_index_label?: Option<String>,
        /// How many replicated jobs the group has.
        pub sub_group_count?: Option<i32>,
        /// Pod sets with the same name get the same flavor and domain.
        pub pod_set_group_name?: Option<String>,
        /// Every slice of pods must be within one domain of this level.
        pub pod_set_slice_required_topology?: Option<String>,
        /// How many pods make a slice.
        pub pod_set_slice_size?: Option<i32>,
    }
}

wire_struct! {
    /// What was decided about a workload.
    pub struct WorkloadStatus {
        /// The state in the usual form.
        pub conditions?: Vec<Condition>,
        /// The quota that is reserved; not set while the workload waits.
        pub admission?: Option<Admission>,
        /// How often and until when the workload was sent back to wait.
        pub requeue_state?: Option<RequeueState>,
        /// Pods that are no longer needed, so that their quota is free.
        pub reclaimable_pods?: Vec<ReclaimablePod>,
        /// Where each admission check of the queue stands.
        pub admission_checks?: Vec<AdmissionCheckState>,
        /// What the pods were found to request while the workload waits.
        pub resource_requests?: Vec<PodSetRequest>,
        /// Seconds of running before the last eviction; spelled as it was first published.
        pub accumulated_past_exexcution_time_seconds?: Option<i32>,
        /// Counts kept for metrics.
        pub scheduling_stats?: Option<SchedulingStats>,
        /// Worker clusters that are asked to run the workload.
        pub nominated_cluster_names?: Vec<String>,
        /// The worker cluster that runs it.
        pub cluster_name?: Option<String>,
        /// Nodes with failed pods of the workload.
        pub unhealthy_nodes?: Vec<UnhealthyNode>,
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

wire_struct! {
    /// The domains a pod set goes to.
    pub struct TopologyAssignment {
        /// Node labels, from the highest level to the lowest.
        pub levels: Vec<String>,
        /// The domains, one by one.
        pub domains: Vec<TopologyDomainAssignment>,
    }
}
