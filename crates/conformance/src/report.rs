//! What a run of the corpus found, as text for people and JSON for checks.

use std::collections::BTreeMap;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Covered,
    NotApplicable,
    /// All of its cases need something that is not built yet.
    Deferred,
    Uncovered,
}

/// One corpus file: how many of its cases pass, and which do not.
#[derive(Debug, Serialize)]
pub struct FileReport {
    /// `package-dir/TestFunction.json`.
    pub file: String,
    pub cases: usize,
    pub passed: usize,
    pub failed: Vec<String>,
    pub differs: Vec<String>,
    /// Cases that need something that is not built yet.
    pub deferred: Vec<String>,
    pub state: State,
    /// Why the file is not applicable, or what its deferred cases need.
    pub reason: String,
    /// Why each failed case failed; for people, so not part of the contract.
    #[serde(skip)]
    pub failures: Vec<(String, String)>,
}

#[derive(Debug, Serialize)]
pub struct CorpusReport {
    pub files: Vec<FileReport>,
    pub cases: usize,
    pub passed: usize,
}

/// The totals of one package.
#[derive(Debug, Default)]
pub struct PackageTotals {
    pub cases: usize,
    pub passed: usize,
    pub failed: usize,
    pub differs: usize,
    pub deferred: usize,
    pub not_applicable: usize,
    pub uncovered: usize,
}

impl CorpusReport {
    pub fn new(files: Vec<FileReport>) -> Self {
        let cases = files.iter().map(|file| file.cases).sum();
        let passed = files.iter().map(|file| file.passed).sum();
        Self { files, cases, passed }
    }

    pub fn packages(&self) -> BTreeMap<&str, PackageTotals> {
        let mut packages: BTreeMap<&str, PackageTotals> = BTreeMap::new();
        for file in &self.files {
            let package = file.file.split('/').next().unwrap_or_default();
            let totals = packages.entry(package).or_default();
            totals.cases += file.cases;
            totals.passed += file.passed;
            totals.failed += file.failed.len();
            totals.differs += file.differs.len();
            totals.deferred += file.deferred.len();
            match file.state {
                State::Covered | State::Deferred => {}
                State::NotApplicable => totals.not_applicable += file.cases,
                State::Uncovered => totals.uncovered += file.cases - file.deferred.len(),
            }
        }
        packages
    }

    pub fn failed(&self) -> usize {
        self.files.iter().map(|file| file.failed.len()).sum()
    }

    /// A line per package that has a runner or an exclusion, then every failure, then one line in sum.
    pub fn print(&self) {
        let packages = self.packages();
        println!(
            "{:<55} {:>6} {:>7} {:>7} {:>8} {:>9} {:>5} {:>10}",
            "package", "cases", "passed", "failed", "differs", "deferred", "n/a", "uncovered"
        );
        for (package, t) in packages.iter().filter(|(_, t)| t.uncovered < t.cases) {
            println!(
                "{package:<55} {:>6} {:>7} {:>7} {:>8} {:>9} {:>5} {:>10}",
                t.cases, t.passed, t.failed, t.differs, t.deferred, t.not_applicable, t.uncovered
            );
        }
        for file in &self.files {
            for (case, why) in &file.failures {
                println!("FAILED {} / {case}: {why}", file.file);
            }
        }
        let sum = |of: fn(&PackageTotals) -> usize| packages.values().map(of).sum::<usize>();
        println!(
            "{} cases: {} passed, {} failed, {} deferred, {} not applicable, {} not covered yet",
            self.cases,
            self.passed,
            self.failed(),
            sum(|totals| totals.deferred),
            sum(|totals| totals.not_applicable),
            sum(|totals| totals.uncovered)
        );
    }
}
