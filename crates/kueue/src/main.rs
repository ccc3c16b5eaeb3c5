//! `kueue`: the one binary. It reads flags, calls the crate that does the work and prints.

mod logs;
mod manager;
mod sandbox;
mod world;

use std::cell::Cell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kueue_api::config::file::{self, ReadError};
use kueue_api::config::{self, DEFAULT_NAMESPACE, Rejected};

/// Many small objects come and go for ever; the system's allocator scatters them until half the time goes into it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Job queueing for Kubernetes: decides when a job may start, must wait, or must stop.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Work with the manager's configuration file.
    #[command(subcommand)]
    Config(ConfigCommand),
    Manager(manager::Arguments),
    Sandbox(sandbox::Arguments),
    World(world::Arguments),
}

#[derive(Subcommand)]
enum ConfigCommand {
    Check(Check),
}

/// Says what a configuration file means, or everything that is wrong with it.
///
/// Prints the effective configuration as YAML: what the file says and the defaults for what it does not say, in version
/// v1beta2 whichever version the file has. If anything is wrong, prints every problem with line, field, value and reason
/// on standard error and exits with 1. No cluster is needed or asked.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Check a file before it goes into the ConfigMap:
    kueue config check controller_manager_config.yaml

  Check what a cluster runs with:
    kubectl get configmap kueue-manager-config -n kueue-system \\
      -o jsonpath='{.data.controller_manager_config\\.yaml}' | kueue config check -

  See all defaults:
    kueue config check /dev/null

  Check together with the flag of the manager:
    kueue config check --feature-gates=PartialAdmission=false config.yaml")]
struct Check {
    /// The file, YAML or JSON; `-` reads standard input.
    file: PathBuf,
    /// Feature gates as the manager's flag of that name has them: a list of Name=true or Name=false, separated by commas.
    /// A file with featureGates excludes it.
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true)]
    feature_gates: String,
}

fn main() -> ExitCode {
    let check = match Arguments::parse().command {
        Command::Config(ConfigCommand::Check(check)) => check,
        Command::Manager(arguments) => return manager::run(&arguments),
        Command::Sandbox(arguments) => return sandbox::run(&arguments),
        Command::World(arguments) => return world::run(&arguments),
    };
    let (out, errors, code) = match check_config(&check) {
        Ok((configuration, notes)) => (configuration, notes, ExitCode::SUCCESS),
        Err(problems) => (String::new(), problems, ExitCode::FAILURE),
    };
    let written = io::stdout().write_all(out.as_bytes()).and_then(|()| io::stderr().write_all(errors.as_bytes()));
    // Whoever closed the pipe does not want to hear more.
    if written.is_ok() { code } else { ExitCode::FAILURE }
}

/// What goes to standard output and to standard error, or only to the latter.
fn check_config(check: &Check) -> Result<(String, String), String> {
    let text = read(&check.file).map_err(|error| format!("{error}\n"))?;
    let namespace = file::operator_namespace();
    let namespace = namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    // A CEL compiler would take longer to build than all the rest, so expressions are counted and the user is told.
    let expressions = Cell::new(0);
    let count = |_: &str| {
        expressions.set(expressions.get() + 1);
        Ok(())
    };
    let result = config::check(&text, &check.feature_gates, namespace, &count);
    let mut notes = match expressions.get() {
        0 => Vec::new(),
        count => vec![format!("CEL is not compiled by this command ({count} found)")],
    };
    match result {
        Ok(checked) => {
            notes.extend(checked.notes);
            Ok((config::encode(&checked.configuration), describe_notes(&check.file, &notes)))
        }
        Err(rejected) => Err(describe(&check.file, &rejected) + &describe_notes(&check.file, &notes)),
    }
}

fn read(path: &Path) -> Result<String, ReadError> {
    match path.as_os_str() == "-" {
        true => file::read_from(io::stdin().lock(), path),
        false => file::read(path),
    }
}

fn describe(path: &Path, rejected: &Rejected) -> String {
    rejected.describe(&shown(path))
}

fn describe_notes(path: &Path, notes: &[String]) -> String {
    notes.iter().map(|note| format!("{}: note: {note}\n", shown(path))).collect()
}

fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" { "<stdin>".to_owned() } else { path.display().to_string() }
}
