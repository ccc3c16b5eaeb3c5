//! A job has one Workload that fits it, or none yet.

use std::sync::Arc;

use kueue_api::kueue::names::{annotation, condition, event, label, reason};
use kueue_api::kueue::v1beta2::{PodSet, PriorityClassKind, Workload};
use kueue_api::meta::ObjectMeta;
use kueue_api::priority::Priority;
use kueue_api::slices;
use kueue_core::gates::Gate;
use kueue_core::label as labels;

use super::{Action, Look, Outcome, Over, Surroundings, is_true, key};
use crate::job::{Job, Stop, StopReason};
use crate::kinds::pod::group::is_group_workload;
use crate::kinds::ray;
use crate::report::Report;
use crate::start;
use crate::workload::{self, PriorityClasses, controller_reference, prebuilt_name, priority_class_name};

impl<J: Job> Look<'_, J> {
    /// The Workload that stands for the job. Others of the job are deleted; one that no longer fits is changed while the
    /// job waits, or deleted.
    pub(super) fn one_workload(&mut self) -> Result<Option<Arc<Workload>>, Over> {
        if prebuilt_name(self.job.metadata(), self.around.settings.gates).is_some() {
            return self.prebuilt();
        }
        let pod_sets = self.pod_sets()?;
        if self.is_elastic() {
            self.note_cluster();
            if let Some(found) = self.slice(&pod_sets)? {
                return Ok(found);
            }
        }
        let (matching, mut others): (Vec<_>, Vec<_>) =
            self.around.workloads.iter().cloned().partition(|workload| self.fits(&pod_sets, workload));
        let mut matching = matching.into_iter();
        let found = matching.next();
        others.extend(matching);
        others.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        let mut to_update = None;
        if found.is_none() && self.job.is_suspended() {
            to_update = others.first().filter(|first| !is_true(first, condition::QUOTA_RESERVED)).cloned();
            others.drain(..usize::from(to_update.is_some()));
        }
        if found.is_none() && !self.job.is_suspended() && self.job.finished().is_none() {
            self.stop_unmatched(&others);
        }
        if !others.is_empty() {
            for other in others {
                let message = format!("Deleted not matching Workload: {}", key(&other));
                let told = Action::event(event::job::DELETED_WORKLOAD, message);
                self.actions.extend([Action::DeleteWorkload(other), told]);
            }
            return Err(Over::DONE);
        }
        match (to_update, found) {
            (Some(old), _) => self.update(&old).map(Some),
            (None, Some(found)) => self.follow(&found).map(Some),
            (None, None) => Ok(None),
        }
    }

    fn stop_unmatched(&mut self, others: &[Arc<Workload>]) {
        // With several it is not known which of them the pods were started from.
        let (old, message) = match others {
            [old] => (Some(&**old), "No matching Workload; restoring pod templates according to existent Workload"),
            _ => (None, "Missing Workload; unable to restore pod templates"),
        };
        self.stop(old, &Stop { reason: StopReason::NoMatchingWorkload, message });
    }

    pub(super) fn is_elastic(&self) -> bool {
        slices::is_elastic(self.job.metadata(), self.around.settings.gates)
    }

    /// What the job needs. One that says something that no Workload can be made of is looked at again when it changes.
    fn pod_sets(&mut self) -> Result<Vec<PodSet>, Over> {
        let gates = self.around.settings.gates;
        let made = workload::pod_sets(&self.job, gates).and_then(|mut pod_sets| {
            ray::resize(&self.job, &mut pod_sets, self.around.ray_cluster.as_deref(), gates)?;
            Ok(pod_sets)
        });
        made.map_err(|error| {
            self.actions.push(Action::warning(event::job::ERR_WORKLOAD_COMPOSE, error.to_string()));
            Over::DONE
        })
    }

    fn fits(&self, pod_sets: &[PodSet], workload: &Workload) -> bool {
        let gates = self.around.settings.gates;
        let admission = workload.status.admission.as_ref().filter(|_| is_true(workload, condition::QUOTA_RESERVED));
        let given = admission.and_then(|admission| start::given(workload, admission, gates, self.around.flavor).ok());
        let is_admitted = is_true(workload, condition::ADMITTED);
        workload::fits(&self.job, pod_sets, workload, given.as_deref(), is_admitted, gates)
    }

    /// The Workload that somebody made for the job beforehand: the job becomes its owner.
    fn prebuilt(&mut self) -> Result<Option<Arc<Workload>>, Over> {
        let Some(mut found) = self.around.prebuilt.clone() else { return Ok(None) };
        let uid = self.job.metadata().uid.clone();
        let controller = found.metadata.owner_references.iter().find(|owner| owner.controller == Some(true));
        match controller {
            Some(owner) if owner.uid != uid => return Ok(None),
            Some(_) => {}
            // The pods of a group own it together, and nobody controls it.
            None if is_group_workload(&found) => return Ok(None),
            None => {
                let owner = controller_reference(&self.job);
                found = self.change(&found, |owned| {
                    owned.metadata.owner_references.push(owner);
                    if labels::value(&uid).is_empty() {
                        owned.metadata.labels.insert(label::JOB_UID.to_owned(), uid);
                    }
                });
            }
        }
        // One that was made for a grown job may be seen before the job has grown.
        let is_ahead = self.is_elastic() && slices::replacement_for(&found).is_some();
        let pod_sets = self.pod_sets()?;
        if is_ahead || is_true(&found, condition::FINISHED) || self.fits(&pod_sets, &found) {
            return Ok(Some(found));
        }
        let message = "The prebuilt workload is out of sync with its user job".to_owned();
        let report = Report::Finished { reason: reason::finished::OUT_OF_SYNC, message };
        self.actions.push(Action::Report(found, report));
        Ok(None)
    }

    /// Lets the Workload follow what may change about a job at any time: its gate and its priority class.
    pub(super) fn follow(&mut self, found: &Arc<Workload>) -> Result<Arc<Workload>, Over> {
        let mut found = Arc::clone(found);
        let mut gated = (*found).clone();
        if self.around.settings.gates.enabled(Gate::AdmissionGatedBy)
            && follow_gate(self.job.metadata(), &mut gated.metadata)
        {
            found = self.change(&found, |changed| *changed = gated);
            self.actions.push(gate_event(self.job.metadata()));
        }
        let mut followers = [found];
        self.follow_priority(&mut followers)?;
        let [found] = followers;
        Ok(found)
    }

    /// Lets all these Workloads of the job have the priority that its label says, or none of them.
    pub(super) fn follow_priority(&mut self, workloads: &mut [Arc<Workload>]) -> Result<(), Over> {
        let changes = priority_changes(&self.job, workloads, self.around);
        let changed = changes.map_err(|outcome| {
            self.actions.extend(outcome.actions);
            Over { failure: outcome.failure }
        })?;
        for (index, new) in changed {
            let message = format!("Updated workload priority class: {}", key(&new));
            workloads[index] = self.change(&workloads[index], |ranked| *ranked = new);
            self.actions.push(Action::event(event::job::UPDATED_WORKLOAD, message));
        }
        Ok(())
    }

    /// Makes a Workload that no longer fits what the job is now.
    fn update(&mut self, old: &Arc<Workload>) -> Result<Arc<Workload>, Over> {
        let mut spec = self.new_workload()?.spec;
        spec.active = old.spec.active;
        let updated = self.change(old, |updated| updated.spec = spec);
        let message = format!("Updated not matching Workload for suspended job: {}", key(old));
        self.actions.push(Action::event(event::job::UPDATED_WORKLOAD, message));
        Ok(updated)
    }

    /// A Workload for the job as it is.
    pub(super) fn new_workload(&mut self) -> Result<Workload, Over> {
        let pod_sets = self.pod_sets()?;
        let priority = priority(&self.job, &pod_sets, self.around).map_err(|outcome| {
            self.actions.extend(outcome.actions);
            Over { failure: outcome.failure }
        })?;
        let extra = if self.is_elastic() { self.job.slice_name_extra() } else { String::new() };
        let settings = self.around.settings;
        let mut made = workload::construct(&self.job, pod_sets, priority, &settings.copied, &extra, settings.gates);
        if self.is_elastic() {
            self.link_slice(&mut made)?;
        }
        Ok(made)
    }
}

