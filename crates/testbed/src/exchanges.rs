//! The recorded exchanges, replayed against real control planes: each story on the profile it needs.
//!
//! Stories were recorded either with nothing acting, with everything acting, or on a server that forgets quickly. The
//! data set is split by what each story needs, each part is played on a control plane of its own by the data set's
//! replayer, and the reports are put together again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cache::Cache;
use crate::control::{PlaneInfo, PlaneSpec, Profile};
use crate::nodes;
use crate::planes::Planes;
use crate::problem::{Problem, Result};

/// What stories need that the programs of the bed play.
const CONTROLLERS: [&str; 3] = ["kcm", "scheduler", "kwok"];
/// What every control plane of the bed has.
const ALWAYS: [&str; 5] = ["hooks", "vap", "kubectl", "helm", "yq-go"];

/// Stories at once: they spend most of their time waiting. Those that run kubectl look at all kinds there are, also at
/// those that other stories are just installing and removing, and are played one after the other.
const JOBS: &str = "4";
const JOBS_KUBECTL: &str = "1";

/// Which stories are played, and with what.
#[derive(Debug)]
pub struct Replay {
    /// The data set.
    pub dir: PathBuf,
    /// Its replayer.
    pub replayer: PathBuf,
    /// Only stories whose name matches this regular expression.
    pub story: Option<String>,
}

/// The replayer's report.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub passed: usize,
    pub total: usize,
    pub families: BTreeMap<String, Family>,
    pub skipped: BTreeMap<String, usize>,
    pub stories: Vec<Value>,
}

/// How many stories of one family passed.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub struct Family {
    pub passed: usize,
    pub total: usize,
}

/// A kind of control plane that some stories were recorded on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Bare,
    Forgetful,
    Full,
}

impl Stage {
    fn of(needs: &BTreeSet<String>) -> Stage {
        if CONTROLLERS.iter().any(|need| needs.contains(*need)) {
            Stage::Full
        } else if needs.contains("compaction") {
            Stage::Forgetful
        } else {
            Stage::Bare
        }
    }

    fn name(self) -> &'static str {
        match self {
            Stage::Bare => "bare",
            Stage::Forgetful => "bare and forgetful",
            Stage::Full => "full",
        }
    }

    fn spec(self) -> Result<PlaneSpec> {
        let profile = if self == Stage::Full { Profile::Full } else { Profile::Bare };
        let spec = PlaneSpec::new(profile, nodes::parse(nodes::DEFAULT)?);
        Ok(PlaneSpec { forgets_history: self == Stage::Forgetful, ..spec })
    }

    fn have(self) -> String {
        let mut have = ALWAYS.to_vec();
        // Some stories call Debian's yq, a Python program that happens to have the same name.
        if fs::read_to_string("/usr/bin/yq").is_ok_and(|text| text.contains("python")) {
            have.push("yq-python");
        }
        match self {
            Stage::Bare => {}
            Stage::Forgetful => have.push("compaction"),
            Stage::Full => have.extend(CONTROLLERS),
        }
        have.join(",")
    }
}

/// Stories that are played together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    stage: Stage,
    uses_kubectl: bool,
}

impl Part {
    fn of(needs: &BTreeSet<String>) -> Part {
        Part { stage: Stage::of(needs), uses_kubectl: needs.contains("kubectl") }
    }
}

/// Plays all stories and reports; control planes are started for it and ended after it.
pub fn replay(cache: &Cache, bed: &str, replay: &Replay, say: &mut dyn FnMut(&str)) -> Result<Report> {
    let parts = split(&replay.dir)?;
    let stages: BTreeSet<Stage> = parts.keys().map(|part| part.stage).collect();
    let specs = stages.iter().map(|stage| stage.spec()).collect::<Result<Vec<_>>>()?;
    say(&format!("starting {} control planes", specs.len()));
    let planes = Planes::start(cache, bed, specs, say)?;
    let infos: BTreeMap<Stage, &PlaneInfo> = stages.into_iter().zip(planes.infos()).collect();
    let mut total = Report::default();
    for (part, stories) in parts {
        let with = if part.uses_kubectl { ", with kubectl" } else { "" };
        say(&format!("playing the stories for a {} control plane{with}", part.stage.name()));
        let plane = infos[&part.stage];
        let jobs = if part.uses_kubectl { JOBS_KUBECTL } else { JOBS };
        let pass = Pass { stage: part.stage, stories: &stories, jobs, salt: "" };
        let mut report = play(cache, replay, plane, pass)?;
        let failed = report.take_failed();
        if !failed.is_empty() {
            // Some stories wait for a quarter of a second that nothing comes, or read what a controller has just not
            // written yet: on a busy machine they differ by chance. What differs twice, and alone, differs.
            say(&format!("playing {} stories that differed again, one after the other", failed.len()));
            let again: Vec<&str> = stories.lines().filter(|story| is_named(story, &failed)).collect();
            report.add(play(
                cache,
                replay,
                plane,
                Pass { stories: &again.join("\n"), jobs: "1", salt: "again", ..pass },
            )?);
        }
        total.add(report);
    }
    planes.down()?;
    Ok(total)
}

/// Stories to play on one control plane.
#[derive(Debug, Clone, Copy)]
struct Pass<'a> {
    stage: Stage,
    stories: &'a str,
    /// How many at once.
    jobs: &'a str,
    /// Changes the names of objects, so that a story can be played again.
    salt: &'a str,
}

