//! A Workload as the engine sees it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Write};

use kueue_api::core_v1::{Container, PodSpec, ResourceList};
use kueue_api::kueue;
use kueue_api::kueue::names::{FINALIZER_RESOURCE_IN_USE, annotation, label};
use kueue_api::kueue::v1beta2::{self, PodSet, PodSetTopologyRequest, PriorityClassKind, Workload};
use kueue_api::limit_range::Summary;
use kueue_api::meta::ObjectMeta;
use kueue_api::slices;
use kueue_core::csv;
use kueue_engine::{
    Change, Key, Owner, PodSetSpec, PriorityClass, SliceSpec, TopologyRequest, VariantSpec, WorkloadSpec,
};
use serde::Serialize;

use crate::metric_labels::MetricLabels;
use crate::node::units;
use crate::placement::placement;
use crate::requests::{ResourceRules, adjusted, invalid};
use crate::status::status_to_engine;

/// What a Workload's requests depend on besides the Workload.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// The configuration's rules.
    pub resources: &'a ResourceRules,
    /// The limit ranges of its namespace.
    pub limits: &'a Summary,
    /// The labels that metrics show.
    pub metric_labels: &'a MetricLabels,
    /// What a pod needs besides, by RuntimeClass.
    pub overheads: &'a BTreeMap<String, ResourceList>,
}

/// The RuntimeClasses whose overhead counts for a Workload, one per pod set that names one.
pub fn runtime_classes(object: &Workload) -> Vec<String> {
    object.spec.pod_sets.iter().filter_map(|pod_set| pod_set.template.spec.runtime_class_name.clone()).collect()
}

/// What a Workload says.
pub fn workload(object: &Workload, around: &Surroundings<'_>) -> Change {
    let spec = &object.spec;
    let meta = &object.metadata;
    let pods = spec.pod_sets.iter().map(|pod_set| &pod_set.template.spec);
    let pods: Vec<Cow<'_, PodSpec>> = pods.map(|pod| adjusted(pod, around.limits, around.overheads)).collect();
    let boost = meta.annotations.get(annotation::PRIORITY_BOOST).and_then(|boost| boost.parse().ok());
    Change::Workload(Box::new(WorkloadSpec {
        namespace: meta.namespace.as_str().into(),
        name: meta.name.as_str().into(),
        uid: meta.uid.as_str().into(),
        job_uid: meta.labels.get(label::JOB_UID).map(|uid| uid.as_str().into()),
        created: meta.creation_timestamp,
        generation: meta.generation,
        local_queue: spec.queue_name.as_str().into(),
        metric_labels: around.metric_labels.values(meta),
        priority: spec.priority.unwrap_or(0),
        priority_boost: boost.unwrap_or(0),
        priority_class: priority_class(object),
        is_active: spec.active.unwrap_or(true),
        gated_by: meta
            .annotations
            .get(annotation::ADMISSION_GATED_BY)
            .filter(|gate| !gate.is_empty())
            .map(|gate| gate.as_str().into()),
        replaces: slices::replacement_for(object).and_then(slice_key),
        variant: variant(meta),
        max_execution_s: spec.maximum_execution_time_seconds,
        owner: owner(object),
        is_deleting: meta.deletion_timestamp.is_some(),
        is_elastic: meta.annotations.get(annotation::ELASTIC_JOB).is_some_and(|value| value == "true"),
        is_guarded: meta.finalizers.iter().any(|finalizer| finalizer == FINALIZER_RESOURCE_IN_USE),
        preemption_gates: spec.preemption_gates.iter().map(|gate| gate.name.as_str().into()).collect(),
        pod_sets: spec.pod_sets.iter().zip(&pods).map(|(pod_set, pod)| pod_set_spec(pod_set, pod, around)).collect(),
        invalid: invalid(&pods, around.limits).map(Into::into),
        status: status_to_engine(&object.status),
    }))
}

/// The workload that a slice names as the one it replaces; text without a namespace names none.
fn slice_key(text: &str) -> Option<Key> {
    let (namespace, name) = text.split_once('/')?;
    Some(Key { namespace: namespace.into(), name: name.into() })
}

fn is_our_version(api_version: &str) -> bool {
    api_version.split_once('/') == Some((kueue::GROUP, v1beta2::VERSION))
}

