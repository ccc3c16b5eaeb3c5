//! Plays a plan: first the storm, then the calm.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, advance, sleep, sleep_until};

use crate::audit::{Audit, PODS, Problem, WORKLOADS};
use crate::bed::{Bed, send};
use crate::load::{Job, NAMESPACE, queue_name};
use crate::plan::Plan;
use crate::replica::Replicas;
use crate::trouble::What;

pub(crate) const KUEUE: &str = "/apis/kueue.x-k8s.io/v1beta2";
/// How long a user waits who was refused.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a manager has from being told to end until it is killed.
const GRACE_MS: u64 = 8_000;

thread_local! {
    /// The last panic of a plan that is played in this thread.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on a panic breaks a rule, wherever it is caught.
pub fn notice_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANIC.set(Some(panic.to_string()));
        usual(panic);
    }));
}

/// What came of a plan.
#[derive(Debug)]
pub struct Outcome {
    pub problem: Option<Problem>,
    /// The same for the same history.
    pub fingerprint: u64,
}

/// One step of the storm.
#[derive(Debug)]
enum Step {
    Submit(usize),
    Begin(What),
    Start {
        replica: usize,
        skew_s: i64,
    },
    /// A manager that was told to end did not in time.
    Kill(usize),
    Reconnect(usize),
    Activate(usize),
    OpenQueue(usize),
}

/// The storm while it is played.
pub(crate) struct Play<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) bed: Bed,
    pub(crate) replicas: Replicas,
    /// What users do that takes them several attempts.
    pub(crate) hands: JoinSet<()>,
    /// Paths that a user deleted.
    pub(crate) deleted: BTreeSet<String>,
    /// Jobs whose creation was accepted.
    pub(crate) accepted: Arc<Mutex<BTreeSet<usize>>>,
}

/// Plays everything; `tells` prints a line for whatever happens. A plan that cannot be played has failed as well.
pub fn outcome(plan: &Plan, tells: bool) -> Outcome {
    play(plan, tells).unwrap_or_else(|error| Outcome {
        problem: Some(Problem { rule: "cannot be played", what: format!("{error:#}") }),
        fingerprint: 0,
    })
}

fn play(plan: &Plan, tells: bool) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(async {
        let bed = Bed::start(plan.seed, &plan.setup, tells).await?;
        let audit = bed.audit.clone();
        let replicas = Replicas::new(plan, &bed)?;
        let (hands, deleted, accepted) = (JoinSet::new(), BTreeSet::new(), Arc::default());
        let mut play = Play { plan, bed, replicas, hands, deleted, accepted };
        play.storm().await?;
        if audit.problem().is_none() {
            play.calm().await?;
        }
        Ok(Outcome { problem: audit.problem(), fingerprint: audit.fingerprint() })
    })
}