fn play(cache: &Cache, replay: &Replay, plane: &PlaneInfo, pass: Pass<'_>) -> Result<Report> {
    let file = plane.kubeconfig.with_file_name("stories.jsonl");
    let report = plane.kubeconfig.with_file_name("report.json");
    crate::cache::write(&file, pass.stories)?;
    let mut command = Command::new("python3");
    command.arg(&replay.replayer).args(["--server", &plane.server, "--token", &plane.token]);
    command.args(["--jobs", pass.jobs, "--salt", pass.salt, "--have", &pass.stage.have(), "--report"]).arg(&report);
    if let Some(story) = &replay.story {
        command.args(["--story", story]);
    }
    let status = command.arg(&file).env("PATH", cache.search_path()).status();
    status.map_err(|error| Problem::new(format!("cannot run python3: {error}")).next("install Python 3"))?;
    let text = fs::read_to_string(&report).map_err(|error| Problem::file("read", &report, &error))?;
    // What is read must be of this run, also when the next one fails to write it.
    let _ = fs::remove_file(&report);
    serde_json::from_str(&text).map_err(|error| Problem::new(format!("the replayer's report: {error}")))
}

/// The stories of each part, one per line.
fn split(dir: &Path) -> Result<BTreeMap<Part, String>> {
    let failed = |error: std::io::Error| Problem::file("read", dir, &error);
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        files.push(entry.map_err(failed)?.path());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    if files.is_empty() {
        return Err(Problem::new(format!("{} holds no exchanges (*.jsonl)", dir.display())));
    }
    let mut parts: BTreeMap<Part, String> = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).map_err(|error| Problem::file("read", &file, &error))?;
        for story in text.lines().filter(|line| !line.trim().is_empty()) {
            let needs = needs(story).map_err(|error| Problem::new(format!("{}: {error}", file.display())))?;
            let part = parts.entry(Part::of(&needs)).or_default();
            part.push_str(story);
            part.push('\n');
        }
    }
    Ok(parts)
}

fn needs(story: &str) -> serde_json::Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Story {
        #[serde(default)]
        needs: BTreeSet<String>,
    }
    serde_json::from_str::<Story>(story).map(|story| story.needs)
}

fn is_named(story: &str, names: &BTreeSet<String>) -> bool {
    #[derive(Deserialize)]
    struct Story {
        name: String,
    }
    serde_json::from_str::<Story>(story).is_ok_and(|story| names.contains(&story.name))
}

impl Report {
    /// Takes the stories that failed out of the report and returns their names.
    fn take_failed(&mut self) -> BTreeSet<String> {
        let has_failed = |story: &Value| story["passed"] != true;
        let mut names = BTreeSet::new();
        for story in self.stories.iter().filter(|story| has_failed(story)) {
            self.total -= 1;
            if let Some(family) = story["family"].as_str().and_then(|name| self.families.get_mut(name)) {
                family.total -= 1;
            }
            names.extend(story["name"].as_str().map(String::from));
        }
        self.stories.retain(|story| !has_failed(story));
        names
    }

    fn add(&mut self, part: Report) {
        self.passed += part.passed;
        self.total += part.total;
        for (name, family) in part.families {
            let sum = self.families.entry(name).or_default();
            sum.passed += family.passed;
            sum.total += family.total;
        }
        for (name, count) in part.skipped {
            *self.skipped.entry(name).or_default() += count;
        }
        self.stories.extend(part.stories);
    }

    /// Families with their counts, one per line.
    pub fn table(&self) -> String {
        let names: BTreeSet<&String> = self.families.keys().chain(self.skipped.keys()).collect();
        let line = |name: &String| {
            let Family { passed, total } = self.families.get(name).copied().unwrap_or_default();
            let skipped = self.skipped.get(name).map(|count| format!("  ({count} skipped)")).unwrap_or_default();
            format!("{name:<12} {passed:>4}/{total} passed{skipped}\n")
        };
        names.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_played_where_it_was_recorded() {
        let stage = |line: &str| Stage::of(&needs(line).unwrap());
        assert_eq!(stage(r#"{"name": "a"}"#), Stage::Bare);
        assert_eq!(stage(r#"{"needs": ["hooks", "kubectl"]}"#), Stage::Bare);
        assert_eq!(stage(r#"{"needs": ["compaction"]}"#), Stage::Forgetful);
        assert_eq!(stage(r#"{"needs": ["kubectl", "scheduler"]}"#), Stage::Full);
        assert!(needs("{").is_err());
    }

    #[test]
    fn a_story_that_failed_is_taken_out_to_be_played_again() {
        let text = r#"{"passed":1,"total":2,"families":{"f":{"passed":1,"total":2}},"skipped":{},"stories":[
            {"name":"f.good","family":"f","passed":true},{"name":"f.bad","family":"f","passed":false}]}"#;
        let mut report: Report = serde_json::from_str(text).unwrap();
        let failed = report.take_failed();
        assert_eq!((report.passed, report.total, report.stories.len()), (1, 1, 1));
        assert!(is_named(r#"{"name":"f.bad"}"#, &failed) && !is_named(r#"{"name":"f.good"}"#, &failed));
    }

    #[test]
    fn parts_of_a_report_add_up() {
        let part = |text: &str| serde_json::from_str::<Report>(text).unwrap();
        let mut total = Report::default();
        total.add(part(
            r#"{"passed":1,"total":2,"families":{"a":{"passed":1,"total":2}},"skipped":{"b":3},"stories":[]}"#,
        ));
        total.add(part(
            r#"{"passed":1,"total":1,"families":{"a":{"passed":1,"total":1}},"skipped":{"a":1},"stories":[]}"#,
        ));
        assert_eq!((total.passed, total.total), (2, 3));
        assert_eq!(total.table(), "a               2/3 passed  (1 skipped)\nb               0/0 passed  (3 skipped)\n");
    }
}
