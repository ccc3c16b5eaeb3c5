//! `kueue-conformance corpus`: the command behind `cargo xtask conformance`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

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
}

fn main() -> Result<ExitCode> {
    let Command::Corpus { dir, only, report } = Command::parse();
    let result = kueue_conformance::suite::run(&dir, only.as_deref())?;
    if let Some(path) = report {
        let json = serde_json::to_string_pretty(&result)?;
        std::fs::write(&path, json).with_context(|| format!("cannot write {}", path.display()))?;
    }
    result.print();
    Ok(if result.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
