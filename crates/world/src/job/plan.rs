//! What a Job needs next, as a function of what is there.
//!
//! Pods that ended are first named in the status (`uncountedTerminatedPods`), then lose the finalizer that kept them,
//! then become numbers: whenever this is cut short, every pod is counted once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kueue_core::time::Time;

use super::indexes::Indexes;
use super::pods::Wanted;
use super::verdict::{Verdict, policy_action, verdict};
use crate::kinds::{Condition, Job, JobStatus, Pod, UncountedPods, holds};

const FIRST_BACKOFF: Duration = Duration::from_secs(10);
const LAST_BACKOFF: Duration = Duration::from_secs(600);
/// How many pods are made or deleted in one go.
const AT_MOST: usize = 500;

/// What is to be done, in this order.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) create: Vec<Wanted>,
    pub(super) delete: Vec<Arc<Pod>>,
    pub(super) status: JobStatus,
    /// Pods that need not be kept any longer once the status is written.
    pub(super) untrack: Vec<Arc<Pod>>,
    /// When to look again if nothing changes.
    pub(super) again: Option<Timestamp>,
    /// What users are told: whether it is a warning, the reason, a sentence.
    pub(super) events: Vec<(bool, String, String)>,
}

/// What the pods of a job add up to.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) active: Vec<Arc<Pod>>,
    pub(super) ready: i32,
    pub(super) terminating: i32,
    pub(super) succeeded: i32,
    pub(super) failed: i32,
    pub(super) completed: Indexes,
    pub(super) failed_indexes: Indexes,
    uncounted: UncountedPods,
    /// Those of `uncounted`, and those whose end does not count.
    ended: Vec<Arc<Pod>>,
    /// The sentence of the rule by which a pod fails the whole job.
    pub(super) fails_job: Option<String>,
}

/// Whether a pod counts as failed.
fn has_failed(pod: &Pod, job: &Job) -> bool {
    match job.replaces_only_failed() {
        true => pod.status.phase == "Failed" || pod.is_going() && pod.status.phase == "Pending",
        // Pods that are deleted may never get to say that they failed.
        false => pod.status.phase == "Failed" || pod.is_going() && pod.status.phase != "Succeeded",
    }
}

fn count(job: &Job, pods: &[Arc<Pod>]) -> Count {
    let completions = job.spec.completions.unwrap_or(0);
    let known = job.status.uncounted_terminated_pods.clone().unwrap_or_default();
    let tracked: BTreeSet<&str> =
        pods.iter().filter(|pod| pod.is_tracked()).map(|pod| pod.metadata.uid.as_str()).collect();
    let settled = |uids: &[String]| uids.iter().filter(|uid| !tracked.contains(uid.as_str())).count();
    let settled = |uids: &[String]| i32::try_from(settled(uids)).unwrap_or(i32::MAX);
    let waiting = |uids: &[String]| uids.iter().filter(|uid| tracked.contains(uid.as_str())).cloned().collect();
    let mut count = Count {
        succeeded: job.status.succeeded + settled(&known.succeeded),
        failed: job.status.failed + settled(&known.failed),
        completed: Indexes::read(&job.status.completed_indexes, completions),
        failed_indexes: Indexes::read(job.status.failed_indexes.as_deref().unwrap_or_default(), completions),
        uncounted: UncountedPods { succeeded: waiting(&known.succeeded), failed: waiting(&known.failed) },
        ..Count::default()
    };
    for pod in pods {
        count.add(job, pod, completions);
    }
    if job.is_indexed() {
        count.succeeded = count.completed.len();
    }
    count
}

impl Count {
    fn add(&mut self, job: &Job, pod: &Arc<Pod>, completions: i32) {
        if pod.is_active() {
            self.ready += i32::from(pod.is_ready());
            self.active.push(Arc::clone(pod));
        }
        self.terminating += i32::from(pod.is_going() && !pod.is_terminal());
        if !pod.is_tracked() {
            return;
        }
        let uid = &pod.metadata.uid;
        if pod.status.phase == "Succeeded" {
            let index = pod.index().filter(|index| (0..completions).contains(index));
            match job.is_indexed() {
                true => drop(index.map(|index| self.completed.insert(index))),
                false if self.uncounted.succeeded.contains(uid) => {}
                false => self.uncounted.succeeded.push(uid.clone()),
            }
        } else if has_failed(pod, job) {
            self.add_failure(job, pod);
        } else {
            return;
        }
        self.ended.push(Arc::clone(pod));
    }

