use kueue_core::gates::Gate;
use serde_json::{Value, json};

use super::*;

fn workload(conditions: &[&str], pod_sets: &[(&str, i32)], updates: &Value) -> Workload {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|kind| json!({"type": kind, "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}))
        .collect();
    let pod_sets: Vec<Value> = pod_sets
        .iter()
        .map(|(name, count)| json!({"name": name, "count": count, "template": {"spec": {"containers": []}}}))
        .collect();
    let workload = json!({
        "metadata": {"name": "w", "namespace": "ns", "annotations": {annotation::ELASTIC_JOB: "true"}},
        "spec": {"podSets": pod_sets},
        "status": {"conditions": conditions, "admissionChecks": [{"name": "c", "state": "Ready", "podSetUpdates": updates}]},
    });
    serde_json::from_value(workload).unwrap()
}

/// `set/name`, with `*` for a gate and `!` for one that is over.
fn pods(text: &str) -> Vec<Arc<Pod>> {
    let pod = |word: &str| {
        let (pod_set, name) = word.trim_end_matches(['*', '!']).split_once('/').unwrap();
        let gates = if word.contains('*') { json!([{"name": SCHEDULING_GATE_ELASTIC_JOB}]) } else { json!([]) };
        let phase = if word.contains('!') { "Failed" } else { "Pending" };
        let pod = json!({"metadata": {"name": name, "labels": {label::POD_SET: pod_set}},
            "spec": {"containers": [], "schedulingGates": gates}, "status": {"phase": phase}});
        Arc::new(serde_json::from_value(pod).unwrap())
    };
    text.split_whitespace().map(pod).collect()
}

fn names(active: &Workload, pods: &[Arc<Pod>]) -> String {
    let free = ungate(active, pods).unwrap();
    assert!(free.iter().all(|(_, pod)| pod.spec.scheduling_gates.is_empty()));
    free.iter().map(|(pod, _)| pod.metadata.name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn as_many_pods_run_as_the_slice_has() {
    let active = workload(&["QuotaReserved", "Admitted"], &[("a", 2), ("b", 1)], &json!([]));
    assert_eq!(names(&active, &pods("a/3* a/1* a/2*")), "1 2");
    assert_eq!(names(&active, &pods("a/1 a/3* a/2*")), "2");
    assert_eq!(names(&active, &pods("a/1! a/2* a/3*")), "2 3");
    assert_eq!(names(&active, &pods("a/1 a/2 a/3*")), "");
    assert_eq!(names(&active, &pods("a/1* b/2* b/3* x/4*")), "1 2");
}

#[test]
fn only_an_admitted_slice_that_keeps_its_quota_lets_pods_run() {
    let gates = Gates::default().with(Gate::ElasticJobsViaWorkloadSlices, true);
    let with = |conditions: &[&str]| active([workload(conditions, &[("a", 1)], &json!([]))], gates).is_some();
    assert!(with(&["QuotaReserved", "Admitted"]));
    assert!(!with(&["QuotaReserved"]));
    assert!(!with(&["QuotaReserved", "Admitted", "Finished"]));
    assert!(!with(&["QuotaReserved", "Admitted", "Evicted"]));
    let plain = Gates::default().with(Gate::ElasticJobsViaWorkloadSlices, false);
    assert!(active([workload(&["QuotaReserved", "Admitted"], &[], &json!([]))], plain).is_none());
}

#[test]
fn pods_get_what_checks_add_unless_they_have_another() {
    let [request, _] = OF_THE_AUTOSCALER;
    let updates = json!([{"name": "a", "annotations": {request: "r1", "other": "x"}, "nodeSelector": {"pool": "p"}}]);
    let active = workload(&["QuotaReserved", "Admitted"], &[("a", 2)], &updates);
    let mut pods = pods("a/1* a/2*");
    Arc::make_mut(&mut pods[0]).metadata.annotations.insert(request.to_owned(), "r0".to_owned());
    let free = ungate(&active, &pods).unwrap();
    let [(_, pod)] = &free[..] else { panic!("{free:?}") };
    assert_eq!((pod.metadata.name.as_str(), pod.metadata.annotations.len()), ("2", 1));
    assert_eq!(pod.spec.node_selector["pool"], "p");
    let contrary = json!([{"name": "a", "nodeSelector": {"pool": "p"}}, {"name": "a", "nodeSelector": {"pool": "q"}}]);
    let failure = ungate(&workload(&[], &[("a", 1)], &contrary), &pods).unwrap_err();
    assert_eq!(failure.to_string(), r#"conflicting "pool" node selector updates for PodSet "a""#);
}
