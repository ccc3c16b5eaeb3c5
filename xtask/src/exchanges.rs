//! `cargo xtask exchanges`: what a real API server answered, replayed against a server of ours or a real one.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::apiserver::Running;
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
    /// What the server's side plays: hooks, vap, kcm, ...; stories with other needs are skipped and counted. With kcm,
    /// scheduler or kwok those that need them are played in a sandbox.
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
const EMBEDDED: [&str; 3] = ["hooks", "vap", "compaction"];
/// What a sandbox plays beside that.
const CONTROLLERS: [&str; 3] = ["kcm", "scheduler", "kwok"];
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
            let have = wanted.have.unwrap_or_else(|| played().join(","));
            let file = report.unwrap_or_else(|| program::scratch("exchanges.json"));
            let all_passed = on_embedded(&dir, &have, wanted.story.as_deref(), &file, false)?;
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

/// What needs no program beside the replayer.
fn played() -> Vec<&'static str> {
    EMBEDDED.into_iter().chain(CONTROLLERS).collect()
}

/// Plays everything on the embedded server: how many stories pass, and which families fell below their floor.
pub fn against_floors(dir: &Path) -> Result<(usize, Vec<String>)> {
    let file = program::scratch("exchanges.json");
    on_embedded(dir, &played().join(","), None, &file, true)?;
    let passed = passed(&file)?;
    Ok((passed.values().sum(), floors::below(&Floors::read()?.exchanges, &passed)))
}

/// Plays stories on embedded servers; whether every one passed. Those that need controllers are played in a sandbox: all
/// others were recorded where nothing acts.
fn on_embedded(dir: &Path, have: &str, story: Option<&str>, report: &Path, is_quiet: bool) -> Result<bool> {
    let needs: Vec<&str> = have.split(',').collect();
    let (acting, still): (Vec<&str>, Vec<&str>) = needs.iter().partition(|need| CONTROLLERS.contains(need));
    let names = names_with_controllers(dir)?.join("|");
    let mut parts = vec![(still, format!("(?!(?:{names})$)"))];
    if !acting.is_empty() {
        // Whoever forgets quickly would forget what controllers go by.
        let lasting = needs.into_iter().filter(|need| *need != "compaction").collect();
        parts.push((lasting, format!("(?:{names})$")));
    }
    let (mut all_passed, mut reports) = (true, Vec::new());
    for (number, (have, names)) in parts.into_iter().enumerate() {
        let server = if number == 0 { Running::alone(&have)? } else { Running::sandbox()? };
        let mut command = play(&replayer(dir)?, dir, &server.url, &server.token, Some(&have.join(",")))?;
        command.args(["--story", &format!("^(?=.*(?:{})){names}", story.unwrap_or_default())]);
        if is_quiet {
            command.stdout(std::process::Stdio::null());
        }
        all_passed &= replayed(command.arg("--report").arg(report), report)?;
        reports.push(read(report)?);
    }
    std::fs::write(report, serde_json::to_string(&together(reports))?)?;
    Ok(all_passed)
}

/// The stories of a data set that need controllers, as regular expressions.
fn names_with_controllers(dir: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for file in std::fs::read_dir(dir)?.flatten().map(|entry| entry.path()) {
        if file.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(&file)?.lines() {
            let story: Value =
                serde_json::from_str(line).with_context(|| format!("{} is not as expected", file.display()))?;
            let mut needs = story["needs"].as_array().into_iter().flatten().filter_map(Value::as_str);
            if needs.any(|need| CONTROLLERS.contains(&need)) {
                names.push(story["name"].as_str().unwrap_or_default().replace('.', "\\."));
            }
        }
    }
    Ok(names)
}

/// Reports of several runs as one.
fn together(reports: Vec<Value>) -> Value {
    let mut whole = Value::Null;
    for report in reports {
        add(&mut whole, report);
    }
    whole
}

/// Numbers are added, lists go on, and what only one has is had.
fn add(sum: &mut Value, more: Value) {
    match (sum, more) {
        (Value::Object(sum), Value::Object(more)) => {
            more.into_iter().for_each(|(key, value)| add(sum.entry(key).or_insert(Value::Null), value));
        }
        (Value::Array(sum), Value::Array(more)) => sum.extend(more),
        (Value::Number(sum), Value::Number(more)) => {
            let total = sum.as_u64().unwrap_or_default() + more.as_u64().unwrap_or_default();
            *sum = total.into();
        }
        (sum, more) => *sum = more,
    }
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
    let report = read(report)?;
    let families = report["families"].as_object().context("the report is not as expected")?;
    let count = |family: &Value| family["passed"].as_u64().and_then(|count| usize::try_from(count).ok());
    Ok(families.iter().map(|(name, family)| (name.clone(), count(family).unwrap_or_default())).collect())
}

fn read(report: &Path) -> Result<Value> {
    let text = std::fs::read(report).with_context(|| format!("cannot read {}", report.display()))?;
    serde_json::from_slice(&text).context("the report is not JSON")
}

/// The replayer lies beside the data set.
fn replayer(dir: &Path) -> Result<PathBuf> {
    let places = [dir.join("../tools/replay-exchanges"), root().join("../shared/tools/replay-exchanges")];
    let found = places.iter().find(|place| place.is_file());
    found.cloned().with_context(|| format!("no replay-exchanges at {}", places[0].display()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reports_add_up() {
        let one = json!({"passed": 2, "families": {"a": {"passed": 2, "total": 2}}, "stories": [1], "skipped": {}});
        let two = json!({"passed": 1, "families": {"a": {"passed": 0, "total": 1}, "b": {"passed": 1, "total": 1}},
            "stories": [2, 3], "skipped": {"helm": 4}});
        let whole = json!({"passed": 3, "families": {"a": {"passed": 2, "total": 3}, "b": {"passed": 1, "total": 1}},
            "stories": [1, 2, 3], "skipped": {"helm": 4}});
        assert_eq!(together(vec![one, two]), whole);
    }
}
