//! `kueue sandbox`: the whole system in one process, in the foreground.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use kueue_runtime::clock::Clock;
use kueue_sandbox::{Door, NODES, Options, Sandbox};

use crate::world::Pods;

/// How long the manager may take before something is probably wrong.
const MANAGER_WITHIN: Duration = Duration::from_secs(10);

/// Runs a cluster that exists only here: API server, pretend nodes and the manager, ready for kubectl.
///
/// Nothing is installed and nothing leaves this machine. Pods do not run anything: they pass the time that their manifest
/// says (`sleep 30`), or some seconds, and end. Ctrl-C ends everything.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The port on loopback; any free one when it is not given.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Where to write the kubeconfig, readable for you alone.
    #[arg(long, value_name = "FILE", default_value = "kueue-sandbox.kubeconfig")]
    kubeconfig: PathBuf,
    /// How many times as fast as usual time passes.
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", value_parser = positive)]
    speed: f64,
    /// Let two teams with a queue each submit jobs all the time.
    #[arg(long)]
    demo: bool,
    /// Keep everything in this file when it ends, and go on from there when it starts again.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    #[command(flatten)]
    pods: Pods,
    /// End when standard input ends, as for a program that starts this one.
    #[arg(long, hide = true)]
    until_input_ends: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed.is_finite() && speed > 0.0 => Ok(speed),
        _ => Err("must be a number above 0".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let level = tracing_subscriber::filter::LevelFilter::WARN;
    tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).with_max_level(level).init();
    let served = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))
        .and_then(|runtime| runtime.block_on(serve(arguments)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("kueue sandbox: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(arguments: &Arguments) -> Result<(), String> {
    let told = |error: anyhow::Error| format!("{error:#}");
    let options = Options {
        start: Clock::of_the_machine().now(),
        speed: arguments.speed,
        seed: randomness().map_err(|error| format!("cannot read the machine's randomness: {error}"))?,
        pods: arguments.pods.defaults(),
        nodes: arguments.pods.nodes(NODES)?,
        has_demo: arguments.demo,
        state: arguments.state.clone(),
    };
    // Before anything that takes time: a port that is taken is told at once.
    let door = Door::open(arguments.port).await.map_err(|error| match arguments.port {
        0 => told(error),
        _ => format!("{}; without --port any free one is taken", told(error)),
    })?;
    let mut sandbox = Sandbox::start(options).await.map_err(told)?;
    write_private(&arguments.kubeconfig, &door.kubeconfig(&sandbox))
        .map_err(|error| format!("cannot write {}: {error}", arguments.kubeconfig.display()))?;
    if tokio::time::timeout(MANAGER_WITHIN, sandbox.ready()).await.is_err() {
        eprintln!("The manager is not ready yet. `kubectl -n kueue-system describe pods` says what it waits for.");
    }
    greet(arguments, &door.address.to_string());
    let served = tokio::select! {
        served = door.serve(sandbox.server().clone()) => served.map_err(told),
        () = sandbox.run() => Ok(()),
        () = crate::manager::told_to_end() => Ok(()),
        () = input_ends(), if arguments.until_input_ends => Ok(()),
    };
    sandbox.end().await.map_err(told)?;
    match &arguments.state {
        Some(file) => println!("The sandbox ends; {} keeps it.", file.display()),
        None => println!("The sandbox is gone."),
    }
    served
}

async fn input_ends() {
    // Whether it ended or cannot be read, nobody is there any more.
    let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await;
}

fn greet(arguments: &Arguments, address: &str) {
    let file = std::path::absolute(&arguments.kubeconfig).unwrap_or_else(|_| arguments.kubeconfig.clone());
    let speed = arguments.speed;
    let hurry = if speed == 1.0 { String::new() } else { format!(", time passes {speed} times as fast") };
    let commands = match arguments.demo {
        true => ["kubectl get clusterqueues -o wide -w", "kubectl get workloads -A", "kubectl get jobs,pods -A"],
        false => ["kubectl get nodes", "kubectl apply -f examples/first-job.yaml", "kubectl get workloads,jobs,pods"],
    };
    println!("A cluster is ready at https://{address}{hurry}. In another terminal:\n");
    println!("  export KUBECONFIG={}", file.display());
    for command in commands {
        println!("  {command}");
    }
    let kept = match &arguments.state {
        Some(file) => format!("{} keeps everything", file.display()),
        None => "nothing is kept".to_owned(),
    };
    println!("\ndocs/tutorial.md goes on from there. Ctrl-C ends it; {kept}.");
    // Whoever reads this through a pipe waits for it.
    drop(io::stdout().flush());
}

/// Tokens must not be guessed.
fn randomness() -> io::Result<[u8; 32]> {
    use std::io::Read as _;
    let mut seed = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut seed)?;
    Ok(seed)
}

/// A file that holds a token is its owner's alone.
fn write_private(file: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(file)?.write_all(text.as_bytes())
}
