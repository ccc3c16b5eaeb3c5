//! Looks at jobs of one kind: reads what is around them, and carries out what is to be done.

use std::sync::Arc;
use std::time::Duration;

use kueue_api::core_v1::{Namespace, PriorityClass};
use kueue_api::kueue::names::{FIELD_MANAGER_KUEUE, FINALIZER_RESOURCE_IN_USE, annotation};
use kueue_api::kueue::v1beta2::{ResourceFlavor, Workload, WorkloadPriorityClass};
use kueue_api::meta::{ConditionStatus, Object, ObjectMeta, OwnerReference};
use kueue_core::time::Time;
use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::informer::{Delta, Index, Store, Unseen};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use kueue_runtime::reconciler::{Next, Reconciler};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::ancestor::Ancestor;
use crate::job::{Job, Write};
use crate::kinds::pod::group_name;
use crate::kinds::ray::raycluster::RayCluster;
use crate::opened::{OnOpened, Opened};
use crate::owners::Owners;
use crate::report::Fact;
use crate::step::{Action, Family, Outcome, Parent, Settings, Surroundings, step, step_gone, step_leaving};
use crate::workload::prebuilt_name;

/// The condition that tells a job why it is deleted.
pub(crate) const TERMINATION_TARGET: &str = "TerminationTarget";

/// What jobs of all kinds are looked at with.
#[derive(Clone, Debug)]
pub struct Stores {
    pub workloads: Arc<Store<Workload>>,
    /// What was done to Workloads for the sake of jobs.
    pub unseen: Arc<Unseen<Workload>>,
    /// Finds Workloads by [`owner_values`].
    pub by_owner: Index,
    pub namespaces: Arc<Store<Namespace>>,
    pub flavors: Arc<Store<ResourceFlavor>>,
    pub workload_priority_classes: Arc<Store<WorkloadPriorityClass>>,
    pub priority_classes: Arc<Store<PriorityClass>>,
}

/// By what the Workloads of a job are found: kind, namespace and name of each owner.
pub fn owner_values(workload: &Workload) -> Vec<String> {
    let namespace = &workload.metadata.namespace;
    let value = |owner: &OwnerReference| owner_value(group_of(owner), &owner.kind, namespace, &owner.name);
    workload.metadata.owner_references.iter().map(value).collect()
}

fn owner_value(group: &str, kind: &str, namespace: &str, name: &str) -> String {
    format!("{kind}.{group}/{namespace}/{name}")
}

