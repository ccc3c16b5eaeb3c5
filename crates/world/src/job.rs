//! The Job controller.
//!
//! | job | gets |
//! |---|---|
//! | new, not suspended | a start time and its pods, each with a finalizer until it is counted |
//! | suspended | the condition, its pods deleted and not counted, no start time |
//! | resumed | the condition turned, a new start time, pods again |
//! | with fewer or more pods than it wants | those that are least far deleted, or more made; after a failure 10 s later, doubled up to 10 min |
//! | indexed | one pod per index, and the list of completed and failed ones |
//! | enough successes, or a rule of its success policy | `SuccessCriteriaMet`, and `Complete` when all pods are gone |
//! | too many failures, a rule of its failure policy, or past its deadline | `FailureTarget`, and `Failed` when all pods are gone |
//! | ended, with a time to live | deleted after it, in the foreground |
//! | `managedBy` somebody else | nothing |
//!
//! What becomes of pods is looked at once a second.

mod indexes;
mod plan;
mod pods;
#[cfg(test)]
mod tests;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use serde_json::json;
use tokio::task::JoinSet;

use crate::feeds::{Feeds, Line, Owned, View};
use crate::kinds::{Job, Pod, controller_of};
use crate::{AT_ONCE, MANAGER, Parts, Start, gone_is_fine};
use plan::{Plan, plan};
use pods::{FINALIZER, pod};

/// What pods do is looked at once for all that happens in this time, as real clusters do.
const BATCH: Duration = Duration::from_secs(1);

const OWN_NAME: &str = "kubernetes.io/job-controller";

struct Jobs {
    client: Client,
    clock: Clock,
    recorder: Recorder,
    jobs: View<Job>,
    owned: Owned<Pod>,
}

/// Listens to jobs and their pods; returns what begins to look after them.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.jobs.line_up(&line);
    feeds.pods.line_up_owners_after::<Job>(&line, parts.clock.wait(BATCH));
    let jobs = Jobs {
        client: parts.client.clone(),
        clock: parts.clock,
        recorder: parts.recorder.named("job-controller"),
        jobs: feeds.jobs.view(),
        owned: feeds.owned_pods(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(jobs), AT_ONCE))))
}

impl Reconciler<Key> for Jobs {
    fn name(&self) -> &'static str {
        "job"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let job = self.jobs.get(key);
        let uid = job.as_ref().map(|job| job.metadata.uid.as_str());
        let is_own = |pod: &Arc<Pod>| controller_of(&**pod).map(|owner| owner.uid.as_str()) == uid;
        let (pods, orphans): (Vec<_>, Vec<_>) = self.owned.named("Job", key).into_iter().partition(is_own);
        self.untrack(&orphans).await?;
        let Some(job) = job.filter(|job| job.spec.managed_by.as_deref().is_none_or(|name| name == OWN_NAME)) else {
            return Ok(Next::Done);
        };
        if job.finished().is_some() || job.metadata.deletion_timestamp.is_some() {
            self.untrack(&pods).await?;
            return self.expire(key, &job).await;
        }
        let now = self.clock.now();
        let plan = plan(&job, &pods, now);
        let again = plan.again.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
        self.carry_out(key, &job, plan).await?;
        Ok(again.map_or(Next::Done, |wait| Next::After(self.clock.wait(wait))))
    }
}

impl Jobs {
    async fn carry_out(&self, key: &Key, job: &Arc<Job>, plan: Plan) -> Result<(), Failure> {
        self.untrack(&plan.delete).await?;
        for gone in &plan.delete {
            let deleted =
                self.client.delete::<Pod>(&Key::of(&**gone), &gone.metadata.uid, Dependents::Background).await;
            gone_is_fine(deleted)?;
            self.tell(job, false, "SuccessfulDelete", format!("Deleted pod: {}", gone.metadata.name));
        }
        let mut last = None;
        for wanted in plan.create {
            let made = self.client.make(&pod(job, wanted)).await;
            let made = match made {
                Ok(made) => made,
                Err(failure) => {
                    self.tell(job, true, "FailedCreate", format!("Error creating: {failure}"));
                    return Err(failure);
                }
            };
            self.tell(job, false, "SuccessfulCreate", format!("Created pod: {}", made.name));
            last = Some(made);
        }
        if let Some(last) = last {
            self.owned.view.until_seen(&last.version).await;
        }
        if let Some(patch) = Patch::of_statuses(&**job, &job.status, &plan.status, MANAGER) {
            let written = self.client.change::<Job>(key, &patch).await?;
            self.jobs.until_seen(&written.version).await;
        }
        for (is_warning, reason, note) in plan.events {
            self.tell(job, is_warning, &reason, note);
        }
        self.untrack(&plan.untrack).await
    }

    /// Lets pods go that were counted, or need not be.
    async fn untrack(&self, pods: &[Arc<Pod>]) -> Result<(), Failure> {
        let mut last = None;
        for pod in pods.iter().filter(|pod| pod.is_tracked()) {
            let kept = pod.metadata.finalizers.iter().filter(|finalizer| *finalizer != FINALIZER);
            let kept = Some(kept.collect::<Vec<_>>()).filter(|kept| !kept.is_empty());
            let metadata = json!({"finalizers": kept, "resourceVersion": pod.metadata.resource_version});
            let patch = Patch::merge(json!({"metadata": metadata}), MANAGER);
            match self.client.change::<Pod>(&Key::of(&**pod), &patch).await {
                Ok(written) => last = Some(written),
                Err(failure) => gone_is_fine(Err(failure))?,
            }
        }
        if let Some(last) = last {
            self.owned.view.until_seen(&last.version).await;
        }
        Ok(())
    }

    /// Deletes a job that ended long enough ago.
    async fn expire(&self, key: &Key, job: &Job) -> Result<Next, Failure> {
        let ended = job.finished().and_then(|end| end.last_transition_time);
        let (Some(seconds), Some(ended)) = (job.spec.ttl_seconds_after_finished, ended) else { return Ok(Next::Done) };
        if job.metadata.deletion_timestamp.is_some() {
            return Ok(Next::Done);
        }
        let left = SignedDuration::from_secs(seconds) - self.clock.now().duration_since(ended.timestamp());
        if left > SignedDuration::ZERO {
            return Ok(Next::After(self.clock.wait(Duration::try_from(left).unwrap_or_default())));
        }
        let deleted = self.client.delete::<Job>(key, &job.metadata.uid, Dependents::Foreground).await;
        gone_is_fine(deleted).map(|()| Next::Done)
    }

    fn tell(&self, job: &Job, is_warning: bool, reason: &str, note: String) {
        self.recorder.record(Event { regarding: Regarding::of(job), is_warning, reason: reason.to_owned(), note });
    }
}
