//! The Workload that stands for a job: how it is made, and whether it still fits.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::core_v1::{Container, PriorityClass};
use kueue_api::kueue::names::{FINALIZER_RESOURCE_IN_USE, annotation, condition, label};
use kueue_api::kueue::v1beta2::{PodSet, Workload, WorkloadPriorityClass, WorkloadSpec};
use kueue_api::lookup::NotFound;
use kueue_api::meta::{Object, ObjectMeta, OwnerReference};
use kueue_api::pod_set_info::PodSetInfo;
use kueue_api::pod_sets::{Tolerations, are_equivalent};
use kueue_api::priority::{self, Priority};
use kueue_core::gates::{Gate, Gates};
use kueue_core::label as labels;
use serde_json::Value;

use crate::job::{BadPodSets, Job};
use crate::name::{Owner, workload_name};
use crate::step::is_true;

/// Annotations with this prefix are for the check that asks the autoscaler for nodes.
const PROVISIONING_PREFIX: &str = "provreq.kueue.x-k8s.io/";

/// The LocalQueue that a job names.
pub fn queue_name(meta: &ObjectMeta) -> &str {
    meta.labels.get(label::QUEUE_NAME).map_or("", String::as_str)
}

/// The WorkloadPriorityClass that a job names.
pub fn priority_class_name(meta: &ObjectMeta) -> &str {
    meta.labels.get(label::PRIORITY_CLASS).map_or("", String::as_str)
}

/// How long a job may run. A label that is no positive number says nothing; the webhook refuses it.
pub(crate) fn max_execution_s(meta: &ObjectMeta) -> Option<i32> {
    let seconds: i32 = meta.labels.get(label::MAX_EXEC_TIME_SECONDS)?.parse().ok()?;
    (seconds > 0).then_some(seconds)
}

/// The longest name that a label can hold.
const LONGEST_LABEL: usize = 63;

/// Whether the name of a Workload that was made beforehand stands in the annotation. Without the gate only names do that
/// are too long for the label.
pub fn is_annotation_prebuilt(meta: &ObjectMeta, gates: Gates) -> bool {
    let name = meta.annotations.get(annotation::PREBUILT_WORKLOAD_NAME).map_or("", String::as_str);
    !name.is_empty() && (gates.enabled(Gate::WorkloadIdentifierAnnotations) || name.len() > LONGEST_LABEL)
}

/// The Workload that was made for the job beforehand.
pub fn prebuilt_name(meta: &ObjectMeta, gates: Gates) -> Option<&str> {
    let labelled = meta.labels.get(label::PREBUILT_WORKLOAD_NAME).filter(|name| !name.is_empty());
    let annotated = is_annotation_prebuilt(meta, gates);
    let annotated = meta.annotations.get(annotation::PREBUILT_WORKLOAD_NAME).filter(|_| annotated);
    let name = match gates.enabled(Gate::WorkloadIdentifierAnnotations) {
        true => annotated.or(labelled),
        false => labelled.or(annotated),
    };
    name.map(String::as_str)
}

/// Names the Workload that was made beforehand, where others look for it.
pub fn set_prebuilt_name(meta: &mut ObjectMeta, name: &str, gates: Gates) {
    match gates.enabled(Gate::WorkloadIdentifierAnnotations) || name.len() > LONGEST_LABEL {
        true => meta.annotations.insert(annotation::PREBUILT_WORKLOAD_NAME.to_owned(), name.to_owned()),
        false => meta.labels.insert(label::PREBUILT_WORKLOAD_NAME.to_owned(), name.to_owned()),
    };
}

/// The job as the owner that manages an object.
pub fn controller_reference<J: Job>(job: &J) -> OwnerReference {
    OwnerReference { controller: Some(true), block_owner_deletion: Some(true), ..owner_reference(job) }
}

/// The object as one of those that a Workload goes with.
pub fn owner_reference<T: Object>(object: &T) -> OwnerReference {
    let meta = object.metadata();
    OwnerReference {
        api_version: T::api_version(),
        kind: T::KIND.to_owned(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        ..OwnerReference::default()
    }
}

/// What a job needs, each variable of its containers once.
pub fn pod_sets<J: Job>(job: &J, gates: Gates) -> Result<Vec<PodSet>, BadPodSets> {
    let mut pod_sets = job.pod_sets(gates)?;
    if !gates.enabled(Gate::PartialAdmission) {
        for pod_set in &mut pod_sets {
            pod_set.min_count = None;
        }
    }
    sanitize(&mut pod_sets);
    Ok(pod_sets)
}

/// Leaves each variable of each container once.
pub fn sanitize(pod_sets: &mut [PodSet]) {
    for pod_set in pod_sets {
        let spec = &mut Arc::make_mut(&mut pod_set.template).spec;
        for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
            keep_last_of_each_variable(container);
        }
    }
}

/// The last value of a variable counts, at the place of the first: the API server refuses doubles in a Workload.
fn keep_last_of_each_variable(container: &mut Container) {
    let Some(Value::Array(variables)) = container.rest.get_mut("env") else { return };
    let name = |variable: &Value| variable.get("name").cloned();
    let mut kept: Vec<Value> = Vec::with_capacity(variables.len());
    for variable in variables.drain(..) {
        match kept.iter_mut().find(|known| name(known) == name(&variable)) {
            Some(known) => *known = variable,
            None => kept.push(variable),
        }
    }
    *variables = kept;
}

/// Where priorities come from.
#[derive(Clone, Copy, Debug)]
pub struct PriorityClasses<'a> {
    pub workload: &'a [std::sync::Arc<WorkloadPriorityClass>],
    pub pod: &'a [std::sync::Arc<PriorityClass>],
}

