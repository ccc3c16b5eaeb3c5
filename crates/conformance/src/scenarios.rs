//! Random scheduling scenarios: objects, steps, and what Kueue decided after each step.
//!
//! A scenario runs through the engine alone. [`world`] plays the API server and everybody who is not the engine;
//! [`state`] is what can be seen from outside, and where expected and actual are compared.

mod known;
mod state;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::suite::glob;
use state::{Shown, State};
use world::World;

/// One scenario as recorded.
#[derive(Debug, Deserialize)]
struct Scenario {
    name: String,
    steps: Vec<Value>,
    messages: Vec<String>,
    #[serde(flatten)]
    setup: Value,
}

/// Just enough of a scenario to tell whether it is wanted.
#[derive(Deserialize)]
struct Named {
    name: String,
}

/// How one family did.
#[derive(Debug, Serialize)]
pub struct FamilyReport {
    pub family: String,
    pub scenarios: usize,
    pub passed: usize,
    pub failed: Vec<String>,
    pub differs: Vec<String>,
    /// Where each failed scenario went another way; for people, so not part of the contract.
    #[serde(skip)]
    pub failures: Vec<(String, String)>,
}

/// How all families did.
#[derive(Debug, Serialize)]
pub struct ScenarioReport {
    pub families: Vec<FamilyReport>,
    pub scenarios: usize,
    pub passed: usize,
}

impl ScenarioReport {
    /// Prints where each failed scenario went another way, and the totals.
    pub fn print(&self) {
        for family in &self.families {
            for (name, why) in &family.failures {
                println!("{}/{name}: {why}\n", family.family);
            }
        }
        for family in &self.families {
            println!("{:28} {:5} of {:5}", family.family, family.passed, family.scenarios);
        }
        println!("scenarios: {} of {} passed", self.passed, self.scenarios);
    }

    /// Whether any scenario went another way for no reason that we know of.
    pub fn has_failures(&self) -> bool {
        self.families.iter().any(|family| !family.failed.is_empty())
    }
}

/// Runs every scenario in `dir` whose `family/name` matches.
pub fn run(dir: &Path, only: Option<&str>) -> Result<ScenarioReport> {
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .with_context(|| format!("cannot read {}", dir.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let mut families = Vec::new();
    for file in files {
        let family = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut report = FamilyReport {
            family,
            scenarios: 0,
            passed: 0,
            failed: Vec::new(),
            differs: Vec::new(),
            failures: Vec::new(),
        };
        for line in text.lines() {
            let Named { name } = serde_json::from_str(line)?;
            if only.is_none_or(|only| glob(only, &format!("{}/{name}", report.family))) {
                run_into(&mut report, &serde_json::from_str(line)?);
            }
        }
        if report.scenarios > 0 {
            families.push(report);
        }
    }
    let scenarios = families.iter().map(|family| family.scenarios).sum();
    let passed = families.iter().map(|family| family.passed).sum();
    Ok(ScenarioReport { families, scenarios, passed })
}

fn run_into(report: &mut FamilyReport, scenario: &Scenario) {
    report.scenarios += 1;
    let outcome = catch_unwind(AssertUnwindSafe(|| play(scenario))).unwrap_or_else(|_| Err(anyhow!("panicked")));
    match outcome {
        Ok(Played::AsRecorded) => report.passed += 1,
        Ok(Played::Differs(why)) => {
            report.differs.push(scenario.name.clone());
            report.failures.push((scenario.name.clone(), format!("differs on purpose: {why}")));
        }
        Err(why) => {
            report.failed.push(scenario.name.clone());
            report.failures.push((scenario.name.clone(), format!("{why:#}")));
        }
    }
}

/// How a scenario went.
enum Played {
    AsRecorded,
    /// It shows something that we do otherwise on purpose; up to there everything agreed.
    Differs(&'static str),
}

/// Plays a scenario until something differs.
fn play(scenario: &Scenario) -> Result<Played> {
    let mut world = World::new(&scenario.setup).context("setting up")?;
    let mut expected = State::default();
    for (index, step) in scenario.steps.iter().enumerate() {
        let at = || format!("step {index} ({})", step["do"].as_str().unwrap_or_default());
        let shown = world.step(step).with_context(at)?;
        world.cluster.engine.check_invariants();
        let out = step.get("out").unwrap_or(&Value::Null);
        let recorded = Shown::from_recorded(out, &scenario.messages);
        let before = expected.clone();
        expected.update(out, &scenario.messages);
        if let Err(difference) = recorded.compare(&shown).and_then(|()| expected.compare(&world.state())) {
            let known = known::difference(&known::Sight {
                before: &before,
                out,
                recorded: &recorded,
                ours: &shown,
                world: &world,
            });
            return known.map(Played::Differs).ok_or(difference).with_context(at);
        }
    }
    Ok(Played::AsRecorded)
}