    fn add_failure(&mut self, job: &Job, pod: &Pod) {
        if self.uncounted.failed.contains(&pod.metadata.uid) {
            return;
        }
        let (action, sentence) = policy_action(job, pod);
        match action {
            "Ignore" => return,
            "FailJob" => self.fails_job = Some(sentence),
            _ => {}
        }
        if let (Some(limit), Some(index)) = (job.spec.backoff_limit_per_index, pod.index())
            && (action == "FailIndex" || pod.index_failures() >= limit)
        {
            self.failed_indexes.insert(index);
        }
        self.uncounted.failed.push(pod.metadata.uid.clone());
    }

    /// With those that are not settled yet.
    pub(super) fn all_succeeded(&self) -> i32 {
        self.succeeded + i32::try_from(self.uncounted.succeeded.len()).unwrap_or(i32::MAX)
    }

    pub(super) fn all_failed(&self) -> i32 {
        self.failed + i32::try_from(self.uncounted.failed.len()).unwrap_or(i32::MAX)
    }
}

/// What a job that has not ended needs.
pub(super) fn plan(job: &Job, pods: &[Arc<Pod>], now: Timestamp) -> Plan {
    let count = count(job, pods);
    let time = Time::new(now);
    let mut plan = Plan { status: job.status.clone(), ..Plan::default() };
    // Also where only its end is missing: somebody may have taken the time away while it was suspended.
    if !job.is_suspended() {
        plan.status.start_time.get_or_insert(time);
    }
    let verdict = verdict(job, &count, now);
    match &verdict {
        Some(verdict) => {
            plan.delete.clone_from(&count.active);
            set(&mut plan.status.conditions, verdict.interim, true, verdict, time);
        }
        None if job.is_suspended() => {
            plan.delete.clone_from(&count.active);
            if !holds(&job.status.conditions, "Suspended") {
                let why = Verdict::new("Suspended", "JobSuspended", "Job suspended");
                set(&mut plan.status.conditions, "Suspended", true, &why, time);
                plan.events.push((false, "Suspended".to_owned(), "Job suspended".to_owned()));
            }
            plan.status.start_time = None;
        }
        None => {
            begin(job, &mut plan, time);
            manage(job, &count, pods, now, &mut plan);
        }
    }
    plan.delete.truncate(AT_MOST);
    plan.create.truncate(AT_MOST);
    let (created, deleted) = (plan.create.len(), plan.delete.len());
    let (created, deleted) = (i32::try_from(created).unwrap_or(0), i32::try_from(deleted).unwrap_or(0));
    let ready_deleted = plan.delete.iter().filter(|pod| pod.is_ready()).count();
    let active = i32::try_from(count.active.len()).unwrap_or(i32::MAX);
    plan.status.active = active + created - deleted;
    plan.status.ready = Some(count.ready - i32::try_from(ready_deleted).unwrap_or(0));
    plan.status.terminating = Some(count.terminating + deleted);
    plan.status.succeeded = count.succeeded;
    plan.status.failed = count.failed;
    if job.is_indexed() {
        plan.status.completed_indexes = count.completed.write();
        plan.status.failed_indexes = job.spec.backoff_limit_per_index.map(|_| count.failed_indexes.write());
    }
    let is_settled = count.uncounted == UncountedPods::default();
    plan.status.uncounted_terminated_pods = Some(count.uncounted);
    plan.untrack = count.ended;
    if let Some(verdict) = verdict.filter(|_| is_settled && plan.status.active == 0 && count.terminating + deleted == 0)
    {
        finish(&mut plan, &verdict, time);
    }
    plan
}

fn begin(job: &Job, plan: &mut Plan, now: Time) {
    if holds(&job.status.conditions, "Suspended") {
        let why = Verdict::new("Suspended", "JobResumed", "Job resumed");
        set(&mut plan.status.conditions, "Suspended", false, &why, now);
        plan.status.start_time = Some(now);
        plan.events.push((false, "Resumed".to_owned(), "Job resumed".to_owned()));
    }
}

fn finish(plan: &mut Plan, verdict: &Verdict, now: Time) {
    set(&mut plan.status.conditions, verdict.last, true, verdict, now);
    let is_complete = verdict.last == "Complete";
    if is_complete {
        plan.status.completion_time = Some(now);
        plan.events.push((false, "Completed".to_owned(), "Job completed".to_owned()));
    } else {
        plan.events.push((true, verdict.reason.clone(), verdict.message.clone()));
    }
}

