//! Rules for changes of a Workload: what is promised to a job that holds quota stays promised.

use std::collections::{BTreeMap, BTreeSet};

use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::{Gate, Gates};

use super::workload::{is_elastic, validate_beside};
use super::workload_status::has_quota;
use super::{IMMUTABLE, admission_gates, immutable, shown};
use crate::kueue::names::annotation;
use crate::kueue::v1beta2::{Admission, CheckState, PodSet, ReclaimablePod, Workload};

/// Every mistake in a changed Workload.
pub fn validate_update(new: &Workload, old: &Workload, gates: Gates) -> Errors {
    let (spec, status) = (Path::new("spec"), Path::new("status"));
    let mut errors = validate_beside(new, Some(old), gates);
    if has_quota(old) {
        errors.extend(validate_pod_sets(&new.spec.pod_sets, &old.spec.pod_sets, gates, &spec.child("podSets")));
    }
    if has_quota(new) && has_quota(old) {
        errors.extend(validate_reclaimable_pods(new, old, gates, &status.child("reclaimablePods")));
    }
    if let (Some(new), Some(old)) = (&new.status.admission, &old.status.admission) {
        errors.extend(validate_admission(new, old, gates, &status.child("admission")));
    }
    errors.extend(validate_ready_checks(new, old, &status.child("admissionChecks")));
    errors.extend(validate_cluster_name(new, old, gates, &status.child("clusterName")));
    if gates.enabled(Gate::AdmissionGatedBy) {
        errors.extend(admission_gates::validate_change(&new.metadata.annotations, &old.metadata.annotations));
    }
    errors
}

/// Only the count may change, and only down.
fn validate_pod_sets(new: &[PodSet], old: &[PodSet], gates: Gates, at: &Path) -> Errors {
    if new.len() != old.len() {
        return vec![Error::invalid(at, shown(&new), IMMUTABLE)];
    }
    let shrinks = |new: &PodSet, old: &PodSet| {
        gates.enabled(Gate::ElasticJobsViaWorkloadSlices) && new.count < old.count && {
            let count = old.count;
            PodSet { count, ..new.clone() } == *old
        }
    };
    let changed = new.iter().zip(old).enumerate().filter(|(_, (new, old))| new != old && !shrinks(new, old));
    // Kueue writes these indices without brackets.
    changed.map(|(index, (new, _))| Error::invalid(&at.child(&index.to_string()), shown(new), IMMUTABLE)).collect()
}

/// Freed quota may be in use by others by now, so that the counts can only grow; a pod set that shrank is counted anew.
fn validate_reclaimable_pods(new: &Workload, old: &Workload, gates: Gates, at: &Path) -> Errors {
    let counts = |workload: &'_ Workload| -> BTreeMap<String, i32> {
        let count = |pods: &ReclaimablePod| (pods.name.clone(), pods.count);
        workload.status.reclaimable_pods.iter().map(count).collect()
    };
    let (new_counts, old_counts) = (counts(new), counts(old));
    let shrunk = shrunk_pod_sets(new, gates);
    let mut errors = Errors::new();
    for pods in &new.status.reclaimable_pods {
        if let Some(least) = old_counts.get(&pods.name).filter(|least| pods.count < **least)
            && !shrunk.contains(pods.name.as_str())
        {
            let why = format!("cannot be less than {least}");
            errors.push(Error::invalid(&at.key(&pods.name).child("count"), pods.count, why));
        }
    }
    for name in old_counts.keys().filter(|name| !new_counts.contains_key(*name) && !shrunk.contains(name.as_str())) {
        errors.push(Error::required(&at.key(name), "cannot be removed"));
    }
    errors
}

/// The pod sets of an elastic job that have fewer pods now than were admitted.
fn shrunk_pod_sets(workload: &Workload, gates: Gates) -> BTreeSet<&str> {
    let Some(admission) = workload.status.admission.as_ref().filter(|_| is_elastic(workload, gates)) else {
        return BTreeSet::new();
    };
    let sizes: BTreeMap<&str, i32> =
        workload.spec.pod_sets.iter().map(|pod_set| (pod_set.name.as_str(), pod_set.count)).collect();
    let size = |name: &str| sizes.get(name).copied().unwrap_or(0);
    let shrunk = admission
        .pod_set_assignments
        .iter()
        .filter(|assignment| assignment.count.is_some_and(|admitted| admitted > size(&assignment.name)));
    shrunk.map(|assignment| assignment.name.as_str()).collect()
}

/// An admission can be given and taken but not changed, except that its pods may be placed later or elsewhere.
fn validate_admission(new: &Admission, old: &Admission, gates: Gates, at: &Path) -> Option<Error> {
    let mut expected = old.clone();
    if gates.enabled(Gate::TopologyAwareScheduling) && new.pod_set_assignments.len() == old.pod_set_assignments.len() {
        for (expected, new) in expected.pod_set_assignments.iter_mut().zip(&new.pod_set_assignments) {
            expected.topology_assignment.clone_from(&new.topology_assignment);
            expected.delayed_topology_request.clone_from(&new.delayed_topology_request);
        }
    }
    immutable(new, &expected, at)
}

/// The job may have started with the pods as a check that is ready wanted them.
fn validate_ready_checks(new: &Workload, old: &Workload, at: &Path) -> Errors {
    let mut errors = Errors::new();
    for (index, was) in old.status.admission_checks.iter().enumerate() {
        let is = new.status.admission_checks.iter().rfind(|check| check.name == was.name);
        let stays_ready = |state: &CheckState| was.state == CheckState::Ready && *state == CheckState::Ready;
        if let Some(is) = is.filter(|is| stays_ready(&is.state)) {
            let at = at.index(index).child("podSetUpdates");
            errors.extend(immutable(&is.pod_set_updates, &was.pod_set_updates, &at));
        }
    }
    errors
}

/// Only a cluster that was asked may get the job; the next slice of an elastic job stays where the last one is.
fn validate_cluster_name(new: &Workload, old: &Workload, gates: Gates, at: &Path) -> Option<Error> {
    let replaces = new.metadata.annotations.contains_key(annotation::WORKLOAD_SLICE_REPLACEMENT_FOR);
    if gates.enabled(Gate::ElasticJobsViaWorkloadSlices) && replaces || old.status.cluster_name.is_some() {
        return None;
    }
    let name = new.status.cluster_name.as_ref()?;
    let why = "when setting clusterName it must be one of the nominatedClusterNames";
    (!old.status.nominated_cluster_names.contains(name)).then(|| Error::invalid(at, name.as_str(), why))
}
