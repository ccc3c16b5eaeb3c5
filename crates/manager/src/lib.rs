//! One running manager as a value: given a configuration, a client and a clock, everything else follows.
//!
//! Several can run in one process. A manager ends when the future of [`Manager::run`] is dropped, and leaves nothing
//! behind: what it decided and did not write is decided again by the next one. Of several replicas one leads; the others
//! know all that it knows, and write nothing.

mod alike;
mod current;
mod dump;
mod elastic;
mod failure_recovery;
mod informers;
mod jobs;
mod leading;
mod metrics;
mod observer;
mod pods;
mod provisioning;
mod queues;
mod serve;
mod topology;
mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use kueue_api::config::Configuration;
use kueue_api::config::v1beta2::SourceKind;
use kueue_api::kueue::names::FIELD_MANAGER_KUEUE;
use kueue_controllers::owner::{Handle, Input, Owner, Parts, Touched};
use kueue_core::gates::Gates;
use kueue_jobs::integrations::Integrations;
use kueue_jobs::kinds::Deleters;
use kueue_jobs::kinds::pod;
use kueue_jobs::opened::{OnOpened, Opened};
use kueue_jobs::report::Fact;
use kueue_jobs::step::Settings as JobSettings;
use kueue_jobs::workload::Copied;
use kueue_runtime::client::{Client, Limits, Rate};
use kueue_runtime::clock::Clock;
use kueue_runtime::events::Recorder;
use kueue_runtime::meters::Meters;
use kueue_runtime::watch;
use kueue_translate::MetricLabels;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tracing::warn;

use informers::Informers;

pub use observer::Observer;
pub use serve::{ServeError, Visibility, keep_registered, serve};

/// How many requests may be under way at once.
const REQUESTS_AT_ONCE: usize = 64;
/// How many objects of one kind are looked at at once, where the configuration says nothing.
const LOOKS_AT_ONCE: usize = 16;

/// How long events that were told may take to be written when the end has come.
const EVENTS_WITHIN: Duration = Duration::from_secs(3);

/// What a manager is made of.
pub struct Manager {
    config: Configuration,
    gates: Gates,
    client: kube::Client,
    clock: Clock,
    /// The name of this process in events, and in the Lease of the leader.
    instance: String,
    observer: Observer,
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manager").field("instance", &self.instance).finish_non_exhaustive()
    }
}

/// What the parts of a running manager share.
struct Shared {
    config: Configuration,
    client: Client,
    clock: Clock,
    recorder: Recorder,
    engine: Handle,
    meters: Meters,
}

/// How jobs and the engine's owner speak to each other.
struct JobLines {
    facts: UnboundedSender<Fact>,
    /// All jobs are to be looked at again: what they reported may have been forgotten.
    look_again: watch::Sender<u64>,
    on_opened: OnOpened,
}

impl Manager {
    /// A manager that does nothing yet. `instance` is its own: no other replica has the same.
    pub fn new(config: Configuration, gates: Gates, client: kube::Client, clock: Clock, instance: String) -> Self {
        Self { config, gates, client, clock, instance, observer: Observer::default() }
    }

    /// Looks at it while it runs.
    pub fn observer(&self) -> Observer {
        self.observer.clone()
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        self.run_until(std::future::pending()).await;
    }

