//! `cargo xtask test`: everything that must hold, step by step, ending in `N passed, N failed`.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::conformance::Recording;
use crate::datasets::EXCHANGES;
use crate::swarm::Played;
use crate::{conformance, exchanges, fuzz, generated, program, swarm, testbed};

/// How long the fuzzer runs here; longer on demand with `cargo xtask fuzz --seconds`.
const FUZZ_SECONDS: u64 = 60;

/// Packages with a suite on real control planes, and what it is called.
const REAL_SUITES: [(&str, &str); 4] =
    [("kueue-testbed", "real"), ("kueue", "real"), ("kueue", "lease"), ("kueue", "kills")];

/// What types the tutorial's commands.
const TUTORIAL: (&str, &str) = ("kueue", "tutorial");

/// What one step found.
#[derive(Debug, Default, Serialize)]
struct Outcome {
    passed: usize,
    failed: usize,
    /// Why the step did not run.
    skipped: Option<String>,
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
struct StepReport {
    name: &'static str,
    seconds: f64,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Debug, Serialize)]
struct TestReport {
    steps: Vec<StepReport>,
    passed: usize,
    failed: usize,
}

struct Step {
    name: &'static str,
    in_quick: bool,
    run: fn() -> Result<Outcome>,
}

const STEPS: &[Step] = &[
    Step { name: "format", in_quick: true, run: format },
    Step { name: "lints", in_quick: true, run: lints },
    Step { name: "unit, property, tidy and scenario tests", in_quick: true, run: cargo_tests },
    Step { name: "generated files", in_quick: true, run: generated_files },
    Step { name: "corpus", in_quick: true, run: corpus },
    Step { name: "scenarios", in_quick: false, run: scenarios },
    Step { name: "exchanges", in_quick: false, run: exchanges },
    Step { name: "fuzz", in_quick: false, run: fuzzing },
    Step { name: "swarm", in_quick: false, run: swarms },
    Step { name: "tutorial", in_quick: false, run: tutorial },
    Step { name: "real cluster", in_quick: false, run: real_cluster },
];

pub fn run(quick: bool, report: Option<&Path>) -> Result<()> {
    let steps: Vec<&Step> = STEPS.iter().filter(|step| step.in_quick || !quick).collect();
    let mut reports = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        println!("==> {}/{} {}", number + 1, steps.len(), step.name);
        reports.push(run_step(step));
    }
    let total = TestReport {
        passed: reports.iter().map(|step| step.outcome.passed).sum(),
        failed: reports.iter().map(|step| step.outcome.failed).sum(),
        steps: reports,
    };
    if let Some(path) = report {
        let json = serde_json::to_string_pretty(&total)?;
        std::fs::write(path, json).with_context(|| format!("cannot write {}", path.display()))?;
    }
    println!();
    for step in &total.steps {
        for problem in &step.outcome.problems {
            println!("FAILED {}: {problem}", step.name);
        }
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    if total.failed > 0 {
        bail!("something does not hold; it is named above");
    }
    Ok(())
}

/// A step that cannot run at all has failed: nothing is ever passed over in silence.
fn run_step(step: &Step) -> StepReport {
    let start = Instant::now();
    let outcome = (step.run)().unwrap_or_else(|error| failed(format!("{error:#}")));
    let seconds = start.elapsed().as_secs_f64();
    match &outcome.skipped {
        Some(why) => println!("    skipped: {why}"),
        None => println!("    {} passed, {} failed in {seconds:.1} s", outcome.passed, outcome.failed),
    }
    StepReport { name: step.name, seconds, outcome }
}

fn passed() -> Outcome {
    Outcome { passed: 1, ..Outcome::default() }
}

fn failed(problem: String) -> Outcome {
    Outcome { failed: 1, problems: vec![problem], ..Outcome::default() }
}

fn skipped(why: String) -> Outcome {
    Outcome { skipped: Some(why), ..Outcome::default() }
}

fn program_step(command: Command) -> Result<Outcome> {
    program::run(command)?;
    Ok(passed())
}

fn format() -> Result<Outcome> {
    program_step(program::cargo(["fmt", "--all", "--", "--check"]))
}

