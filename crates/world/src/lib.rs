//! A pretend world: nodes with kubelets, a scheduler, the controllers of workloads, KubeRay and a cluster autoscaler, as
//! ordinary API clients.
//!
//! They run against any API server and live by the runtime's clock, so that time can be virtual or fast. Each controller
//! is one file that begins with the table of what it does.

mod feeds;
pub mod kinds;

pub mod behaviour;
mod eviction;
pub mod fleet;
mod kubelet;
mod node;
pub mod program;

mod scheduler;

mod cron_job;
mod daemon_set;
mod deployment;
mod job;
mod replica_set;
mod stateful_set;

mod claim;
mod endpoints;
mod service_account;

pub mod autoscaler;
pub mod crds;
mod kuberay;

use std::sync::Arc;

use kueue_runtime::client::{Client, Failure, Limits};
use kueue_runtime::clock::Clock;
use kueue_runtime::events::Recorder;
use serde_json::Value;
use tokio::task::JoinSet;
use tracing::warn;

use autoscaler::Temper;
use behaviour::Defaults;
use feeds::Feeds;
use program::Program;

/// How many requests may be under way at once.
const REQUESTS_AT_ONCE: usize = 64;
/// How many objects of one kind are looked at at once.
const AT_ONCE: usize = 32;

/// The field manager of controllers that a real cluster runs together.
const MANAGER: &str = "kube-controller-manager";
const KUBELET: &str = "kubelet";
const SCHEDULER: &str = "kube-scheduler";

/// What begins to run when everything is listed.
type Start = Box<dyn FnOnce(&mut JoinSet<()>) + Send>;

/// A world that does not turn yet.
#[derive(Debug)]
pub struct World {
    client: Client,
    clock: Clock,
    defaults: Defaults,
    nodes: Vec<Value>,
    program: Option<Arc<dyn Program>>,
    temper: Temper,
    has_cluster: bool,
}

/// What all controllers share.
#[derive(Clone)]
struct Parts {
    client: Client,
    clock: Clock,
    recorder: Recorder,
    defaults: Arc<Defaults>,
    program: Option<Arc<dyn Program>>,
    temper: Temper,
}

impl World {
    /// A world without nodes.
    pub fn new(client: kube::Client, clock: Clock, defaults: Defaults) -> Self {
        let client = Client::new(client, Limits::new(REQUESTS_AT_ONCE, None));
        Self {
            client,
            clock,
            defaults,
            nodes: Vec::new(),
            program: None,
            temper: Temper::default(),
            has_cluster: false,
        }
    }

    /// The same with these nodes, given as manifests.
    pub fn with_nodes(self, nodes: Vec<Value>) -> Self {
        Self { nodes, ..self }
    }

    /// The same with a program behind some of its pods.
    pub fn with_program(self, program: Arc<dyn Program>) -> Self {
        Self { program: Some(program), ..self }
    }

    /// The same with an autoscaler that does not only what it should.
    pub fn with_temper(self, temper: Temper) -> Self {
        Self { temper, ..self }
    }

    /// The same for a cluster that has kubelets, a scheduler and controllers: only KubeRay and the autoscaler are played.
    pub fn beside_a_cluster(self) -> Self {
        Self { has_cluster: true, ..self }
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        let Self { client, clock, defaults, nodes, program, temper, has_cluster } = self;
        let mut tasks = JoinSet::new();
        let (recorder, writing_events) = Recorder::new(client.clone(), clock, "world".to_owned());
        tasks.spawn(writing_events);
        let recorder = recorder.with_source();
        let parts = Parts { client, clock, recorder, defaults: Arc::new(defaults), program, temper };
        let mut feeds = Feeds::new();
        let mut controllers = vec![
            kuberay::connect(&parts.of("kuberay-operator"), &mut feeds),
            autoscaler::connect(&parts.of("cluster-autoscaler"), &mut feeds),
        ];
        if !has_cluster {
            controllers.extend(cluster(&parts, &mut feeds));
        }
        feeds.run(&parts.client, &mut tasks).await;
        for start in controllers {
            start(&mut tasks);
        }
        for node in nodes {
            create_node(&parts.of(KUBELET), node).await;
        }
        while tasks.join_next().await.is_some() {}
    }
}

impl Parts {
    /// The same for the program of that name, as managed fields tell it.
    fn of(&self, agent: &'static str) -> Self {
        let (client, recorder) = (self.client.clone().speaking_as(agent), self.recorder.clone().speaking_as(agent));
        Self { client, recorder, ..self.clone() }
    }
}

/// What every cluster has.
fn cluster(parts: &Parts, feeds: &mut Feeds) -> [Start; 13] {
    let (kubelet, scheduler, parts) = (&parts.of(KUBELET), &parts.of(SCHEDULER), &parts.of(MANAGER));
    [
        node::connect(kubelet, feeds),
        kubelet::connect(kubelet, feeds),
        eviction::connect(parts, feeds),
        scheduler::connect(scheduler, feeds),
        job::connect(parts, feeds),
        cron_job::connect(parts, feeds),
        replica_set::connect(parts, feeds),
        deployment::connect(parts, feeds),
        stateful_set::connect(parts, feeds),
        daemon_set::connect(parts, feeds),
        claim::connect(parts, feeds),
        endpoints::connect(parts, feeds),
        service_account::connect(parts, feeds),
    ]
}

/// Makes a node, unless there is one of that name.
async fn create_node(parts: &Parts, manifest: Value) {
    let node = node::pretended(manifest, &parts.defaults);
    match parts.client.make(&node).await {
        Err(failure) if !failure.is_conflict() => {
            warn!(node = node.metadata.name, error = %failure, "cannot make a node");
        }
        _ => {}
    }
}

/// What is gone already need not be deleted.
fn gone_is_fine(outcome: Result<(), Failure>) -> Result<(), Failure> {
    match outcome {
        Err(failure) if failure.is_not_found() => Ok(()),
        outcome => outcome,
    }
}
