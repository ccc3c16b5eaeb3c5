//! What a cluster of Ray is made of, wherever it is described.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::core_v1::{PodTemplateSpec, ResourceRequirements};
use kueue_api::kueue::names::SCHEDULING_GATE_ELASTIC_JOB;
use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::slices::is_elastic;
use kueue_api::wire::wire_struct;
use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::Gates;
use kueue_core::resource_list::{self, Keep};
use serde_json::Value;

use super::super::pod::add_gate;
use super::super::templates::{self, Groups};
use super::{HEAD, added_container, resources};
use crate::job::{BadPodSets, Job};
use crate::topology_request::{PodIndexes, topology_request};

/// How many pod sets a Workload may have.
const MOST_POD_SETS: usize = 18;
/// Says on the object that the state of the cluster survives its head.
const FAULT_TOLERANT: &str = "ray.io/ft-enabled";

wire_struct! {
    pub struct RayClusterSpec {
        pub suspend?: Option<bool>,
        pub managed_by?: Option<String>,
        pub enable_in_tree_autoscaling?: Option<bool>,
        pub autoscaler_options?: Option<AutoscalerOptions>,
        /// Where the state of the cluster survives its head.
        pub gcs_fault_tolerance_options?: Option<Value>,
        pub head_group_spec: HeadGroup,
        pub worker_group_specs?: Vec<WorkerGroup>,
        pub ..rest,
    }
}

wire_struct! {
    pub struct AutoscalerOptions {
        pub resources?: Option<ResourceRequirements>,
        pub ..rest,
    }
}

wire_struct! {
    pub struct HeadGroup {
        pub template: PodTemplateSpec,
        pub ..rest,
    }
}

wire_struct! {
    /// So many workers of one shape; each of them may be several pods.
    pub struct WorkerGroup {
        pub group_name: String,
        pub replicas?: Option<i32>,
        pub num_of_hosts?: i32,
        pub template: PodTemplateSpec,
        pub ..rest,
    }
}

impl WorkerGroup {
    pub(super) fn pod_set_name(&self) -> String {
        self.group_name.to_lowercase()
    }

    /// How many pods the group has.
    pub(super) fn pods(&self) -> i32 {
        self.replicas.unwrap_or(1).saturating_mul(self.num_of_hosts.max(1))
    }
}

impl RayClusterSpec {
    pub(super) fn is_autoscaled(&self) -> bool {
        self.enable_in_tree_autoscaling == Some(true)
    }

    /// Whether the state of the cluster survives its head. Then a Job cleans up after the cluster.
    pub(super) fn is_fault_tolerant(&self, annotations: &BTreeMap<String, String>) -> bool {
        let is_annotated = annotations.get(FAULT_TOLERANT).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        is_annotated || self.gcs_fault_tolerance_options.is_some()
    }

    /// The head first, then the groups in their order. The annotations are those of the object.
    pub fn pod_sets(&self, annotations: &BTreeMap<String, String>, gates: Gates) -> Result<Vec<PodSet>, BadPodSets> {
        let mut head = pod_set(HEAD.to_owned(), &self.head_group_spec.template, 1, gates)?;
        if self.is_fault_tolerant(annotations) {
            let [first, ..] = Arc::make_mut(&mut head.template).spec.containers.as_mut_slice() else {
                return Err(BadPodSets::Incomplete(
                    "cannot account for Redis cleanup resources: head pod template must include the Ray container",
                ));
            };
            // The Job that cleans up runs when the head is gone, on the head's quota.
            resource_list::merge(&mut first.resources.requests, &resources("200m", "256Mi"), Keep::Larger);
        }
        if self.is_autoscaled() {
            let chosen = self.autoscaler_options.as_ref().and_then(|options| options.resources.clone());
            let autoscaler = added_container("autoscaler", chosen.unwrap_or_else(of_an_autoscaler));
            Arc::make_mut(&mut head.template).spec.containers.push(autoscaler);
        }
        let worker = |group: &WorkerGroup| pod_set(group.pod_set_name(), &group.template, group.pods(), gates);
        std::iter::once(Ok(head)).chain(self.worker_group_specs.iter().map(worker)).collect()
    }

    /// The templates in the order of their pod sets.
    pub fn templates(&mut self) -> Vec<&mut PodTemplateSpec> {
        let workers = self.worker_group_specs.iter_mut().map(|group| &mut group.template);
        std::iter::once(&mut self.head_group_spec.template).chain(workers).collect()
    }

    /// Lets the pods of an elastic object wait until their slice is admitted.
    pub(super) fn gate_pods(&mut self) {
        for template in self.templates() {
            add_gate(&mut template.spec, SCHEDULING_GATE_ELASTIC_JOB);
        }
    }

    fn pod_set_count(&self) -> usize {
        self.worker_group_specs.len() + 1
    }
}

/// One pod set of a Ray object.
pub(super) fn pod_set(
    name: String,
    template: &PodTemplateSpec,
    count: i32,
    gates: Gates,
) -> Result<PodSet, BadPodSets> {
    let topology_request = topology_request(&template.metadata.annotations, PodIndexes::default(), gates)?;
    Ok(PodSet { name, topology_request, template: template.clone().into(), count, ..PodSet::default() })
}

/// What KubeRay gives an autoscaler whose resources nobody chose.
fn of_an_autoscaler() -> ResourceRequirements {
    let all = resources("500m", "512Mi");
    ResourceRequirements { requests: all.clone(), limits: all, ..ResourceRequirements::default() }
}

/// Every mistake in the cluster of a job or service that waits for quota.
pub fn mistakes<J: Job>(job: &J, spec: &RayClusterSpec, at: &Path, gates: Gates) -> Errors {
    let mut errors = Errors::new();
    if spec.is_autoscaled() && !is_elastic(job.metadata(), gates) {
        let detail = "a kueue managed job should only use autoscaling when workload slicing is enabled";
        errors.push(Error::invalid(&at.child("enableInTreeAutoscaling"), true, detail));
    }
    errors.extend(layout_errors(spec, at));
    errors
}

/// Every mistake in the number and the names of groups.
pub fn layout_errors(spec: &RayClusterSpec, at: &Path) -> Errors {
    let at = at.child("workerGroupSpecs");
    let mut errors = Errors::new();
    if spec.pod_set_count() > MOST_POD_SETS {
        errors.push(Error::too_many(&at, spec.pod_set_count(), MOST_POD_SETS));
    }
    for (index, _) in spec.worker_group_specs.iter().enumerate().filter(|(_, group)| group.group_name == HEAD) {
        let detail = format!("{HEAD:?} is reserved for the head group");
        errors.push(Error::forbidden(&at.index(index).child("groupName"), detail));
    }
    errors
}

/// Every mistake in where the pods want to run.
pub(super) fn topology_errors<J: Job>(job: &J, spec: &RayClusterSpec, at: &Path, gates: Gates) -> Errors {
    let metadata = |group: Path| group.child("template").child("metadata");
    let workers = (0..spec.worker_group_specs.len()).map(|index| at.child("workerGroupSpecs").index(index));
    let paths: Vec<Path> = std::iter::once(at.child("headGroupSpec")).chain(workers).map(metadata).collect();
    templates::topology_errors(job, &paths, Groups::Allowed, gates)
}
