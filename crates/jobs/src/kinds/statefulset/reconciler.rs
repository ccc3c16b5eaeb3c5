//! Looks at StatefulSets and the pods they make: reads what is around them, and carries out what is to be done.

use std::sync::Arc;

use kueue_api::kueue::names::{FIELD_MANAGER_KUEUE, annotation};
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::{Object as _, OwnerReference};
use kueue_runtime::client::{Failure, Patch};
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::informer::{Delta, Index, Store};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use kueue_runtime::reconciler::{Next, Reconciler};

use super::step::{Act, Outcome, step};
use super::{FRAMEWORK, StatefulSet, join_group};
use crate::kinds::pod::Pod;
use crate::reconciler::{JobReconciler, gone_is_fine, next};
use crate::step::{Family, is_managed};

/// Asks for a look at the StatefulSet that made a pod.
pub fn on_pod(delta: &Delta<Pod>, queue: &WorkQueue<Key>) {
    let Some(pod) = &delta.new else { return };
    let meta = &pod.object.metadata;
    let is_held = meta.annotations.get(annotation::POD_SUSPENDING_PARENT).is_some_and(|parent| parent == FRAMEWORK);
    for owner in meta.owner_references.iter().filter(|owner| is_held && is_controller(owner)) {
        queue.add(Key::new(Arc::clone(&delta.key.namespace), owner.name.as_str()));
    }
}

/// Asks for a look at the StatefulSet that a Workload was made for.
pub fn on_workload(delta: &Delta<Workload>, queue: &WorkQueue<Key>) {
    for workload in delta.old.iter().chain(&delta.new) {
        let owners = &workload.object.metadata.owner_references;
        for owner in owners.iter().filter(|owner| is_statefulset(owner)) {
            queue.add(Key::new(Arc::clone(&delta.key.namespace), owner.name.as_str()));
        }
    }
}

fn is_statefulset(owner: &OwnerReference) -> bool {
    owner.kind == StatefulSet::KIND && owner.api_version == StatefulSet::api_version()
}

/// Whether the owner is a StatefulSet that made the object.
pub fn is_controller(owner: &OwnerReference) -> bool {
    owner.controller == Some(true) && is_statefulset(owner)
}

/// Looks at StatefulSets.
#[derive(Debug)]
pub struct StatefulSetReconciler {
    /// Knows the pods, and does what is to be done about them and about Workloads.
    pub pods: JobReconciler<Pod>,
    /// Finds pods by their group.
    pub by_group: Index,
    /// Finds pods by who controls them.
    pub by_controller: Index,
    pub sets: Arc<Store<StatefulSet>>,
    pub recorder: Recorder,
}

impl Reconciler<Key> for StatefulSetReconciler {
    fn name(&self) -> &'static str {
        FRAMEWORK
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(owner) = self.sets.get(key).map(|stored| stored.object) else { return Ok(Next::Done) };
        if owner.is_managed_elsewhere() || self.pods.family(&owner.metadata).await? != Family::TopLevel {
            return Ok(Next::Done);
        }
        let gates = self.pods.settings.gates;
        let found = owner.find_workload(gates, |name| {
            let key = Key::new(Arc::clone(&key.namespace), name);
            self.pods.stores.workloads.get(&key).map(|stored| stored.object)
        });
        let [usual, _] = owner.workload_names(gates);
        let name = found.as_ref().map_or(usual, |workload| workload.metadata.name.clone());
        let group = Key::new(Arc::clone(&key.namespace), name.as_str()).to_string();
        let members = self.pods.jobs.find(self.by_group, &group);
        let members: Vec<Arc<Pod>> = members.into_iter().map(|(_, pod)| pod.object).collect();
        let workloads = found.into_iter().collect();
        let outcome = self.pods.surrounded(&owner.metadata, workloads, Family::TopLevel, |around| {
            is_managed(&owner.metadata, &around).then(|| step(&owner, &members, &around))
        });
        let Some(outcome) = outcome else { return Ok(Next::Done) };
        self.let_pods_join(&owner, &name).await?;
        self.carry_out(&owner, outcome).await
    }
}

impl StatefulSetReconciler {
    /// Makes members of the group of those that the StatefulSet made and that are none yet.
    async fn let_pods_join(&self, owner: &StatefulSet, group: &str) -> Result<(), Failure> {
        let settings = &self.pods.settings;
        for (_, stored) in self.pods.jobs.find(self.by_controller, &owner.metadata.uid) {
            let pod = &stored.object;
            let joined = join_group(pod, owner, group, settings.manages_without_queue, settings.gates);
            if let Some(member) = joined.filter(|_| pod.is_held_by_parent()) {
                self.write(pod, &member).await?;
            }
        }
        Ok(())
    }

    async fn carry_out(&self, owner: &StatefulSet, outcome: Outcome) -> Result<Next, Failure> {
        let actions = outcome.acts.iter().filter_map(|act| match act {
            Act::Do(action) => Some(&**action),
            Act::Pod { .. } | Act::Tell { .. } => None,
        });
        if self.pods.are_outdated(actions).await? {
            return Ok(Next::Done);
        }
        for act in outcome.acts {
            match act {
                Act::Pod { old, new } => self.write(&old, &new).await?,
                Act::Do(action) => self.pods.act(&mut None, *action).await?,
                Act::Tell { is_warning, reason, message } => {
                    let (regarding, reason) = (Regarding::of(owner), reason.to_owned());
                    self.recorder.record(Event { regarding, is_warning, reason, note: message });
                }
            }
        }
        next(outcome.failure, None)
    }

    async fn write(&self, old: &Pod, new: &Pod) -> Result<(), Failure> {
        let Some(patch) = Patch::between(old, new, FIELD_MANAGER_KUEUE) else { return Ok(()) };
        gone_is_fine(self.pods.unseen.patch(&self.pods.client, &Key::of(old), &patch).await.map(drop))
    }
}
