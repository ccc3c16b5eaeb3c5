//! `cargo xtask testbed`: the real control plane. All the work is done by the program `kueue-testbed`.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::program;

/// `kueue-testbed` with its arguments still to be added.
pub fn testbed() -> Command {
    let manifest = program::root().join("Cargo.toml");
    let mut command = program::cargo(["run", "--quiet", "--package", "kueue-testbed", "--manifest-path"]);
    command.arg(manifest).arg("--");
    command
}

/// Passes the rest of the command line on, to run where the person stands: `exec` takes files relative to there.
/// `up --manager` alone means the manager of this clone, which is built first.
pub fn run(args: &[OsString]) -> Result<()> {
    let mut args = args.to_vec();
    if args.first().is_some_and(|action| action == "up")
        && let Some(place) = args.iter().position(|arg| arg == "--manager")
        && args.get(place + 1).is_none_or(|next| next.to_string_lossy().starts_with('-'))
    {
        program::run(program::cargo(["build", "--release", "--package", "kueue"]))?;
        args.insert(place + 1, program::scratch("release/kueue").into());
    }
    let mut command = testbed();
    command.args(args).current_dir(std::env::current_dir()?);
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        // The reason has been told; `exec` also passes on what the command's exit code means.
        std::process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}

/// `PATH` with the programs of the test bed in front, as far as they have been built.
pub fn search_path() -> Result<String> {
    let mut path = String::new();
    let mut command = testbed();
    command.arg("path");
    if !program::run_lines(command, |line| line.clone_into(&mut path))? {
        bail!("the test bed cannot tell where its programs are");
    }
    Ok(path)
}

/// Builds the control plane's programs where they are missing; says why not, when that is not possible here.
pub fn build_if_possible() -> Result<Option<String>> {
    let mut why = None;
    let mut command = testbed();
    command.args(["build", "--if-possible"]);
    let is_fine = program::run_lines(command, |line| why = line.strip_prefix("skipped: ").map(str::to_owned))?;
    if !is_fine {
        bail!("the test bed could not be built; the reason is told above");
    }
    Ok(why)
}
