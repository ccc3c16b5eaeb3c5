//! `apps/v1` StatefulSet: one Workload for all its pods, which are a group that serves.
//!
//! The Workload is made for the StatefulSet, and each pod is told which group it belongs to once it is there: it is the
//! API server that names pods of a StatefulSet, and a controller that numbers them.

pub mod reconciler;
pub mod step;
#[cfg(test)]
mod tests;
mod webhook;

use std::sync::Arc;

use kueue_api::core_v1::PodTemplateSpec;
use kueue_api::kueue::names::{
    DEFAULT_POD_SET, SCHEDULING_GATE_ADMISSION, SCHEDULING_GATE_TOPOLOGY, annotation, label,
};
use kueue_api::kueue::v1beta2::{PodSet, Workload};
use kueue_api::meta::{Object as _, object};
use kueue_api::wire::wire_struct;
use kueue_core::gates::{Gate, Gates};

use super::pod::{Pod, group_name, remove_gate};
use crate::name::{Owner, workload_name};
use crate::topology_request::{BadTopologyRequest, PodIndexes, topology_request};
use crate::workload::{priority_class_name, queue_name, set_prebuilt_name};

/// Its name in the configuration's list of integrations, and to its pods.
pub const FRAMEWORK: &str = "statefulset";
/// The name in events of its controller.
pub const EVENT_SOURCE: &str = "statefulset-kueue-controller";

const GROUP: &str = "apps";
const VERSION: &str = "v1";
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";
const REVISION: &str = "controller-revision-hash";

object! {
    /// Pods with names and numbers of their own.
    pub struct StatefulSet in GROUP/VERSION/"statefulsets", namespaced: true {
        pub spec: StatefulSetSpec,
        pub status?: StatefulSetStatus,
    }
}

wire_struct! {
    pub struct StatefulSetSpec {
        pub replicas?: Option<i32>,
        pub template: PodTemplateSpec,
        pub ..rest,
    }
}

wire_struct! {
    pub struct StatefulSetStatus {
        pub replicas?: i32,
        pub ready_replicas?: i32,
        pub current_revision?: String,
        pub update_revision?: String,
        pub ..rest,
    }
}

impl StatefulSet {
    pub fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    /// Whether another kind of job, as one that consists of StatefulSets, looks after its pods.
    pub fn is_managed_elsewhere(&self) -> bool {
        let parent = self.spec.template.metadata.annotations.get(annotation::POD_SUSPENDING_PARENT);
        parent.is_some_and(|parent| parent != FRAMEWORK)
    }

    /// Whether it is the copy of one on another cluster.
    fn is_remote(&self) -> bool {
        self.metadata.labels.contains_key(label::MULTIKUEUE_ORIGIN)
    }

    /// What its Workload is called; and what an older version called it, which knew no identities.
    pub fn workload_names(&self, gates: Gates) -> [String; 2] {
        let origin = self.metadata.annotations.get(annotation::MULTIKUEUE_ORIGIN_UID).filter(|_| self.is_remote());
        let uid = origin.unwrap_or(&self.metadata.uid);
        let named =
            |uid| workload_name(Owner { group: GROUP, kind: Self::KIND, name: &self.metadata.name, uid }, "", gates);
        [named(uid), named("")]
    }

    /// Its Workload, by the first of its names that there is one of.
    pub fn find_workload(&self, gates: Gates, named: impl Fn(&str) -> Option<Arc<Workload>>) -> Option<Arc<Workload>> {
        self.workload_names(gates).iter().find_map(|name| named(name))
    }

    fn pod_set(&self, gates: Gates) -> Result<PodSet, BadTopologyRequest> {
        let template = &self.spec.template;
        let indexes = PodIndexes { pod_label: Some(POD_INDEX), ..PodIndexes::default() };
        Ok(PodSet {
            name: DEFAULT_POD_SET.to_owned(),
            count: self.replicas(),
            min_count: None,
            topology_request: topology_request(&template.metadata.annotations, indexes, gates)?,
            template: PodTemplateSpec { spec: template.spec.clone(), ..PodTemplateSpec::default() }.into(),
        })
    }

    /// Whether the pod is one that the StatefulSet made and is replacing now. Such pods never wait: those that come
    /// after them do.
    fn is_replacing(&self, pod: &Pod) -> bool {
        let status = &self.status;
        let revision = pod.metadata.labels.get(REVISION).map_or("", String::as_str);
        status.current_revision != status.update_revision && status.current_revision == revision
    }
}

/// Opens our gates of a pod that has nothing to wait for any more: nobody owns it, or it is being replaced. Says whether
/// that changed anything.
pub fn ungate(owner: Option<&StatefulSet>, pod: &mut Pod) -> bool {
    if owner.is_some_and(|owner| !owner.is_replacing(pod)) {
        return false;
    }
    let was_gated = remove_gate(&mut pod.spec, SCHEDULING_GATE_ADMISSION);
    remove_gate(&mut pod.spec, SCHEDULING_GATE_TOPOLOGY) || was_gated
}

/// Makes a pod of the StatefulSet a member of the group with the Workload's name; none when there is nothing to change.
pub fn join_group(pod: &Pod, owner: &StatefulSet, workload: &str, manages_unqueued: bool, gates: Gates) -> Option<Pod> {
    let queue = queue_name(&owner.metadata);
    if pod.is_terminated() || pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let mut member = pod.clone();
    let meta = &mut member.metadata;
    if !queue.is_empty() {
        meta.labels.insert(label::QUEUE_NAME.to_owned(), queue.to_owned());
    }
    if group_name(&pod.metadata, gates) == Some(workload) {
        return (member != *pod).then_some(member);
    }
    if queue.is_empty() && !manages_unqueued {
        return None;
    }
    meta.labels.insert(label::MANAGED.to_owned(), label::TRUE.to_owned());
    let class = priority_class_name(&owner.metadata);
    if !class.is_empty() {
        meta.labels.insert(label::PRIORITY_CLASS.to_owned(), class.to_owned());
    }
    set_prebuilt_name(meta, workload, gates);
    match gates.enabled(Gate::WorkloadIdentifierAnnotations) {
        true => meta.annotations.insert(annotation::POD_GROUP_NAME.to_owned(), workload.to_owned()),
        false => meta.labels.insert(label::POD_GROUP_NAME.to_owned(), workload.to_owned()),
    };
    for (key, value) in [
        (annotation::POD_GROUP_TOTAL_COUNT, owner.replicas().to_string().as_str()),
        (annotation::POD_GROUP_FAST_ADMISSION, label::TRUE),
        (annotation::POD_GROUP_SERVING, label::TRUE),
        (annotation::POD_GROUP_POD_INDEX_LABEL, POD_INDEX),
        (annotation::ROLE_HASH, DEFAULT_POD_SET),
    ] {
        meta.annotations.insert(key.to_owned(), value.to_owned());
    }
    Some(member)
}