/// Sets a condition once; one that says so already stays as it is.
fn set(conditions: &mut Vec<Condition>, kind: &str, status: bool, why: &Verdict, now: Time) {
    let new = Condition { last_probe_time: Some(now), ..Condition::new(kind, status, &why.reason, &why.message, now) };
    match conditions.iter_mut().find(|known| known.r#type == kind) {
        None => conditions.push(new),
        Some(known) if known.status != new.status => *known = new,
        Some(_) => {}
    }
}

/// Makes as many pods run as should.
fn manage(job: &Job, count: &Count, pods: &[Arc<Pod>], now: Timestamp, plan: &mut Plan) {
    if let (Some(seconds), Some(start)) = (job.spec.active_deadline_seconds, plan.status.start_time) {
        plan.again = start.timestamp().saturating_add(SignedDuration::from_secs(seconds)).ok();
    }
    let parallelism = job.spec.parallelism.unwrap_or(1);
    let active = i32::try_from(count.active.len()).unwrap_or(i32::MAX);
    let succeeded = if job.is_indexed() { count.completed.len() } else { count.all_succeeded() };
    let wanted = match job.spec.completions {
        // One that succeeds means that the others need no replacement.
        None if succeeded > 0 => active.min(parallelism),
        None => parallelism,
        Some(completions) => parallelism.min(completions - succeeded).max(0),
    };
    if active > wanted {
        let mut spare = count.active.clone();
        spare.sort_by_key(|pod| {
            (pod.is_ready(), !pod.spec.node_name.is_empty(), std::cmp::Reverse(pod.metadata.creation_timestamp))
        });
        spare.truncate(usize::try_from(active - wanted).unwrap_or(0));
        plan.delete = spare;
        return;
    }
    let held = if job.replaces_only_failed() { count.terminating } else { 0 };
    let missing = usize::try_from(wanted - active - held).unwrap_or(0);
    if missing == 0 {
        return;
    }
    if let Some(at) = backoff_ends(pods).filter(|at| now < *at) {
        plan.again = plan.again.into_iter().chain([at]).min();
        return;
    }
    plan.create = match job.is_indexed() {
        false => vec![Wanted { index: None, failures: None }; missing],
        true => missing_indexes(job, count, pods, missing),
    };
}

fn missing_indexes(job: &Job, count: &Count, pods: &[Arc<Pod>], missing: usize) -> Vec<Wanted> {
    let completions = job.spec.completions.unwrap_or(0);
    let mut taken: BTreeSet<i32> = count.active.iter().filter_map(|pod| pod.index()).collect();
    if job.replaces_only_failed() {
        taken.extend(pods.iter().filter(|pod| pod.is_going() && !pod.is_terminal()).filter_map(|pod| pod.index()));
    }
    let is_free = |index: &i32| {
        !taken.contains(index) && !count.completed.contains(*index) && !count.failed_indexes.contains(*index)
    };
    let wanted = |index: i32| {
        let earlier = pods.iter().filter(|pod| pod.index() == Some(index) && has_failed(pod, job));
        let failures =
            job.spec.backoff_limit_per_index.map(|_| earlier.map(|pod| pod.index_failures() + 1).max().unwrap_or(0));
        Wanted { index: Some(index), failures }
    };
    (0..completions).filter(is_free).take(missing).map(wanted).collect()
}

/// Until when no new pod is made after failures in a row, each of which doubles the wait.
fn backoff_ends(pods: &[Arc<Pod>]) -> Option<Timestamp> {
    let ended = |phase: &'static str| pods.iter().filter(move |pod| pod.status.phase == phase);
    let last_success = ended("Succeeded").filter_map(|pod| pod.finished_at()).max();
    // Pods that we deleted ourselves did not fail.
    let failed = ended("Failed").filter(|pod| pod.is_tracked() || !pod.is_going());
    let failures: Vec<Time> =
        failed.filter_map(|pod| pod.finished_at()).filter(|at| Some(*at) > last_success).collect();
    let last = failures.iter().max()?;
    let doublings = u32::try_from(failures.len() - 1).unwrap_or(u32::MAX);
    let wait = FIRST_BACKOFF.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX)).min(LAST_BACKOFF);
    last.timestamp().saturating_add(SignedDuration::try_from(wait).ok()?).ok()
}
