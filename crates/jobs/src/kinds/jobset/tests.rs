use serde_json::{Value, json};

use super::*;
use crate::job::Job as _;

/// `name:replicas x parallelism/completions`
fn jobset(jobs: &[(&str, i32, i32, i32)], status: &Value) -> JobSet {
    let jobs: Vec<Value> = jobs
        .iter()
        .map(|(name, replicas, parallelism, completions)| {
            let spec = json!({"parallelism": parallelism, "completions": completions, "template": {"spec": {"containers": []}}});
            json!({"name": name, "replicas": replicas, "template": {"spec": spec}})
        })
        .collect();
    let spec = json!({"suspend": true, "replicatedJobs": jobs, "network": {"enableDNSHostnames": true}});
    serde_json::from_value(json!({"metadata": {"name": "j"}, "spec": spec, "status": status})).unwrap()
}

fn given(names: &[&str]) -> Vec<PodSetInfo> {
    let node_selector = [("pool".to_owned(), "p".to_owned())];
    let info = |name: &&str| PodSetInfo {
        name: (*name).to_owned(),
        node_selector: node_selector.clone().into(),
        ..PodSetInfo::default()
    };
    names.iter().map(info).collect()
}

#[test]
fn each_group_of_jobs_is_a_pod_set() {
    let pod_sets = jobset(&[("Driver", 1, 1, 1), ("worker", 3, 2, 9)], &json!({})).pod_sets(Gates::default()).unwrap();
    let shown: Vec<(&str, i32)> = pod_sets.iter().map(|pods| (pods.name.as_str(), pods.count)).collect();
    assert_eq!(shown, [("driver", 1), ("worker", 6)]);
}

#[test]
fn restoring_undoes_running_where_the_pod_sets_are_the_same() {
    let before = jobset(&[("a", 1, 1, 1), ("b", 1, 1, 1)], &json!({}));
    let original: Vec<PodSetInfo> =
        before.pod_sets(Gates::default()).unwrap().iter().map(PodSetInfo::from_pod_set).collect();
    let mut after = before.clone();
    after.run(&given(&["a", "b"]), Gates::default()).unwrap();
    assert_eq!(after.spec.replicated_jobs[1].template.spec.template.spec.node_selector["pool"], "p");
    assert!(!after.clone().restore(&original[..1]));
    assert!(after.restore(&original));
    after.suspend();
    assert_eq!(after, before);
    let failure = after.run(&given(&["a"]), Gates::default()).unwrap_err();
    assert_eq!(failure.to_string(), "invalid podset infos: expecting 2 podset, got 1");
}

#[test]
fn jobs_that_succeeded_give_their_pods_back() {
    let done = |succeeded: i32| {
        let status = json!({"replicatedJobsStatus": [{"name": "a", "succeeded": succeeded}]});
        let pods = jobset(&[("a", 3, 2, 2)], &status).reclaimable_pods().unwrap();
        pods.first().map_or(0, |pods| pods.count)
    };
    assert_eq!([done(0), done(1), done(3), done(4)], [0, 2, 6, 0]);
}

#[test]
fn the_state_is_what_the_status_says() {
    let status = json!({"replicatedJobsStatus": [{"name": "a", "ready": 1, "succeeded": 1, "active": 1}],
        "conditions": [{"type": "Failed", "status": "True", "message": "m"}]});
    let state = jobset(&[("a", 2, 1, 1)], &status);
    assert!(state.pods_ready() && state.is_active());
    assert_eq!(state.finished(), Some(Finish { is_success: false, message: "m".to_owned() }));
    assert_eq!(jobset(&[("a", 2, 1, 1)], &json!({})).finished(), None);
}

#[test]
fn a_mistake_names_the_job_that_has_it() {
    let mut jobs = jobset(&[("a", 1, 1, 1), ("b", 1, 1, 1)], &json!({}));
    let annotations = &mut jobs.spec.replicated_jobs[1].template.spec.template.metadata.annotations;
    annotations.insert("kueue.x-k8s.io/podset-required-topology".to_owned(), "a b".to_owned());
    let errors = crate::webhook::tests::around(Gates::default(), |around| jobs.validate_create(around));
    let path =
        "spec.replicatedJobs[1].template.spec.template.metadata.annotations[kueue.x-k8s.io/podset-required-topology]";
    assert_eq!(errors[0].field.to_string(), path);
}
