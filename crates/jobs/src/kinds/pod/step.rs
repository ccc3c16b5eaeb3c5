//! What is to be done about a group of pods, given everything around it, as a pure function.
//!
//! The order is that of [`crate::step`]; what differs is that a group is several objects, any of which may be missing,
//! too many, or lost and replaced by another.

mod making;
mod stages;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use kueue_api::kueue::names::{condition, event, reason};
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::{Object as _, OwnerReference};
use kueue_core::gates::{Gate, Gates};

use super::Pod;
use super::group::{BadGroup, Group, is_group_workload, pod_sets};
use super::members::{partition, sort_out};
use crate::job::{Job as _, Stop, StopReason};
use crate::report::Report;
use crate::step::{self, Action, Surroundings, is_managed, is_true};
use crate::workload::{max_execution_s, owner_reference, prebuilt_name};

pub use making::{group_workload, set_owner};

/// One thing to be done.
#[derive(Clone, PartialEq, Debug)]
pub enum Act {
    /// About a pod, or about the Workload on behalf of that pod.
    Do(Arc<Pod>, Box<Action<Pod>>),
    /// The pod no longer counts: its finalizer is removed and, if it is too many, it is deleted.
    LetGo { pod: Arc<Pod>, is_excess: bool },
    /// An event about the Workload.
    Tell { workload: Arc<Workload>, reason: &'static str, message: String },
}

/// What a look at a group came to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// In order; after one that fails none of the others is carried out.
    pub acts: Vec<Act>,
    /// Something is missing that nobody will tell about: look again, later and later.
    pub failure: Option<String>,
}

/// What is to be done about a group that has pods.
pub fn step(group: &Group<'_>, around: &Surroundings<'_>) -> Outcome {
    if !group.first().is_ours(around.settings.gates) || !is_managed(&group.first().metadata, around) {
        return Outcome::default();
    }
    let mut look = Look {
        group,
        around,
        members: group.pods.clone(),
        absent: 0,
        has_updated_workload: false,
        outcome: Outcome::default(),
    };
    match look.find() {
        Found::One(workload) => look.with_workload(&workload),
        Found::None => look.without_workload(),
        Found::Busy => {}
    }
    look.outcome
}

/// What is to be done about the Workload of a group that has no pods any more. One that another job has by that name, or
/// whose pods somebody will make again, is left alone.
pub fn step_gone(workload: Option<Arc<Workload>>, gates: Gates) -> step::Outcome<Pod> {
    let is_foreign = |workload: &Workload| {
        let owners = &workload.metadata.owner_references;
        let is_controlled = owners.iter().any(|owner| owner.controller == Some(true));
        let is_refused =
            gates.enabled(Gate::PodIntegrationValidateGroupOwner) && !is_group_workload(workload) && is_controlled;
        let makes_pods = |owner: &OwnerReference| owner.controller != Some(true) && owner.kind != Pod::KIND;
        is_refused || (workload.metadata.deletion_timestamp.is_none() && owners.iter().any(makes_pods))
    };
    let gone: Vec<Arc<Workload>> = workload.into_iter().filter(|workload| !is_foreign(workload)).collect();
    step::step_gone(&gone, gates)
}

/// The Workload of a group.
enum Found {
    One(Arc<Workload>),
    None,
    /// Something has to be done or to happen first.
    Busy,
}

/// One look at a group: what was found out so far, and what is to be done about it.
struct Look<'a> {
    group: &'a Group<'a>,
    around: &'a Surroundings<'a>,
    /// The pods that count.
    members: Vec<Arc<Pod>>,
    /// How many pods are missing.
    absent: usize,
    /// A second change of the Workload would be based on a version that is no more.
    has_updated_workload: bool,
    outcome: Outcome,
}

