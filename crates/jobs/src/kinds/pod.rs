//! `v1` Pod: single pods, and groups of pods that are admitted together. Kubernetes 1.33 and newer.
//!
//! A pod waits behind a scheduling gate and cannot be suspended again: stopping it means telling it why and deleting it.
//! A single pod is a job like any other; a [`group`] is several objects and has rules of its own.

pub mod expectations;
pub mod group;
pub mod members;
pub mod reconciler;
pub mod step;
#[cfg(test)]
mod tests;
mod webhook;

use kueue_api::core_v1::{PodSchedulingGate, PodSpec, PodTemplateSpec};
use kueue_api::kueue::names::{
    DEFAULT_POD_SET, FINALIZER_POD, SCHEDULING_GATE_ADMISSION, SCHEDULING_GATE_TOPOLOGY, annotation, label,
};
use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::meta::{ConditionStatus, ObjectMeta, object};
use kueue_api::pod_set_info::{Conflict, PodSetInfo};
use kueue_api::wire::wire_struct;
use kueue_core::duration::Duration;
use kueue_core::field::Errors;
use kueue_core::gates::{Gate, Gates};
use kueue_core::time::Time;

use crate::job::{self, BadPodSets, CannotStart, Finish, Stop, StopReason, Write};
use crate::pod_shape::role_hash;
use crate::reconciler::TERMINATION_TARGET;
use crate::topology_request::{BadTopologyRequest, PodIndexes, topology_request};
use crate::ungater::slice_name;
use crate::webhook::{Around, Unanswerable};

const GROUP: &str = "";
const VERSION: &str = "v1";

object! {
    /// Containers that run together, as far as admission needs to know them.
    pub struct Pod in GROUP/VERSION/"pods", namespaced: true {
        pub spec?: PodSpec,
        pub status?: PodStatus,
    }
}

wire_struct! {
    /// How far a pod is. Only ever read.
    pub struct PodStatus {
        pub phase?: String,
        pub message?: String,
        pub conditions?: Vec<PodCondition>,
    }
}

wire_struct! {
    pub struct PodCondition {
        pub r#type: String,
        pub status: ConditionStatus,
        pub reason?: String,
        pub message?: String,
        pub last_transition_time?: Time,
    }
}

/// Whether a pod or its template waits behind the gate.
pub fn has_gate(spec: &PodSpec, gate: &str) -> bool {
    spec.scheduling_gates.iter().any(|present| present.name == gate)
}

/// Puts a pod behind the gate. Says whether that changed anything.
pub fn add_gate(spec: &mut PodSpec, gate: &str) -> bool {
    let is_new = !has_gate(spec, gate);
    if is_new {
        spec.scheduling_gates.push(PodSchedulingGate { name: gate.to_owned(), ..PodSchedulingGate::default() });
    }
    is_new
}

/// Takes the gate away; others stay. Says whether that changed anything.
pub fn remove_gate(spec: &mut PodSpec, gate: &str) -> bool {
    let before = spec.scheduling_gates.len();
    spec.scheduling_gates.retain(|present| present.name != gate);
    spec.scheduling_gates.len() != before
}

/// The group that a pod says it belongs to.
pub fn group_name(meta: &ObjectMeta, gates: Gates) -> Option<&str> {
    let annotated = meta.annotations.get(annotation::POD_GROUP_NAME);
    let annotated = annotated.filter(|name| gates.enabled(Gate::WorkloadIdentifierAnnotations) && !name.is_empty());
    annotated.or(meta.labels.get(label::POD_GROUP_NAME)).map(String::as_str).filter(|name| !name.is_empty())
}

/// What an informer keeps of a pod: of those that are none of our business, or that are over, nothing that takes room.
pub fn project(mut pod: Pod) -> Pod {
    pod.metadata.rest.remove("managedFields");
    let is_over = pod.is_terminated() && !pod.has_finalizer();
    if is_over || !(pod.is_managed() || pod.is_held_by_parent() || slice_name(&pod).is_some()) {
        pod.spec = PodSpec::default();
        pod.status.conditions.clear();
    }
    pod
}

impl Pod {
    /// Whether somebody put it under our management.
    pub fn is_managed(&self) -> bool {
        self.metadata.labels.get(label::MANAGED).is_some_and(|value| value == label::TRUE)
    }

    /// Whether it was made by a job whose pods wait instead of the job.
    pub fn is_held_by_parent(&self) -> bool {
        self.metadata.annotations.get(annotation::POD_SUSPENDING_PARENT).is_some_and(|parent| !parent.is_empty())
    }

    pub fn is_gated(&self) -> bool {
        has_gate(&self.spec, SCHEDULING_GATE_ADMISSION)
    }

    pub fn is_terminated(&self) -> bool {
        matches!(self.status.phase.as_str(), "Failed" | "Succeeded")
    }

    pub fn has_succeeded(&self) -> bool {
        self.status.phase == "Succeeded"
    }

