//! `cargo xtask apiserver`: the embedded API server. All the work is done by the program `kueue-apiserver`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::program;

#[derive(Args, Debug)]
pub struct Wanted {
    /// The port on loopback; any free one when it is not given.
    #[arg(long)]
    port: Option<u16>,
    /// Where to write a kubeconfig with the administrator's token.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Collect garbage by owner references and empty namespaces that end, as the controllers of a cluster do.
    #[arg(long)]
    collect: bool,
    /// Something that goes wrong and how often, as in `watch-cut=0.2@kubectl/pods`; may be repeated.
    #[arg(long, value_name = "FAULT=RATE[@AGENT][/PATH]")]
    fault: Vec<String>,
    /// Where the faults' random numbers start.
    #[arg(long, value_name = "NUMBER")]
    fault_seed: Option<u64>,
}

fn apiserver() -> Command {
    program::cargo(["run", "--quiet", "--package", "kueue-apiserver", "--"])
}

/// Runs until it is interrupted.
pub fn run(wanted: &Wanted) -> Result<()> {
    let mut command = apiserver();
    if let Some(port) = wanted.port {
        command.arg("--port").arg(port.to_string());
    }
    if let Some(file) = &wanted.kubeconfig {
        command.arg("--kubeconfig").arg(std::path::absolute(file)?);
    }
    if wanted.collect {
        command.arg("--collect");
    }
    for fault in &wanted.fault {
        command.arg("--fault").arg(fault);
    }
    if let Some(seed) = wanted.fault_seed {
        command.arg("--fault-seed").arg(seed.to_string());
    }
    program::run(command)
}

/// A server that ends with this value.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Pretend nodes, scheduler and controllers, where they are played.
    world: Option<Child>,
    pub url: String,
    pub token: String,
}

impl Running {
    /// `plays` what stories need: `kcm` collects as controllers do, and with `scheduler` and `kwok` comes a whole world;
    /// `compaction` forgets after some seconds.
    pub fn start(plays: &str) -> Result<Self> {
        let plays = |need: &str| plays.split(',').any(|played| played == need);
        // It ends when its standard input does, so nothing is left behind, however we end.
        let mut command = apiserver();
        if plays("kcm") {
            command.args(["--collect", "--assign-accounts"]);
        }
        if plays("compaction") {
            command.args(["--compact-every", "4"]);
        }
        let kubeconfig = program::scratch("exchanges.kubeconfig");
        command.arg("--kubeconfig").arg(&kubeconfig);
        command.arg("--until-input-ends").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the embedded API server")?;
        let output = child.stdout.take().context("standard output was asked to be a pipe")?;
        for line in BufReader::new(output).lines() {
            let line = line?;
            if let Some((url, token)) = line.strip_prefix("serving ").and_then(|rest| rest.split_once(" token ")) {
                let world = plays("kcm").then(|| world(&kubeconfig)).transpose()?;
                return Ok(Self { child, world, url: url.to_owned(), token: token.to_owned() });
            }
        }
        bail!("the embedded API server did not start")
    }
}

/// A world as the recordings had it: one node, pods that run at once and end only when they are told to.
fn world(kubeconfig: &Path) -> Result<Child> {
    let mut command = program::cargo(["run", "--quiet", "--package", "kueue", "--", "world", "--until-input-ends"]);
    command.arg("--kubeconfig").arg(kubeconfig).arg("--nodes").arg(program::root().join("testbed/nodes.yaml"));
    command.args(["--domain", "test.example.com", "--run-for", "forever", "--start-after", "0s"]);
    command.args(["--pod-address", "10.244.0.1"]);
    command.stdin(Stdio::piped()).spawn().context("cannot start the pretend world")
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in self.world.iter_mut().chain([&mut self.child]) {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}
