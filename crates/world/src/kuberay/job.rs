//! The controller of RayJobs.
//!
//! | job | gets |
//! |---|---|
//! | new | a RayCluster: `Initializing` |
//! | whose cluster is ready | a Job that submits, in `K8sJobMode`: `Running` |
//! | whose submitter ended, or that ran as long as [its manifest says](crate::behaviour) | `Complete` or `Failed` |
//! | past its deadline | `Failed` |
//! | suspended | `Suspending`, and `Suspended` when cluster and submitter are gone |
//! | resumed | everything anew |
//! | over, with `shutdownAfterJobFinishes` | its cluster deleted, after the time to live |
//! | that makes no sense | `ValidationFailed`, until it does |

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use kueue_core::time::Time;
use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{MANAGER, cluster_name, cluster_of, is_own};
use crate::behaviour::{Behaviour, Defaults};
use crate::feeds::{Feeds, Line, View};
use crate::kinds::{Job, Pod, RayCluster, RayJob, RayJobStatus, owned_by};
use crate::{AT_ONCE, Parts, Start, gone_is_fine};

const BY_JOB: &str = "K8sJobMode";

struct Jobs {
    client: Client,
    clock: Clock,
    defaults: Arc<Defaults>,
    jobs: View<RayJob>,
    clusters: View<RayCluster>,
    submitters: View<Job>,
}

pub(super) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.ray_jobs.line_up(&line);
    feeds.ray_clusters.line_up_owners::<RayJob>(&line);
    feeds.jobs.line_up_owners::<RayJob>(&line);
    let jobs = Jobs {
        client: parts.client.clone(),
        clock: parts.clock,
        defaults: Arc::clone(&parts.defaults),
        jobs: feeds.ray_jobs.view(),
        clusters: feeds.ray_clusters.view(),
        submitters: feeds.jobs.view(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(jobs), AT_ONCE))))
}

/// Why KubeRay does not run a job.
pub(super) fn mistake(job: &RayJob) -> Option<&'static str> {
    let spec = &job.spec;
    match (&spec.ray_cluster_spec, spec.cluster_selector.is_empty()) {
        (None, true) => Some("one of RayClusterSpec or ClusterSelector must be set"),
        (Some(cluster), _) if cluster.head_group_spec.template["spec"]["containers"][0].is_null() => {
            Some("headGroupSpec should have at least one container")
        }
        _ if spec.suspend && !spec.shutdown_after_job_finishes => {
            Some("a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended")
        }
        _ if spec.backoff_limit.is_some_and(|limit| limit < 0) => Some("backoffLimit must be a positive integer"),
        _ if spec.suspend && !spec.cluster_selector.is_empty() => {
            Some("the ClusterSelector mode doesn't support the suspend operation")
        }
        _ => None,
    }
}

/// What there is of a job.
pub(super) struct Around<'a> {
    pub(super) cluster: Option<&'a RayCluster>,
    pub(super) submitter: Option<&'a Job>,
    /// How long the work takes that nobody submits, and how it ends.
    pub(super) work: (Option<Duration>, i32),
    pub(super) now: Time,
}

/// What is to be done about a job.
#[derive(Default, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) status: RayJobStatus,
    pub(super) needs_cluster: bool,
    pub(super) needs_submitter: bool,
    /// Cluster and submitter are to go.
    pub(super) clears: bool,
    /// Only the cluster is.
    pub(super) shuts_down: bool,
    pub(super) again: Option<Duration>,
}

