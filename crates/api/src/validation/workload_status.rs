//! Rules for the status of a Workload by itself.

use std::collections::BTreeMap;

use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::Gates;
use kueue_core::label;
use kueue_core::resource::base_units;

use super::conditions::validate_conditions;
use super::resource_flavor::validate_tolerations;
use super::shown;
use super::workload::is_elastic;
use crate::kueue::names::condition::QUOTA_RESERVED;
use crate::kueue::v1beta2::{Admission, PodSet, PodSetUpdate, ReclaimablePod, Workload};
use crate::meta::ConditionStatus;
use crate::pod_sets;

pub(super) fn validate(workload: &Workload, old: Option<&Workload>, gates: Gates) -> Errors {
    let at = Path::new("status");
    let mut errors = Errors::new();
    if has_quota(workload) {
        errors.extend(validate_admission(workload, old, &at.child("admission")));
    }
    errors.extend(validate_conditions(&workload.status.conditions, &at.child("conditions")));
    errors.extend(validate_reclaimable_pods(workload, old, gates, &at.child("reclaimablePods")));
    for (index, check) in workload.status.admission_checks.iter().enumerate() {
        let at = at.child("admissionChecks").index(index).child("podSetUpdates");
        for (index, update) in check.pod_set_updates.iter().enumerate() {
            errors.extend(validate_pod_set_update(update, &workload.spec.pod_sets, &at.index(index)));
        }
    }
    errors
}

/// Whether the workload holds quota.
pub(super) fn has_quota(workload: &Workload) -> bool {
    let conditions = &workload.status.conditions;
    let reserved = conditions.iter().find(|condition| condition.r#type == QUOTA_RESERVED);
    reserved.is_some_and(|condition| condition.status == ConditionStatus::True)
}

/// One that holds quota without an admission may still be changed, so that it can be repaired or removed.
fn validate_admission(workload: &Workload, old: Option<&Workload>, at: &Path) -> Errors {
    match &workload.status.admission {
        Some(admission) => validate_assignments(admission, &workload.spec.pod_sets, &at.child("podSetAssignments")),
        None if old.is_some_and(|old| has_quota(old) && old.status.admission.is_none()) => Errors::new(),
        None => vec![Error::required(at, "must be set while the QuotaReserved condition is true")],
    }
}

fn validate_assignments(admission: &Admission, pod_sets: &[PodSet], at: &Path) -> Errors {
    let mut errors = Errors::new();
    for (index, assignment) in admission.pod_set_assignments.iter().enumerate() {
        let at = at.index(index);
        if pod_sets::find(pod_sets, &assignment.name).is_none() {
            errors.push(Error::not_found(&at.child("name"), assignment.name.as_str()));
        }
        let Some(count) = assignment.count.filter(|count| *count > 0) else { continue };
        for (name, usage) in &assignment.resource_usage {
            if base_units(name, usage) % i64::from(count) != 0 {
                let why = format!("is not a multiple of {count}");
                errors.push(Error::invalid(&at.child("resourceUsage").key(name), shown(usage), why));
            }
        }
    }
    errors
}

fn validate_reclaimable_pods(workload: &Workload, old: Option<&Workload>, gates: Gates, at: &Path) -> Errors {
    let names: Vec<&str> = workload.spec.pod_sets.iter().map(|pod_set| pod_set.name.as_str()).collect();
    let counts: BTreeMap<&str, i32> =
        workload.spec.pod_sets.iter().map(|pod_set| (pod_set.name.as_str(), pod_set.count)).collect();
    // After a scale-down of an elastic job the old count is above the new size until the job reports again.
    let is_stale = |pods: &ReclaimablePod| {
        let same = |old: &Workload| old.status.reclaimable_pods.iter().any(|was| was == pods);
        is_elastic(workload, gates) && old.is_some_and(same)
    };
    let mut errors = Errors::new();
    for pods in &workload.status.reclaimable_pods {
        let at = at.key(&pods.name);
        match counts.get(pods.name.as_str()) {
            None => errors.push(Error::not_supported(&at.child("name"), pods.name.as_str(), &names)),
            Some(count) if pods.count > *count && !is_stale(pods) => {
                let why = format!("should be less or equal to {count}");
                errors.push(Error::invalid(&at.child("count"), pods.count, why));
            }
            Some(_) => {}
        }
    }
    errors
}

fn validate_pod_set_update(update: &PodSetUpdate, pod_sets: &[PodSet], at: &Path) -> Errors {
    let mut errors = Errors::new();
    if pod_sets::find(pod_sets, &update.name).is_none() {
        let mut names: Vec<&str> = pod_sets.iter().map(|pod_set| pod_set.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        errors.push(Error::not_supported(&at.child("name"), update.name.as_str(), &names));
    }
    errors.extend(validate_tolerations(&update.tolerations, &at.child("tolerations")));
    errors.extend(label::validate_annotations(&update.annotations, &at.child("annotations")));
    errors.extend(label::validate_labels(&update.node_selector, &at.child("nodeSelector")));
    errors.extend(label::validate_labels(&update.labels, &at.child("labels")));
    errors
}