fn group_of(owner: &OwnerReference) -> &str {
    owner.api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Asks for a look at the jobs that own a Workload that something happened to.
pub fn queue_owners<J: Job>(delta: &Delta<Workload>, queue: &WorkQueue<Key>) {
    for workload in delta.old.iter().chain(&delta.new) {
        let owners = &workload.object.metadata.owner_references;
        for owner in owners.iter().filter(|owner| owner.kind == J::KIND && group_of(owner) == J::GROUP) {
            queue.add(Key::new(Arc::clone(&delta.key.namespace), owner.name.as_str()));
        }
    }
}

/// By what the jobs of a job are found: who controls them.
pub fn controller_values<J: Object>(job: &J) -> Vec<String> {
    let owners = job.metadata().owner_references.iter();
    owners.filter(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone()).collect()
}

/// Asks for a look at the job that something happened to the RayCluster of.
pub fn queue_controller<J: Job>(delta: &Delta<RayCluster>, queue: &WorkQueue<Key>) {
    for cluster in delta.old.iter().chain(&delta.new) {
        let owners = cluster.object.metadata.owner_references.iter();
        let is_job = |owner: &&OwnerReference| owner.kind == J::KIND && group_of(owner) == J::GROUP;
        for owner in owners.filter(|owner| owner.controller == Some(true)).filter(is_job) {
            queue.add(Key::new(Arc::clone(&delta.key.namespace), owner.name.as_str()));
        }
    }
}

/// Asks for a look at the jobs of the job whose Workload something happened to.
pub fn queue_children<J: Object>(
    delta: &Delta<Workload>,
    jobs: &Store<J>,
    by_controller: Index,
    queue: &WorkQueue<Key>,
) {
    let Some(workload) = &delta.new else { return };
    let owners = &workload.object.metadata.owner_references;
    for owner in owners.iter().filter(|owner| owner.controller == Some(true)) {
        for (key, _) in jobs.find(by_controller, &owner.uid) {
            if key.namespace == delta.key.namespace {
                queue.add(key);
            }
        }
    }
}

/// Looks at jobs of one kind.
pub struct JobReconciler<J> {
    pub client: Client,
    pub clock: Clock,
    pub recorder: Recorder,
    pub settings: Arc<Settings>,
    pub jobs: Arc<Store<J>>,
    /// What was done to jobs.
    pub unseen: Arc<Unseen<J>>,
    pub stores: Stores,
    pub owners: Owners,
    /// For kinds whose pods run in a RayCluster of their own that may change its size.
    pub ray_clusters: Option<Arc<Store<RayCluster>>>,
    /// Who decides about Workloads' statuses.
    pub facts: UnboundedSender<Fact>,
    pub on_opened: OnOpened,
}

impl<J> std::fmt::Debug for JobReconciler<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobReconciler").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl<J: Job> Reconciler<Key> for JobReconciler<J> {
    fn name(&self) -> &'static str {
        J::FRAMEWORK
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        // A job that was started would be taken for stopped, and its quota given away. What shows it leads to another look.
        if !self.unseen.is_seen(&self.client, key).await? {
            return Ok(Next::Done);
        }
        let value = owner_value(J::GROUP, J::KIND, &key.namespace, &key.name);
        let found = self.stores.workloads.find(self.stores.by_owner, &value);
        // Those that it merely goes along with, as pods do with the Workload of their group, are not its own.
        let is_own = |workload: &Arc<Workload>| {
            let mut owners = workload.metadata.owner_references.iter();
            owners.any(|owner| owner.controller == Some(true) && owner.kind == J::KIND && *owner.name == *key.name)
        };
        let workloads: Vec<Arc<Workload>> =
            found.into_iter().map(|(_, workload)| workload.object).filter(is_own).collect();
        let job = self.jobs.get(key).map(|stored| stored.object);
        let outcome = match &job {
            Some(job) if job.metadata().deletion_timestamp.is_none() => self.look(job, workloads).await?,
            Some(job) => step_leaving(&**job, &workloads, self.settings.gates),
            None => {
                let outcome = step_gone(&workloads, self.settings.gates);
                if outcome.actions.is_empty() {
                    self.unseen.forget(key);
                    return Ok(Next::Done);
                }
                // Its Workloads may be seen before the job is: only the server knows that it is gone.
                for uid in workloads.iter().filter_map(|workload| controller_uid(workload)) {
                    if !self.unseen.is_gone(&self.client, key, uid).await? {
                        return Err(Failure::Missing(format!("{} {key} was not seen yet", J::KIND)));
                    }
                }
                outcome
            }
        };
        self.carry_out(job.as_deref(), outcome).await
    }
}

impl<J: Job> JobReconciler<J> {
    pub(crate) async fn look(&self, job: &J, workloads: Vec<Arc<Workload>>) -> Result<Outcome<J>, Failure> {
        let family = match job.waits_by_itself() {
            true => Family::TopLevel,
            false => self.family(job.metadata()).await?,
        };
        let cluster = job.ray_cluster().map(|name| Key::new(job.metadata().namespace.as_str(), name));
        let cluster = cluster.and_then(|key| self.ray_clusters.as_ref()?.get(&key)).map(|stored| stored.object);
        Ok(self.surrounded(job.metadata(), workloads, family, |around| {
            step(job, &Surroundings { ray_cluster: cluster, ..around })
        }))
    }