/// One step of a job. What it leads to is seen, and looked at again.
pub(super) fn plan(job: &RayJob, around: &Around<'_>) -> Plan {
    let mut plan = Plan { status: job.status.clone(), ..Plan::default() };
    let status = &mut plan.status;
    status.observed_generation = job.metadata.generation;
    let is_over = matches!(status.job_deployment_status.as_str(), "Complete" | "Failed");
    if let Some(why) = mistake(job).filter(|_| !is_over) {
        *status = RayJobStatus {
            job_deployment_status: "ValidationFailed".to_owned(),
            reason: "ValidationFailed".to_owned(),
            message: why.to_owned(),
            observed_generation: job.metadata.generation,
            ..RayJobStatus::default()
        };
        plan.clears = true;
        return plan;
    }
    match status.job_deployment_status.as_str() {
        "" | "Suspended" | "ValidationFailed" => {
            if job.spec.suspend {
                suspended(job, status, around.now);
                return plan;
            }
            let name = cluster_name(job, around.now);
            *status = RayJobStatus {
                job_deployment_status: "Initializing".to_owned(),
                job_status: "PENDING".to_owned(),
                job_id: name.clone(),
                ray_cluster_name: name,
                start_time: Some(around.now),
                observed_generation: job.metadata.generation,
                ..RayJobStatus::default()
            };
        }
        "Initializing" | "Running" if job.spec.suspend => status.job_deployment_status = "Suspending".to_owned(),
        "Initializing" | "Running" => work(job, around, &mut plan),
        "Suspending" => {
            plan.clears = true;
            if around.cluster.is_none() && around.submitter.is_none() {
                suspended(job, status, around.now);
            }
        }
        _ => {
            let ended = status.end_time.unwrap_or(around.now);
            let left = SignedDuration::from_secs(job.spec.ttl_seconds_after_finished) - since(ended, around.now);
            plan.shuts_down = job.spec.shutdown_after_job_finishes && left <= SignedDuration::ZERO;
            plan.again = Duration::try_from(left).ok().filter(|left| !left.is_zero());
        }
    }
    plan
}

/// Forgets what was, but for the name that the work goes by.
fn suspended(job: &RayJob, status: &mut RayJobStatus, now: Time) {
    let known = std::mem::take(&mut status.job_id);
    *status = RayJobStatus {
        job_deployment_status: "Suspended".to_owned(),
        job_status: "PENDING".to_owned(),
        job_id: if known.is_empty() { cluster_name(job, now) } else { known },
        observed_generation: job.metadata.generation,
        ..RayJobStatus::default()
    };
}

fn since(begin: Time, now: Time) -> SignedDuration {
    now.timestamp().duration_since(begin.timestamp())
}

/// A job that is under way.
fn work(job: &RayJob, around: &Around<'_>, plan: &mut Plan) {
    let status = &mut plan.status;
    plan.needs_cluster = true;
    status.ray_cluster_status = around.cluster.map(|cluster| cluster.status.clone()).unwrap_or_default();
    let started = status.start_time.unwrap_or(around.now);
    if let Some(seconds) = job.spec.active_deadline_seconds {
        let left = SignedDuration::from_secs(seconds) - since(started, around.now);
        if left <= SignedDuration::ZERO {
            let message = format!("The RayJob has passed the activeDeadlineSeconds {seconds}.");
            return end(status, around.now, ("Failed", "", "DeadlineExceeded", message));
        }
        plan.again = Duration::try_from(left).ok();
    }
    if status.job_deployment_status == "Initializing" {
        if status.ray_cluster_status.state == "ready" {
            status.job_deployment_status = "Running".to_owned();
            status.job_status = "RUNNING".to_owned();
            // From here on the work is timed where nobody submits it.
            status.start_time = Some(around.now);
        }
        return;
    }
    let failed = |why: String| ("Failed", "FAILED", "AppFailed", why);
    let succeeded = || ("Complete", "SUCCEEDED", "", "Job finished successfully.".to_owned());
    if job.spec.submission_mode == BY_JOB {
        plan.needs_submitter = true;
        match around.submitter.and_then(Job::finished) {
            None => {}
            Some(finish) if finish.r#type == "Complete" => end(status, around.now, succeeded()),
            Some(finish) => end(status, around.now, failed(finish.message.clone())),
        }
        return;
    }
    let (Some(takes), exit_code) = around.work else { return };
    let left = SignedDuration::try_from(takes).unwrap_or(SignedDuration::MAX) - since(started, around.now);
    match exit_code {
        _ if left > SignedDuration::ZERO => {
            let left = Duration::try_from(left).unwrap_or_default();
            plan.again = Some(plan.again.map_or(left, |again| again.min(left)));
        }
        0 => end(status, around.now, succeeded()),
        code => end(status, around.now, failed(format!("the entrypoint ended with exit code {code}"))),
    }
}

fn end(status: &mut RayJobStatus, now: Time, (deployment, job, reason, message): (&str, &str, &str, String)) {
    status.job_deployment_status = deployment.to_owned();
    if !job.is_empty() {
        status.job_status = job.to_owned();
    }
    status.reason = reason.to_owned();
    status.message = message;
    status.end_time = Some(now);
    status.succeeded = i32::from(deployment == "Complete");
    status.failed = i32::from(deployment == "Failed");
}

