//! Rules for Workloads: what a job may ask for, and what may be written about it.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::{Gate, Gates};
use kueue_core::label;
use kueue_core::resource_list::ResourceList;

use super::quota::not_negative;
use super::{admission_gates, workload_status};
use crate::core_v1::ResourceRequirements;
use crate::kueue::names::annotation;
use crate::kueue::v1beta2::{PodSet, PodSetTopologyRequest, Workload};
use crate::priority;

pub use super::workload_update::validate_update;

/// Kueue itself counts pods by this name.
const PODS: &str = "pods";

/// Every mistake in a new Workload.
pub fn validate(workload: &Workload, gates: Gates) -> Errors {
    validate_beside(workload, None, gates)
}

/// Every mistake that a Workload has by itself; some are let pass in an `old` one that had them already.
pub(super) fn validate_beside(workload: &Workload, old: Option<&Workload>, gates: Gates) -> Errors {
    let mut errors = validate_pod_sets(workload, gates);
    errors.extend(workload_status::validate(workload, old, gates));
    if gates.enabled(Gate::AdmissionGatedBy) {
        errors.extend(admission_gates::validate(&workload.metadata.annotations));
    }
    if gates.enabled(Gate::PriorityBoost) {
        errors.extend(validate_boost(workload, gates));
    }
    errors
}

/// Whether the job may be resized while it runs.
pub(super) fn is_elastic(workload: &Workload, gates: Gates) -> bool {
    gates.enabled(Gate::ElasticJobsViaWorkloadSlices)
        && workload.metadata.annotations.get(annotation::ELASTIC_JOB).is_some_and(|value| value == "true")
}

fn validate_boost(workload: &Workload, gates: Gates) -> Option<Error> {
    let at = Path::new("metadata").child("annotations").key(annotation::PRIORITY_BOOST);
    let value = workload.metadata.annotations.get(annotation::PRIORITY_BOOST)?;
    let why = if value.is_empty() {
        "must be a valid signed integer; use \"0\" explicitly, empty string is not allowed"
    } else if priority::boost(workload, gates).is_err() {
        "must be a valid signed integer"
    } else {
        return None;
    };
    Some(Error::invalid(&at, value.as_str(), why))
}

fn validate_pod_sets(workload: &Workload, gates: Gates) -> Errors {
    let at = Path::new("spec").child("podSets");
    let pod_sets = &workload.spec.pod_sets;
    let validate = |(index, pod_set)| validate_pod_set(pod_set, gates, &at.index(index));
    let mut errors: Errors = pod_sets.iter().enumerate().flat_map(validate).collect();
    let variable = pod_sets.iter().filter(|pod_set| pod_set.min_count.is_some()).count();
    if variable > 1 {
        errors.push(Error::invalid(&at, variable, "at most one podSet can use minCount"));
    }
    if variable > 0 && is_elastic(workload, gates) {
        let why = "partial admission and elastic job cannot be used together";
        errors.push(Error::invalid(&at, variable, why));
    }
    errors
}

fn validate_pod_set(pod_set: &PodSet, gates: Gates, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let template = at.child("template");
    if gates.enabled(Gate::WorkloadValidationForPodSetMetadata) {
        let (metadata, at) = (&pod_set.template.metadata, template.child("metadata"));
        errors.extend(label::validate_labels(&metadata.labels, &at.child("labels")));
        errors.extend(label::validate_annotations(&metadata.annotations, &at.child("annotations")));
    }
    let (spec, spec_at) = (&pod_set.template.spec, template.child("spec"));
    for (field, containers) in [("initContainers", &spec.init_containers), ("containers", &spec.containers)] {
        for (index, container) in containers.iter().enumerate() {
            let at = spec_at.child(field).index(index).child("resources");
            errors.extend(validate_resources(&container.resources, gates, &at));
        }
    }
    if let Some(resources) = &spec.resources {
        errors.extend(validate_resources(resources, gates, &spec_at.child("resources")));
    }
    if let Some(request) =
        pod_set.topology_request.as_ref().filter(|_| gates.enabled(Gate::TASValidateWorkloadSliceSize))
    {
        errors.extend(validate_slices(request, &at.child("topologyRequest")));
    }
    errors
}

fn validate_resources(resources: &ResourceRequirements, gates: Gates, at: &Path) -> Errors {
    let mut errors = validate_list(&resources.requests, gates, &at.child("requests"));
    errors.extend(validate_list(&resources.limits, gates, &at.child("limits")));
    errors
}

fn validate_list(list: &ResourceList, gates: Gates, at: &Path) -> Errors {
    let mut errors = Errors::new();
    for (name, quantity) in list {
        let at = at.key(name);
        if name == PODS {
            errors.push(Error::invalid(&at, PODS, "the key is reserved for internal kueue use"));
        }
        if gates.enabled(Gate::WorkloadValidateResourcesAreNonNegative) {
            errors.extend(not_negative(quantity, &at));
        }
    }
    errors
}

/// The schema says the same, but a Workload may have been stored under an older one.
fn validate_slices(request: &PodSetTopologyRequest, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let too_small = "must be greater than 0";
    let size_at = at.child("podSetSliceSize");
    match (&request.pod_set_slice_required_topology, request.pod_set_slice_size) {
        (Some(_), None) => {
            errors.push(Error::required(&size_at, "must be set when podSetSliceRequiredTopology is specified"));
        }
        (Some(_), Some(size)) if size <= 0 => errors.push(Error::invalid(&size_at, size, too_small)),
        (None, Some(_)) => {
            let why = "may not be set when podSetSliceRequiredTopology is not specified";
            errors.push(Error::forbidden(&size_at, why));
        }
        _ => {}
    }
    for (index, layer) in request.podset_slice_required_topology_constraints.iter().enumerate() {
        if layer.size <= 0 {
            let at = at.child("podsetSliceRequiredTopologyConstraints").index(index).child("size");
            errors.push(Error::invalid(&at, layer.size, too_small));
        }
    }
    errors
}
