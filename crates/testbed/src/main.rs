//! `kueue-testbed`: builds, starts and stops the real control plane. `cargo xtask testbed` runs it.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kueue_testbed::cache::Cache;
use kueue_testbed::{Result, toolchain};

#[derive(Parser)]
#[command(about = "A real Kubernetes control plane on this machine")]
struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Build what is missing of the control plane's programs.
    Build,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.command) {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("testbed: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(action: Action) -> Result<ExitCode> {
    let cache = Cache::find()?;
    match action {
        Action::Build => toolchain::build(&cache, &mut |line| eprintln!("testbed: {line}"))?,
    }
    Ok(ExitCode::SUCCESS)
}
