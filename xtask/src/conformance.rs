//! `cargo xtask conformance`: the corpus, through the conformance crate, held against the floors.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::datasets::CORPUS;
use crate::floors::{self, Floors, Table};
use crate::program;

/// The part of the report that the floors need.
#[derive(Debug, Deserialize)]
struct CorpusReport {
    files: Vec<FileReport>,
}

#[derive(Debug, Deserialize)]
struct FileReport {
    file: String,
    passed: usize,
}

pub fn run(corpus: Option<PathBuf>, only: Option<&str>, raise_floors: bool, report: Option<&Path>) -> Result<()> {
    let dir = CORPUS.locate(corpus)?;
    let scratch = scratch_report();
    let report = report.unwrap_or(&scratch);
    let mut command = program::cargo(["run", "--quiet", "--package", "kueue-conformance", "--", "corpus", "--dir"]);
    command.arg(&dir).arg("--report").arg(std::path::absolute(report)?);
    if let Some(pattern) = only {
        command.args(["--only", pattern]);
    }
    let all_passed = program::run_lines(command, |line| println!("{line}"))?;
    if raise_floors {
        let mut floors = Floors::read()?;
        floors.corpus = floors::raised(&floors.corpus, &passed_by_package(report)?);
        floors.write()?;
    }
    if !all_passed {
        bail!("some cases fail; each is named above with the first difference");
    }
    Ok(())
}

/// Runs the corpus for `cargo xtask test`: how many cases pass, and which packages fell below their floor.
pub fn against_floors(dir: &Path) -> Result<(usize, Vec<String>)> {
    let report = scratch_report();
    let mut command = program::cargo(["run", "--quiet", "--package", "kueue-conformance", "--", "corpus", "--dir"]);
    command.arg(dir).arg("--report").arg(&report);
    let mut last = String::new();
    program::run_lines(command, |line| line.clone_into(&mut last))?;
    println!("    {last}");
    let passed = passed_by_package(&report)?;
    let below = floors::below(&Floors::read()?.corpus, &passed);
    let risen = floors::raised(&Floors::read()?.corpus, &passed) != Floors::read()?.corpus;
    if risen && below.is_empty() {
        println!("    more passes than floors.toml says: `cargo xtask conformance --raise-floors`");
    }
    Ok((passed.values().sum(), below))
}

fn scratch_report() -> PathBuf {
    program::root().join("target/conformance.json")
}

fn passed_by_package(report: &Path) -> Result<Table> {
    let text = std::fs::read(report).with_context(|| format!("cannot read {}", report.display()))?;
    let report: CorpusReport = serde_json::from_slice(&text).context("the report is not as expected")?;
    let mut passed = Table::new();
    for file in report.files {
        let package = file.file.split('/').next().unwrap_or_default().to_owned();
        *passed.entry(package).or_default() += file.passed;
    }
    Ok(passed)
}