fn lints() -> Result<Outcome> {
    program::run(program::cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    // A test that `cargo test` does not run is no target of "all", either.
    for (package, test) in REAL_SUITES.into_iter().chain([TUTORIAL]) {
        program::run(program::cargo(["clippy", "--package", package, "--test", test, "--", "-D", "warnings"]))?;
    }
    Ok(passed())
}

fn cargo_tests() -> Result<Outcome> {
    counted_tests(program::cargo(["test", "--workspace", "--no-fail-fast"]))
}

/// The commands of the tutorial and of other texts, where there is what they type.
fn tutorial() -> Result<Outcome> {
    for program in ["kubectl", "yq"] {
        if Command::new(program).arg("--help").output().is_err() {
            return Ok(skipped(format!("{program} is not installed")));
        }
    }
    let (package, test) = TUTORIAL;
    counted_tests(program::cargo(["test", "--package", package, "--test", test]))
}

/// The test bed itself, then the manager on it, each on a control plane that all its tests share. The first run on a
/// machine builds it.
fn real_cluster() -> Result<Outcome> {
    if let Some(why) = testbed::build_if_possible()? {
        return Ok(skipped(why));
    }
    let mut outcome = Outcome::default();
    for (package, test) in REAL_SUITES {
        let suite = counted_tests(program::cargo(["test", "--package", package, "--test", test, "--no-fail-fast"]))?;
        outcome.passed += suite.passed;
        outcome.failed += suite.failed;
        outcome.problems.extend(suite.problems);
    }
    Ok(outcome)
}

/// Runs `cargo test` and counts what it reports.
fn counted_tests(command: Command) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut output = Vec::new();
    let ok = program::run_lines(command, |line| {
        if let Some((passed, failed)) = test_result(line) {
            outcome.passed += passed;
            outcome.failed += failed;
        } else if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            outcome.problems.push(name.to_owned());
        }
        output.push(line.to_owned());
    })?;
    if !ok {
        output.iter().for_each(|line| println!("{line}"));
        outcome.failed = outcome.failed.max(1);
    }
    Ok(outcome)
}

/// The numbers of a line `test result: ok. 12 passed; 0 failed; …`.
fn test_result(line: &str) -> Option<(usize, usize)> {
    let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let count = |word: &str| {
        let part = counts.split("; ").find(|part| part.ends_with(word))?;
        part.split(' ').next()?.parse().ok()
    };
    Some((count("passed")?, count("failed")?))
}

fn generated_files() -> Result<Outcome> {
    generated::manifests(true)?;
    generated::documentation(true)?;
    Ok(passed())
}

fn corpus() -> Result<Outcome> {
    recorded(conformance::CASES)
}

fn scenarios() -> Result<Outcome> {
    recorded(conformance::RUNS)
}

fn exchanges() -> Result<Outcome> {
    let Some(dir) = EXCHANGES.find() else {
        return Ok(skipped(format!("no {} beside this clone; set {} to use it", EXCHANGES.name, EXCHANGES.variable)));
    };
    let (passed, below) = exchanges::against_floors(&dir)?;
    Ok(Outcome { passed, failed: below.len(), problems: below, skipped: None })
}

fn recorded(recording: Recording) -> Result<Outcome> {
    let data_set = recording.data_set;
    let Some(dir) = data_set.find() else {
        return Ok(skipped(format!("no {} beside this clone; set {} to use it", data_set.name, data_set.variable)));
    };
    let (passed, below) = conformance::against_floors(recording, &dir)?;
    Ok(Outcome { passed, failed: below.len(), problems: below, skipped: None })
}

fn fuzzing() -> Result<Outcome> {
    fuzz::run(FUZZ_SECONDS, 1, None)?;
    Ok(passed())
}

fn swarms() -> Result<Outcome> {
    let Played { seeds, failed } = swarm::play()?;
    Ok(Outcome { passed: seeds.saturating_sub(failed.len()), failed: failed.len(), problems: failed, skipped: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_line_of_cargo_test_is_read() {
        let line = "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(test_result(line), Some((12, 3)));
        assert_eq!(test_result("test a::b ... ok"), None);
    }
}
