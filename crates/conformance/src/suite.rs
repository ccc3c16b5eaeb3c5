//! Finds the corpus files, runs each through its runner and gathers the report.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::corpus::{Case, CorpusFile, Failure};
use crate::deferred;
use crate::known;
use crate::not_applicable::NOT_APPLICABLE;
use crate::packages::{Run, runner};
use crate::report::{CorpusReport, FileReport, State};

/// Runs every file below `dir` whose `package/Test` matches `only` (`*` matches anything).
pub fn run(dir: &Path, only: Option<&str>) -> Result<CorpusReport> {
    let mut files = Vec::new();
    for path in corpus_files(dir)? {
        let name = relative_name(dir, &path);
        if only.is_none_or(|pattern| glob(pattern, name.trim_end_matches(".json"))) {
            files.push(run_file(&path, &name)?);
        }
    }
    if files.is_empty() {
        bail!("no corpus file below {} matches", dir.display());
    }
    Ok(CorpusReport::new(files))
}

fn corpus_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = |dir: &Path| -> Result<Vec<PathBuf>> {
        let listing = std::fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))?;
        Ok(listing.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?)
    };
    let mut files = Vec::new();
    for package in entries(dir)?.into_iter().filter(|path| path.is_dir()) {
        files.extend(entries(&package)?.into_iter().filter(|path| path.extension().is_some_and(|ext| ext == "json")));
    }
    files.sort();
    Ok(files)
}

fn relative_name(dir: &Path, path: &Path) -> String {
    path.strip_prefix(dir).unwrap_or(path).display().to_string()
}

fn run_file(path: &Path, name: &str) -> Result<FileReport> {
    let file = CorpusFile::read(path)?;
    let key = name.trim_end_matches(".json");
    let (package, test) = key.split_once('/').unwrap_or((key, ""));
    let mut report = FileReport {
        file: name.to_owned(),
        cases: file.cases().count(),
        passed: 0,
        failed: Vec::new(),
        differs: Vec::new(),
        deferred: Vec::new(),
        state: State::Uncovered,
        reason: String::new(),
        failures: Vec::new(),
    };
    if let Some((_, reason)) = NOT_APPLICABLE.iter().find(|(excluded, _)| *excluded == key) {
        report.state = State::NotApplicable;
        report.reason = (*reason).to_owned();
    } else {
        let run = runner(package, test);
        run_cases(&file, package, run, &mut report);
        if run.is_some() {
            report.state = State::Covered;
        } else if report.deferred.len() == report.cases {
            report.state = State::Deferred;
        }
    }
    Ok(report)
}

fn run_cases(file: &CorpusFile, package: &str, run: Option<Run>, report: &mut FileReport) {
    for (name, variants) in file.cases() {
        if let Some(needs) = variants.iter().find_map(|case| deferred::reason(package, case)) {
            report.deferred.push(name.to_owned());
            needs.clone_into(&mut report.reason);
            continue;
        }
        let Some(run) = run else { continue };
        match variants.iter().try_for_each(|case| guarded(run, case)) {
            Ok(()) => report.passed += 1,
            Err(Failure(why)) => {
                if let Some(reason) = variants.iter().find_map(known::difference) {
                    report.differs.push(name.to_owned());
                    reason.clone_into(&mut report.reason);
                    continue;
                }
                report.failed.push(name.to_owned());
                report.failures.push((name.to_owned(), why));
            }
        }
    }
}

/// A panic in our code fails the case, not the run.
fn guarded(run: Run, case: &Case) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(|| run(case))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure(format!("panicked: {}", text.unwrap_or("no message"))))
    })
}

/// `*` matches any run of characters.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| glob(tail, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_run_of_characters() {
        assert!(glob("pkg-*", "pkg-config/TestLoad"));
        assert!(glob("*/TestLoad", "pkg-config/TestLoad"));
        assert!(glob("pkg-config/TestLoad", "pkg-config/TestLoad"));
        assert!(!glob("pkg-config", "pkg-config/TestLoad"));
        assert!(!glob("*x*", "pkg-config/TestLoad"));
    }
}
