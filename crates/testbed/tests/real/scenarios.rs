//! The scenario files in `testbed/scenarios`, one test each.

use std::path::PathBuf;
use std::sync::PoisonError;

use kueue_testbed::scenario::Scenario;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testbed/scenarios")
}

fn check(name: &str) {
    let _shared = crate::ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let text = std::fs::read_to_string(folder().join(format!("{name}.yaml"))).unwrap();
    let plane = crate::plane();
    let scenario = Scenario::parse(&text, name).unwrap();
    if let Err(problem) = scenario.run(&plane, name) {
        panic!("{}\n{problem}\nlogs: {}", scenario.about, plane.info().logs.display());
    }
}

macro_rules! scenarios {
    ($($test:ident $file:literal)*) => {
        $(#[test] fn $test() { check($file); })*

        #[test]
        fn every_scenario_file_is_run() {
            let mut files: Vec<String> = std::fs::read_dir(folder()).unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
                .collect();
            files.sort();
            assert_eq!(files, [$($file),*]);
        }
    };
}

scenarios! {
    a_custom_kind_comes_and_goes "custom-kind"
    a_finalizer_holds "finalizer-holds"
    a_job_completes "job-completes"
    a_job_fails "job-fails"
    a_namespace_ends "namespace-ends"
    a_node_fails_and_heals "node-fails"
    an_owner_is_missing "owner-missing"
    a_pod_never_goes "pod-never-gone"
    a_pod_is_never_ready "pod-never-ready"
}
