//! Makes the load, and does what jobs would do: Workloads that were admitted end after their time, those that were
//! evicted let their quota go.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kueue_api::kueue::names::{FIELD_MANAGER_ADMISSION, condition};
use kueue_api::kueue::v1beta2::{ClusterQueue, LocalQueue, Workload};
use kueue_api::meta::{Object, ObjectMeta};
use kueue_runtime::client::{Client, Failure, Limits, Page, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::informer::{Informer, Store};
use kueue_runtime::key::Key;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::load::{Class, Load};
use super::recorder::{Act, Recorder};
use super::requests::Requests;
use super::subject::Running;

const REQUESTS_AT_ONCE: usize = 200;
const FINISHED_MANAGER: &str = "kueue-job-controller-Finished";
const AGAIN_AFTER: Duration = Duration::from_millis(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);
const TELL_EVERY: Duration = Duration::from_secs(10);
const PAGE: u32 = 500;

/// One load on one API server.
#[derive(Clone)]
pub struct Runner {
    client: Client,
    clock: Clock,
    load: Load,
    recorder: Arc<Mutex<Recorder>>,
    workloads: Arc<Store<Workload>>,
    /// What this runner asked of the API server.
    own: Arc<Mutex<Requests>>,
    /// What it was refused: then the figures mean nothing.
    trouble: Arc<Mutex<Option<String>>>,
}

impl Runner {
    /// Begins to watch; nothing exists yet.
    pub async fn begin(connection: kube::Client, load: Load, tasks: &mut JoinSet<()>) -> Self {
        let client = Client::new(connection, Limits::new(REQUESTS_AT_ONCE, None));
        let mut workloads = Informer::<Workload>::whole();
        let mut cluster_queues = Informer::<ClusterQueue>::whole();
        let mut local_queues = Informer::<LocalQueue>::whole();
        let recorder = Arc::new(Mutex::new(Recorder::new(load)));
        let (acts, to_do) = unbounded_channel();
        let record = Arc::clone(&recorder);
        workloads.listen(move |delta| {
            if let Some(act) = lock(&record).on_workload(delta, Instant::now()) {
                // The runner is gone only when everything is over.
                drop(acts.send((delta.key.clone(), act)));
            }
        });
        let record = Arc::clone(&recorder);
        cluster_queues.listen(move |delta| lock(&record).on_cluster_queue(delta, Instant::now()));
        let record = Arc::clone(&recorder);
        local_queues.listen(move |delta| lock(&record).seen.local_queue_changes += u64::from(delta.old.is_some()));
        let runner = Self {
            client: client.clone(),
            clock: Clock::of_the_machine(),
            load,
            recorder,
            workloads: workloads.store(),
            own: Arc::default(),
            trouble: Arc::default(),
        };
        let synced = [workloads.synced(), cluster_queues.synced(), local_queues.synced()];
        tasks.spawn(workloads.run(client.clone()));
        tasks.spawn(cluster_queues.run(client.clone()));
        tasks.spawn(local_queues.run(client));
        tasks.spawn(runner.clone().act(to_do));
        for mut synced in synced {
            // Informers run until the end.
            drop(synced.wait_for(|is_synced| *is_synced).await);
        }
        runner
    }

    pub fn recorder(&self) -> MutexGuard<'_, Recorder> {
        lock(&self.recorder)
    }

    /// What of all requests is this runner's own.
    pub fn own(&self) -> Requests {
        lock(&self.own).clone()
    }

    /// Makes flavor, namespaces and queues.
    pub async fn make_queues(&self) -> Result<()> {
        let objects = self.load.objects()?;
        self.create(objects.flavor).await?;
        self.create_all(objects.namespaces).await?;
        self.create_all(objects.cluster_queues).await?;
        self.create_all(objects.local_queues).await
    }

    /// Makes all Workloads, those of every queue and class beside each other, each after its interval.
    pub async fn make_workloads(&self) -> Result<()> {
        let mut sets = JoinSet::new();
        for queue in self.load.queue_names() {
            for class in self.load.classes {
                sets.spawn(self.clone().make_set(queue.clone(), class));
            }
        }
        while let Some(outcome) = sets.join_next().await {
            outcome??;
        }
        Ok(())
    }

    async fn make_set(self, queue: String, class: &'static Class) -> Result<()> {
        for number in 0..self.load.count(class) {
            sleep(class.interval()).await;
            self.create(self.load.workload(&queue, class, number)?).await?;
        }
        Ok(())
    }

    async fn create<T: Object + Sync>(&self, object: T) -> Result<()> {
        loop {
            let outcome = self.client.create(&object).await;
            self.count("POST", T::PLURAL, outcome.is_ok());
            match outcome {
                Ok(_) => return Ok(()),
                Err(failure) if failure.is_transient() => sleep(AGAIN_AFTER).await,
                Err(failure) => bail!("cannot create {} {}: {failure}", T::KIND, object.metadata().name),
            }
        }
    }

    async fn create_all<T: Object + Send + Sync + 'static>(&self, objects: Vec<T>) -> Result<()> {
        let mut requests = JoinSet::new();
        for object in objects {
            let runner = self.clone();
            requests.spawn(async move { runner.create(object).await });
        }
        while let Some(outcome) = requests.join_next().await {
            outcome??;
        }
        Ok(())
    }

    /// Waits until everything is over, watching the manager meanwhile. Returns the moment.
    pub async fn await_end(&self, manager: &mut Running, within: Duration, say: &dyn Fn(&str)) -> Result<Instant> {
        let begin = Instant::now();
        let mut told = begin;
        loop {
            if self.recorder().is_over() {
                return Ok(Instant::now());
            }
            manager.process.check()?;
            if let Some(trouble) = lock(&self.trouble).clone() {
                bail!(trouble);
            }
            let seen = self.recorder().seen;
            if begin.elapsed() > within {
                bail!("not over after {} s: {seen:?}", within.as_secs());
            }
            if told.elapsed() > TELL_EVERY {
                told = Instant::now();
                say(&format!("{} of {} finished", seen.finished, self.load.total()));
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Waits for the first admission. Returns the moment.
    pub async fn await_admission(&self, manager: &mut Running, within: Duration) -> Result<Instant> {
        let begin = Instant::now();
        loop {
            if let Some(at) = self.recorder().first_admission {
                return Ok(at);
            }
            manager.process.check()?;
            if begin.elapsed() > within {
                bail!("nothing was admitted within {} s", within.as_secs());
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// How long it takes to list all Workloads in pages, without looking at them.
    pub async fn list(&self) -> Result<Duration> {
        let begin = Instant::now();
        let mut page = Page { limit: Some(PAGE), ..Page::default() };
        let mut count = 0;
        loop {
            let listed = self.client.list::<Workload>(&page).await?;
            count += listed.items.unwrap_or_default().len();
            page.resume = listed.metadata.r#continue;
            if page.resume.is_empty() {
                break;
            }
        }
        if count != self.load.total() {
            bail!("{count} Workloads are listed, not {}", self.load.total());
        }
        Ok(begin.elapsed())
    }

    async fn act(self, mut to_do: UnboundedReceiver<(Key, Act)>) {
        let mut jobs = JoinSet::new();
        while let Some((key, act)) = to_do.recv().await {
            while jobs.try_join_next().is_some() {}
            let runner = self.clone();
            jobs.spawn(async move {
                match act {
                    Act::Finish { admission, after } => {
                        sleep(after).await;
                        if runner.recorder().still_runs(&key, admission) {
                            runner.finish(&key).await;
                        }
                    }
                    Act::Clear => runner.clear(&key).await,
                }
            });
        }
    }

    async fn finish(&self, key: &Key) {
        let finished = json!({"type": condition::FINISHED, "status": "True", "reason": "ByTest",
            "message": "Finished by the benchmark", "lastTransitionTime": self.clock.time()});
        let body = json!({"apiVersion": Workload::api_version(), "kind": Workload::KIND,
            "metadata": {"name": key.name, "namespace": key.namespace}, "status": {"conditions": [finished]}});
        let patch = Patch::apply(body, FINISHED_MANAGER).of_status();
        while self.patch(key, &patch).await.is_err_and(|failure| !failure.is_not_found()) {
            sleep(AGAIN_AFTER).await;
        }
    }

    /// What a job's controller would do when its pods are gone: without an admission, its quota is free.
    async fn clear(&self, key: &Key) {
        while let Some(stored) = self.workloads.get(key) {
            let patch = Patch::apply(cleared(&stored.object, self.clock), FIELD_MANAGER_ADMISSION).of_status();
            match self.patch(key, &patch).await {
                Err(failure) if !failure.is_not_found() => sleep(AGAIN_AFTER).await,
                _ => return,
            }
        }
    }

    async fn patch(&self, key: &Key, patch: &Patch) -> Result<Workload, Failure> {
        let outcome = self.client.patch::<Workload>(key, patch).await;
        self.count("APPLY", "workloads/status", outcome.is_ok());
        if let Err(failure) = &outcome
            && !(failure.is_transient() || failure.is_conflict() || failure.is_not_found())
        {
            lock(&self.trouble).get_or_insert_with(|| format!("cannot write Workload {key}: {failure}"));
        }
        outcome
    }

    fn count(&self, verb: &str, resource: &str, has_succeeded: bool) {
        lock(&self.own).add(verb, resource, has_succeeded);
    }
}

/// The apply that takes a Workload's quota away and leaves everything else of its status, unless it changed since.
fn cleared(workload: &Workload, clock: Clock) -> serde_json::Value {
    let mut status = workload.status.clone();
    status.admission = None;
    for (kind, reason, message) in [
        (condition::QUOTA_RESERVED, "Pending", "Evicted by the benchmark"),
        (condition::ADMITTED, "NoReservation", "The workload has no reservation"),
    ] {
        if let Some(condition) = status.conditions.iter_mut().find(|condition| condition.r#type == kind) {
            condition.status = kueue_api::meta::ConditionStatus::False;
            condition.reason = reason.to_owned();
            condition.message = message.to_owned();
            condition.last_transition_time = clock.time();
        }
    }
    let ObjectMeta { name, namespace, resource_version, .. } = &workload.metadata;
    let metadata = json!({"name": name, "namespace": namespace, "resourceVersion": resource_version});
    json!({"apiVersion": Workload::api_version(), "kind": Workload::KIND, "metadata": metadata, "status": status})
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How the API server of a kubeconfig is reached.
pub async fn connect(kubeconfig: &std::path::Path) -> Result<kube::Client> {
    kueue_runtime::connect::connect(Some(kubeconfig)).await.context("cannot reach the test bed")
}
