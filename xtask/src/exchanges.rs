//! `cargo xtask exchanges`: what a real API server answered, replayed against a server of ours or a real one.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::apiserver;
use crate::datasets::EXCHANGES;
use crate::floors::{self, Floors};
use crate::program::{self, root};
use crate::testbed::{search_path, testbed};

#[derive(Args, Debug)]
pub struct Wanted {
    /// The recordings; by default the data set beside the clone, or $KUEUE_EXCHANGES.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Real control planes of the test bed, each story on the profile it needs.
    #[arg(long, conflicts_with_all = ["server", "have"])]
    bed: bool,
    /// A running server; without one, and without --bed, the embedded one is started.
    #[arg(long, value_name = "URL", requires = "token")]
    server: Option<String>,
    /// The token of one of its administrators.
    #[arg(long, requires = "server")]
    token: Option<String>,
    /// What the server's side plays: hooks, vap, kcm, ...; stories with other needs are skipped and counted.
    #[arg(long, value_name = "LIST")]
    have: Option<String>,
    /// Only stories whose name matches.
    #[arg(long, value_name = "REGEX")]
    story: Option<String>,
    /// Write what passes on the embedded server now into floors.toml, which `cargo xtask test` holds us to.
    #[arg(long, conflicts_with_all = ["story", "server", "bed", "have"])]
    raise_floors: bool,
}

/// What the embedded server plays by itself of what stories need.
const EMBEDDED: &str = "hooks,vap,compaction";
/// Programs that stories are told with and that the test bed has in the right version.
const PROGRAMS: [&str; 3] = ["kubectl", "helm", "yq-go"];
/// Stories at once: they spend most of their time waiting.
const JOBS: &str = "4";

pub fn run(wanted: Wanted, report: Option<&Path>) -> Result<()> {
    let dir = EXCHANGES.locate(wanted.dir)?;
    let replayer = replayer(&dir)?;
    let report = report.map(std::path::absolute).transpose()?;
    let mut command = match (&wanted.server, wanted.bed) {
        (_, true) => {
            let mut command = testbed();
            command.arg("exchanges").arg("--dir").arg(&dir).arg("--replayer").arg(&replayer);
            command
        }
        (Some(server), false) => {
            play(&replayer, &dir, server, &wanted.token.unwrap_or_default(), wanted.have.as_deref())?
        }
        (None, false) => {
            let have = wanted.have.as_deref().unwrap_or(EMBEDDED);
            // Stories that need no controllers were recorded where nothing is collected.
            let server = apiserver::Running::start(have)?;
            let mut command = play(&replayer, &dir, &server.url, &server.token, Some(have))?;
            if let Some(story) = &wanted.story {
                command.args(["--story", story]);
            }
            let file = report.unwrap_or_else(|| program::scratch("exchanges.json"));
            let all_passed = replayed(command.arg("--report").arg(&file), &file)?;
            if wanted.raise_floors {
                let mut floors = Floors::read()?;
                floors.exchanges = floors::raised(&floors.exchanges, &passed(&file)?);
                floors.write()?;
            }
            return if all_passed { Ok(()) } else { bail!("some stories differ; each is named above") };
        }
    };
    if let Some(story) = &wanted.story {
        command.args(["--story", story]);
    }
    if let Some(file) = report {
        command.arg("--report").arg(file);
    }
    program::run(command)
}

/// Plays everything on the embedded server: how many stories pass, and which families fell below their floor.
pub fn against_floors(dir: &Path) -> Result<(usize, Vec<String>)> {
    let server = apiserver::Running::start(EMBEDDED)?;
    let file = program::scratch("exchanges.json");
    let mut command = play(&replayer(dir)?, dir, &server.url, &server.token, Some(EMBEDDED))?;
    command.arg("--report").arg(&file).stdout(std::process::Stdio::null());
    replayed(&mut command, &file)?;
    let passed = passed(&file)?;
    Ok((passed.values().sum(), floors::below(&Floors::read()?.exchanges, &passed)))
}

/// The replayer with what it must know; without a list of what the server plays it takes its own.
fn play(replayer: &Path, dir: &Path, server: &str, token: &str, have: Option<&str>) -> Result<Command> {
    let mut command = Command::new("python3");
    let needs_programs = |have: &str| PROGRAMS.iter().any(|program| have.split(',').any(|one| one == *program));
    if have.is_some_and(needs_programs) {
        command.env("PATH", search_path()?);
    }
    command.arg(replayer).args(["--server", server, "--token", token, "--jobs", JOBS]);
    if let Some(have) = have {
        command.args(["--have", have]);
    }
    command.arg(dir);
    Ok(command)
}

/// Runs the replayer; whether every story passed.
fn replayed(command: &mut Command, report: &Path) -> Result<bool> {
    // An old report must not speak for a run that failed to start.
    let _ = std::fs::remove_file(report);
    Ok(command.status().context("cannot run python3")?.success())
}

/// How many stories of each family passed.
fn passed(report: &Path) -> Result<floors::Table> {
    let text = std::fs::read(report).with_context(|| format!("cannot read {}", report.display()))?;
    let report: serde_json::Value = serde_json::from_slice(&text).context("the report is not JSON")?;
    let families = report["families"].as_object().context("the report is not as expected")?;
    let count = |family: &serde_json::Value| family["passed"].as_u64().and_then(|count| usize::try_from(count).ok());
    Ok(families.iter().map(|(name, family)| (name.clone(), count(family).unwrap_or_default())).collect())
}

/// The replayer lies beside the data set.
fn replayer(dir: &Path) -> Result<PathBuf> {
    let places = [dir.join("../tools/replay-exchanges"), root().join("../shared/tools/replay-exchanges")];
    let found = places.iter().find(|place| place.is_file());
    found.cloned().with_context(|| format!("no replay-exchanges at {}", places[0].display()))
}
