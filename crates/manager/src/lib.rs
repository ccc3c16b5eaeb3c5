//! One running manager as a value: given a configuration, a client and a clock, everything else follows.
//!
//! Several can run in one process. A manager ends when the future of [`Manager::run`] is dropped, and leaves nothing
//! behind: what it decided and did not write is decided again by the next one.

mod connect;
mod informers;
mod jobs;
mod queues;

use kueue_api::config::Configuration;
use kueue_api::config::v1beta2::SourceKind;
use kueue_controllers::owner::{Handle, Input, Owner, Parts, Touched};
use kueue_core::gates::Gates;
use kueue_jobs::kinds::Deleters;
use kueue_jobs::kinds::batch_job;
use kueue_jobs::report::Fact;
use kueue_jobs::step::Settings as JobSettings;
use kueue_jobs::workload::Copied;
use kueue_runtime::client::{Client, Limits};
use kueue_runtime::clock::Clock;
use kueue_runtime::events::Recorder;
use kueue_translate::MetricLabels;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tracing::info;

use informers::Informers;

pub use connect::{ConnectError, connect};

/// How many requests may be under way at once.
const REQUESTS_AT_ONCE: usize = 64;
/// How many objects of one kind are looked at at once, where the configuration says nothing.
const LOOKS_AT_ONCE: usize = 16;

/// What a manager is made of.
#[derive(Debug)]
pub struct Manager {
    config: Configuration,
    gates: Gates,
    client: Client,
    clock: Clock,
    /// The name of this process in events.
    instance: String,
}

/// What the parts of a running manager share.
struct Shared {
    config: Configuration,
    gates: Gates,
    client: Client,
    clock: Clock,
    recorder: Recorder,
    engine: Handle,
}

impl Manager {
    /// A manager that does nothing yet. Requests are limited by their number at once, not by a rate: the API server has
    /// its own ways to defend itself.
    pub fn new(config: Configuration, gates: Gates, client: kube::Client, clock: Clock, instance: String) -> Self {
        Self { config, gates, client: Client::new(client, Limits::new(REQUESTS_AT_ONCE, None)), clock, instance }
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        let Self { config, gates, client, clock, instance } = self;
        let mut tasks = JoinSet::new();
        let (recorder, writing_events) = Recorder::new(client.clone(), clock, instance);
        tasks.spawn(writing_events);
        let (facts, fact_line) = unbounded_channel();
        let (touched, touched_line) = unbounded_channel();
        let (owner, inputs) = Owner::new(parts(&config, gates, &client, clock, &recorder, fact_line, touched));
        tasks.spawn(owner.run());
        let engine = Handle::new(inputs.clone());
        let shared = Shared { config, gates, client, clock, recorder, engine };
        let mut informers = Informers::new(&inputs);
        let reconcilers = start_when_synced(&shared, &mut informers, facts, touched_line);
        let synced = informers.run(&shared.client, &mut tasks);
        synced.await;
        info!("everything is listed, decisions begin");
        // The owner is gone only while everything ends.
        drop(inputs.send(Input::Synced));
        drop(inputs.send(Input::Leads(true)));
        reconcilers(&mut tasks);
        while tasks.join_next().await.is_some() {}
    }
}

/// Connects the controllers, and returns what starts them. Before everything is listed nobody knows whether an object
/// that was not seen does not exist.
fn start_when_synced(
    shared: &Shared,
    informers: &mut Informers,
    facts: UnboundedSender<Fact>,
    touched: UnboundedReceiver<Touched>,
) -> impl FnOnce(&mut JoinSet<()>) + use<> {
    let queues = queues::connect(shared, informers, touched);
    let settings = std::sync::Arc::new(job_settings(&shared.config, shared.gates));
    let jobs = jobs::connect::<batch_job::Job>(shared, informers, settings, facts);
    move |tasks| {
        queues(tasks);
        jobs(tasks);
    }
}

fn parts(
    config: &Configuration,
    gates: Gates,
    client: &Client,
    clock: Clock,
    recorder: &Recorder,
    facts: UnboundedReceiver<Fact>,
    touched: UnboundedSender<Touched>,
) -> Parts {
    Parts {
        client: client.clone(),
        clock,
        recorder: recorder.clone(),
        settings: kueue_translate::settings(config, gates),
        rules: kueue_translate::resource_rules(config),
        metric_labels: MetricLabels::new(&config.metrics.custom_labels, gates),
        facts,
        touched,
        jobs: Deleters::default().with::<batch_job::Job>(recorder),
    }
}

fn job_settings(config: &Configuration, gates: Gates) -> JobSettings {
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
    }
}

/// How many objects of a kind are looked at at once.
fn at_once(config: &Configuration, kind_and_group: &str) -> usize {
    let configured = config.controller.as_ref().and_then(|controller| {
        controller.group_kind_concurrency.get(kind_and_group).and_then(|count| usize::try_from(*count).ok())
    });
    configured.unwrap_or(LOOKS_AT_ONCE)
}