impl Look<'_> {
    fn act(&mut self, action: Action<Pod>) {
        self.act_on(self.group.first(), action);
    }

    fn act_on(&mut self, pod: &Arc<Pod>, action: Action<Pod>) {
        self.outcome.acts.push(Act::Do(Arc::clone(pod), Box::new(action)));
    }

    fn tell(&mut self, pod: &Arc<Pod>, reason: &'static str, message: &str) {
        self.act_on(pod, Action::event(reason, message));
    }

    fn update(&mut self, old: &Arc<Workload>, new: Workload) -> Arc<Workload> {
        self.has_updated_workload = true;
        self.act(Action::UpdateWorkload { old: Arc::clone(old), new: Box::new(new.clone()) });
        Arc::new(new)
    }

    fn let_go(&mut self, pods: Vec<Arc<Pod>>, is_excess: bool) {
        let has_reason = |pod: &Arc<Pod>| pod.has_finalizer() || is_excess;
        self.outcome.acts.extend(pods.into_iter().filter(has_reason).map(|pod| Act::LetGo { pod, is_excess }));
    }

    /// Lets all pods go, also such as do not count any more.
    fn release(&mut self) {
        self.let_go(self.group.pods.clone(), false);
    }

    fn is_suspended(&self) -> bool {
        self.members.iter().any(|pod| pod.is_suspended())
    }

    fn is_active(&self) -> bool {
        let gates = self.around.settings.gates;
        self.members.iter().any(|pod| pod.is_running(self.group.now, gates))
    }

    /// The group can have no Workload as it is.
    fn refuse(&mut self, error: &BadGroup) {
        if error.is_told() {
            let reason = event::job::ERR_WORKLOAD_COMPOSE;
            self.act(Action::Event { is_warning: true, reason, message: error.to_string() });
        }
        if !error.is_lasting() {
            self.outcome.failure = Some(error.to_string());
        }
    }

    fn workload_name(&self) -> &str {
        prebuilt_name(&self.group.first().metadata, self.around.settings.gates).unwrap_or(self.group.name)
    }

    fn find(&mut self) -> Found {
        let gates = self.around.settings.gates;
        if prebuilt_name(&self.group.first().metadata, gates).is_some() {
            return self.find_prebuilt();
        }
        let Some(workload) = self.around.workloads.first().cloned() else { return Found::None };
        if gates.enabled(Gate::PodIntegrationValidateGroupOwner) && !is_group_workload(&workload) {
            return self.refuse_foreign();
        }
        let is_match = workload.spec.maximum_execution_time_seconds == max_execution_s(&self.group.first().metadata);
        match is_match.then(|| self.sort_out(&workload)) {
            Some(Ok(Some(found))) => return found,
            Some(Err(error)) => {
                self.refuse(&error);
                return Found::Busy;
            }
            Some(Ok(None)) | None => {}
        }
        self.replace(&workload)
    }

    /// Somebody else has a Workload of the group's name. Its pods wait; those that are deleted must not wait for us.
    fn refuse_foreign(&mut self) -> Found {
        let message = format!(
            "A Workload named {:?} already exists but is not a pod group workload; this pod group cannot be admitted",
            self.group.name
        );
        self.act(Action::Event { is_warning: true, reason: event::job::WORKLOAD_NAME_CONFLICT, message });
        let (_, inactive) = partition(&self.members);
        self.let_go(inactive, false);
        Found::Busy
    }

    /// The Workload that somebody made for the group beforehand: its pods become owners.
    fn find_prebuilt(&mut self) -> Found {
        let Some(found) = self.around.prebuilt.clone() else { return Found::None };
        let mut controllers = found.metadata.owner_references.iter().filter(|owner| owner.controller == Some(true));
        if controllers.any(|owner| owner.uid != self.group.first().metadata.uid) {
            return Found::None;
        }
        let found = self.own(&found);
        let pod_sets = match self.group.pod_sets(&self.members, self.around.settings.gates) {
            Ok(pod_sets) => pod_sets,
            Err(error) => {
                self.refuse(&error);
                return Found::Busy;
            }
        };
        if self.group.fits(&pod_sets, &found, self.workload_name()) {
            return Found::One(found);
        }
        if !is_true(&found, condition::FINISHED) {
            let message = "The prebuilt workload is out of sync with its user job".to_owned();
            let report = Report::Finished { reason: reason::finished::OUT_OF_SYNC, message };
            self.act(Action::Report(found, report));
        }
        Found::None
    }

    /// Sorts the pods out by what the Workload has room for, if it stands for them at all.
    fn sort_out(&mut self, workload: &Arc<Workload>) -> Result<Option<Found>, BadGroup> {
        let group = self.group;
        let sorted = sort_out(&group.pods, &workload.spec.pod_sets, group.first().is_fast(), group.now);
        let needed = pod_sets(&sorted.kept, self.around.settings.gates)?;
        if sorted.kept.is_empty() || !group.fits(&needed, workload, self.workload_name()) {
            return Ok(None);
        }
        if !group.is_settled {
            return Ok(Some(Found::Busy));
        }
        self.absent = sorted.absent;
        self.members = sorted.kept;
        let workload = self.own(workload);
        self.let_go(sorted.excess, true);
        self.let_go(sorted.replaced, false);
        if self.has_updated_workload {
            return Ok(Some(Found::One(workload)));
        }
        let (followed, done) = step::follow(&**group.first(), &workload, self.around);
        self.has_updated_workload = !done.actions.is_empty();
        done.actions.into_iter().for_each(|action| self.act(action));
        self.outcome.failure = done.failure;
        Ok(Some(followed.map_or(Found::Busy, Found::One)))
    }

    /// All pods own the Workload, so that it goes when the last of them does.
    fn own(&mut self, workload: &Arc<Workload>) -> Arc<Workload> {
        let mut owned = (**workload).clone();
        let owners = &mut owned.metadata.owner_references;
        let before = owners.len();
        for pod in &self.members {
            set_owner(owners, owner_reference(&**pod));
        }
        let added = owners.len() - before;
        if owned.metadata.owner_references == workload.metadata.owner_references {
            return Arc::clone(workload);
        }
        let owned = self.update(workload, owned);
        if added > 0 {
            let message = format!("Added {added} owner reference(s)");
            let (workload, reason) = (Arc::clone(&owned), event::workload::OWNER_REFERENCES_ADDED);
            self.outcome.acts.push(Act::Tell { workload, reason, message });
        }
        owned
    }

    /// A Workload that does not stand for the group is changed while the group waits, and else deleted.
    fn replace(&mut self, old: &Arc<Workload>) -> Found {
        let key = format!("{}/{}", old.metadata.namespace, old.metadata.name);
        if self.is_suspended() && !is_true(old, condition::QUOTA_RESERVED) {
            let Some(new) = self.construct() else { return Found::Busy };
            let mut updated = (**old).clone();
            updated.spec = new.spec;
            updated.spec.active = old.spec.active;
            let updated = self.update(old, updated);
            let message = format!("Updated not matching Workload for suspended job: {key}");
            self.act(Action::event(event::job::UPDATED_WORKLOAD, message));
            return Found::One(updated);
        }
        if !self.is_suspended() && self.group.finished(&self.members).is_none() {
            let message = "No matching Workload; restoring pod templates according to existent Workload";
            self.stop(&Stop { reason: StopReason::NoMatchingWorkload, message });
        }
        if old.metadata.deletion_timestamp.is_some() {
            self.act(Action::Unguard(Arc::clone(old)));
            return Found::None;
        }
        self.act(Action::DeleteWorkload(Arc::clone(old)));
        self.act(Action::event(event::job::DELETED_WORKLOAD, format!("Deleted not matching Workload: {key}")));
        Found::Busy
    }

    fn without_workload(&mut self) {
        if self.group.finished(&self.members).is_some() {
            return self.release();
        }
        let is_prebuilt = prebuilt_name(&self.group.first().metadata, self.around.settings.gates).is_some();
        if is_prebuilt {
            self.stop(&Stop { reason: StopReason::NoMatchingWorkload, message: "missing workload" });
        }
        // Pods that still run use quota that a new Workload would be given a second time.
        if self.is_active() {
            return;
        }
        if is_prebuilt {
            self.outcome.failure = Some("the prebuilt workload does not exist".to_owned());
            return;
        }
        if let Some(workload) = self.construct() {
            let message = format!("Created Workload: {}/{}", workload.metadata.namespace, workload.metadata.name);
            self.act(Action::CreateWorkload(Box::new(workload)));
            self.act(Action::event(event::job::CREATED_WORKLOAD, message));
        }
    }
}
