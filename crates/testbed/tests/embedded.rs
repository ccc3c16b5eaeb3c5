//! The scenario files in `testbed/scenarios` on the embedded server, as far as they need nothing that runs pods.

#![allow(clippy::unwrap_used, reason = "all of this is tests, also the functions that they share")]

use std::path::PathBuf;

use kueue_testbed::embedded::Embedded;
use kueue_testbed::scenario::Scenario;

/// Every scenario with its name, in order.
fn scenarios() -> Vec<(String, Scenario)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testbed/scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |file: &PathBuf| {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let scenario = Scenario::parse(&std::fs::read_to_string(file).unwrap(), &name).unwrap();
        (name, scenario)
    };
    files.iter().map(read).collect()
}

#[test]
fn scenarios_that_need_no_pods_to_run_pass_on_the_embedded_server() {
    let bed = Embedded::start([1; 32]).unwrap();
    let (all, mut passed) = (scenarios(), Vec::new());
    for (name, scenario) in all.iter().filter(|(_, scenario)| scenario.suits(&bed)) {
        if let Err(problem) = scenario.run(&bed, name) {
            panic!("{name}: {}\n{problem}", scenario.about);
        }
        passed.push(name.as_str());
    }
    assert_eq!(passed, ["custom-kind", "finalizer-holds", "namespace-ends", "owner-missing"]);
}

#[test]
fn a_scenario_that_needs_more_than_a_bed_has_says_so() {
    let bed = Embedded::start([1; 32]).unwrap();
    let all = scenarios();
    let (name, scenario) = all.iter().find(|(name, _)| name == "job-completes").unwrap();
    let problem = scenario.run(&bed, name).unwrap_err();
    assert_eq!(problem.to_string(), "the scenario needs workloads, which this bed does not play");
}
