//! The scenarios of `testbed/acceptance` in a whole sandbox, under virtual time. What their manager is to be told goes
//! the way that a user goes: into the ConfigMap, and then a rollout.
//!
//! `cargo test -p kueue --test real` runs the same files on a real control plane.

#![allow(clippy::unwrap_used, reason = "a sandbox that cannot be made fails its test")]

use std::path::PathBuf;
use std::time::Duration;

use http::Request;
use kube::client::Body;
use kueue_sandbox::{Defaults, NODES, Options, Sandbox};
use kueue_testbed::bed::Need;
use kueue_testbed::embedded::Embedded;
use kueue_testbed::scenario::Scenario;
use serde_json::{Value, json};

const CONFIG: &str = "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config";
const MANAGER: &str = "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager";
/// How long the new manager may take to lead.
const ROLLOUT: Duration = Duration::from_secs(60);

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testbed/acceptance")
}

async fn merge(client: &kube::Client, path: &str, patch: &Value) {
    let request = Request::patch(path).header("content-type", "application/merge-patch+json");
    let answer = client.send(request.body(Body::from(patch.to_string().into_bytes())).unwrap()).await.unwrap();
    assert!(answer.status().is_success(), "{path}: {}", answer.status());
}

/// A sandbox whose manager has that configuration.
async fn configured(config: &Value) -> Sandbox {
    let options = Options {
        start: "2026-01-01T00:00:00Z".parse().unwrap(),
        speed: 1.0,
        seed: [5; 32],
        pods: Defaults { domain: "test.example.com".to_owned(), ..Defaults::default() },
        nodes: kueue_world::fleet::nodes(NODES).unwrap(),
        has_demo: false,
        state: None,
    };
    let mut sandbox = Sandbox::start(options).await.unwrap();
    sandbox.ready().await;
    let mut config = config.clone();
    config["apiVersion"] = "config.kueue.x-k8s.io/v1beta2".into();
    config["kind"] = "Configuration".into();
    let client = sandbox.client().unwrap();
    let restart = json!({"spec": {"template": {"metadata": {"annotations": {"restarted": "yes"}}}}});
    merge(&client, CONFIG, &json!({"data": {"controller_manager_config.yaml": config.to_string()}})).await;
    merge(&client, MANAGER, &restart).await;
    tokio::time::sleep(ROLLOUT).await;
    sandbox
}

fn check(file: &str) {
    let path = folder().join(format!("{file}.yaml"));
    let name = file.rsplit_once('/').map_or(file, |(_, name)| name);
    let scenario = Scenario::read(&path, name).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let config = scenario.manager.clone().unwrap_or_else(|| json!({}));
    let sandbox = runtime.block_on(configured(&config));
    let bed = Embedded::around(sandbox.server().clone(), runtime).playing(Need::Workloads);
    if let Err(problem) = scenario.run(&bed, name) {
        panic!("{}\n{problem}", scenario.about);
    }
}

macro_rules! scenarios {
    ($($test:ident $file:literal)*) => {
        $(#[test] fn $test() { check($file); })*

        #[test]
        fn every_scenario_file_is_run() {
            let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
            let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
            let mut files: Vec<String> =
                files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
            files.sort();
            let mut run: Vec<&str> = [$($file),*].into_iter().filter(|file| !file.contains('/')).collect();
            run.sort_unstable();
            assert_eq!(files, run);
        }
    };
}

scenarios! {
    nobody_is_lost_by_a_bad_autoscaler "autoscaler-troubles"
    limits_hold_at_every_level_of_cohorts "cohort-limits"
    queues_may_have_dots_in_their_names "dotted-queue-names"
    what_a_pod_says_reaches_the_autoscaler "dws-parameters"
    quota_of_pods_that_are_done_is_free "dynamic-reclaim"
    reserved_quota_is_used_by_others_and_given_back "elastic-reservation"
    no_more_is_lent_than_allowed "lending-limit"
    organizations_have_nodes_of_their_own "organizations"
    a_driver_and_its_executors_start_together "pod-gang"
    mistakes_in_checks_are_told_and_mended "provisioning-mistakes"
    what_others_do_to_requests_is_mended "provisioning-strangers"
    a_raycluster_waits_for_its_nodes "raycluster-gang"
    an_elastic_rayjob_follows_its_cluster "rayjob-elastic"
    a_rayjob_starts_with_all_its_nodes "rayjob-gang"
    a_wrong_rayjob_holds_no_quota "rayjob-mistakes"
    a_request_that_fails_is_made_again "rayjob-retry"
    two_teams_stand_in_one_line "skypilot-one-queue"
    two_teams_lend_to_each_other "skypilot-two-queues"
    admins_run_on_what_users_leave "users-and-admins"
    who_is_not_ready_in_time_goes_to_the_head "../manager/pods-ready-timeout-head"
    who_is_not_ready_in_time_goes_to_the_tail "../manager/pods-ready-timeout-tail"
    part_of_a_job_is_admitted_when_all_does_not_fit "../manager/partial-admission"
    shares_are_fair "../manager/fair-sharing"
    cohorts_have_cohorts_above_them "../manager/hierarchical-cohorts"
}
