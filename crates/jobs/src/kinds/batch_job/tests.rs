use kueue_core::gates::Gate;
use serde_json::{Value, json};

use super::*;
use crate::job::{Job as _, StopReason};

fn job(spec: &Value, annotations: &Value, status: &Value) -> Job {
    let mut job = json!({"metadata": {"name": "j", "annotations": annotations}, "spec": spec, "status": status});
    let template = json!({
        "metadata": {"labels": {"job-name": "j", "controller-uid": "u", JOB_NAME_LABEL: "j", "app": "x"}},
        "spec": {"containers": [{"name": "c"}], "nodeSelector": {"zone": "a"}},
    });
    job["spec"]["template"] = template;
    serde_json::from_value(job).unwrap()
}

fn given(count: i32, zone: &str) -> Vec<PodSetInfo> {
    let node_selector = [("flavor".to_owned(), "f".to_owned()), ("zone".to_owned(), zone.to_owned())].into();
    vec![PodSetInfo { name: "main".to_owned(), count, node_selector, ..PodSetInfo::default() }]
}

fn original(job: &Job) -> Vec<PodSetInfo> {
    job.pod_sets(Gates::default()).unwrap().iter().map(PodSetInfo::from_pod_set).collect()
}

#[test]
fn the_pod_set_is_what_runs_at_a_time() {
    for (spec, annotations, count, least) in [
        (json!({"parallelism": 3}), json!({}), 3, None),
        (json!({"parallelism": 3, "completions": 2}), json!({}), 2, None),
        (json!({"parallelism": 3, "completions": 9}), json!({annotation::JOB_MIN_PARALLELISM: "2"}), 3, Some(2)),
        (json!({"parallelism": 3}), json!({annotation::JOB_MIN_PARALLELISM: "some"}), 3, None),
        (json!({}), json!({}), 1, None),
    ] {
        let pod_sets = job(&spec, &annotations, &json!({})).pod_sets(Gates::default()).unwrap();
        assert_eq!((pod_sets[0].count, pod_sets[0].min_count), (count, least), "{spec}");
        let labels: Vec<&String> = pod_sets[0].template.metadata.labels.keys().collect();
        assert_eq!(labels, ["app", JOB_NAME_LABEL]);
    }
}

#[test]
fn running_adds_what_was_given_and_restoring_takes_it_away() {
    let gates = Gates::default().with(Gate::PartialAdmission, true);
    let annotations =
        json!({annotation::JOB_MIN_PARALLELISM: "1", annotation::JOB_COMPLETIONS_EQUAL_PARALLELISM: "true"});
    let before = job(&json!({"parallelism": 4, "completions": 4, "suspend": true}), &annotations, &json!({}));
    let mut after = before.clone();
    after.run(&given(2, "a"), gates).unwrap();
    assert_eq!((after.spec.suspend, after.spec.parallelism, after.spec.completions), (Some(false), Some(2), Some(2)));
    assert_eq!(json!(after.spec.template.spec.node_selector), json!({"flavor": "f", "zone": "a"}));
    assert!(after.restore(&original(&before)));
    after.suspend();
    assert_eq!(after, before);
    assert!(!after.restore(&original(&before)), "nothing is left to restore");
}

#[test]
fn a_job_that_contradicts_its_flavor_cannot_start() {
    let mut job = job(&json!({"parallelism": 1}), &json!({}), &json!({}));
    let conflict = job.run(&given(1, "b"), Gates::default()).unwrap_err().to_string();
    assert!(conflict.contains("conflict for key=zone, value1=a, value2=b"), "{conflict}");
    let none = job.run(&[], Gates::default()).unwrap_err().to_string();
    assert_eq!(none, "invalid podset infos: expecting 1 podset, got 0");
}

#[test]
fn stopping_takes_three_requests_and_is_resumed_where_it_broke_off() {
    let before = job(&json!({"parallelism": 1, "suspend": true}), &json!({}), &json!({}));
    let mut running = before.clone();
    running.run(&given(1, "a"), Gates::default()).unwrap();
    running.status.start_time = Some("2026-01-01T00:00:00Z".parse().unwrap());
    let why = Stop { reason: StopReason::NotAdmitted, message: "" };
    let writes = running.stop(&why, Some(&original(&before)));
    let [Write::Spec(first), Write::Status(second), Write::Restored(third)] = &writes[..] else { panic!("{writes:?}") };
    assert!(!first.is_suspended() && first.spec.suspend == Some(true), "not suspended until all is done");
    assert_eq!(second.status.start_time, None);
    assert_eq!(*third, before);
    assert_eq!(second.stop(&why, Some(&original(&before))), [Write::Restored(before.clone())]);
    assert_eq!(third.stop(&why, Some(&original(&before))), []);
    let mut ended = running.clone();
    ended.status.conditions = serde_json::from_value(json!([{"type": "Failed", "status": "True"}])).unwrap();
    assert_eq!(ended.stop(&why, Some(&original(&before))), []);
}

#[test]
fn the_end_is_what_the_conditions_say() {
    let end = |conditions: Value| job(&json!({}), &json!({}), &json!({"conditions": conditions})).finished();
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "message": "m"});
    assert_eq!(end(json!([condition("Suspended", "True"), condition("Complete", "False")])), None);
    assert_eq!(end(json!([condition("Complete", "True")])), Some(Finish { is_success: true, message: "m".into() }));
    assert_eq!(end(json!([condition("Failed", "True")])), Some(Finish { is_success: false, message: "m".into() }));
}

#[test]
fn pods_that_are_done_are_given_back() {
    let reclaimable = |spec: &Value, status: &Value| {
        let pods = job(spec, &json!({}), status).reclaimable_pods().unwrap();
        pods.first().map_or(0, |pods| pods.count)
    };
    for (parallelism, completions, succeeded, count) in
        [(1, 1, 1, 0), (3, 5, 0, 0), (3, 5, 1, 0), (3, 5, 3, 1), (3, 5, 5, 3), (3, 5, 9, 3)]
    {
        let spec = json!({"parallelism": parallelism, "completions": completions});
        assert_eq!(reclaimable(&spec, &json!({"succeeded": succeeded})), count, "{spec} {succeeded}");
    }
    let indexed = json!({"parallelism": 4, "completions": 4, "completionMode": "Indexed"});
    for (completed, failed, count) in
        [("0,2-3", "", 3), ("0-1", "1-2", 3), ("0-9", "", 4), ("x,3-1,-2", "", 0), ("2", "2", 1)]
    {
        let status = json!({"succeeded": 9, "completedIndexes": completed, "failedIndexes": failed});
        assert_eq!(reclaimable(&indexed, &status), count, "{status}");
    }
}

#[test]
fn pods_are_ready_when_enough_run_or_ran() {
    let ready = |status: Value| job(&json!({"parallelism": 3}), &json!({}), &status).pods_ready();
    assert!(!ready(json!({"ready": 2})));
    assert!(ready(json!({"ready": 1, "succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["a"]}})));
}

#[test]
fn fields_we_do_not_know_survive() {
    let text = json!({"parallelism": 1, "backoffLimitPerIndex": 3});
    let spec = serde_json::to_value(job(&text, &json!({}), &json!({"terminating": 1}))).unwrap();
    assert_eq!((&spec["spec"]["backoffLimitPerIndex"], &spec["status"]["terminating"]), (&json!(3), &json!(1)));
}
