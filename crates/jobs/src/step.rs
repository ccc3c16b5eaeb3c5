//! What is to be done about one job, given everything around it: the order in which Kueue looks, as a pure function.
//!
//! A look goes on as if what it decided were done, until what comes next depends on somebody else.

mod ensure;
mod slice;
mod stages;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kueue_api::core_v1::PriorityClass;
use kueue_api::kueue::names::{FINALIZER_RESOURCE_IN_USE, condition, event, reason};
use kueue_api::kueue::v1beta2::{ResourceFlavor, Workload, WorkloadPriorityClass};
use kueue_api::meta::{ConditionStatus, ObjectMeta};
use kueue_api::slices;
use kueue_core::gates::{Gate, Gates};
use kueue_core::selector::LabelSelector;

use crate::ancestor::{Ancestor, Lost};
use crate::integrations::Integrations;
use crate::job::{Job, Stop, Write};
use crate::kinds::ray::raycluster::RayCluster;
use crate::report::Report;
use crate::start;
use crate::workload::{Copied, queue_name};

pub(crate) use ensure::{follow_gate, gate_event, priority_of};
pub use ensure::{priority, priority_changes};
pub use stages::{eviction, finished_event, pending_checks, pods_ready, reclaimable};

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
    /// Which kinds own jobs that are managed with them.
    pub integrations: Integrations,
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
    pub family: Family,
    pub flavor: &'a dyn Fn(&str) -> Option<Arc<ResourceFlavor>>,
    pub workload_priority_classes: Vec<Arc<WorkloadPriorityClass>>,
    pub priority_classes: Vec<Arc<PriorityClass>>,
    /// The RayCluster that the job's pods run in, if it names one and it exists.
    pub ray_cluster: Option<Arc<RayCluster>>,
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
    pub(crate) fn event(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Event { is_warning: false, reason, message: message.into() }
    }

    fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Event { is_warning: true, reason, message: message.into() }
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

/// Whom a job belongs to.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Family {
    /// Nobody: it waits for quota by itself.
    #[default]
    TopLevel,
    /// Another job, whose Workload speaks for it.
    Child(Box<Parent>),
    /// Nobody can say.
    Lost(Lost),
}

/// The job that a job belongs to, with its Workloads.
#[derive(Clone, PartialEq, Debug)]
pub struct Parent {
    pub ancestor: Ancestor,
    pub workloads: Vec<Arc<Workload>>,
}

/// One look at a job. What is decided counts as done for what is decided after it.
struct Look<'a, J> {
    /// The job as it will be.
    job: J,
    around: &'a Surroundings<'a>,
    actions: Vec<Action<J>>,
    /// Slices that were finished by this look.
    finished: Vec<String>,
}

/// Why a look ends before its end.
struct Over {
    failure: Option<String>,
}

impl Over {
    /// Something that was done leads to another look.
    const DONE: Self = Self { failure: None };

    fn failed(why: impl std::fmt::Display) -> Self {
        Self { failure: Some(why.to_string()) }
    }
}

/// Lets a Workload follow what may change at any time about the job that speaks for it; returns what it will be, unless
/// something is missing.
pub(crate) fn follow<J: Job>(
    job: &J,
    workload: &Arc<Workload>,
    around: &Surroundings<'_>,
) -> (Option<Arc<Workload>>, Outcome<J>) {
    let mut look = Look { job: job.clone(), around, actions: Vec::new(), finished: Vec::new() };
    let followed = look.follow(workload);
    let (workload, failure) = followed.map_or_else(|over| (None, over.failure), |workload| (Some(workload), None));
    (workload, Outcome { actions: look.actions, failure, after: None })
}

/// What is to be done about a job that is there and is not being deleted.
pub fn step<J: Job>(job: &J, around: &Surroundings<'_>) -> Outcome<J> {
    let mut look = Look { job: job.clone(), around, actions: Vec::new(), finished: Vec::new() };
    let failure = look.whole().err().and_then(|over| over.failure);
    Outcome { actions: look.actions, failure, after: None }
}

