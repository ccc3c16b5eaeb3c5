//! Jobs with several pod templates, in a fixed order: what is done with all of them alike.

use std::collections::BTreeMap;

use kueue_api::core_v1::PodTemplateSpec;
use kueue_api::pod_set_info::PodSetInfo;
use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::{Gate, Gates};

use crate::job::{CannotStart, Job};
use crate::webhook::topology;
use crate::workload;

/// Gives each template what its pod set was given.
pub(super) fn run(templates: Vec<&mut PodTemplateSpec>, given: &[PodSetInfo], gates: Gates) -> Result<(), CannotStart> {
    if templates.len() != given.len() {
        return Err(CannotStart::PodSets { expected: templates.len(), given: given.len() });
    }
    for (template, given) in templates.into_iter().zip(given) {
        given.merge_into(template, gates)?;
    }
    Ok(())
}

/// Puts all templates back to what they were; none where another number of them was started.
pub(super) fn restore(templates: Vec<&mut PodTemplateSpec>, original: &[PodSetInfo]) -> bool {
    if templates.len() != original.len() {
        return false;
    }
    let mut is_changed = false;
    for (template, original) in templates.into_iter().zip(original) {
        is_changed |= original.restore(template);
    }
    is_changed
}

/// Whether pod sets of a kind may want to run near each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Groups {
    Allowed,
    Unknown,
}

/// Every mistake in where the pods want to run. `metadata` tells where that of each template stands, in order.
pub(super) fn topology_errors<J: Job>(job: &J, metadata: &[Path], groups: Groups, gates: Gates) -> Errors {
    if !gates.enabled(Gate::TopologyAwareScheduling) {
        return Errors::new();
    }
    let pod_sets = match workload::pod_sets(job, gates) {
        Ok(pod_sets) => pod_sets,
        Err(error) => return vec![Error::internal(&Path::default(), error.to_string())],
    };
    let mut errors = Errors::new();
    for (pod_set, at) in pod_sets.iter().zip(metadata) {
        let annotations = &pod_set.template.metadata.annotations;
        errors.extend(topology::request(annotations, at, gates));
        errors.extend(topology::slices_in_count(annotations, at, pod_set));
    }
    if groups == Groups::Allowed {
        let annotations = |at: &Path| at.child("annotations");
        let paths: BTreeMap<&str, Path> =
            pod_sets.iter().zip(metadata).map(|(pod_set, at)| (pod_set.name.as_str(), annotations(at))).collect();
        errors.extend(topology::groups(&pod_sets, &paths));
    }
    errors
}