/// The template of the pod that submits, which takes as long as the work.
fn submitter_template(job: &RayJob, domain: &str) -> Value {
    let mut template = job.spec.submitter_pod_template.clone().unwrap_or_else(|| {
        let head =
            job.spec.ray_cluster_spec.as_ref().map(|spec| &spec.head_group_spec.template["spec"]["containers"][0]);
        let resources =
            json!({"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}});
        let image = head.map(|head| head["image"].clone()).unwrap_or_default();
        json!({"spec": {"restartPolicy": "Never",
            "containers": [{"name": "ray-job-submitter", "image": image, "resources": resources}]}})
    });
    let first = &mut template["spec"]["containers"][0];
    if first["command"].is_null() && first["args"].is_null() {
        first["command"] = json!(["sh", "-c", job.spec.entrypoint]);
    }
    for (key, value) in job.metadata.annotations.iter().filter(|(key, _)| key.starts_with(domain)) {
        let known = &mut template["metadata"]["annotations"][key.as_str()];
        if known.is_null() {
            *known = value.as_str().into();
        }
    }
    template
}

/// The pod that would submit.
fn pretended(job: &RayJob, domain: &str) -> Pod {
    let mut pod = submitter_template(job, domain);
    pod["metadata"]["name"] = job.metadata.name.as_str().into();
    serde_json::from_value(pod).unwrap_or_default()
}

fn submitter_of(job: &RayJob, domain: &str) -> Value {
    json!({"metadata": {"name": job.metadata.name, "namespace": job.metadata.namespace,
            "labels": {"ray.io/originated-from-cr-name": job.metadata.name, "ray.io/originated-from-crd": "RayJob"},
            "ownerReferences": [owned_by(job)]},
        "spec": {"backoffLimit": 2, "template": submitter_template(job, domain)}})
}

impl Reconciler<Key> for Jobs {
    fn name(&self) -> &'static str {
        "rayjob"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let is_alive =
            |job: &Arc<RayJob>| job.metadata.deletion_timestamp.is_none() && is_own(job.spec.managed_by.as_deref());
        let Some(job) = self.jobs.get(key).filter(is_alive) else { return Ok(Next::Done) };
        let cluster_key = Key::new(Arc::clone(&key.namespace), job.status.ray_cluster_name.as_str());
        let cluster = self.clusters.get(&cluster_key);
        let is_own =
            |found: &Arc<Job>| found.metadata.owner_references.iter().any(|owner| owner.uid == job.metadata.uid);
        let submitter = self.submitters.get(key).filter(is_own);
        let (behaviour, _) = Behaviour::of(&pretended(&job, &self.defaults.domain), &self.defaults);
        let around = Around {
            cluster: cluster.as_deref(),
            submitter: submitter.as_deref(),
            work: (behaviour.run_for, behaviour.exit_code),
            now: self.clock.time(),
        };
        let plan = plan(&job, &around);
        if plan.needs_cluster && cluster.is_none() {
            self.make_cluster(&job).await?;
        }
        if plan.needs_submitter && submitter.is_none() {
            let wanted: Job = serde_json::from_value(submitter_of(&job, &self.defaults.domain)).unwrap_or_default();
            let made = self.client.make(&wanted).await?;
            self.submitters.until_seen(&made.version).await;
        }
        if let Some(submitter) = submitter.filter(|_| plan.clears) {
            let deleted = self.client.delete::<Job>(key, &submitter.metadata.uid, Dependents::Background).await;
            gone_is_fine(deleted)?;
        }
        if let Some(cluster) = cluster.filter(|_| plan.clears || plan.shuts_down) {
            let uid = &cluster.metadata.uid;
            gone_is_fine(self.client.delete::<RayCluster>(&cluster_key, uid, Dependents::Background).await)?;
        }
        let shown = RayJob { status: plan.status, ..(*job).clone() };
        if let Some(patch) = Patch::between(&*job, &shown, MANAGER) {
            let written = self.client.change::<RayJob>(key, &patch.of_status()).await?;
            self.jobs.until_seen(&written.version).await;
        }
        Ok(plan.again.map_or(Next::Done, |wait| Next::After(self.clock.wait(wait))))
    }
}

impl Jobs {
    async fn make_cluster(&self, job: &RayJob) -> Result<(), Failure> {
        let Some(spec) = job.spec.ray_cluster_spec.clone() else { return Ok(()) };
        let made = self.client.make(&cluster_of(job, &job.status.ray_cluster_name, spec)).await?;
        self.clusters.until_seen(&made.version).await;
        Ok(())
    }
}