    /// Runs until `end` comes, and lets the next one lead at once.
    pub async fn run_until(self, end: impl Future<Output = ()>) {
        let Self { config, gates, client: connection, clock, instance, observer } = self;
        let meters = observer.meters().clone();
        let client = Client::new(connection.clone(), Limits::new(REQUESTS_AT_ONCE, rate(&config)))
            .counted_by(&meters)
            .speaking_as(FIELD_MANAGER_KUEUE);
        // Dropped in this order: events are written until nobody is left who could tell any.
        let (recorder, writing_events) = Recorder::new(client.clone(), clock, instance.clone());
        let mut events = JoinSet::new();
        events.spawn(writing_events);
        let mut tasks = JoinSet::new();
        let (inputs, input_line) = unbounded_channel();
        let mut informers = Informers::new(&inputs);
        let metrics = metrics::connect(&config, gates, &informers);
        let (facts, fact_line) = unbounded_channel();
        let (touched, touched_line) = unbounded_channel();
        let look_again = watch::Sender::new(0);
        let parts = Parts {
            client: client.clone(),
            clock,
            settings: kueue_translate::settings(&config, gates),
            rules: kueue_translate::resource_rules(&config),
            metric_labels: MetricLabels::new(&config.metrics.custom_labels, gates),
            facts: fact_line,
            touched,
            jobs: Deleters::of(frameworks(&config), &recorder).with::<pod::Pod>(&recorder),
            recorder: recorder.clone(),
            metrics: metrics.clone(),
            look_again: look_again.clone(),
        };
        tasks.spawn(Owner::new(parts, input_line).run());
        let candidate = leading::candidate(&config, connection, clock, instance, &meters);
        let engine = Handle::new(inputs.clone());
        observer.set_scrape(metrics::Scrape::new(metrics.clone(), meters.clone(), engine.clone(), &mut informers));
        observer.set_queues(serve::Queues { engine: engine.clone(), workloads: informers.workloads.store() });
        let shared = Shared { config, client, clock, recorder, engine: engine.clone(), meters };
        let settings = Arc::new(job_settings(&shared.config, gates));
        webhooks::connect(&shared.config, &settings, &shared.client, &mut informers, &observer);
        let on_opened: OnOpened = {
            let metrics = metrics.clone();
            Arc::new(move |&Opened { gate, queue, is_group, waited_s }| {
                metrics.gate_removed(gate, queue, is_group, waited_s);
            })
        };
        let elastic = elastic::connect(&shared, &mut informers, gates, Arc::clone(&on_opened));
        let lines = JobLines { facts, look_again, on_opened };
        let others = connect_all(&shared, &mut informers, &inputs, &settings, &lines, touched_line, &mut tasks);
        let reconcilers = move |tasks: &mut JoinSet<()>| {
            elastic(tasks);
            others(tasks);
        };
        let workloads = informers.workloads.store();
        let synced = informers.run(&shared.client, &mut tasks);
        let client = shared.client.clone();
        let lease = shared.config.leader_election.as_ref().map(|election| election.resource_name.clone());
        let lease = lease.unwrap_or_default();
        drop(shared);
        let decide = leading::Decide { inputs, engine, metrics, observer, lease, client, workloads, reconcilers };
        tokio::select! {
            biased;
            () = decide.when_synced_and_leading(synced, candidate, end) => {}
            Some(_) = tasks.join_next() => warn!("a part of the manager ended, so all of it ends"),
        }
        drop(decide);
        tasks.shutdown().await;
        if tokio::time::timeout(EVENTS_WITHIN, events.join_next()).await.is_err() {
            warn!("not all events could be written in time");
        }
    }
}

/// Connects the controllers, and returns what starts them. Before everything is listed nobody knows whether an object
/// that was not seen does not exist.
fn connect_all(
    shared: &Shared,
    informers: &mut Informers,
    inputs: &UnboundedSender<Input>,
    settings: &Arc<JobSettings>,
    lines: &JobLines,
    touched: UnboundedReceiver<Touched>,
    tasks: &mut JoinSet<()>,
) -> impl Fn(&mut JoinSet<()>) + use<> {
    let gates = settings.gates;
    let queues = queues::connect(shared, informers, touched, tasks);
    let placement = topology::connect(shared, gates, informers, inputs, &lines.on_opened);
    let pods = pods::connect(shared, informers, settings, lines, tasks);
    let jobs = jobs::connect_enabled(shared, informers, settings, lines, tasks);
    let provisioning = provisioning::connect(shared, gates, informers, tasks);
    let failure_recovery = failure_recovery::connect(shared, gates, informers);
    move |tasks| {
        queues(tasks);
        jobs(tasks);
        placement(tasks);
        provisioning(tasks);
        failure_recovery(tasks);
        pods.iter().for_each(|start| start(tasks));
    }
}

/// The names of the frameworks that are enabled.
fn frameworks(config: &Configuration) -> impl Iterator<Item = &str> {
    config.integrations.iter().flat_map(|jobs| &jobs.frameworks).map(String::as_str)
}

fn job_settings(config: &Configuration, gates: Gates) -> JobSettings {
    let external = config.integrations.iter().flat_map(|jobs| &jobs.external_frameworks).map(String::as_str);
    let labels = config.metrics.custom_labels.iter();
    let of_workloads = labels.filter(|label| label.source_kind == Some(SourceKind::Workload));
    let annotations = of_workloads.map(|label| label.source_annotation_key.clone());
    JobSettings {
        gates,
        manages_without_queue: config.manage_jobs_without_queue_name,
        namespaces: config.managed_jobs_namespace_selector.clone(),
        waits_for_pods: config.waits_for_pods_ready(gates),
        copied: Copied {
            labels: config.integrations.as_ref().map(|jobs| jobs.label_keys_to_copy.clone()).unwrap_or_default(),
            annotations: annotations.filter(|key| !key.is_empty()).collect(),
        },
        integrations: Integrations::configured(frameworks(config), external),
    }
}

/// How many requests a second the configuration allows. What it says where nobody said anything is no limit: requests
/// are limited by their number at once, and the API server has its own ways to defend itself.
fn rate(config: &Configuration) -> Option<Rate> {
    let connection = config.client_connection.as_ref().filter(|connection| !connection.is_usual())?;
    let burst = connection.burst.and_then(|burst| u32::try_from(burst).ok()).unwrap_or(1);
    connection.qps.map(|qps| Rate { per_second: qps.0, burst })
}

/// How many objects of a kind are looked at at once.
fn at_once(config: &Configuration, kind_and_group: &str) -> usize {
    let configured = config.controller.as_ref().and_then(|controller| {
        controller.group_kind_concurrency.get(kind_and_group).and_then(|count| usize::try_from(*count).ok())
    });
    configured.unwrap_or(LOOKS_AT_ONCE)
}
