//! `cargo xtask swarm`: random load and random faults against the whole system.

use anyhow::Result;
use clap::Args;

use crate::program;

/// How many seeds are played when nobody says.
const SEEDS: u64 = 500;

#[derive(Args)]
pub struct Wanted {
    /// How many seeds are played.
    #[arg(long, default_value_t = SEEDS)]
    seeds: u64,
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
    let mut command = program::cargo(["run", "--quiet", "--release", "--package", "kueue-swarm", "--"]);
    command.args(["--seeds", &wanted.seeds.to_string(), "--from", &wanted.from.to_string()]);
    if let Some(only) = &wanted.only {
        command.args(["--only", only]);
    }
    let flags = [(wanted.tell, "--tell"), (wanted.twice, "--twice")];
    command.args(flags.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, flag)| flag));
    program::run(command)
}
