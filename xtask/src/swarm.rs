//! `cargo xtask swarm`: random load and random faults against the whole system.

use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;

use crate::program;

/// How many seeds are played when nobody says, and by `cargo xtask test`.
const SEEDS: usize = 500;

#[derive(Args)]
pub struct Wanted {
    /// How many seeds are played.
    #[arg(long, default_value_t = SEEDS)]
    seeds: usize,
    /// The first of them: the same seed plays the same history.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Only these parts of the plan, as a failure names them.
    #[arg(long, value_name = "NUMBERS")]
    only: Option<String>,
    /// Tell everything that happens.
    #[arg(long)]
    tell: bool,
    /// Play each seed twice: both must go the same way.
    #[arg(long)]
    twice: bool,
}

pub fn run(wanted: &Wanted) -> Result<()> {
    let mut command = seeds(wanted.seeds, wanted.from);
    if let Some(only) = &wanted.only {
        command.args(["--only", only]);
    }
    let flags = [(wanted.tell, "--tell"), (wanted.twice, "--twice")];
    command.args(flags.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, flag)| flag));
    program::run(command)
}

/// What came of the first seeds.
#[derive(Default)]
pub struct Played {
    pub seeds: usize,
    /// What did not hold, and how that is seen again.
    pub failed: Vec<String>,
}

pub fn play() -> Result<Played> {
    let mut played = Played::default();
    let ok = program::run_lines(seeds(SEEDS, 1), |line| {
        println!("{line}");
        if let Some(problem) = line.strip_prefix("FAILED ") {
            played.failed.push(problem.to_owned());
        } else if let (Some(again), Some(problem)) = (line.strip_prefix("  smaller: "), played.failed.last_mut()) {
            *problem = format!("{problem}; {again}");
        } else if let Some(count) = line.strip_prefix("swarm: ").and_then(|rest| rest.split(' ').next()?.parse().ok()) {
            played.seeds = count;
        }
    })?;
    if !ok && played.failed.is_empty() {
        bail!("the swarm broke off");
    }
    Ok(played)
}

fn seeds(count: usize, from: u64) -> Command {
    let mut command = program::cargo(["run", "--quiet", "--release", "--package", "kueue-swarm", "--"]);
    command.args(["--seeds", &count.to_string(), "--from", &from.to_string()]);
    command
}
