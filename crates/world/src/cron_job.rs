//! The CronJob controller.
//!
//! | cron job | gets |
//! |---|---|
//! | due | a Job of its template, named after the minute; of several missed times only the last counts |
//! | due longer than its starting deadline ago | an event, and nothing else |
//! | due while a job of its runs | `Allow`: another one; `Forbid`: none until that ends; `Replace`: that deleted, another one |
//! | whose job ended | the job off its list of active ones, and the time if it went well |
//! | with more ended jobs than it remembers | the oldest deleted |
//! | suspended | nothing new |
//! | in another time zone than UTC | an event: zones are not known here |

mod schedule;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kueue_core::time::Time;
use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use serde_json::json;
use tokio::task::JoinSet;

use crate::feeds::{Feeds, Line, Owned, View};
use crate::kinds::{CronJob, CronJobStatus, Job, JobReference, controller_of, owned_by};
use crate::{AT_ONCE, MANAGER, Parts, Start, gone_is_fine};
use schedule::Schedule;

const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
/// How many ended jobs are kept where nobody says: those that went well, and the others.
const KEPT: (i32, i32) = (3, 1);
const UTC: [&str; 2] = ["UTC", "Etc/UTC"];

/// What users are told: whether it is a warning, the reason, a sentence.
type Told = (bool, &'static str, String);

/// What is to be done, in this order.
#[derive(Debug, Default)]
struct Plan {
    delete: Vec<Arc<Job>>,
    create: Option<Timestamp>,
    status: CronJobStatus,
    again: Option<Timestamp>,
    events: Vec<Told>,
}

/// What a cron job with these jobs needs.
fn plan(cron: &CronJob, jobs: &[Arc<Job>], now: Timestamp) -> Plan {
    let mut plan = Plan { status: cron.status.clone(), ..Plan::default() };
    plan.delete = beyond_history(cron, jobs);
    plan.settle(jobs);
    if cron.metadata.deletion_timestamp.is_some() || cron.spec.suspend == Some(true) {
        return plan;
    }
    let zone = cron.spec.time_zone.as_deref().unwrap_or_default();
    if !zone.is_empty() && !UTC.contains(&zone) {
        plan.events.push((true, "UnknownTimeZone", format!("invalid timeZone: {zone:?}: only UTC is known here")));
        return plan;
    }
    let Some(schedule) = Schedule::parse(&cron.spec.schedule) else {
        let note = format!("unparseable schedule: {:?}", cron.spec.schedule);
        plan.events.push((true, "UnparseableSchedule", note));
        return plan;
    };
    plan.again = schedule.after(now);
    if let Some(due) = last_due(cron, &schedule, now) {
        plan.start(cron, jobs, due, now);
    }
    plan
}

/// The last time that it was due and nothing was made of.
fn last_due(cron: &CronJob, schedule: &Schedule, now: Timestamp) -> Option<Timestamp> {
    let since = cron.status.last_schedule_time.unwrap_or(cron.metadata.creation_timestamp);
    let mut last = None;
    let mut next = schedule.after(since.timestamp());
    while let Some(due) = next.filter(|due| *due <= now) {
        last = Some(due);
        next = schedule.after(due);
    }
    last
}

fn beyond_history(cron: &CronJob, jobs: &[Arc<Job>]) -> Vec<Arc<Job>> {
    let limits = (cron.spec.successful_jobs_history_limit, cron.spec.failed_jobs_history_limit);
    let limits = [("Complete", limits.0.unwrap_or(KEPT.0)), ("Failed", limits.1.unwrap_or(KEPT.1))];
    let of = |(end, limit): (&str, i32)| {
        let has_ended = |job: &&Arc<Job>| job.finished().is_some_and(|condition| condition.r#type == end);
        let mut ended: Vec<Arc<Job>> = jobs.iter().filter(has_ended).cloned().collect();
        ended.sort_by_key(|job| (job.status.start_time, job.metadata.name.clone()));
        let too_many = ended.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        ended.truncate(too_many);
        ended
    };
    limits.into_iter().flat_map(of).collect()
}

impl Plan {
    /// Takes jobs that ended, or are gone, off the list.
    fn settle(&mut self, jobs: &[Arc<Job>]) {
        let (mut events, mut last) = (Vec::new(), self.status.last_successful_time);
        self.status.active.retain(|known| {
            let Some(job) = jobs.iter().find(|job| job.metadata.uid == known.uid) else {
                let note = format!("Active job went missing: {}", known.name);
                events.push((false, "MissingJob", note));
                return false;
            };
            let Some(end) = job.finished() else { return true };
            let note = format!("Saw completed job: {}, condition: {}", known.name, end.r#type);
            events.push((false, "SawCompletedJob", note));
            if end.r#type == "Complete" {
                last = last.max(job.status.completion_time);
            }
            false
        });
        self.status.last_successful_time = last;
        self.events.append(&mut events);
    }

    fn start(&mut self, cron: &CronJob, jobs: &[Arc<Job>], due: Timestamp, now: Timestamp) {
        let patience = cron.spec.starting_deadline_seconds.map(SignedDuration::from_secs);
        if patience.is_some_and(|patience| now.duration_since(due) > patience) {
            let note = format!("Missed scheduled time to start a job: {due}");
            self.events.push((true, "MissSchedule", note));
            // Nobody needs to hear of it again.
            self.status.last_schedule_time = Some(Time::new(due));
            return;
        }
        let is_active = |job: &&Arc<Job>| self.status.active.iter().any(|known| known.uid == job.metadata.uid);
        match cron.spec.concurrency_policy.as_str() {
            "Forbid" if !self.status.active.is_empty() => {
                let note = "Not starting job because prior execution is running and concurrency policy is Forbid";
                self.events.push((false, "JobAlreadyActive", note.to_owned()));
                return;
            }
            "Replace" => {
                let replaced: Vec<Arc<Job>> = jobs.iter().filter(is_active).cloned().collect();
                self.delete.extend(replaced);
                self.status.active.clear();
            }
            _ => {}
        }
        self.create = Some(due);
        self.status.last_schedule_time = Some(Time::new(due));
    }
}

/// The job of one time. Its name tells which, so that it cannot be made twice.
fn job(cron: &CronJob, due: Timestamp) -> Job {
    let template = &cron.spec.job_template;
    let mut job = json!({
        "metadata": {
            "name": format!("{}-{}", cron.metadata.name, due.as_second() / 60),
            "namespace": cron.metadata.namespace,
            "labels": template["metadata"]["labels"],
            "annotations": template["metadata"]["annotations"],
            "ownerReferences": [owned_by(cron)],
        },
        "spec": template["spec"],
    });
    job["metadata"]["annotations"][SCHEDULED] = json!(Time::new(due).to_string());
    // The template has passed the server's checks, so it is a job.
    serde_json::from_value(job).unwrap_or_default()
}

fn reference(job: &Job) -> JobReference {
    let meta = &job.metadata;
    JobReference {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        resource_version: meta.resource_version.clone(),
    }
}

struct CronJobs {
    client: Client,
    clock: Clock,
    recorder: Recorder,
    crons: View<CronJob>,
    owned: Owned<Job>,
}

/// Listens to cron jobs and their jobs; returns what begins to look after them.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.cron_jobs.line_up(&line);
    feeds.jobs.line_up_owners::<CronJob>(&line);
    let crons = CronJobs {
        client: parts.client.clone(),
        clock: parts.clock,
        recorder: parts.recorder.named("cronjob-controller"),
        crons: feeds.cron_jobs.view(),
        owned: feeds.owned_jobs(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(crons), AT_ONCE))))
}