/// The part of a Workload in concurrent admission.
fn variant(meta: &ObjectMeta) -> Option<Box<VariantSpec>> {
    let parent = meta
        .owner_references
        .iter()
        .find(|owner| owner.kind == "Workload" && is_our_version(&owner.api_version))
        .filter(|owner| !owner.name.is_empty());
    let allowed = meta.annotations.get(annotation::WORKLOAD_ALLOWED_RESOURCE_FLAVORS);
    let variant = VariantSpec {
        is_parent: meta.labels.get(label::CONCURRENT_ADMISSION_PARENT).is_some_and(|value| value == "true"),
        variant_of: parent.map(|owner| owner.uid.as_str().into()),
        allowed_flavors: allowed.map(|list| csv::parse(list).into_iter().map(Into::into).collect()),
    };
    (variant != VariantSpec::default()).then(|| Box::new(variant))
}

fn owner(object: &Workload) -> Owner {
    let meta = &object.metadata;
    let is_group = meta.annotations.get(annotation::IS_GROUP_WORKLOAD).is_some_and(|value| value == "true");
    match meta.owner_references.as_slice() {
        [] => Owner::Nobody,
        [owner] if owner.kind == "Pod" && owner.api_version == "v1" && !is_group => Owner::Pod,
        _ => Owner::Job,
    }
}

fn priority_class(object: &Workload) -> Option<PriorityClass> {
    let class = object.spec.priority_class_ref.as_ref()?;
    match class.kind {
        PriorityClassKind::WorkloadPriorityClass => Some(PriorityClass::Workload(class.name.as_str().into())),
        PriorityClassKind::PriorityClass => Some(PriorityClass::Pod(class.name.as_str().into())),
        PriorityClassKind::Other(_) => None,
    }
}

fn pod_set_spec(pod_set: &PodSet, pod: &PodSpec, around: &Surroundings<'_>) -> PodSetSpec {
    let requests = around.resources.apply(pod);
    // What a pod takes of a node is what it asks for, whatever rules make of it for quota.
    let room = Some(pod.requests());
    PodSetSpec {
        name: pod_set.name.as_str().into(),
        count: pod_set.count,
        min_count: pod_set.min_count,
        requests: units(&requests),
        group: pod_set
            .topology_request
            .as_ref()
            .and_then(|request| request.pod_set_group_name.as_deref())
            .map(Into::into),
        placement: placement(pod),
        topology: pod_set.topology_request.as_ref().and_then(topology_request),
        room: room.filter(|room| *room != requests).map(|room| units(&room)),
        fingerprint: fingerprint(pod_set, pod),
    }
}

/// How close together the pods should be; nothing where only a group is named.
fn topology_request(request: &PodSetTopologyRequest) -> Option<TopologyRequest> {
    let is_said = request.unconstrained.is_some()
        || request.required.is_some()
        || request.preferred.is_some()
        || request.pod_set_slice_required_topology.is_some()
        || request.pod_set_slice_size.is_some()
        || !request.podset_slice_required_topology_constraints.is_empty();
    let layers = request.podset_slice_required_topology_constraints.iter();
    let mut slices: Vec<SliceSpec> =
        layers.map(|layer| SliceSpec { level: layer.topology.as_str().into(), size: layer.size }).collect();
    if slices.is_empty()
        && let Some(level) = &request.pod_set_slice_required_topology
    {
        slices.push(SliceSpec { level: level.as_str().into(), size: request.pod_set_slice_size.unwrap_or(0) });
    }
    is_said.then(|| TopologyRequest {
        required: request.required.as_deref().map(Into::into),
        preferred: request.preferred.as_deref().map(Into::into),
        is_unconstrained: request.unconstrained.unwrap_or(false),
        slices,
    })
}

/// One number for everything about a template that scheduling can depend on.
fn fingerprint(pod_set: &PodSet, pod: &PodSpec) -> u64 {
    let containers = |containers: &'_ [Container]| {
        let shape =
            |container: &Container| (hash_of(&container.resources.requests), hash_of(&container.rest.get("ports")));
        containers.iter().map(shape).collect::<Vec<_>>()
    };
    hash_of(&(
        (containers(&pod.init_containers), containers(&pod.containers)),
        (&pod.node_selector, &pod.affinity, &pod.tolerations),
        (&pod.runtime_class_name, pod.priority, pod.rest.get("topologySpreadConstraints")),
        (&pod.overhead, &pod.resource_claims, pod.resources.as_ref().map(|resources| &resources.requests)),
        &pod_set.topology_request,
    ))
}

/// The same number for what is written in the same way, in every run of the same build.
pub(crate) fn hash_of(value: &impl Serialize) -> u64 {
    let mut hashing = Hashing(DefaultHasher::new());
    serde_json::to_writer(&mut hashing, value).expect("what objects hold can be written as JSON");
    hashing.0.finish()
}

/// Hashes what is written, without keeping it.
struct Hashing(DefaultHasher);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
