//! `kueue-conformance corpus|scenarios`: the commands behind `cargo xtask conformance` and `cargo xtask scenarios`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use serde::Serialize;

/// Runs the data sets recorded from Kueue against our code.
#[derive(Parser)]
enum Command {
    /// Kueue's own test cases.
    Corpus {
        /// The folder with one folder per package.
        #[arg(long)]
        dir: PathBuf,
        /// Only files whose `package/Test` matches; `*` matches anything.
        #[arg(long)]
        only: Option<String>,
        /// Write the result as JSON.
        #[arg(long)]
        report: Option<PathBuf>,
    },
    /// Random scheduling scenarios with the decisions that Kueue took.
    Scenarios {
        /// The folder with one file per family.
        #[arg(long)]
        dir: PathBuf,
        /// Only scenarios whose `family/name` matches; `*` matches anything.
        #[arg(long)]
        only: Option<String>,
        /// Write the result as JSON.
        #[arg(long)]
        report: Option<PathBuf>,
    },
}

fn main() -> Result<ExitCode> {
    let has_failed = match Command::parse() {
        Command::Corpus { dir, only, report } => {
            let result = kueue_conformance::suite::run(&dir, only.as_deref())?;
            write_report(report.as_deref(), &result)?;
            result.print();
            result.failed() > 0
        }
        Command::Scenarios { dir, only, report } => {
            let result = kueue_conformance::scenarios::run(&dir, only.as_deref())?;
            write_report(report.as_deref(), &result)?;
            result.print();
            result.has_failures()
        }
    };
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn write_report(path: Option<&Path>, result: &impl Serialize) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let json = serde_json::to_string_pretty(result)?;
    std::fs::write(path, json).with_context(|| format!("cannot write {}", path.display()))
}
