//! A job has one Workload that fits it, or none yet.

use std::sync::Arc;

use kueue_api::kueue::names::{annotation, condition, event, label, reason};
use kueue_api::kueue::v1beta2::{PodSet, PriorityClassKind, Workload};
use kueue_core::gates::Gate;
use kueue_core::label as labels;

use super::{Action, Outcome, Surroundings, is_true, stages};
use crate::job::{Job, Stop, StopReason};
use crate::report::Report;
use crate::start;
use crate::workload::{self, PriorityClasses, controller_reference, prebuilt_name, priority_class_name};

/// The Workload of a job.
#[derive(Debug)]
pub(super) enum Found<J> {
    One(Arc<Workload>),
    None,
    /// Something has to be done first.
    Busy(Outcome<J>),
}

impl<J> Found<J> {
    fn busy(outcome: impl Into<Outcome<J>>) -> Self {
        Self::Busy(outcome.into())
    }
}

/// The Workload that stands for the job. Others of the job are deleted; one that no longer fits is changed while the job
/// waits, or deleted.
pub(super) fn one_workload<J: Job>(job: &J, around: &Surroundings<'_>) -> Found<J> {
    if prebuilt_name(job.metadata(), around.settings.gates).is_some() {
        return prebuilt(job, around);
    }
    let pod_sets = match workload::pod_sets(job, around.settings.gates) {
        Ok(pod_sets) => pod_sets,
        Err(error) => return Found::Busy(unusable(&error)),
    };
    let (matching, mut others): (Vec<_>, Vec<_>) =
        around.workloads.iter().cloned().partition(|workload| fits(job, &pod_sets, workload, around));
    let mut matching = matching.into_iter();
    let found = matching.next();
    others.extend(matching);
    others.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let mut actions = Vec::new();
    let mut to_update = None;
    if found.is_none() && job.is_suspended() {
        to_update = others.first().filter(|first| !is_true(first, condition::QUOTA_RESERVED)).cloned();
        others.drain(..usize::from(to_update.is_some()));
    }
    if found.is_none() && !job.is_suspended() && job.finished().is_none() {
        // With several it is not known which of them the pods were started from.
        let (old, message) = match others.as_slice() {
            [old] => (Some(&**old), "No matching Workload; restoring pod templates according to existent Workload"),
            _ => (None, "Missing Workload; unable to restore pod templates"),
        };
        actions = stages::stop(job, old, &Stop { reason: StopReason::NoMatchingWorkload, message });
    }
    if !others.is_empty() {
        for other in others {
            let message =
                format!("Deleted not matching Workload: {}/{}", other.metadata.namespace, other.metadata.name);
            actions.extend([Action::DeleteWorkload(other), Action::event(event::job::DELETED_WORKLOAD, message)]);
        }
        return Found::busy(actions);
    }
    if let Some(old) = to_update {
        actions.extend(update(job, &old, around));
        return Found::busy(actions);
    }
    match found {
        None if actions.is_empty() => Found::None,
        None => Found::busy(actions),
        Some(workload) => match follow(job, &workload, around) {
            Some(outcome) => Found::Busy(outcome),
            None => Found::One(workload),
        },
    }
}

fn fits<J: Job>(job: &J, pod_sets: &[PodSet], workload: &Workload, around: &Surroundings<'_>) -> bool {
    let gates = around.settings.gates;
    let admission = workload.status.admission.as_ref().filter(|_| is_true(workload, condition::QUOTA_RESERVED));
    let given = admission.and_then(|admission| start::given(workload, admission, gates, around.flavor).ok());
    let is_admitted = is_true(workload, condition::ADMITTED);
    workload::fits(job, pod_sets, workload, given.as_deref(), is_admitted, gates)
}

/// The Workload that somebody made for the job beforehand: the job becomes its owner.
fn prebuilt<J: Job>(job: &J, around: &Surroundings<'_>) -> Found<J> {
    let meta = job.metadata();
    let Some(found) = &around.prebuilt else { return Found::None };
    let controller = found.metadata.owner_references.iter().find(|owner| owner.controller == Some(true));
    match controller {
        Some(owner) if owner.uid != meta.uid => return Found::None,
        Some(_) => {}
        None => {
            let mut owned = (**found).clone();
            owned.metadata.owner_references.push(controller_reference(job));
            if labels::value(&meta.uid).is_empty() {
                owned.metadata.labels.insert(label::JOB_UID.to_owned(), meta.uid.clone());
            }
            return Found::busy(vec![Action::UpdateWorkload { old: Arc::clone(found), new: Box::new(owned) }]);
        }
    }
    let pod_sets = match workload::pod_sets(job, around.settings.gates) {
        Ok(pod_sets) => pod_sets,
        Err(error) => return Found::Busy(unusable(&error)),
    };
    if is_true(found, condition::FINISHED) || fits(job, &pod_sets, found, around) {
        return Found::One(Arc::clone(found));
    }
    let message = "The prebuilt workload is out of sync with its user job".to_owned();
    let report = Report::Finished { reason: reason::finished::OUT_OF_SYNC, message };
    Found::busy(vec![Action::Report(Arc::clone(found), report)])
}

