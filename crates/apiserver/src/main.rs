//! `kueue-apiserver`: the embedded API server alone, in the foreground. `cargo xtask apiserver` runs it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use jiff::Timestamp;
use kueue_apiserver::clock::Clock;
use kueue_apiserver::faults::{Faults, Rule};
use kueue_apiserver::socket::{Identity, Socket, kubeconfig};
use kueue_apiserver::{ApiServer, Settings, expire};
use tokio::signal::unix::{SignalKind, signal};
use tower::Layer as _;

/// A Kubernetes API server in one process, in memory.
///
/// Prints its address and the administrator's token, and serves until Ctrl-C. Nothing is kept: the next start is a new
/// cluster with a new token. No controllers run beside it, but for what --collect switches on.
#[derive(Parser)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// The address to listen on. Whoever reaches it and has the token is administrator: anything but loopback is your
    /// own decision.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
    /// The port; any free one when it is 0.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Where to write a kubeconfig with the administrator's token, readable for you alone.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Collect garbage by owner references and empty namespaces that end, as the controllers of a cluster do.
    #[arg(long)]
    collect: bool,
    /// Something that goes wrong, how often (0 to 1), and for whom only; may be repeated. Faults: delay, conflict,
    /// expired, too-many-requests, internal, unavailable, timeout-before, timeout-after, lost-before, lost-after,
    /// short-pages, watch-cut, watch-lag, no-bookmarks, reorder. The signal USR1 stops all of them, and the next one
    /// resumes.
    #[arg(long, value_name = "FAULT=RATE[@AGENT][/PATH]")]
    fault: Vec<Rule>,
    /// Where the faults' random numbers start: the same seed fails the same requests of the same clients.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    fault_seed: u64,
    /// Forget every so many seconds what happened before the last time: lists and watches that go on then get 410.
    #[arg(long, value_name = "SECONDS")]
    compact_every: Option<u64>,
    /// Give pods a ServiceAccount, which must exist, and its token as a volume.
    #[arg(long)]
    assign_accounts: bool,
    /// End when standard input ends, as for a program that starts this one.
    #[arg(long, hide = true)]
    until_input_ends: bool,
}

const EXAMPLES: &str = "Examples:
  kueue-apiserver --kubeconfig kc --collect
      then: kubectl --kubeconfig kc get namespaces
  kueue-apiserver --fault conflict=0.1 --fault watch-cut=0.2@kueue --fault internal=0.05/pods --fault-seed 7
      a tenth of all updates and patches conflict, a fifth of the watches of clients whose User-Agent has \"kueue\"
      in it end early, and a twentieth of what is asked below /pods fails";

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let seed = seed()?;
    let settings = Settings {
        collects: arguments.collect,
        compacts_every: arguments.compact_every.map(Duration::from_secs),
        keeps_events: Some(expire::KEPT),
        assigns_accounts: arguments.assign_accounts,
        ..Settings::new(Clock::starting_at(Timestamp::now()), seed)
    };
    let server = ApiServer::start(settings);
    let faults = Faults::new(arguments.fault_seed, arguments.fault);
    let identity = Identity::for_names([arguments.address.to_string()])?;
    let socket = Socket::bind(SocketAddr::from((arguments.address, arguments.port)), &identity).await?;
    let address = socket.address()?;
    if let Some(file) = &arguments.kubeconfig {
        write_private(file, &kubeconfig(address, &identity, server.admin_token()))?;
        println!("kubeconfig {}", file.display());
    }
    println!("serving https://{address} token {}", server.admin_token());
    tokio::select! {
        served = socket.serve(faults.layer(server)) => served,
        () = input_ends(), if arguments.until_input_ends => Ok(()),
        stopped = told_to_stop() => stopped,
        switched = switch(&faults) => switched,
    }
}

async fn input_ends() {
    let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await;
}

async fn told_to_stop() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for a signal")?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot wait for a signal"),
        _ = terminate.recv() => Ok(()),
    }
}

/// Stops and resumes the faults, for ever.
async fn switch(faults: &Faults) -> Result<()> {
    let mut switches = signal(SignalKind::user_defined1()).context("cannot wait for a signal")?;
    loop {
        switches.recv().await;
        if faults.is_on() {
            faults.stop();
        } else {
            faults.resume();
        }
        println!("faults {}", if faults.is_on() { "resumed" } else { "stopped" });
    }
}

/// Randomness of the machine: tokens must not be guessed.
fn seed() -> Result<[u8; 32]> {
    use std::io::Read as _;
    let mut seed = [0; 32];
    let mut source = std::fs::File::open("/dev/urandom").context("cannot open the machine's randomness")?;
    source.read_exact(&mut seed).context("cannot read the machine's randomness")?;
    Ok(seed)
}

/// A file that holds a token is its owner's alone.
fn write_private(file: &std::path::Path, text: &str) -> Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let open = options.write(true).create(true).truncate(true).mode(0o600).open(file);
    let mut open = open.with_context(|| format!("cannot write {}", file.display()))?;
    open.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))
}
