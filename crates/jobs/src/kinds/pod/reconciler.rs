//! Looks at pods and groups of pods: reads what is around them, and carries out what is to be done.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::kueue::names::{FIELD_MANAGER_KUEUE, event};
use kueue_api::kueue::v1beta2::Workload;
use kueue_core::gates::{Gate, Gates};
use kueue_runtime::client::{Dependents, Failure, Patch};
use kueue_runtime::events::{Event, Regarding};
use kueue_runtime::informer::{Delta, Index};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use kueue_runtime::reconciler::{Next, Reconciler};

use super::expectations::Expectations;
use super::group::{Group, is_group_workload};
use super::step::{Act, Outcome, step, step_gone};
use super::{Pod, group_name};
use crate::job::Job as _;
use crate::reconciler::{JobReconciler, gone_is_fine, next};
use crate::step::Family;

/// How often a finalizer is tried to be removed from a pod that others change at the same time.
const ATTEMPTS: usize = 5;

/// What is looked at.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Request {
    Pod(Key),
    /// By the name that its pods give their group.
    Group(Key),
}

impl Request {
    /// What a pod is looked at as.
    pub fn of(pod: &Pod, gates: Gates) -> Self {
        let meta = &pod.metadata;
        match group_name(meta, gates) {
            Some(group) => Self::Group(Key::new(meta.namespace.as_str(), group)),
            None => Self::Pod(Key::of(pod)),
        }
    }

    /// What to look at when something happened to a Workload. A group whose name another job's Workload had may go on
    /// when that is gone.
    pub fn of_workload(workload: &Workload, is_gone: bool, gates: Gates) -> Vec<Self> {
        let group = || Self::Group(Key::of(workload));
        let owners = &workload.metadata.owner_references;
        if is_group_workload(workload) {
            return if owners.is_empty() { Vec::new() } else { vec![group()] };
        }
        let is_freed = is_gone && gates.enabled(Gate::PodIntegrationValidateGroupOwner);
        let controller = owners.iter().find(|owner| owner.controller == Some(true));
        let pod = controller.filter(|owner| owner.kind == "Pod" && owner.api_version == "v1");
        let pod = pod.map(|owner| Self::Pod(Key::new(workload.metadata.namespace.as_str(), owner.name.as_str())));
        is_freed.then(group).into_iter().chain(pod).collect()
    }
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pod(key) => key.fmt(f),
            Self::Group(key) => write!(f, "group/{key}"),
        }
    }
}

/// By what the pods of a group are found.
pub fn group_values(gates: Gates) -> fn(&Pod) -> Vec<String> {
    fn values(pod: &Pod, are_annotated: bool) -> Vec<String> {
        let gates = Gates::default().with(Gate::WorkloadIdentifierAnnotations, are_annotated);
        match Request::of(pod, gates) {
            Request::Group(group) => vec![group_value(&group)],
            Request::Pod(_) => Vec::new(),
        }
    }
    match gates.enabled(Gate::WorkloadIdentifierAnnotations) {
        true => |pod| values(pod, true),
        false => |pod| values(pod, false),
    }
}

fn group_value(group: &Key) -> String {
    group.to_string()
}

/// Asks for a look at what a pod belongs to, and notes what was done to it and can be seen now.
pub fn on_pod(delta: &Delta<Pod>, gates: Gates, expectations: &Expectations, queue: &WorkQueue<Request>) {
    for pod in delta.old.iter().chain(&delta.new) {
        let request = Request::of(&pod.object, gates);
        if let Request::Group(group) = &request
            && delta.new.as_ref().is_none_or(|new| !new.object.has_finalizer())
        {
            expectations.observe(group, &pod.object.metadata.uid);
        }
        queue.add(request);
    }
}

/// Asks for a look at the pods of a Workload that something happened to.
pub fn on_workload(delta: &Delta<Workload>, gates: Gates, queue: &WorkQueue<Request>) {
    let last = delta.new.as_ref().or(delta.old.as_ref());
    for request in last.into_iter().flat_map(|last| Request::of_workload(&last.object, delta.new.is_none(), gates)) {
        queue.add(request);
    }
}

/// Looks at pods and groups.
#[derive(Debug)]
pub struct PodReconciler {
    /// Looks at single pods, and does what is to be done about any.
    pub jobs: JobReconciler<Pod>,
    /// Finds pods by [`group_values`].
    pub by_group: Index,
    pub expectations: Arc<Expectations>,
    /// Pods are managed only for the sake of jobs that make them.
    pub needs_parent: bool,
}

