//! `cargo xtask apiserver`: the embedded API server. All the work is done by the program `kueue-apiserver`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
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
    pub url: String,
    pub token: String,
}

impl Running {
    /// The embedded server alone; where it `plays` `compaction`, it forgets after some seconds.
    pub fn alone(plays: &[&str]) -> Result<Self> {
        let mut command = apiserver();
        if plays.contains(&"compaction") {
            command.args(["--compact-every", "4"]);
        }
        let address = |line: &str| {
            let (url, token) = line.strip_prefix("serving ")?.split_once(" token ")?;
            Some((url.to_owned(), token.to_owned()))
        };
        Self::start(command, address)
    }

    /// A sandbox as the recordings had their cluster: one node, pods that end only when they are told to. They start a
    /// little later, as many were recorded where nobody started any, and a controller must be seen before.
    pub fn sandbox() -> Result<Self> {
        let kubeconfig = program::scratch("exchanges.kubeconfig");
        let mut command = program::cargo(["run", "--quiet", "--package", "kueue", "--", "sandbox"]);
        command.arg("--kubeconfig").arg(&kubeconfig).arg("--nodes").arg(program::root().join("testbed/nodes.yaml"));
        command.args(["--domain", "test.example.com", "--run-for", "forever", "--start-after", "3s"]);
        command.args(["--pod-address", "10.244.0.1"]);
        let address = |line: &str| {
            let url = line.strip_prefix("A cluster is ready at ")?.split(". ").next()?;
            let text = std::fs::read_to_string(&kubeconfig).ok()?;
            let token = text.lines().find_map(|line| line.trim().strip_prefix("token: "))?;
            Some((url.to_owned(), token.to_owned()))
        };
        Self::start(command, address)
    }

    /// Reads what a server says until that is its address and a token. It ends when its standard input does, so nothing
    /// is left behind, however we end.
    fn start(mut command: Command, address: impl Fn(&str) -> Option<(String, String)>) -> Result<Self> {
        command.arg("--until-input-ends").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the server")?;
        let output = child.stdout.take().context("standard output was asked to be a pipe")?;
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let Some((url, token)) = lines.find_map(|line| address(&line)) else { bail!("the server did not start") };
        // Whatever it says later must find somebody who reads it.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, url, token })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
