use serde_json::{Value, json};

use super::mpijob::MPIJob;
use super::tfjob::TFJob;
use super::*;
use crate::job::Job as _;

fn replicas(count: i32, class: &str) -> Value {
    json!({"replicas": count, "template": {"spec": {"containers": [], "priorityClassName": class}}})
}

fn tfjob(spec: &Value, status: &Value) -> TFJob {
    serde_json::from_value(json!({"metadata": {"name": "t"}, "spec": spec, "status": status})).unwrap()
}

#[test]
fn pod_sets_follow_the_order_of_the_roles() {
    let specs = json!({"Worker": replicas(3, ""), "PS": replicas(2, ""), "Chief": replicas(1, ""), "Master": null});
    let job = tfjob(&json!({"tfReplicaSpecs": specs}), &json!({}));
    let pod_sets = job.pod_sets(Gates::default()).unwrap();
    let shown: Vec<(&str, i32)> = pod_sets.iter().map(|pods| (pods.name.as_str(), pods.count)).collect();
    assert_eq!(shown, [("chief", 1), ("ps", 2), ("worker", 3)]);
}

#[test]
fn what_was_given_goes_to_its_role_and_is_taken_away() {
    let specs = json!({"Worker": replicas(3, ""), "PS": replicas(2, "")});
    let before = tfjob(&json!({"runPolicy": {"suspend": true}, "tfReplicaSpecs": specs}), &json!({}));
    let original: Vec<PodSetInfo> =
        before.pod_sets(Gates::default()).unwrap().iter().map(PodSetInfo::from_pod_set).collect();
    let given = |pool: &str| PodSetInfo {
        node_selector: [("pool".to_owned(), pool.to_owned())].into(),
        ..PodSetInfo::default()
    };
    let mut after = before.clone();
    after.run(&[given("for-ps"), given("for-worker")], Gates::default()).unwrap();
    let pool = |job: &TFJob, role: &str| {
        job.spec.tf_replica_specs[role].as_ref().unwrap().template.spec.node_selector["pool"].clone()
    };
    assert_eq!((pool(&after, "PS"), pool(&after, "Worker")), ("for-ps".to_owned(), "for-worker".to_owned()));
    assert!(after.restore(&original));
    after.suspend();
    assert_eq!(after, before);
}

#[test]
fn the_class_of_the_whole_job_comes_before_those_of_its_roles() {
    let specs = json!({"Worker": replicas(1, "w"), "Chief": replicas(1, "")});
    let class = |policy: Value| {
        let spec = json!({"runPolicy": {"schedulingPolicy": policy}, "tfReplicaSpecs": specs});
        tfjob(&spec, &json!({})).priority_class()
    };
    assert_eq!(class(json!({"priorityClass": "all"})).as_deref(), Some("all"));
    assert_eq!(class(json!({})).as_deref(), Some("w"));
}

#[test]
fn the_state_is_what_the_conditions_say() {
    let state = |kind: &str| {
        let status = json!({"conditions": [{"type": kind, "status": "True", "message": "m"}],
            "replicaStatuses": {"Worker": {"active": 1}}});
        tfjob(&json!({}), &status)
    };
    assert!(state("Running").pods_ready() && state("Running").is_active());
    assert_eq!(state("Running").finished(), None);
    assert_eq!(state("Succeeded").finished().map(|end| end.is_success), Some(true));
    assert_eq!(state("Failed").finished().map(|end| end.is_success), Some(false));
}

#[test]
fn workers_beside_a_working_launcher_begin_with_index_one() {
    let filled = |works: bool, group: Value| {
        let mut launcher = replicas(1, "");
        launcher["template"]["metadata"]["annotations"] = group;
        let specs = json!({"Launcher": launcher, "Worker": replicas(2, "")});
        let spec = json!({"runLauncherAsWorker": works, "mpiReplicaSpecs": specs});
        let mut job: MPIJob = serde_json::from_value(json!({"metadata": {"name": "m"}, "spec": spec})).unwrap();
        job.fill_in(Gates::default());
        let worker = job.spec.mpi_replica_specs["Worker"].clone().unwrap();
        worker.template.metadata.annotations.get("kueue.x-k8s.io/pod-index-offset").cloned()
    };
    assert_eq!(filled(true, json!({})).as_deref(), Some("1"));
    assert_eq!(filled(false, json!({})), None);
    assert_eq!(filled(true, json!({"kueue.x-k8s.io/podset-group-name": "g"})), None);
}
