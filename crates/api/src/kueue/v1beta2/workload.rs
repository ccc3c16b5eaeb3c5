//! `Workload`: the pods of one job as the queue sees them, and whether and where they may run.

use std::sync::Arc;

use super::WorkloadStatus;
use crate::core_v1::PodTemplateSpec;
use crate::kueue::GROUP;
use crate::kueue::v1beta2::VERSION;
use crate::meta::object;
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
        /// Where `priority` came from.
        pub priority_class_ref?: Option<PriorityClassRef>,
        /// Higher goes first.
        pub priority?: Option<i32>,
        /// `false` keeps the job from running, and stops it if it runs.
        pub active?: Option<bool>,
        /// After so many seconds of running the workload is deactivated.
        pub maximum_execution_time_seconds?: Option<i32>,
        /// Gates that keep the workload from preempting others until they are opened.
        pub preemption_gates?: Vec<PreemptionGate>,
    }
}

wire_struct! {
    /// A group of identical pods.
    pub struct PodSet {
        /// Unique within the workload.
        pub name?: String,
        /// The pods' template; only labels and annotations of its metadata are kept. It is the largest part of a workload
        /// and never changes, so copies share it.
        pub template: Arc<PodTemplateSpec>,
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
        /// Slices within slices, from the coarsest level to the finest.
        pub podset_slice_required_topology_constraints?: Vec<PodsetSliceRequiredTopologyConstraint>,
    }
}

wire_struct! {
    /// One layer of slices.
    pub struct PodsetSliceRequiredTopologyConstraint {
        /// The level that a slice of this layer must not cross.
        pub topology?: String,
        /// How many pods make a slice of this layer.
        pub size?: i32,
    }
}

string_enum! {
    /// The API group of a priority class.
    pub enum PriorityClassGroup {
        /// A Kueue WorkloadPriorityClass.
        Workload = "kueue.x-k8s.io",
        /// A Kubernetes PriorityClass.
        Pod = "scheduling.k8s.io",
    }
}

string_enum! {
    /// The kind of a priority class.
    pub enum PriorityClassKind {
        /// A Kueue WorkloadPriorityClass.
        WorkloadPriorityClass,
        /// A Kubernetes PriorityClass.
        PriorityClass,
    }
}

wire_struct! {
    /// Which class a priority came from.
    pub struct PriorityClassRef {
        /// API group of the class.
        pub group?: PriorityClassGroup,
        /// Kind of the class; goes with the group.
        pub kind?: PriorityClassKind,
        /// Name of the class.
        pub name?: String,
    }
}

wire_struct! {
    /// A gate that keeps a workload from preempting others.
    pub struct PreemptionGate {
        /// Unique within the workload.
        pub name: String,
    }
}
