//! `cargo xtask conformance` and `cargo xtask scenarios`: what was recorded from Kueue, through the conformance crate,
//! held against the floors.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::datasets::{CORPUS, DataSet, SCENARIOS};
use crate::floors::{self, Floors, Table};
use crate::program;

/// A data set that the conformance crate plays.
#[derive(Clone, Copy)]
pub struct Recording {
    pub data_set: DataSet,
    /// The arguments of `cargo run`: scenarios are many steps each, so they are played by optimised code.
    profile: &'static [&'static str],
    /// The list in the report, and what names the group that a floor is for.
    rows: &'static str,
    name: &'static str,
    floors: fn(&mut Floors) -> &mut Table,
}

pub const CASES: Recording =
    Recording { data_set: CORPUS, profile: &[], rows: "files", name: "file", floors: |floors| &mut floors.corpus };

pub const RUNS: Recording = Recording {
    data_set: SCENARIOS,
    profile: &["--release"],
    rows: "families",
    name: "family",
    floors: |floors| &mut floors.scenarios,
};

#[derive(Args, Debug)]
pub struct Wanted {
    /// Only what matches, by `package/Test` or `family/name`; `*` matches anything, as in 'pkg-config/*'.
    #[arg(long, value_name = "GLOB")]
    only: Option<String>,
    /// Write what passes now into floors.toml, which `cargo xtask test` holds us to.
    #[arg(long, conflicts_with = "only")]
    raise_floors: bool,
}

/// Plays the whole set or a part of it and shows what the conformance crate says.
pub fn run(recording: Recording, dir: Option<PathBuf>, wanted: &Wanted, report: Option<&Path>) -> Result<()> {
    let dir = recording.data_set.locate(dir)?;
    let scratch = recording.scratch_report();
    let report = report.unwrap_or(&scratch);
    let all_passed = recording.play(&dir, wanted.only.as_deref(), report, |line| println!("{line}"))?;
    if wanted.raise_floors {
        let mut floors = Floors::read()?;
        let table = (recording.floors)(&mut floors);
        *table = floors::raised(table, &recording.passed(report)?);
        floors.write()?;
    }
    if !all_passed {
        bail!("some fail; each is named above with the first difference");
    }
    Ok(())
}

/// Plays the set for `cargo xtask test`: how many pass, and which groups fell below their floor.
pub fn against_floors(recording: Recording, dir: &Path) -> Result<(usize, Vec<String>)> {
    let report = recording.scratch_report();
    let mut last = String::new();
    recording.play(dir, None, &report, |line| line.clone_into(&mut last))?;
    println!("    {last}");
    let passed = recording.passed(&report)?;
    let mut floors = Floors::read()?;
    let table = (recording.floors)(&mut floors);
    let below = floors::below(table, &passed);
    if below.is_empty() && floors::raised(table, &passed) != *table {
        println!("    more passes than floors.toml says: raise it with --raise-floors");
    }
    Ok((passed.values().sum(), below))
}

impl Recording {
    fn play(self, dir: &Path, only: Option<&str>, report: &Path, on_line: impl FnMut(&str)) -> Result<bool> {
        let mut command = program::cargo(["run", "--quiet", "--package", "kueue-conformance"]);
        command.args(self.profile).args(["--", self.data_set.name, "--dir"]).arg(std::path::absolute(dir)?);
        command.arg("--report").arg(std::path::absolute(report)?);
        if let Some(pattern) = only {
            command.args(["--only", pattern]);
        }
        // An old report must not speak for a run that failed to start.
        let _ = std::fs::remove_file(report);
        program::run_lines(command, on_line)
    }

    fn scratch_report(self) -> PathBuf {
        program::scratch(&format!("{}.json", self.data_set.name))
    }

    /// How many pass, by package or family.
    fn passed(self, report: &Path) -> Result<Table> {
        let text = std::fs::read(report).with_context(|| format!("cannot read {}", report.display()))?;
        let report: Value = serde_json::from_slice(&text).context("the report is not JSON")?;
        let mut passed = Table::new();
        for row in report[self.rows].as_array().context("the report is not as expected")? {
            let group = row[self.name].as_str().unwrap_or_default().split('/').next().unwrap_or_default();
            let count = usize::try_from(row["passed"].as_u64().unwrap_or_default())?;
            *passed.entry(group.to_owned()).or_default() += count;
        }
        Ok(passed)
    }
}
