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

use crate::cache::{Cache, make_dir};
use crate::control::{PlaneSpec, Profile};
use crate::nodes;
use crate::planes::Planes;
use crate::problem::{Problem, Result};

/// What stories need that the programs of the bed play.
const CONTROLLERS: [&str; 3] = ["kcm", "scheduler", "kwok"];
/// What every control plane of the bed has.
const ALWAYS: [&str; 5] = ["hooks", "vap", "kubectl", "helm", "yq-go"];

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

/// Plays all stories and reports; control planes are started for it and ended after it.
pub fn replay(cache: &Cache, bed: &str, replay: &Replay, say: &mut dyn FnMut(&str)) -> Result<Report> {
    let work = cache.bed_dir(&format!("{bed}-stories"));
    let _ = fs::remove_dir_all(&work);
    make_dir(&work)?;
    let stages = split(&replay.dir, &work)?;
    let specs = stages.iter().map(|(stage, _)| stage.spec()).collect::<Result<Vec<_>>>()?;
    say(&format!("starting {} control planes", specs.len()));
    let planes = Planes::start(cache, bed, specs, say)?;
    let mut total = Report::default();
    for (index, (stage, part)) in stages.iter().enumerate() {
        say(&format!("playing the stories for a {} control plane", stage.name()));
        let info = &planes.infos()[index];
        let report = part.join("report.json");
        let mut command = Command::new("python3");
        command.arg(&replay.replayer).args(["--server", &info.server, "--token", &info.token]);
        command.args(["--have", &stage.have(), "--report"]).arg(&report).arg(part.join("stories.jsonl"));
        if let Some(story) = &replay.story {
            command.args(["--story", story]);
        }
        let status = command.env("PATH", cache.search_path()).status();
        status.map_err(|error| Problem::new(format!("cannot run python3: {error}")).next("install Python 3"))?;
        let text = fs::read_to_string(&report).map_err(|error| Problem::file("read", &report, &error))?;
        let part: Report = serde_json::from_str(&text)
            .map_err(|error| Problem::new(format!("the replayer's report {}: {error}", report.display())))?;
        total.add(part);
    }
    planes.down()?;
    let _ = fs::remove_dir_all(&work);
    Ok(total)
}

/// Writes the stories of each stage into a file of its own.
fn split(dir: &Path, work: &Path) -> Result<Vec<(Stage, PathBuf)>> {
    let failed = |error: std::io::Error| Problem::file("read", dir, &error);
    let mut files = fs::read_dir(dir)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(failed)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    if files.is_empty() {
        return Err(Problem::new(format!("{} holds no exchanges (*.jsonl)", dir.display())));
    }
    let mut stages: BTreeMap<Stage, String> = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).map_err(|error| Problem::file("read", &file, &error))?;
        for story in text.lines().filter(|line| !line.trim().is_empty()) {
            let needs = needs(story).map_err(|error| Problem::new(format!("{}: {error}", file.display())))?;
            let stage = stages.entry(Stage::of(&needs)).or_default();
            stage.push_str(story);
            stage.push('\n');
        }
    }
    let write = |(stage, stories): (Stage, String)| {
        let dir = work.join(stage.name().replace(' ', "-"));
        make_dir(&dir)?;
        crate::cache::write(&dir.join("stories.jsonl"), &stories)?;
        Ok((stage, dir))
    };
    stages.into_iter().map(write).collect()
}

fn needs(story: &str) -> serde_json::Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Story {
        #[serde(default)]
        needs: BTreeSet<String>,
    }
    serde_json::from_str::<Story>(story).map(|story| story.needs)
}

impl Report {
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