impl<J: Job> Look<'_, J> {
    fn whole(&mut self) -> Result<(), Over> {
        if !self.job.is_ours(self.around.settings.gates) || !is_managed(self.job.metadata(), self.around) {
            return Ok(());
        }
        match &self.around.family {
            Family::TopLevel => {}
            Family::Child(parent) => return self.follow_parent(parent),
            Family::Lost(lost) => {
                if *lost == Lost::TooDeep {
                    let reason = event::job::JOB_NESTING_TOO_DEEP;
                    self.actions.push(Action::warning(reason, Lost::too_deep_message()));
                }
                return Err(Over::failed(lost));
            }
        }
        let found = self.one_workload()?;
        let found = found.map(|workload| self.activate(workload));
        self.stages(found)
    }

    /// Jobs of a job run while its Workload is admitted.
    fn follow_parent(&mut self, parent: &Parent) -> Result<(), Over> {
        if self.job.finished().is_some() || self.job.is_suspended() {
            return Ok(());
        }
        let gates = self.around.settings.gates;
        let may_run = slices::unfinished(parent.workloads.iter().map(|workload| (**workload).clone()));
        let may_run = may_run.last().is_some_and(|newest| {
            // While an elastic job grows there is a moment in which none of its slices is admitted.
            let is_elastic =
                slices::is_elastic(self.job.metadata(), gates) || slices::is_elastic(&parent.ancestor.metadata, gates);
            if is_elastic { !is_true(newest, condition::EVICTED) } else { is_true(newest, condition::ADMITTED) }
        });
        if !may_run {
            self.job.suspend();
            self.actions.push(Action::Write(Write::Spec(self.job.clone())));
            self.actions.push(Action::event(event::job::SUSPENDED, "Kueue managed child job suspended"));
        }
        Ok(())
    }

    /// The Workload, switched on or off if the job says so.
    fn activate(&mut self, workload: Arc<Workload>) -> Arc<Workload> {
        match self.job.wants_active() {
            Some(active) if workload.spec.active.unwrap_or(true) != active => {
                self.change(&workload, |changed| changed.spec.active = Some(active))
            }
            _ => workload,
        }
    }

    /// Changes a Workload, and returns what it will be. Several changes of one are one request.
    fn change(&mut self, old: &Arc<Workload>, change: impl FnOnce(&mut Workload)) -> Arc<Workload> {
        let mut changed = (**old).clone();
        change(&mut changed);
        let known = self.actions.iter_mut().find_map(|action| match action {
            Action::UpdateWorkload { new, .. } if new.metadata.name == changed.metadata.name => Some(new),
            _ => None,
        });
        match known {
            Some(new) => (**new).clone_from(&changed),
            None => {
                let new = Box::new(changed.clone());
                self.actions.push(Action::UpdateWorkload { old: Arc::clone(old), new });
            }
        }
        Arc::new(changed)
    }

    /// Pushes the requests that stop the job, and the event that says why; nothing when it is stopped.
    fn stop(&mut self, workload: Option<&Workload>, why: &Stop<'_>) {
        let original = workload.map(start::original);
        let was_suspended = self.job.is_suspended();
        let writes = self.job.stop(why, original.as_deref());
        let ends = writes.iter().any(|write| matches!(write, Write::Terminate { .. } | Write::Delete));
        let is_stopped_now = ends || (!writes.is_empty() && !was_suspended);
        for write in writes {
            if let Write::Spec(job) | Write::Status(job) | Write::Restored(job) = &write {
                self.job.clone_from(job);
            }
            self.actions.push(Action::Write(write));
        }
        if is_stopped_now {
            self.actions.push(Action::event(event::job::STOPPED, why.message));
        }
    }
}

/// What is to be done about the Workloads of a job that is gone or being deleted.
pub fn step_gone<J>(workloads: &[Arc<Workload>], gates: Gates) -> Outcome<J> {
    let mut actions = Vec::new();
    for workload in workloads {
        let is_controlled = workload.metadata.owner_references.iter().any(|owner| owner.controller == Some(true));
        let is_over = workload.metadata.deletion_timestamp.is_some() || is_true(workload, condition::FINISHED);
        if gates.enabled(Gate::FinishOrphanedWorkloads) && is_controlled && !is_over {
            let message = "The workload's owner no longer exists".to_owned();
            let report = Report::Finished { reason: reason::finished::OWNER_NOT_FOUND, message };
            actions.push(Action::Report(Arc::clone(workload), report));
        }
        if workload.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER_RESOURCE_IN_USE) {
            actions.push(Action::Unguard(Arc::clone(workload)));
        }
    }
    actions.into()
}

/// What is to be done about a job that is being deleted.
pub fn step_leaving<J: Job>(job: &J, workloads: &[Arc<Workload>], gates: Gates) -> Outcome<J> {
    if !job.is_ours(gates) {
        return Outcome::default();
    }
    let mut outcome = step_gone(workloads, gates);
    outcome.actions.extend(release(job));
    outcome
}

/// Whether the job is any business of ours.
pub(crate) fn is_managed(job: &ObjectMeta, around: &Surroundings<'_>) -> bool {
    let Some(namespace) = &around.namespace else { return false };
    if around.settings.namespaces.as_ref().is_some_and(|selector| !selector.matches(namespace)) {
        return false;
    }
    let has_parent_in_queue = match &around.family {
        Family::Child(parent) => !queue_name(&parent.ancestor.metadata).is_empty(),
        Family::TopLevel | Family::Lost(_) => false,
    };
    !queue_name(job).is_empty() || around.settings.manages_without_queue || has_parent_in_queue
}

/// Lets go of a job that is over.
pub(crate) fn release<J: Job>(job: &J) -> Vec<Action<J>> {
    job.released().map(|free| Action::Write(Write::Spec(free))).into_iter().collect()
}

pub(crate) fn is_true(workload: &Workload, kind: &str) -> bool {
    let conditions = &workload.status.conditions;
    conditions.iter().any(|condition| condition.r#type == kind && condition.status == ConditionStatus::True)
}

/// The name of a Workload as it is told.
fn key(workload: &Workload) -> String {
    format!("{}/{}", workload.metadata.namespace, workload.metadata.name)
}