impl PriorityClasses<'_> {
    /// The priority of a job with these pod sets.
    pub fn of<J: Job>(&self, job: &J, pod_sets: &[PodSet]) -> Result<Priority, NotFound> {
        self.of_meta(job.metadata(), job.priority_class(), pod_sets)
    }

    /// The priority of what has these labels, a PriorityClass of its own if it is of such a kind, and these pod sets.
    pub fn of_meta(&self, meta: &ObjectMeta, class: Option<String>, pod_sets: &[PodSet]) -> Result<Priority, NotFound> {
        let named = priority_class_name(meta);
        if !named.is_empty() {
            return priority::of_workload_class(named, self.workload.iter().map(|class| &**class));
        }
        let first = || {
            let mut names = pod_sets.iter().map(|pod_set| &pod_set.template.spec.priority_class_name);
            names.find(|name| !name.is_empty()).cloned().unwrap_or_default()
        };
        let name = class.unwrap_or_else(first);
        priority::of_pod_class(&name, self.pod.iter().map(|class| &**class))
    }
}

/// What of a job's labels and annotations its Workload gets.
#[derive(Clone, Debug, Default)]
pub struct Copied {
    pub labels: Vec<String>,
    pub annotations: Vec<String>,
}

/// A new Workload for the job. `extra` tells several Workloads of one job apart.
pub fn construct<J: Job>(
    job: &J,
    pod_sets: Vec<PodSet>,
    priority: Priority,
    copied: &Copied,
    extra: &str,
    gates: Gates,
) -> Workload {
    let meta = job.metadata();
    let owner = Owner { group: J::GROUP, kind: J::KIND, name: &meta.name, uid: &meta.uid };
    let mut made = plain(meta, workload_name(owner, extra, gates), pod_sets, priority, copied, gates);
    if labels::value(&meta.uid).is_empty() {
        made.metadata.labels.insert(label::JOB_UID.to_owned(), meta.uid.clone());
    }
    made.metadata.owner_references.push(controller_reference(job));
    made
}

/// A new Workload with what its job says, that belongs to nobody yet.
pub(crate) fn plain(
    meta: &ObjectMeta,
    name: String,
    pod_sets: Vec<PodSet>,
    priority: Priority,
    copied: &Copied,
    gates: Gates,
) -> Workload {
    let pick = |from: &BTreeMap<String, String>, keys: &[String]| -> BTreeMap<String, String> {
        keys.iter().filter_map(|key| Some((key.clone(), from.get(key)?.clone()))).collect()
    };
    let mut annotations: BTreeMap<String, String> = meta
        .annotations
        .iter()
        .filter(|(key, _)| key.starts_with(PROVISIONING_PREFIX))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if gates.enabled(Gate::CustomMetricLabels) {
        annotations.extend(pick(&meta.annotations, &copied.annotations));
    }
    if gates.enabled(Gate::AdmissionGatedBy) {
        annotations.extend(pick(&meta.annotations, &[annotation::ADMISSION_GATED_BY.to_owned()]));
    }
    Workload {
        metadata: ObjectMeta {
            name,
            namespace: meta.namespace.clone(),
            labels: pick(&meta.labels, &copied.labels),
            annotations,
            finalizers: vec![FINALIZER_RESOURCE_IN_USE.to_owned()],
            ..ObjectMeta::default()
        },
        spec: WorkloadSpec {
            pod_sets,
            queue_name: queue_name(meta).to_owned(),
            priority: Some(priority.value),
            priority_class_ref: priority.class,
            maximum_execution_time_seconds: max_execution_s(meta),
            ..WorkloadSpec::default()
        },
        ..Workload::default()
    }
}

/// Whether a Workload still fits the job. `running` is what the Workload gives its pods, while it holds quota.
pub fn fits<J: Job>(
    job: &J,
    pod_sets: &[PodSet],
    workload: &Workload,
    running: Option<&[PodSetInfo]>,
    is_admitted: bool,
    gates: Gates,
) -> bool {
    let meta = job.metadata();
    let Some(owner) = workload.metadata.owner_references.iter().find(|owner| owner.controller == Some(true)) else {
        return false;
    };
    let is_same_job =
        owner.name == meta.name && (owner.uid == meta.uid || !gates.enabled(Gate::FinishOrphanedWorkloads));
    // What is over is compared no more: of a pod that ended nothing is kept that could be.
    if is_same_job && job.finished().is_some() && is_true(workload, condition::FINISHED) {
        return true;
    }
    if !is_same_job || workload.spec.maximum_execution_time_seconds != max_execution_s(meta) {
        return false;
    }
    let tolerations = if is_admitted { Tolerations::Ignore } else { Tolerations::Compare };
    let is_as_requested = || are_equivalent(pod_sets, &workload.spec.pod_sets, tolerations);
    match running.and_then(|given| running_pod_sets(workload, given, gates)) {
        // One that was admitted and did not start yet looks as it was requested.
        Some(running) => are_equivalent(pod_sets, &running, tolerations) || (job.is_suspended() && is_as_requested()),
        None => is_as_requested(),
    }
}

/// The pod sets as they look while the job runs; none when the Workload does not say.
fn running_pod_sets(workload: &Workload, given: &[PodSetInfo], gates: Gates) -> Option<Vec<PodSet>> {
    let mut pod_sets = workload.spec.pod_sets.clone();
    for pod_set in &mut pod_sets {
        let info = given.iter().find(|info| info.name == pod_set.name)?;
        info.merge_into(Arc::make_mut(&mut pod_set.template), gates).ok()?;
        if gates.enabled(Gate::PartialAdmission) && pod_set.min_count.is_some() {
            pod_set.count = info.count;
        }
    }
    Some(pod_sets)
}