impl Play<'_> {
    async fn storm(&mut self) -> Result<()> {
        for replica in 0..self.plan.setup.replicas {
            self.replicas.start(replica, 0)?;
        }
        for object in self.plan.setup.objects() {
            self.hand(object, None);
        }
        let begin = Instant::now();
        let end = begin + Duration::from_millis(self.plan.storm_ms);
        let mut steps = steps(self.plan);
        while let Some(((at_ms, _), step)) = steps.pop_first() {
            sleep_until((begin + Duration::from_millis(at_ms)).min(end)).await;
            if self.is_broken() {
                return Ok(());
            }
            self.step(step).await?;
        }
        sleep_until(end).await;
        Ok(())
    }

    /// Whether something did not hold.
    pub(crate) fn is_broken(&self) -> bool {
        if let Some(replica) = self.replicas.ended() {
            self.bed.audit.fail("manager ended", format!("manager-{replica} ended, and nobody told it to"));
        }
        if let Some(panic) = PANIC.take() {
            self.bed.audit.fail("panicked", panic);
        }
        self.bed.audit.problem().is_some()
    }

    async fn step(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Submit(job) => {
                for object in self.plan.jobs[job].objects() {
                    self.hand(object, Some(job));
                }
            }
            Step::Start { replica, skew_s } => {
                self.replicas.kill(replica);
                self.replicas.start(replica, skew_s)?;
            }
            Step::Kill(replica) => self.replicas.kill(replica),
            Step::Reconnect(replica) => self.replicas.reconnect(replica),
            Step::Activate(job) => self.set_active(job, true).await?,
            Step::OpenQueue(queue) => self.set_stop_policy(queue, "None").await?,
            Step::Begin(what) => self.begin(what).await?,
        }
        Ok(())
    }

    async fn begin(&mut self, what: What) -> Result<()> {
        self.bed.audit.tell(|| format!("{what:?}"));
        match what {
            What::Kill { replica, .. } => self.replicas.kill(replica),
            What::Stop { replica, .. } => self.replicas.stop(replica),
            What::CutOff { replica, .. } => self.replicas.cut_off(replica),
            What::StandStill { ms } => advance(Duration::from_millis(ms)).await,
            What::Delete { job } => {
                if let Some(job) = self.plan.jobs.get(job) {
                    for path in job.paths() {
                        self.delete(&path).await?;
                    }
                }
            }
            What::DeleteWorkload { job } => {
                for path in self.workloads_of(job) {
                    self.delete(&path).await?;
                }
            }
            What::Edit { job, edit } => {
                if let Some(job) = self.plan.jobs.get(job) {
                    for path in job.paths() {
                        let (client, audit) = (self.bed.admin.clone(), self.bed.audit.clone());
                        self.hands.spawn(async move {
                            if let Err(error) = change(&client, &audit, &path, &Job::edited(edit)).await {
                                audit.fail("users are refused", format!("{error:#}"));
                            }
                        });
                    }
                }
            }
            What::Deactivate { job, .. } => self.set_active(job, false).await?,
            What::StopQueue { queue, drains, .. } => {
                self.set_stop_policy(queue, if drains { "HoldAndDrain" } else { "Hold" }).await?;
            }
            What::DeletePod { dice } => {
                let pods = self.bed.all(PODS);
                let pods: Vec<&str> = pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).collect();
                if let Some(name) = usize::try_from(dice % pods.len().max(1) as u64).ok().and_then(|at| pods.get(at)) {
                    self.delete(&format!("/api/v1/namespaces/{NAMESPACE}/pods/{name}")).await?;
                }
            }
        }
        Ok(())
    }

    /// A user creates an object, however often it takes.
    fn hand(&mut self, object: Value, job: Option<usize>) {
        let (client, accepted, audit) = (self.bed.admin.clone(), Arc::clone(&self.accepted), self.bed.audit.clone());
        self.hands.spawn(async move {
            loop {
                let answer = send(&client, Method::POST, &folder(&object), &object).await;
                let code = answer.as_ref().map_or(0, |(code, _)| *code);
                audit.tell(|| format!("user creates {} {}: {code}", object["kind"], object["metadata"]["name"]));
                match code {
                    201 | 409 => break,
                    // Webhooks are asked, and nobody may be there to answer.
                    0 | 500.. => sleep(PATIENCE).await,
                    _ => return audit.fail("users are refused", format!("{answer:?}")),
                }
            }
            if let Some(job) = job {
                accepted.lock().expect("nobody panics with the list").insert(job);
            }
        });
    }

    pub(crate) async fn delete(&mut self, path: &str) -> Result<()> {
        let options = json!({"propagationPolicy": "Background"});
        let (code, _) = send(&self.bed.admin, Method::DELETE, path, &options).await?;
        self.bed.audit.tell(|| format!("user deletes {path}: {code}"));
        if code < 300 {
            self.deleted.insert(path.to_owned());
        }
        Ok(())
    }

    /// Where the Workloads of a job are.
    fn workloads_of(&self, job: usize) -> Vec<String> {
        let Some(job) = self.plan.jobs.get(job) else { return Vec::new() };
        let of_job = |workload: &Value| {
            let owners = workload["metadata"]["ownerReferences"].as_array();
            let has_name = |name: &Value| name.as_str().is_some_and(|name| job.owns(name));
            owners.into_iter().flatten().any(|owner| has_name(&owner["name"]))
        };
        let all = self.bed.all(WORKLOADS);
        let names =
            all.iter().filter(|workload| of_job(workload)).filter_map(|workload| workload["metadata"]["name"].as_str());
        names.map(|name| format!("{KUEUE}/namespaces/{NAMESPACE}/workloads/{name}")).collect()
    }

    async fn set_active(&self, job: usize, is_active: bool) -> Result<()> {
        for path in self.workloads_of(job) {
            self.change(&path, &json!({"spec": {"active": is_active}})).await?;
        }
        Ok(())
    }

    pub(crate) async fn set_stop_policy(&self, queue: usize, policy: &str) -> Result<()> {
        let path = format!("{KUEUE}/clusterqueues/{}", queue_name(queue));
        self.change(&path, &json!({"spec": {"stopPolicy": policy}})).await
    }

    pub(crate) async fn change(&self, path: &str, patch: &Value) -> Result<()> {
        change(&self.bed.admin, &self.bed.audit, path, patch).await
    }
}