    /// Looks at a job, or at something like one, with what is around it.
    pub(crate) fn surrounded<R>(
        &self,
        meta: &ObjectMeta,
        workloads: Vec<Arc<Workload>>,
        family: Family,
        look: impl FnOnce(Surroundings<'_>) -> R,
    ) -> R {
        let stores = &self.stores;
        let prebuilt = prebuilt_name(meta, self.settings.gates);
        let prebuilt = prebuilt.and_then(|name| stores.workloads.get(&Key::new(meta.namespace.as_str(), name)));
        let flavor = |name: &str| stores.flavors.named(name);
        let around = Surroundings {
            settings: &self.settings,
            namespace: stores.namespaces.named(&meta.namespace).map(|namespace| namespace.metadata.labels.clone()),
            workloads,
            family,
            prebuilt: prebuilt.map(|stored| stored.object),
            flavor: &flavor,
            workload_priority_classes: stores.workload_priority_classes.all(),
            priority_classes: stores.priority_classes.all(),
            ray_cluster: None,
        };
        look(around)
    }

    /// Whom the job belongs to, with the Workloads that speak for it.
    pub(crate) async fn family(&self, job: &ObjectMeta) -> Result<Family, Failure> {
        let settings = &self.settings;
        let found = self.owners.ancestor(job, &settings.integrations, settings.manages_without_queue).await?;
        Ok(match found {
            Err(lost) => Family::Lost(lost),
            Ok(None) => Family::TopLevel,
            Ok(Some(ancestor)) => {
                let Ancestor { owner, .. } = &ancestor;
                let value = owner_value(group_of(owner), &owner.kind, &job.namespace, &owner.name);
                let workloads = self.stores.workloads.find(self.stores.by_owner, &value);
                let workloads = workloads.into_iter().map(|(_, workload)| workload.object).collect();
                Family::Child(Box::new(Parent { ancestor, workloads }))
            }
        })
    }

    pub(crate) async fn carry_out(&self, job: Option<&J>, outcome: Outcome<J>) -> Result<Next, Failure> {
        if self.are_outdated(outcome.actions.iter()).await? {
            return Ok(Next::Done);
        }
        // What the job is like now, as far as we know: each request is the difference to the one before it.
        let mut current = job.cloned();
        let mut reported = Vec::new();
        for action in outcome.actions {
            match &action {
                Action::Report(workload, _) => reported.push(workload.metadata.uid.clone()),
                // What is reported will be written; only then there is a version to change.
                Action::Unguard(workload) if reported.contains(&workload.metadata.uid) => continue,
                _ => {}
            }
            // What follows waits for it, too; the pod that goes last brings the next look about.
            if matches!(action, Action::Write(Write::Restored(_))) && current.as_ref().is_some_and(J::is_active) {
                break;
            }
            self.act(&mut current, action).await?;
        }
        next(outcome.failure, outcome.after)
    }

    /// Whether a look did not see what an earlier one did to a Workload. What shows it leads to another look.
    pub(crate) async fn are_outdated(&self, actions: impl Iterator<Item = &Action<J>>) -> Result<bool, Failure> {
        for action in actions {
            let (Action::UpdateWorkload { old: workload, .. }
            | Action::DeleteWorkload(workload)
            | Action::Unguard(workload)) = action
            else {
                continue;
            };
            if !self.stores.unseen.is_seen(&self.client, &Key::of(&**workload)).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Does one thing about a job that is as given, as far as we know.
    pub(crate) async fn act(&self, current: &mut Option<J>, action: Action<J>) -> Result<(), Failure> {
        match action {
            Action::Write(write) => {
                if let Some(known) = current {
                    self.write(known, write).await?;
                }
            }
            Action::CreateWorkload(workload) => drop(self.client.create(&*workload).await?),
            Action::UpdateWorkload { old, new } => self.update(&old, &new).await?,
            Action::DeleteWorkload(workload) => {
                self.unguard(&workload).await?;
                let (key, uid) = (Key::of(&*workload), &workload.metadata.uid);
                gone_is_fine(self.client.delete::<Workload>(&key, uid, Dependents::Background).await)?;
            }
            Action::Unguard(workload) => self.unguard(&workload).await?,
            Action::Report(workload, report) => {
                let uid = workload.metadata.uid.clone();
                // Nobody is there to be told only while everything ends.
                drop(self.facts.send(Fact { workload: Key::of(&*workload), uid, report }));
            }
            Action::Event { is_warning, reason, message } => {
                if let Some(job) = current {
                    let (regarding, reason) = (Regarding::of(job), reason.to_owned());
                    self.recorder.record(Event { regarding, is_warning, reason, note: message });
                }
            }
        }
        Ok(())
    }

    async fn write(&self, known: &mut J, write: Write<J>) -> Result<(), Failure> {
        let (mut wanted, is_status) = match write {
            Write::Spec(job) | Write::Restored(job) => (job, false),
            Write::Status(job) => (job, true),
            Write::Terminate { reason, message } => {
                return gone_is_fine(self.terminate(known, &reason, &message).await);
            }
            Write::Delete => return gone_is_fine(self.delete(known).await),
        };
        let patch = Patch::between(known, &wanted, FIELD_MANAGER_KUEUE);
        if let Some(patch) = patch.map(|patch| if is_status { patch.of_status() } else { patch }) {
            let written = self.unseen.patch(&self.client, &Key::of(known), &patch).await?;
            wanted.metadata_mut().resource_version.clone_from(&written.metadata().resource_version);
            self.measure(known, &wanted);
            *known = wanted;
        }
        Ok(())
    }

    /// Tells how long a pod waited that is let go.
    fn measure(&self, before: &J, now: &J) {
        let Some(gate) = before.opened_gate(now) else { return };
        let meta = now.metadata();
        let workload = meta.annotations.get(annotation::WORKLOAD);
        let workload = workload
            .and_then(|name| self.stores.workloads.get(&Key::new(meta.namespace.as_str(), name.as_str())))
            .map(|stored| stored.object);
        let is_group = group_name(meta, self.settings.gates).is_some();
        let opened = workload.as_ref().and_then(|of| Opened::now(gate, is_group, of, self.clock.time()));
        opened.iter().for_each(|opened| (self.on_opened)(opened));
    }

    async fn terminate(&self, job: &J, reason: &str, message: &str) -> Result<(), Failure> {
        let told = last_words(job, reason, message, self.clock.time());
        let patch = Patch::apply(told, FIELD_MANAGER_KUEUE).of_status();
        self.unseen.patch(&self.client, &Key::of(job), &patch).await?;
        self.delete(job).await
    }

    async fn delete(&self, job: &J) -> Result<(), Failure> {
        self.client.delete::<J>(&Key::of(job), &job.metadata().uid, Dependents::Background).await
    }

    async fn update(&self, old: &Workload, new: &Workload) -> Result<(), Failure> {
        if let Some(patch) = Patch::between(old, new, FIELD_MANAGER_KUEUE) {
            self.stores.unseen.patch(&self.client, &Key::of(old), &patch).await?;
        }
        Ok(())
    }

    async fn unguard(&self, workload: &Workload) -> Result<(), Failure> {
        let mut free = workload.clone();
        free.metadata.finalizers.retain(|finalizer| finalizer != FINALIZER_RESOURCE_IN_USE);
        gone_is_fine(self.update(workload, &free).await)
    }
}

/// The identity of the job that a Workload is for.
fn controller_uid(workload: &Workload) -> Option<&str> {
    let mut owners = workload.metadata.owner_references.iter();
    owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}

/// What a job is told before it is deleted, to be applied to its status.
pub fn last_words<J: Job>(job: &J, reason: &str, message: &str, now: Time) -> Value {
    let meta = job.metadata();
    let condition = json!({"type": TERMINATION_TARGET, "status": ConditionStatus::True, "lastTransitionTime": now,
        "reason": reason, "message": message});
    json!({"apiVersion": J::api_version(), "kind": J::KIND, "status": {"conditions": [condition]},
        "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid}})
}

/// When to look again.
pub(crate) fn next(failure: Option<String>, after: Option<Duration>) -> Result<Next, Failure> {
    match (failure, after) {
        (Some(failure), _) => Err(Failure::Missing(failure)),
        (None, Some(wait)) => Ok(Next::After(wait)),
        (None, None) => Ok(Next::Done),
    }
}

pub(crate) fn gone_is_fine(result: Result<(), Failure>) -> Result<(), Failure> {
    result.or_else(|failure| if failure.is_not_found() { Ok(()) } else { Err(failure) })
}
