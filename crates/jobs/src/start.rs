//! What the pods of an admitted Workload are given.

use std::sync::Arc;

use kueue_api::kueue::names::{annotation, label};
use kueue_api::kueue::v1beta2::{Admission, ResourceFlavor, Workload};
use kueue_api::lookup::NotFound;
use kueue_api::pod_set_info::{Conflict, PodSetInfo};
use kueue_api::slices;
use kueue_core::gates::{Gate, Gates};
use kueue_core::name::dns1123_label;

/// Why it cannot be told what the pods are given.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotGiven {
    /// A flavor is not known (yet, or any more).
    #[error(transparent)]
    Flavor(#[from] NotFound),
    /// The checks do not agree; that does not mend itself.
    #[error("in admission check {check:?}: {conflict}")]
    Checks { check: String, conflict: Conflict },
}

/// What each pod set of the Workload is given by its flavors and checks, in the order of the assignments.
pub fn given(
    workload: &Workload,
    admission: &Admission,
    gates: Gates,
    flavor: &dyn Fn(&str) -> Option<Arc<ResourceFlavor>>,
) -> Result<Vec<PodSetInfo>, NotGiven> {
    let assigned = admission.pod_set_assignments.iter().zip(&workload.spec.pod_sets);
    assigned
        .map(|(assignment, pod_set)| {
            // Looked up first: what the info borrows must outlive it.
            let flavors: Vec<Arc<ResourceFlavor>> =
                assignment.flavors.values().filter_map(|name| flavor(name)).collect();
            let find = |name: &str| flavors.iter().map(|flavor| &**flavor).find(|flavor| flavor.metadata.name == name);
            let mut info = PodSetInfo::from_assignment(assignment, pod_set, gates, find)?;
            mark(&mut info, workload, admission, gates);
            for check in &workload.status.admission_checks {
                if let Some(update) = check.pod_set_updates.iter().find(|update| update.name == info.name) {
                    let merged = info.merge(&PodSetInfo::from_update(update));
                    merged.map_err(|conflict| NotGiven::Checks { check: check.name.clone(), conflict })?;
                }
            }
            Ok(info)
        })
        .collect()
}

/// Labels and annotations by which pods are known to belong to their Workload and queues.
fn mark(info: &mut PodSetInfo, workload: &Workload, admission: &Admission, gates: Gates) {
    if gates.enabled(Gate::TopologyAwareScheduling) {
        info.annotations.insert(annotation::WORKLOAD.to_owned(), workload.metadata.name.clone());
    }
    if slices::is_elastic(&workload.metadata, gates) {
        let first = slices::slice_name(workload).to_owned();
        info.annotations.insert(annotation::WORKLOAD_SLICE_NAME.to_owned(), first);
    }
    info.labels.insert(label::POD_SET.to_owned(), info.name.clone());
    if workload.metadata.labels.contains_key(label::MULTIKUEUE_ORIGIN) {
        info.labels.insert(label::MULTIKUEUE_WORKER_POD.to_owned(), label::TRUE.to_owned());
    }
    if gates.enabled(Gate::AssignQueueLabelsForPods) {
        info.labels.insert(label::LOCAL_QUEUE_NAME.to_owned(), workload.spec.queue_name.clone());
        // A longer name is no label value; those pods are not labelled.
        if dns1123_label(&admission.cluster_queue).is_empty() {
            info.labels.insert(label::CLUSTER_QUEUE_NAME.to_owned(), admission.cluster_queue.clone());
        }
    }
}

/// What the pods were before the job ran.
pub fn original(workload: &Workload) -> Vec<PodSetInfo> {
    workload.spec.pod_sets.iter().map(PodSetInfo::from_pod_set).collect()
}