/// A user changes an object until that is accepted, or the object is gone.
async fn change(client: &kube::Client, audit: &Audit, path: &str, patch: &Value) -> Result<()> {
    loop {
        let (code, answer) = send(client, Method::PATCH, path, patch).await?;
        audit.tell(|| format!("user changes {path} to {patch}: {code}"));
        match code {
            409 | 500.. => sleep(PATIENCE).await,
            // What is gone, or has ended, is not changed any more.
            ..300 | 403 | 404 | 422 => return Ok(()),
            _ => {
                audit.fail("users are refused", answer.to_string());
                return Ok(());
            }
        }
    }
}

impl Job {
    /// Whether it has an object of that name.
    fn owns(&self, name: &str) -> bool {
        self.paths().iter().any(|path| path.rsplit('/').next() == Some(name))
    }
}

/// Everything that happens in the storm, by time.
fn steps(plan: &Plan) -> BTreeMap<(u64, usize), Step> {
    let mut steps = BTreeMap::new();
    let mut add = |at_ms: u64, step: Step| {
        steps.insert((at_ms, steps.len()), step);
    };
    for (number, job) in plan.jobs.iter().enumerate() {
        add(job.at_ms, Step::Submit(number));
    }
    for trouble in &plan.troubles {
        let at = trouble.at_ms;
        match trouble.what {
            What::Kill { replica, away_ms, skew_s } => add(at + away_ms, Step::Start { replica, skew_s }),
            What::Stop { replica, away_ms, skew_s } => {
                add(at + GRACE_MS, Step::Kill(replica));
                add(at + GRACE_MS + away_ms, Step::Start { replica, skew_s });
            }
            What::CutOff { replica, away_ms } => add(at + away_ms, Step::Reconnect(replica)),
            What::Deactivate { job, away_ms } => add(at + away_ms, Step::Activate(job)),
            What::StopQueue { queue, away_ms, .. } => add(at + away_ms, Step::OpenQueue(queue)),
            What::StandStill { .. }
            | What::Delete { .. }
            | What::DeleteWorkload { .. }
            | What::DeletePod { .. }
            | What::Edit { .. } => {}
        }
        add(at, Step::Begin(trouble.what.clone()));
    }
    steps
}

/// Where objects of its kind are created. The plurals of all of them are regular English.
pub(crate) fn folder(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]).to_lowercase());
    let plural = kind.clone() + if kind.ends_with('s') { "es" } else { "s" };
    let root = if version.contains('/') { "apis" } else { "api" };
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/{root}/{version}/namespaces/{namespace}/{plural}"),
        None => format!("/{root}/{version}/{plural}"),
    }
}