    pub fn has_finalizer(&self) -> bool {
        self.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER_POD)
    }

    /// Whether it runs, may run or ran to its end. One that is deleted before it was given a node never will.
    pub fn is_runnable_or_succeeded(&self) -> bool {
        let is_lost = self.metadata.deletion_timestamp.is_some() && self.spec.node_name.is_empty();
        !is_lost && self.status.phase != "Failed"
    }

    /// Whether it uses what it was given. One that should have ended by now and did not, as on a node that was lost,
    /// must not hold its quota for ever.
    pub fn is_running(&self, now: Time, gates: Gates) -> bool {
        if self.status.phase != "Running" {
            return false;
        }
        let meta = &self.metadata;
        let Some(deletion) = meta.deletion_timestamp else { return true };
        let grace = meta.deletion_grace_period_seconds;
        let is_overdue = grace.is_some_and(|seconds| now > deletion + Duration::from_seconds(seconds));
        !gates.enabled(Gate::FastQuotaReleaseInPodIntegration) && !is_overdue
    }

    pub fn is_ready(&self) -> bool {
        let ready = self.status.conditions.iter().find(|condition| condition.r#type == "Ready");
        ready.is_some_and(|ready| ready.status == ConditionStatus::True)
    }

    /// Pods of one role are interchangeable.
    pub fn role(&self) -> String {
        let annotated = self.metadata.annotations.get(annotation::ROLE_HASH);
        annotated.cloned().unwrap_or_else(|| role_hash(&self.spec))
    }

    /// The pod set of this pod alone.
    fn pod_set(&self, gates: Gates) -> Result<PodSet, BadTopologyRequest> {
        let indexes = PodIndexes { pod_label: Some(label::POD_GROUP_POD_INDEX), ..PodIndexes::default() };
        Ok(PodSet {
            name: DEFAULT_POD_SET.to_owned(),
            count: 1,
            min_count: None,
            topology_request: topology_request(&self.metadata.annotations, indexes, gates)?,
            template: PodTemplateSpec { spec: self.spec.clone(), ..PodTemplateSpec::default() }.into(),
        })
    }

    /// Opens our gates with what the pod was given. Pods that are placed in a topology are told their place first.
    fn start(&mut self, given: &PodSetInfo, gates: Gates) -> Result<(), Conflict> {
        let mut template = PodTemplateSpec { spec: self.spec.clone(), ..PodTemplateSpec::default() };
        template.metadata.labels.clone_from(&self.metadata.labels);
        template.metadata.annotations.clone_from(&self.metadata.annotations);
        given.merge_into(&mut template, gates)?;
        self.spec = template.spec;
        self.metadata.labels = template.metadata.labels;
        self.metadata.annotations = template.metadata.annotations;
        remove_gate(&mut self.spec, SCHEDULING_GATE_ADMISSION);
        if !given.scheduling_gates.iter().any(|gate| gate.name == SCHEDULING_GATE_TOPOLOGY) {
            remove_gate(&mut self.spec, SCHEDULING_GATE_TOPOLOGY);
        }
        Ok(())
    }

    /// Whether stopping its job ends this pod. One that waits behind its gate runs nothing and goes only with its Workload.
    fn ends(&self, reason: &StopReason) -> bool {
        let is_stopped = self.is_terminated() || self.is_gated();
        self.metadata.deletion_timestamp.is_none() && (*reason == StopReason::WorkloadDeleted || !is_stopped)
    }
}

/// A pod that belongs to no group.
impl job::Job for Pod {
    const FRAMEWORK: &'static str = "pod";
    const EVENT_SOURCE: &'static str = "pod-kueue-controller";
    const TAKES_PREBUILT: bool = true;

    fn is_ours(&self, _: Gates) -> bool {
        self.is_managed()
    }

    fn is_suspended(&self) -> bool {
        self.is_terminated() || self.is_gated()
    }

    fn suspend(&mut self) {
        add_gate(&mut self.spec, SCHEDULING_GATE_ADMISSION);
    }

    fn pod_sets(&self, gates: Gates) -> Result<Vec<PodSet>, BadPodSets> {
        Ok(vec![self.pod_set(gates)?])
    }

    fn run(&mut self, given: &[PodSetInfo], gates: Gates) -> Result<(), CannotStart> {
        let [given] = given else { return Err(CannotStart::PodSets { expected: 1, given: given.len() }) };
        Ok(self.start(given, gates)?)
    }

    fn restore(&mut self, _: &[PodSetInfo]) -> bool {
        false
    }

    /// Quota is free as soon as the pod is told to end.
    fn is_active(&self) -> bool {
        false
    }

    fn pods_ready(&self) -> bool {
        self.is_ready()
    }

    fn finished(&self) -> Option<Finish> {
        let finish = || Finish { is_success: self.has_succeeded(), message: self.status.message.clone() };
        self.is_terminated().then(finish)
    }

    fn stop(&self, why: &Stop<'_>, _: Option<&[PodSetInfo]>) -> Vec<Write<Self>> {
        let (reason, message) = (why.reason.to_string(), why.message.to_owned());
        let is_last_word = |told: &PodCondition| {
            let says = told.r#type == TERMINATION_TARGET && told.status == ConditionStatus::True;
            says && told.reason == reason && told.message == message
        };
        match self.ends(&why.reason) {
            true if self.status.conditions.iter().any(is_last_word) => vec![Write::Delete],
            true => vec![Write::Terminate { reason, message }],
            false => Vec::new(),
        }
    }

    fn waits_by_itself(&self) -> bool {
        self.is_held_by_parent()
    }

    fn opened_gate(&self, next: &Self) -> Option<&'static str> {
        (self.is_gated() && !next.is_gated()).then_some(SCHEDULING_GATE_ADMISSION)
    }

    fn released(&self) -> Option<Self> {
        let mut free = self.clone();
        free.metadata.finalizers.retain(|finalizer| finalizer != FINALIZER_POD);
        self.has_finalizer().then_some(free)
    }

    fn complete(&mut self, around: &Around<'_>) -> Result<(), Unanswerable> {
        webhook::complete(self, around)
    }

    fn validate_create(&self, around: &Around<'_>) -> Errors {
        webhook::create(self, around)
    }

    fn validate_update(&self, old: &Self, around: &Around<'_>) -> Errors {
        webhook::update(self, old, around)
    }

    fn warnings(&self, is_update: bool, around: &Around<'_>) -> Vec<String> {
        webhook::warnings(self, is_update, around)
    }
}
