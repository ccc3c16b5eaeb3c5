//! `cargo xtask`: everything a person or a check does with this repository.
//!
//! It runs programs and reads their reports; it links nothing of the product, so that it builds in seconds.

mod apiserver;
mod bench;
mod conformance;
mod datasets;
mod exchanges;
mod floors;
mod fuzz;
mod generated;
mod program;
mod swarm;
mod test;
mod testbed;
#[cfg(test)]
mod tidy;
mod up;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// Everything a person or a check does with this repository.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", after_help = "Start with `cargo xtask up` and `cargo xtask test`.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The sandbox: the whole system in one process, ready to use with kubectl; nothing else is needed.
    Up {
        #[command(flatten)]
        wanted: up::Wanted,
    },
    /// Everything that must hold, in one go: what CI runs.
    Test {
        /// Only what an edit is likely to break: no fuzzing, no real cluster.
        #[arg(long)]
        quick: bool,
        #[command(flatten)]
        report: Report,
    },
    /// Kueue's own test cases, run against our code.
    Conformance {
        /// The corpus; by default the data set beside the clone, or $KUEUE_CORPUS.
        #[arg(long, value_name = "DIR")]
        corpus: Option<PathBuf>,
        #[command(flatten)]
        wanted: conformance::Wanted,
        #[command(flatten)]
        report: Report,
    },
    /// The recorded exchanges with a real API server, against a server of ours.
    Exchanges {
        #[command(flatten)]
        wanted: exchanges::Wanted,
        #[command(flatten)]
        report: Report,
    },
    /// The embedded API server alone, in the foreground.
    Apiserver {
        #[command(flatten)]
        wanted: apiserver::Wanted,
    },
    /// The real control plane on this machine: `up`, `down`, `status`, `exec -- CMD` (`--help` after any of them).
    #[command(disable_help_flag = true)]
    Testbed {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
        args: Vec<OsString>,
    },
    /// Random scheduling runs with the decisions Kueue took, played through the engine.
    Scenarios {
        /// The scenarios; by default the data set beside the clone, or $KUEUE_SCENARIOS.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        #[command(flatten)]
        wanted: conformance::Wanted,
        #[command(flatten)]
        report: Report,
    },
    /// Mutated input against every parser, and storms against the engine, from a seed: never a panic, never a hang, nothing lost.
    Fuzz {
        /// How long to go on.
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Where the random numbers start: the same seed plays the same inputs.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Only this target.
        #[arg(long)]
        target: Option<String>,
    },
    /// Whole systems with random load and faults, from seeds: safe at every moment, and everything ends when faults stop.
    Swarm {
        #[command(flatten)]
        wanted: swarm::Wanted,
    },
    /// How fast we are, beside Kueue.
    Bench {
        #[command(subcommand)]
        subject: bench::Subject,
    },
    /// Writes dist/: CRDs and the install manifests. Prints the size of each CRD.
    Manifests {
        /// Change nothing; fail when a file is stale.
        #[arg(long)]
        check: bool,
    },
    /// Writes the tables of the documentation that come from code.
    Codegen {
        /// Change nothing; fail when a file is stale.
        #[arg(long)]
        check: bool,
        /// Also write the built-in kinds of the embedded API server, from a control plane of the test bed (needs Go).
        #[arg(long, conflicts_with = "check")]
        bed: bool,
    },
}

#[derive(Args)]
struct Report {
    /// Also write the result as JSON.
    #[arg(long = "report", value_name = "FILE")]
    file: Option<PathBuf>,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Up { wanted } => up::run(&wanted),
        Command::Test { quick, report } => test::run(quick, report.file.as_deref()),
        Command::Conformance { corpus, wanted, report } => {
            conformance::run(conformance::CASES, corpus, &wanted, report.file.as_deref())
        }
        Command::Scenarios { dir, wanted, report } => {
            conformance::run(conformance::RUNS, dir, &wanted, report.file.as_deref())
        }
        Command::Exchanges { wanted, report } => exchanges::run(wanted, report.file.as_deref()),
        Command::Apiserver { wanted } => apiserver::run(&wanted),
        Command::Testbed { args } => testbed::run(&args),
        Command::Fuzz { seconds, seed, target } => fuzz::run(seconds, seed, target.as_deref()),
        Command::Swarm { wanted } => swarm::run(&wanted),
        Command::Bench { subject } => bench::run(subject),
        Command::Manifests { check } => generated::manifests(check),
        Command::Codegen { check, bed } => generated::codegen(check, bed),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
