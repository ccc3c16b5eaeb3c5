//! Measures the engine on the loads that Kueue was measured on, and shows both beside each other; and the embedded API
//! server beside its aims.
//!
//! `cargo xtask bench engine` and `cargo xtask bench apiserver` are the way to start it. Every load runs in a process of
//! its own, so that memory and instruction counts are its alone.

mod apiserver;
mod count;
mod jobs;
mod loads;
mod machine;
mod manager;
mod meter;
mod nodes;
mod report;
mod stage;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

use loads::{Load, Measured};

/// The same as in the product.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Benchmarks.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The bare engine, beside what Kueue's scheduler reached on the same loads.
    Engine {
        /// Only loads whose name starts with this.
        #[arg(long, value_name = "LOAD")]
        only: Option<String>,
        /// Small and short: shows that everything runs; the figures say little.
        #[arg(long)]
        quick: bool,
        /// Count instructions with callgrind instead of time, at growing sizes.
        #[arg(long)]
        count: bool,
        /// Also write the result as JSON.
        #[arg(long, value_name = "FILE")]
        report: Option<PathBuf>,
    },
    /// The embedded API server, beside its aims.
    Apiserver {
        /// Only measures whose name starts with this.
        #[arg(long, value_name = "MEASURE")]
        only: Option<String>,
        /// Small and short: shows that everything runs; the figures say little.
        #[arg(long)]
        quick: bool,
        /// Count the instructions of one request with callgrind instead of time.
        #[arg(long)]
        count: bool,
        /// Also write the result as JSON.
        #[arg(long, value_name = "FILE")]
        report: Option<PathBuf>,
    },
    /// A manager on a real API server, beside its aims and beside another manager.
    Manager(manager::Wanted),
    /// One measure of the API server in this process, the figure on standard output.
    #[command(hide = true)]
    Measure {
        measure: String,
        #[arg(long)]
        quick: bool,
    },
    /// One load in this process, the result as JSON on standard output.
    #[command(hide = true)]
    Run {
        load: String,
        #[arg(long)]
        size: usize,
        #[arg(long)]
        rounds: usize,
    },
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Engine { only, quick, count: true, report } => count::run(only.as_deref(), quick, report.as_deref()),
        Command::Engine { only, quick, count: false, report } => run_all(only.as_deref(), quick, report.as_deref()),
        Command::Apiserver { only, count: true, report, .. } => apiserver::count(only.as_deref(), report.as_deref()),
        Command::Apiserver { only, quick, report, .. } => apiserver::run_all(only.as_deref(), quick, report.as_deref()),
        Command::Manager(wanted) => manager::run(&wanted),
        Command::Measure { measure, quick } => {
            let found = apiserver::Measure::find(&measure).with_context(|| format!("nothing is called {measure}"))?;
            println!("{}", found.run(quick)?);
            Ok(())
        }
        Command::Run { load, size, rounds } => {
            let load = Load::find(&load).with_context(|| format!("no load is called {load}"))?;
            println!("{}", serde_json::to_string(&load.run(size, rounds))?);
            Ok(())
        }
    }
}

fn run_all(only: Option<&str>, quick: bool, report: Option<&std::path::Path>) -> Result<()> {
    let wanted: Vec<&Load> =
        loads::ALL.iter().filter(|load| only.is_none_or(|only| load.name.starts_with(only))).collect();
    if wanted.is_empty() {
        bail!("no such load; there are: {}", loads::ALL.map(|load| load.name).join(", "));
    }
    report::print_header();
    let mut rows = Vec::new();
    for load in wanted {
        for size in load.sizes(quick) {
            let measured = run_apart(load, size, load.rounds(quick))?;
            let row = report::Row::new(load, size, measured);
            row.print();
            rows.push(row);
        }
    }
    let reached = rows.iter().filter(|row| row.is_aim_reached()).count();
    report::finish(&rows, (reached, rows.len()), quick, report)
}

/// Runs the load in a process of its own.
fn run_apart(load: &Load, size: usize, rounds: usize) -> Result<Measured> {
    let output = std::process::Command::new(std::env::current_exe()?)
        .args(["run", load.name, "--size", &size.to_string(), "--rounds", &rounds.to_string()])
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {} on its own", load.name))?;
    if !output.status.success() {
        bail!("{} at {size} ended with {}", load.name, output.status);
    }
    serde_json::from_slice(&output.stdout).context("the load did not print its result")
}
