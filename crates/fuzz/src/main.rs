//! Mutated input against every parser: never a panic, never a hang, and what is accepted prints back to something equal.
//!
//! Inputs come from a seed, so a run can be repeated; `cargo xtask fuzz` is the way to start it.

mod mutate;
mod run;
mod targets;

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;

/// Mutated input against every parser, from a seed.
#[derive(Parser)]
struct Cli {
    /// How long to go on, all targets together.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Where the random numbers start.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this target.
    #[arg(long)]
    target: Option<String>,
    /// Play just this round of the target, to look at one input again.
    #[arg(long, requires = "target")]
    round: Option<u64>,
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    let targets: Vec<_> = targets::all()
        .into_iter()
        .filter(|target| cli.target.as_ref().is_none_or(|name| *name == target.name))
        .collect();
    if targets.is_empty() {
        let names: Vec<_> = targets::all().into_iter().map(|target| target.name).collect();
        bail!("no such target; there are: {}", names.join(", "));
    }
    if let (Some(round), [target]) = (cli.round, targets.as_slice()) {
        return Ok(run::replay(target, cli.seed, round));
    }
    Ok(run::all(&targets, cli.seed, cli.seconds))
}