impl Reconciler<Request> for PodReconciler {
    fn name(&self) -> &'static str {
        Pod::FRAMEWORK
    }

    async fn reconcile(&self, request: &Request) -> Result<Next, Failure> {
        match request {
            Request::Pod(key) => {
                let pod = self.jobs.jobs.get(key).map(|stored| stored.object);
                let is_skipped = |pod: &Arc<Pod>| {
                    group_name(&pod.metadata, self.jobs.settings.gates).is_some() || self.is_skipped(pod)
                };
                if pod.as_ref().is_some_and(is_skipped) {
                    return Ok(Next::Done);
                }
                self.jobs.reconcile(key).await
            }
            Request::Group(key) => self.look_at_group(key).await,
        }
    }
}

impl PodReconciler {
    fn is_skipped(&self, pod: &Pod) -> bool {
        !pod.is_managed() || (self.needs_parent && !pod.is_held_by_parent())
    }

    async fn look_at_group(&self, key: &Key) -> Result<Next, Failure> {
        let gates = self.jobs.settings.gates;
        for (pod, _) in self.jobs.jobs.find(self.by_group, &group_value(key)) {
            if !self.jobs.unseen.is_seen(&self.jobs.client, &pod).await? {
                return Ok(Next::Done);
            }
        }
        // Asked before the pods are read: what is seen meanwhile must not make up for what this look misses.
        let is_settled = self.expectations.are_met(key);
        let found = self.jobs.jobs.find(self.by_group, &group_value(key));
        let pods: Vec<Arc<Pod>> = found.into_iter().map(|(_, pod)| pod.object).collect();
        let workload = self.jobs.stores.workloads.get(key).map(|stored| stored.object);
        let Some(first) = pods.first() else {
            return self.jobs.carry_out(None, step_gone(workload, gates)).await;
        };
        if self.is_skipped(first) {
            return Ok(Next::Done);
        }
        let meta = first.metadata.clone();
        let group = Group { name: &key.name, pods, now: self.jobs.clock.time(), is_settled };
        let outcome = self
            .jobs
            .surrounded(&meta, workload.into_iter().collect(), Family::TopLevel, |around| step(&group, &around));
        self.carry_out(key, outcome).await
    }

    async fn carry_out(&self, group: &Key, outcome: Outcome) -> Result<Next, Failure> {
        let actions = outcome.acts.iter().filter_map(|act| match act {
            Act::Do(_, action) => Some(&**action),
            Act::LetGo { .. } | Act::Tell { .. } => None,
        });
        if self.jobs.are_outdated(actions).await? {
            return Ok(Next::Done);
        }
        // What pods are like now, as far as we know, after they were written.
        let mut current: BTreeMap<String, Option<Pod>> = BTreeMap::new();
        for act in outcome.acts {
            match act {
                Act::Do(pod, action) => {
                    let known = current.entry(pod.metadata.name.clone()).or_insert_with(|| Some((*pod).clone()));
                    self.jobs.act(known, *action).await?;
                }
                Act::LetGo { pod, is_excess } => {
                    let expected = self.expectations.expect(group, &pod.metadata.uid);
                    self.let_go(&pod, is_excess).await?;
                    expected.keep();
                }
                Act::Tell { workload, reason, message } => {
                    let (regarding, reason) = (Regarding::of(&*workload), reason.to_owned());
                    self.jobs.recorder.record(Event { regarding, is_warning: false, reason, note: message });
                }
            }
        }
        next(outcome.failure, None)
    }

    async fn let_go(&self, pod: &Arc<Pod>, is_excess: bool) -> Result<(), Failure> {
        gone_is_fine(self.remove_finalizer(pod).await)?;
        if is_excess && pod.metadata.deletion_timestamp.is_none() {
            let (key, uid) = (Key::of(&**pod), &pod.metadata.uid);
            gone_is_fine(self.jobs.client.delete::<Pod>(&key, uid, Dependents::Background).await)?;
            let (reason, note) = (event::pod::EXCESS_POD_DELETED.to_owned(), EXCESS.to_owned());
            self.jobs.recorder.record(Event { regarding: Regarding::of(&**pod), is_warning: false, reason, note });
        }
        Ok(())
    }

    /// The list of finalizers is written as a whole, so it must be the list as it is: who else writes makes us read again.
    async fn remove_finalizer(&self, pod: &Arc<Pod>) -> Result<(), Failure> {
        let mut read: Pod = (**pod).clone();
        for _ in 0..ATTEMPTS {
            let Some(free) = read.released().filter(|_| read.metadata.uid == pod.metadata.uid) else { return Ok(()) };
            let Some(patch) = Patch::between(&read, &free, FIELD_MANAGER_KUEUE) else { return Ok(()) };
            match self.jobs.client.patch::<Pod>(&Key::of(&**pod), &patch).await {
                Err(failure) if failure.is_conflict() => read = self.jobs.client.get(&Key::of(&**pod)).await?,
                written => return written.map(drop),
            }
        }
        Err(Failure::Missing(format!("pod {} changes too often", Key::of(&**pod))))
    }
}

/// What is said about a pod that is too many.
pub const EXCESS: &str = "Excess pod deleted";