/// What Workloads of one job become so that all have the priority that its label says, by position. Those go first that
/// have the class already and another value: if a write fails, the class that is still missing leads to another attempt.
pub fn priority_changes<J: Job>(
    job: &J,
    workloads: &[Arc<Workload>],
    around: &Surroundings<'_>,
) -> Result<Vec<(usize, Workload)>, Outcome<J>> {
    let named = priority_class_name(job.metadata());
    let follows = |workload: &Workload| match &workload.spec.priority_class_ref {
        Some(class) => class.kind == PriorityClassKind::WorkloadPriorityClass,
        // The API server refuses to add a class once quota is reserved.
        None => !is_true(workload, condition::QUOTA_RESERVED),
    };
    let has_class = |workload: &Workload| {
        workload.spec.priority_class_ref.as_ref().map_or("", |class| class.name.as_str()) == named
    };
    let following = || workloads.iter().enumerate().filter(|(_, workload)| follows(workload));
    let (same, other): (Vec<_>, Vec<_>) = following().partition(|(_, workload)| has_class(workload));
    let Some((_, first)) = other.first() else { return Ok(Vec::new()) };
    let wanted = priority(job, &first.spec.pod_sets, around)?;
    let changed = same.into_iter().chain(other).filter_map(|(index, old)| {
        let mut new = (**old).clone();
        new.spec.priority = Some(wanted.value);
        new.spec.priority_class_ref.clone_from(&wanted.class);
        (new.spec != old.spec).then_some((index, new))
    });
    Ok(changed.collect())
}

