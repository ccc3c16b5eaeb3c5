use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::cluster;
use super::job::{Around, Plan, plan};
use super::*;
use crate::kinds::{Job, Pod, RayJob};

fn spec() -> Value {
    let template =
        json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "ray", "image": "ray"}]}});
    json!({"headGroupSpec": {"template": template},
        "workerGroupSpecs": [{"groupName": "small", "replicas": 2, "numOfHosts": 1, "template": template}]})
}

fn cluster(suspend: bool, state: &str) -> RayCluster {
    let mut spec = spec();
    spec["suspend"] = suspend.into();
    serde_json::from_value(json!({"metadata": {"name": "c", "namespace": "ns", "uid": "u", "generation": 2},
        "spec": spec, "status": {"state": state}}))
    .unwrap()
}

fn pod(group: &str, is_ready: bool) -> Arc<Pod> {
    let ready = if is_ready { "True" } else { "False" };
    let meta = json!({"name": format!("c-{group}"), "labels": {"ray.io/group": group}});
    let status = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]});
    Arc::new(serde_json::from_value(json!({"metadata": meta, "status": status})).unwrap())
}

#[test]
fn a_cluster_has_a_head_and_as_many_workers_as_its_groups_say() {
    let (head, worker) = (|| pod("headgroup", true), |is_ready| pod("small", is_ready));
    for (cluster, pods, expected) in [
        (cluster(false, ""), vec![], "+c-head- +c-small-worker- +c-small-worker- ''"),
        (cluster(false, ""), vec![head(), worker(true), worker(false)], "''"),
        (cluster(false, "suspended"), vec![head(), worker(true), worker(true)], "'ready'"),
        (cluster(false, "ready"), vec![head(), worker(true)], "+c-small-worker- 'ready'"),
        (cluster(false, "ready"), vec![head(), worker(true), worker(true), worker(true)], "-c-small 'ready'"),
        (cluster(true, "ready"), vec![head(), worker(true)], "-c-headgroup -c-small 'ready'"),
        (cluster(true, "ready"), vec![], "'suspended'"),
    ] {
        let plan = cluster::plan(&cluster, &pods, Time::default());
        let created = plan.create.iter().map(|pod| format!("+{}", pod.metadata.generate_name));
        let deleted = plan.delete.iter().map(|pod| format!("-{}", pod.metadata.name));
        let shown: Vec<String> = created.chain(deleted).chain([format!("'{}'", plan.status.state)]).collect();
        assert_eq!(shown.join(" "), expected);
    }
}

fn job(patch: &Value) -> RayJob {
    let mut job = json!({"metadata": {"name": "j", "namespace": "ns", "uid": "u"},
        "spec": {"rayClusterSpec": spec(), "shutdownAfterJobFinishes": true, "submissionMode": "K8sJobMode"}});
    for (path, value) in patch.as_object().unwrap() {
        let (parent, key) = path.rsplit_once('/').unwrap();
        job.pointer_mut(parent).unwrap()[key] = value.clone();
    }
    serde_json::from_value(job).unwrap()
}

/// What a step comes to: `DEPLOYMENT/JOB` and what is to be done.
fn step(patch: &Value, cluster: Option<&RayCluster>, submitter: Option<&Job>, now: &str) -> String {
    let around = Around { cluster, submitter, work: (Some(Duration::from_secs(30)), 0), now: now.parse().unwrap() };
    let Plan { status, needs_cluster, needs_submitter, clears, shuts_down, .. } = plan(&job(patch), &around);
    let mut shown = format!("{}/{}", status.job_deployment_status, status.job_status);
    for (is_so, name) in
        [(needs_cluster, " cluster"), (needs_submitter, " submitter"), (clears, " clear"), (shuts_down, " shut down")]
    {
        shown.push_str(if is_so { name } else { "" });
    }
    shown
}

#[test]
fn a_job_goes_from_its_cluster_to_its_end() {
    let now = "2026-01-01T00:01:00Z";
    let at =
        |deployment: &str| json!({"/status": {"jobDeploymentStatus": deployment, "startTime": "2026-01-01T00:00:00Z"}});
    let with = |deployment: &str, key: &str, value: Value| {
        let mut patch = at(deployment);
        patch[key] = value;
        patch
    };
    let ready = cluster(false, "ready");
    let finished = |kind: &str| -> Job {
        serde_json::from_value(json!({"status": {"conditions": [{"type": kind, "status": "True", "message": "why"}]}}))
            .unwrap()
    };
    for (patch, cluster, submitter, expected) in [
        (json!({}), None, None, "Initializing/PENDING"),
        (json!({"/spec/suspend": true}), None, None, "Suspended/PENDING"),
        (at("Initializing"), None, None, "Initializing/ cluster"),
        (at("Initializing"), Some(&ready), None, "Running/RUNNING cluster"),
        (at("Running"), Some(&ready), None, "Running/ cluster submitter"),
        (at("Running"), Some(&ready), Some(finished("Complete")), "Complete/SUCCEEDED cluster submitter"),
        (at("Running"), Some(&ready), Some(finished("Failed")), "Failed/FAILED cluster submitter"),
        (with("Running", "/spec/submissionMode", json!("HTTPMode")), Some(&ready), None, "Complete/SUCCEEDED cluster"),
        (with("Running", "/spec/activeDeadlineSeconds", json!(60)), Some(&ready), None, "Failed/ cluster"),
        (with("Running", "/spec/suspend", json!(true)), Some(&ready), None, "Suspending/"),
        (with("Suspending", "/spec/suspend", json!(true)), Some(&ready), None, "Suspending/ clear"),
        (with("Suspending", "/spec/suspend", json!(true)), None, None, "Suspended/PENDING clear"),
        (at("Suspended"), None, None, "Initializing/PENDING"),
        (at("Complete"), Some(&ready), None, "Complete/ shut down"),
        (with("Running", "/spec/rayClusterSpec", Value::Null), Some(&ready), None, "ValidationFailed/ clear"),
        (with("ValidationFailed", "/spec/suspend", json!(true)), None, None, "Suspended/PENDING"),
    ] {
        assert_eq!(step(&patch, cluster, submitter.as_ref(), now), expected, "{patch}");
    }
}

#[test]
fn clusters_are_named_after_their_owner_and_never_alike() {
    let job = job(&json!({}));
    let (one, other) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z");
    let [one, other] = [one, other].map(|time| cluster_name(&job, time.parse().unwrap()));
    assert!(one.starts_with("j-") && one.len() == 7, "{one}");
    assert_ne!(one, other);
}
