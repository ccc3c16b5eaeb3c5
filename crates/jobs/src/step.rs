//! What is to be done about one job, given everything around it: the order in which Kueue looks, as a pure function.
//!
//! The first thing that is due is done and nothing else; what it changes leads to another look.

mod ensure;
mod stages;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kueue_api::core_v1::PriorityClass;
use kueue_api::kueue::names::{condition, event, reason};
use kueue_api::kueue::v1beta2::{ResourceFlavor, Workload, WorkloadPriorityClass};
use kueue_api::meta::{ConditionStatus, ObjectMeta};
use kueue_core::gates::Gates;
use kueue_core::selector::LabelSelector;

use crate::job::{Job, Stop, StopReason, Write};
use crate::report::Report;
use crate::workload::{Copied, prebuilt_name, queue_name};

/// What the operator chose about jobs.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub gates: Gates,
    /// Jobs that name no queue wait as well.
    pub manages_without_queue: bool,
    /// Namespaces whose jobs are looked at at all; all when missing.
    pub namespaces: Option<LabelSelector>,
    /// Whether anybody cares for pods that are not ready.
    pub waits_for_pods: bool,
    pub copied: Copied,
}

/// Everything that a look at a job may depend on.
pub struct Surroundings<'a> {
    pub settings: &'a Settings,
    /// The labels of the job's namespace; none when there is no such namespace.
    pub namespace: Option<BTreeMap<String, String>>,
    /// The Workloads that name the job as their owner, by name.
    pub workloads: Vec<Arc<Workload>>,
    /// The Workload that was made for the job beforehand, if it names one and it exists.
    pub prebuilt: Option<Arc<Workload>>,
    pub flavor: &'a dyn Fn(&str) -> Option<Arc<ResourceFlavor>>,
    pub workload_priority_classes: Vec<Arc<WorkloadPriorityClass>>,
    pub priority_classes: Vec<Arc<PriorityClass>>,
}

impl std::fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("workloads", &self.workloads).finish_non_exhaustive()
    }
}

/// One thing to be done.
#[derive(Clone, PartialEq, Debug)]
pub enum Action<J> {
    /// The job is to be like this.
    Write(Write<J>),
    CreateWorkload(Box<Workload>),
    /// The Workload, except for its status, is to be like this.
    UpdateWorkload {
        old: Arc<Workload>,
        new: Box<Workload>,
    },
    /// The Workload is to be deleted, its finalizer removed.
    DeleteWorkload(Arc<Workload>),
    /// The Workload's finalizer is to be removed.
    Unguard(Arc<Workload>),
    /// The owner of the Workload's status is to be told.
    Report(Arc<Workload>, Report),
    /// An event about the job.
    Event {
        is_warning: bool,
        reason: &'static str,
        message: String,
    },
}

impl<J> Action<J> {
    fn event(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Event { is_warning: false, reason, message: message.into() }
    }
}

/// What a look came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome<J> {
    /// In order; after one that fails none of the others is carried out.
    pub actions: Vec<Action<J>>,
    /// Something is missing that nobody will tell about: look again, later and later.
    pub failure: Option<String>,
    /// Look again then.
    pub after: Option<Duration>,
}

impl<J> Default for Outcome<J> {
    fn default() -> Self {
        Self { actions: Vec::new(), failure: None, after: None }
    }
}

impl<J> From<Vec<Action<J>>> for Outcome<J> {
    fn from(actions: Vec<Action<J>>) -> Self {
        Self { actions, ..Self::default() }
    }
}

impl<J> Outcome<J> {
    fn failed(actions: Vec<Action<J>>, failure: impl std::fmt::Display) -> Self {
        Self { actions, failure: Some(failure.to_string()), after: None }
    }
}

/// What is to be done about a job that is there and is not being deleted.
pub fn step<J: Job>(job: &J, around: &Surroundings<'_>) -> Outcome<J> {
    if !job.is_ours() || !is_managed(job.metadata(), around) {
        return Outcome::default();
    }
    match ensure::one_workload(job, around) {
        ensure::Found::One(workload) => stages::with_workload(job, &workload, around),
        ensure::Found::None => without_workload(job, around),
        ensure::Found::Busy(outcome) => outcome,
    }
}

/// What is to be done about the Workloads of a job that is gone or being deleted.
pub fn step_gone<J>(workloads: &[Arc<Workload>]) -> Outcome<J> {
    let mut actions = Vec::new();
    for workload in workloads {
        let is_controlled = workload.metadata.owner_references.iter().any(|owner| owner.controller == Some(true));
        let is_over = workload.metadata.deletion_timestamp.is_some() || is_true(workload, condition::FINISHED);
        if is_controlled && !is_over {
            let message = "The workload's owner no longer exists".to_owned();
            let report = Report::Finished { reason: reason::finished::OWNER_NOT_FOUND, message };
            actions.push(Action::Report(Arc::clone(workload), report));
        }
        actions.push(Action::Unguard(Arc::clone(workload)));
    }
    actions.into()
}

/// What is to be done about a job that is being deleted.
pub fn step_leaving<J: Job>(job: &J, workloads: &[Arc<Workload>]) -> Outcome<J> {
    let mut outcome = step_gone(workloads);
    outcome.actions.extend(release(job));
    outcome
}

/// Whether the job is any business of ours.
pub(crate) fn is_managed(job: &ObjectMeta, around: &Surroundings<'_>) -> bool {
    let Some(namespace) = &around.namespace else { return false };
    if around.settings.namespaces.as_ref().is_some_and(|selector| !selector.matches(namespace)) {
        return false;
    }
    !queue_name(job).is_empty() || around.settings.manages_without_queue
}

/// Lets go of a job that is over.
pub(crate) fn release<J: Job>(job: &J) -> Vec<Action<J>> {
    job.released().map(|free| Action::Write(Write::Spec(free))).into_iter().collect()
}

fn without_workload<J: Job>(job: &J, around: &Surroundings<'_>) -> Outcome<J> {
    if job.finished().is_some() {
        return release(job).into();
    }
    let is_prebuilt = prebuilt_name(job.metadata(), around.settings.gates).is_some();
    let mut actions = Vec::new();
    if is_prebuilt {
        let why = Stop { reason: StopReason::NoMatchingWorkload, message: "missing workload" };
        actions = stages::stop(job, None, &why);
    }
    // Pods that still run use quota that a new Workload would be given a second time.
    if job.is_active() {
        return actions.into();
    }
    if is_prebuilt {
        return Outcome::failed(actions, "the prebuilt workload does not exist");
    }
    match ensure::new_workload(job, around, "") {
        Err(outcome) => *outcome,
        Ok(workload) => {
            let meta = &workload.metadata;
            let message = format!("Created Workload: {}/{}", meta.namespace, meta.name);
            vec![Action::CreateWorkload(Box::new(workload)), Action::event(event::job::CREATED_WORKLOAD, message)]
                .into()
        }
    }
}

pub(crate) fn is_true(workload: &Workload, kind: &str) -> bool {
    let conditions = &workload.status.conditions;
    conditions.iter().any(|condition| condition.r#type == kind && condition.status == ConditionStatus::True)
}
