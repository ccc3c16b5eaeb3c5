//! `cargo xtask bench`: how fast we are, beside Kueue.

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

use crate::program;

#[derive(Subcommand)]
pub enum Subject {
    /// The bare engine on the loads that Kueue's scheduler was measured on.
    Engine {
        /// Only loads whose name starts with this, as in `L3`.
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
    /// The embedded API server: writes, watches, memory and start, beside the aims.
    Apiserver {
        /// Only measures whose name starts with this, as in `status`.
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
    /// Our manager on a real API server (needs Go): Kueue's own performance test, a start with many workloads, and how
    /// soon freed quota is used; beside the aims, and beside another manager.
    Manager {
        /// Another manager, run after ours on the same loads: any program that takes --kubeconfig FILE.
        #[arg(long, value_name = "PATH")]
        manager: Option<PathBuf>,
        /// Only loads whose name starts with this: wake, baseline, restart, large-scale.
        #[arg(long, value_name = "LOAD")]
        only: Option<String>,
        /// Small and short: shows that everything runs; the figures say little.
        #[arg(long)]
        quick: bool,
        /// Also write the result as JSON.
        #[arg(long, value_name = "FILE")]
        report: Option<PathBuf>,
    },
}

pub fn run(subject: Subject) -> Result<()> {
    let mut command = program::cargo(["run", "--quiet", "--release", "--package", "kueue-bench", "--"]);
    let (only, quick, count, report) = match subject {
        Subject::Engine { only, quick, count, report } => {
            command.arg("engine");
            (only, quick, count, report)
        }
        Subject::Apiserver { only, quick, count, report } => {
            command.arg("apiserver");
            (only, quick, count, report)
        }
        Subject::Manager { manager, only, quick, report } => {
            // The manager itself, and what starts the control plane: it must lie beside the benchmark.
            program::run(program::cargo(["build", "--release", "--package", "kueue", "--package", "kueue-testbed"]))?;
            command.arg("manager").arg("--ours").arg(program::scratch("release/kueue"));
            if let Some(manager) = manager {
                command.arg("--manager").arg(std::path::absolute(manager)?);
            }
            (only, quick, false, report)
        }
    };
    if let Some(only) = only {
        command.args(["--only", &only]);
    }
    if quick {
        command.arg("--quick");
    }
    if count {
        command.arg("--count");
    }
    if let Some(report) = report {
        command.arg("--report").arg(std::path::absolute(report)?);
    }
    program::run(command)
}