impl Reconciler<Key> for CronJobs {
    fn name(&self) -> &'static str {
        "cronjob"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(cron) = self.crons.get(key) else { return Ok(Next::Done) };
        let mut jobs = self.owned.named("CronJob", key);
        jobs.retain(|job| controller_of(&**job).is_some_and(|owner| owner.uid == cron.metadata.uid));
        let now = self.clock.now();
        let plan = plan(&cron, &jobs, now);
        let again = plan.again.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
        self.carry_out(key, &cron, plan).await?;
        Ok(again.map_or(Next::Done, |wait| Next::After(self.clock.wait(wait))))
    }
}

impl CronJobs {
    async fn carry_out(&self, key: &Key, cron: &Arc<CronJob>, plan: Plan) -> Result<(), Failure> {
        let Plan { delete, create, mut status, events, .. } = plan;
        for job in delete {
            let deleted = self.client.delete::<Job>(&Key::of(&*job), &job.metadata.uid, Dependents::Background).await;
            gone_is_fine(deleted)?;
            self.tell(cron, (false, "SuccessfulDelete", format!("Deleted job {}", job.metadata.name)));
        }
        events.into_iter().for_each(|event| self.tell(cron, event));
        if let Some(made) = self.create(cron, create).await? {
            status.active.push(reference(&made));
            self.owned.view.until_seen(&made.metadata.resource_version).await;
        }
        let shown = CronJob { status, ..(**cron).clone() };
        if let Some(patch) = Patch::between(&**cron, &shown, MANAGER) {
            let written = self.client.change::<CronJob>(key, &patch.of_status()).await?;
            self.crons.until_seen(&written.version).await;
        }
        Ok(())
    }

    /// None when nothing is due, or was made before somebody could write it down.
    async fn create(&self, cron: &CronJob, due: Option<Timestamp>) -> Result<Option<Job>, Failure> {
        let Some(due) = due else { return Ok(None) };
        match self.client.create(&job(cron, due)).await {
            Ok(made) => {
                self.tell(cron, (false, "SuccessfulCreate", format!("Created job {}", made.metadata.name)));
                Ok(Some(made))
            }
            Err(failure) if failure.is_conflict() => Ok(None),
            Err(failure) => {
                self.tell(cron, (true, "FailedCreate", format!("Error creating job: {failure}")));
                Err(failure)
            }
        }
    }

    fn tell(&self, cron: &CronJob, (is_warning, reason, note): Told) {
        let regarding = Regarding::of(cron);
        self.recorder.record(Event { regarding, is_warning, reason: reason.to_owned(), note });
    }
}
