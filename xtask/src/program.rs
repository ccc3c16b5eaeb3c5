//! Running other programs, so that their progress is seen and their failure is told.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The folder of the clone: where every program runs.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}

/// A file for this run only, beside what cargo builds, wherever the user has that.
pub fn scratch(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join(name)
}

/// `cargo` with these arguments, in the clone.
pub fn cargo<S: AsRef<str>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    for arg in args {
        command.arg(arg.as_ref());
    }
    command
}

/// Runs to the end with all output shown; an exit code other than 0 is an error.
pub fn run(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(&command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(&command));
    }
    Ok(())
}

/// Runs to the end, hands every line of standard output to `on_line`, and tells whether the exit code was 0.
pub fn run_lines(mut command: Command, mut on_line: impl FnMut(&str)) -> Result<bool> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {}", shown(&command)))?;
    let stdout = child.stdout.take().context("standard output was asked to be a pipe")?;
    for line in BufReader::new(stdout).lines() {
        on_line(&line?);
    }
    Ok(child.wait()?.success())
}

fn shown(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or_default().to_owned();
    let args = command.get_args().map(|arg| arg.to_string_lossy().into_owned());
    std::iter::once(name).chain(args).collect::<Vec<_>>().join(" ")
}
