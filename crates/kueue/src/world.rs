//! `kueue world`: pretend nodes and controllers for any API server, in the foreground. Also the flags that `kueue
//! sandbox` shares with it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kueue_runtime::clock::Clock;
use kueue_runtime::connect::connect;
use kueue_world::behaviour::{Defaults, Share, Span};
use kueue_world::{World, fleet};
use serde_json::Value;

/// Plays nodes with kubelets, the scheduler and the controllers of workloads on an API server that has none of them.
///
/// Nodes that carry no annotation of ours are left alone, but pods are scheduled and jobs are worked on: do not run this
/// beside the real controllers of a cluster. Ctrl-C ends it; the nodes stay.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How to reach the API server.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    pods: Pods,
    /// The cluster has kubelets, a scheduler and controllers of its own: play KubeRay and the autoscaler alone.
    #[arg(long, conflicts_with = "nodes")]
    beside_a_cluster: bool,
}

/// What nodes there are, and what pods do that do not say.
#[derive(clap::Args)]
pub(crate) struct Pods {
    /// The nodes: a list of groups with name, count, capacity, labels and taints, as in testbed/nodes.yaml.
    #[arg(long, value_name = "FILE")]
    pub(crate) nodes: Option<PathBuf>,
    /// Where random numbers start: the same seed lets pods of the same names run equally long.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
    /// How long pods run that do not say: a time, two with a dash between them, or forever.
    #[arg(long, default_value = "10s-30s", value_name = "TIME", value_parser = lasting)]
    run_for: Lasting,
    /// How many of the pods that do not say fail.
    #[arg(long, default_value_t, value_name = "PERCENT")]
    fail_rate: Share,
    /// How long pods take to start: a time, or two.
    #[arg(long, default_value = "1s", value_name = "TIME")]
    start_after: Span,
    /// The domain of the annotations that tell pods what to do, as in DOMAIN/run-for.
    #[arg(long, default_value = "world.kueue.x-k8s.io")]
    domain: String,
    /// Give all pods this address, as simple kubelets do.
    #[arg(long, value_name = "ADDRESS", hide = true)]
    pod_address: Option<String>,
}

/// For ever when there is none.
#[derive(Clone, Copy)]
struct Lasting(Option<Span>);

fn lasting(text: &str) -> Result<Lasting, String> {
    match text {
        "forever" => Ok(Lasting(None)),
        text => text.parse().map(Some).map(Lasting),
    }
}

impl Pods {
    pub(crate) fn defaults(&self) -> Defaults {
        let Self { seed, start_after, fail_rate, run_for: Lasting(run_for), .. } = *self;
        let (domain, pod_address) = (self.domain.clone(), self.pod_address.clone());
        Defaults { domain, seed, start_after, run_for, fail_rate, pod_address }
    }

    /// The manifests of the nodes; those of `otherwise` without a file.
    pub(crate) fn nodes(&self, otherwise: &str) -> Result<Vec<Value>, String> {
        let Some(path) = &self.nodes else { return fleet::nodes(otherwise) };
        let text = std::fs::read_to_string(path).map_err(|error| wrong(path, &error.to_string()))?;
        fleet::nodes(&text).map_err(|problem| wrong(path, &problem))
    }
}

fn wrong(path: &Path, problem: &str) -> String {
    format!("cannot use the nodes of {}: {problem}", path.display())
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let level = tracing_subscriber::filter::LevelFilter::WARN;
    tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).with_max_level(level).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let turned =
        runtime.map_err(|error| format!("cannot start: {error}")).and_then(|runtime| runtime.block_on(turn(arguments)));
    match turned {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("kueue world: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn turn(arguments: &Arguments) -> Result<(), String> {
    let nodes = if arguments.beside_a_cluster { Vec::new() } else { arguments.pods.nodes(kueue_sandbox::NODES)? };
    let client = connect(arguments.kubeconfig.as_deref()).await.map_err(|error| error.to_string())?;
    let world = World::new(client, Clock::of_the_machine(), arguments.pods.defaults()).with_nodes(nodes);
    let world = if arguments.beside_a_cluster { world.beside_a_cluster() } else { world };
    tokio::select! {
        () = world.run() => {}
        () = crate::manager::told_to_end() => {}
    }
    Ok(())
}
