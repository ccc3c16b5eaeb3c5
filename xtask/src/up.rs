//! `cargo xtask up`: the sandbox. All the work is done by `kueue sandbox`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::program;

#[derive(Args, Debug)]
pub struct Wanted {
    /// The port on loopback; any free one when it is not given.
    #[arg(long)]
    port: Option<u16>,
    /// Where to write the kubeconfig.
    #[arg(long, value_name = "FILE", default_value = "kueue-sandbox.kubeconfig")]
    kubeconfig: PathBuf,
    /// How many times as fast as usual time passes.
    #[arg(long, value_name = "FACTOR")]
    speed: Option<f64>,
    /// Let two teams with a queue each submit jobs all the time.
    #[arg(long)]
    demo: bool,
    /// The nodes, as in testbed/nodes.yaml.
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,
    /// Where random numbers start.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Keep everything in this file when it ends, and go on from there when it starts again.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// What else `kueue sandbox` understands, see `cargo xtask up -- --help`.
    #[arg(last = true)]
    more: Vec<OsString>,
}

/// Builds it and becomes it, so that Ctrl-C and the exit code are its own. Optimised: whoever tries it should wait for
/// the build once, and not for every command.
pub fn run(wanted: &Wanted) -> Result<()> {
    eprintln!("building; the first time takes some minutes");
    program::run(program::cargo(["build", "--release", "--package", "kueue"]))?;
    let mut command = Command::new(program::scratch("release/kueue"));
    command.arg("sandbox").arg("--kubeconfig").arg(std::path::absolute(&wanted.kubeconfig)?);
    if let Some(port) = wanted.port {
        command.arg("--port").arg(port.to_string());
    }
    if let Some(speed) = wanted.speed {
        command.arg("--speed").arg(speed.to_string());
    }
    if let Some(nodes) = &wanted.nodes {
        command.arg("--nodes").arg(std::path::absolute(nodes)?);
    }
    if let Some(seed) = wanted.seed {
        command.arg("--seed").arg(seed.to_string());
    }
    if let Some(state) = &wanted.state {
        command.arg("--state").arg(std::path::absolute(state)?);
    }
    command.args(wanted.demo.then_some("--demo"));
    command.args(&wanted.more);
    Err(command.exec()).with_context(|| format!("cannot start {}", command.get_program().display()))
}