/// Lets the Workload follow what may change about a job at any time: its gate and its priority class.
fn follow<J: Job>(job: &J, found: &Arc<Workload>, around: &Surroundings<'_>) -> Option<Outcome<J>> {
    let meta = job.metadata();
    let text = |meta: &kueue_api::meta::ObjectMeta| {
        meta.annotations.get(annotation::ADMISSION_GATED_BY).cloned().unwrap_or_default()
    };
    let gate = text(meta);
    if around.settings.gates.enabled(Gate::AdmissionGatedBy) && gate != text(&found.metadata) {
        let mut gated = (**found).clone();
        match gate.is_empty() {
            true => drop(gated.metadata.annotations.remove(annotation::ADMISSION_GATED_BY)),
            false => drop(gated.metadata.annotations.insert(annotation::ADMISSION_GATED_BY.to_owned(), gate.clone())),
        }
        let message = format!("Updated workload AdmissionGatedBy to {gate:?}");
        let update = Action::UpdateWorkload { old: Arc::clone(found), new: Box::new(gated) };
        return Some(vec![update, Action::event(event::job::UPDATED_WORKLOAD, message)].into());
    }
    let class = found.spec.priority_class_ref.as_ref();
    let is_pod_class = class.is_some_and(|class| class.kind != PriorityClassKind::WorkloadPriorityClass);
    // The API server refuses to add a class once quota is reserved.
    let is_fixed = class.is_none() && is_true(found, condition::QUOTA_RESERVED);
    let is_same = class.map_or("", |class| class.name.as_str()) == priority_class_name(meta);
    if is_pod_class || is_fixed || is_same {
        return None;
    }
    let priority = match priority_classes(around).of(job, &found.spec.pod_sets) {
        Ok(priority) => priority,
        Err(missing) => return Some(class_not_found(job, &missing)),
    };
    let mut ranked = (**found).clone();
    ranked.spec.priority = Some(priority.value);
    ranked.spec.priority_class_ref = priority.class;
    if ranked.spec == found.spec {
        return None;
    }
    let message = format!("Updated workload priority class: {}/{}", found.metadata.namespace, found.metadata.name);
    let update = Action::UpdateWorkload { old: Arc::clone(found), new: Box::new(ranked) };
    Some(vec![update, Action::event(event::job::UPDATED_WORKLOAD, message)].into())
}

/// Makes a Workload that no longer fits what the job is now.
fn update<J: Job>(job: &J, old: &Arc<Workload>, around: &Surroundings<'_>) -> Vec<Action<J>> {
    let new = match new_workload(job, around, "") {
        Ok(new) => new,
        Err(outcome) => return outcome.actions,
    };
    let mut updated = (**old).clone();
    updated.spec = new.spec;
    updated.spec.active = old.spec.active;
    let key = format!("{}/{}", old.metadata.namespace, old.metadata.name);
    let message = format!("Updated not matching Workload for suspended job: {key}");
    let update = Action::UpdateWorkload { old: Arc::clone(old), new: Box::new(updated) };
    vec![update, Action::event(event::job::UPDATED_WORKLOAD, message)]
}

/// A Workload for the job as it is, or what to say when there can be none.
pub(super) fn new_workload<J: Job>(
    job: &J,
    around: &Surroundings<'_>,
    extra: &str,
) -> Result<Workload, Box<Outcome<J>>> {
    let gates = around.settings.gates;
    let pod_sets = workload::pod_sets(job, gates).map_err(|error| Box::new(unusable(&error)))?;
    let priority = priority_classes(around).of(job, &pod_sets);
    let priority = priority.map_err(|missing| Box::new(class_not_found(job, &missing)))?;
    Ok(workload::construct(job, pod_sets, priority, &around.settings.copied, extra, gates))
}

fn priority_classes<'a>(around: &'a Surroundings<'_>) -> PriorityClasses<'a> {
    PriorityClasses { workload: &around.workload_priority_classes, pod: &around.priority_classes }
}

/// The job says something that no Workload can be made of. It is looked at again when it changes.
fn unusable<J>(error: &crate::topology_request::BadTopologyRequest) -> Outcome<J> {
    let reason = event::job::ERR_WORKLOAD_COMPOSE;
    vec![Action::Event { is_warning: true, reason, message: error.to_string() }].into()
}

fn class_not_found<J: Job>(job: &J, missing: &kueue_api::lookup::NotFound) -> Outcome<J> {
    let mut actions = Vec::new();
    let named = priority_class_name(job.metadata());
    if !named.is_empty() {
        let message = format!("WorkloadPriorityClass {named:?} not found");
        let reason = event::job::WORKLOAD_PRIORITY_CLASS_NOT_FOUND;
        actions.push(Action::Event { is_warning: true, reason, message });
    }
    Outcome::failed(actions, missing)
}
