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
}

pub fn run(subject: Subject) -> Result<()> {
    let (name, only, quick, count, report) = match subject {
        Subject::Engine { only, quick, count, report } => ("engine", only, quick, count, report),
        Subject::Apiserver { only, quick, count, report } => ("apiserver", only, quick, count, report),
    };
    let mut command = program::cargo(["run", "--quiet", "--release", "--package", "kueue-bench", "--", name]);
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
