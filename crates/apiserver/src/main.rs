//! `kueue-apiserver`: the embedded API server alone, in the foreground. `cargo xtask apiserver` runs it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Parser;
use jiff::Timestamp;
use kueue_apiserver::clock::Clock;
use kueue_apiserver::socket::{Identity, Socket, kubeconfig};
use kueue_apiserver::{ApiServer, Settings};

#[derive(Parser)]
#[command(about = "A Kubernetes API server in one process, in memory, on loopback")]
struct Arguments {
    /// The port; any free one when it is 0.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Where to write a kubeconfig with the administrator's token.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Collect garbage by owner references and empty namespaces that end, as the controllers of a cluster do.
    #[arg(long)]
    collect: bool,
    /// End when standard input ends, as for a program that starts this one.
    #[arg(long, hide = true)]
    until_input_ends: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let seed = seed()?;
    let settings =
        Settings { collects: arguments.collect, ..Settings::new(Clock::starting_at(Timestamp::now()), seed) };
    let server = ApiServer::start(settings);
    let identity = Identity::generate()?;
    let socket = Socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port)), &identity).await?;
    let address = socket.address()?;
    if let Some(file) = &arguments.kubeconfig {
        write_private(file, &kubeconfig(address, &identity, server.admin_token()))?;
        println!("kubeconfig {}", file.display());
    }
    println!("serving https://{address} token {}", server.admin_token());
    let input_ends = async {
        if !arguments.until_input_ends {
            std::future::pending::<()>().await;
        }
        let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await;
    };
    tokio::select! {
        served = socket.serve(server) => served,
        () = input_ends => Ok(()),
        stopped = tokio::signal::ctrl_c() => stopped.context("cannot wait for a signal"),
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