/// Lets a Workload be held by whom its job says; says whether that is another.
pub(crate) fn follow_gate(job: &ObjectMeta, workload: &mut ObjectMeta) -> bool {
    let key = annotation::ADMISSION_GATED_BY;
    let text = |meta: &ObjectMeta| meta.annotations.get(key).cloned().unwrap_or_default();
    let gate = text(job);
    let is_new = gate != text(workload);
    if is_new {
        match gate.is_empty() {
            true => drop(workload.annotations.remove(key)),
            false => drop(workload.annotations.insert(key.to_owned(), gate)),
        }
    }
    is_new
}

/// Tells that a Workload is held by somebody else now.
pub(crate) fn gate_event<J>(job: &ObjectMeta) -> Action<J> {
    let gate = job.annotations.get(annotation::ADMISSION_GATED_BY).map_or("", String::as_str);
    Action::event(event::job::UPDATED_WORKLOAD, format!("Updated workload AdmissionGatedBy to {gate:?}"))
}

/// The priority of a job with these pod sets, or what to say about a class that is missing.
pub fn priority<J: Job>(job: &J, pod_sets: &[PodSet], around: &Surroundings<'_>) -> Result<Priority, Outcome<J>> {
    priority_of(job.metadata(), job.priority_class(), pod_sets, around)
}

/// The same for what has these labels and, if it is of such a kind, a PriorityClass of its own.
pub(crate) fn priority_of<J>(
    meta: &ObjectMeta,
    class: Option<String>,
    pod_sets: &[PodSet],
    around: &Surroundings<'_>,
) -> Result<Priority, Outcome<J>> {
    let classes = PriorityClasses { workload: &around.workload_priority_classes, pod: &around.priority_classes };
    classes.of_meta(meta, class, pod_sets).map_err(|missing| {
        let named = priority_class_name(meta);
        let mut actions = Vec::new();
        if !named.is_empty() {
            let message = format!("WorkloadPriorityClass {named:?} not found");
            actions.push(Action::warning(event::job::WORKLOAD_PRIORITY_CLASS_NOT_FOUND, message));
        }
        Outcome { actions, failure: Some(missing.to_string()), after: None }
    })
}
