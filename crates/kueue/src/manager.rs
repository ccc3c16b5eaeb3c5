//! `kueue manager`: the controllers, in the foreground.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use kueue_api::config::file;
use kueue_api::config::{self, Checked, DEFAULT_NAMESPACE};
use kueue_manager::{Manager, Observer, serve};
use kueue_runtime::clock::Clock;
use kueue_runtime::connect::connect;
use tracing::warn;

use crate::logs;

/// Runs the controllers until it is told to end.
///
/// Without --config everything has its default. Without --kubeconfig the usual one is used, or the account of the pod
/// this runs in.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The configuration file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How to reach the API server.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Feature gates: a list of Name=true or Name=false, separated by commas. A file with featureGates excludes it.
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true)]
    feature_gates: String,
    #[command(flatten)]
    logs: logs::Flags,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let clock = Clock::of_the_machine();
    let running = Arc::default();
    logs::begin(&arguments.logs, clock, Arc::clone(&running));
    match prepare(arguments).and_then(|checked| start(arguments, checked, clock, &running)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("kueue manager: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn prepare(arguments: &Arguments) -> Result<Checked, String> {
    let text = match &arguments.config {
        None => String::new(),
        Some(path) => file::read(path).map_err(|error| error.to_string())?,
    };
    let namespace = file::operator_namespace();
    let namespace = namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    let path = arguments.config.clone().unwrap_or_else(|| PathBuf::from("defaults"));
    config::check(&text, &arguments.feature_gates, namespace, &|_| Ok(()))
        .map_err(|rejected| crate::describe(&path, &rejected))
}

fn start(arguments: &Arguments, checked: Checked, clock: Clock, running: &OnceLock<Observer>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(async {
        let client = connect(arguments.kubeconfig.as_deref()).await.map_err(|error| error.to_string())?;
        let Checked { configuration, gates, notes } = checked;
        notes.iter().for_each(|note| warn!("configuration: {note}"));
        let config = configuration.clone();
        let manager = Manager::new(configuration, gates, client.clone(), clock, instance(clock));
        let serving = serve(&config, gates, &manager.observer(), client, clock).await;
        let serving = serving.map_err(|error| error.to_string())?;
        let observer = running.get_or_init(|| manager.observer()).clone();
        // Both end with the runtime, after the manager has.
        tokio::spawn(serving);
        tokio::spawn(dump_when_asked(observer));
        manager.run_until(told_to_end()).await;
        Ok(())
    })
}

/// A name that no other replica has, and this one only until it starts again.
fn instance(clock: Clock) -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "kueue".to_owned());
    format!("{host}_{}-{}", std::process::id(), clock.now().as_nanosecond())
}

/// Writes what the manager knows to the log at every SIGUSR2.
async fn dump_when_asked(observer: Observer) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut asked) = signal(SignalKind::user_defined2()) else { return };
    while asked.recv().await.is_some() {
        observer.dump().await;
    }
}

/// Waits for SIGINT or SIGTERM.
pub(crate) async fn told_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
