use serde_json::{Value, json};

use super::*;

/// A Workload created at second 0, with conditions such as `Admitted@5` (since second 5) and `-Admitted@7` (not any
/// more), each with a reason of the same name.
fn workload(conditions: &str, patch: Value) -> Workload {
    let conditions: Vec<Value> = conditions.split_whitespace().map(condition).collect();
    let mut status = json!({"conditions": conditions, "admission": {"clusterQueue": "cq", "podSetAssignments": []}});
    if let (Some(status), Value::Object(patch)) = (status.as_object_mut(), patch) {
        status.extend(patch);
    }
    let metadata = json!({"name": "w", "namespace": "ns", "creationTimestamp": time(0)});
    serde_json::from_value(json!({"metadata": metadata, "spec": {"queueName": "lq", "podSets": []}, "status": status}))
        .unwrap()
}

fn condition(text: &str) -> Value {
    let (name, at) = text.split_once('@').unwrap();
    let (name, status) = name.strip_prefix('-').map_or((name, "True"), |name| (name, "False"));
    let reason = if name == "PodsReady" { "Started" } else { name };
    json!({"type": name, "status": status, "reason": reason, "message": "",
        "lastTransitionTime": time(at.parse().unwrap())})
}

fn time(second: u32) -> String {
    format!("2026-01-01T00:{:02}:{:02}Z", second / 60, second % 60)
}

fn seen(old: &Workload, new: &Workload, now: u32) -> Vec<Event> {
    Event::between(old, new, time(now).parse().unwrap())
}

#[test]
fn quota_and_admission_are_counted_when_they_come() {
    let (waiting, reserved) = (workload("", json!({})), workload("QuotaReserved@5", json!({})));
    assert_eq!(seen(&waiting, &reserved, 6), [Event::Reserved { queued_for: 6.0 }]);
    let both = workload("QuotaReserved@5 Admitted@5", json!({}));
    let admitted = |queued_for, checks_took| Event::Admitted { queued_for, checks_took };
    assert_eq!(seen(&waiting, &both, 5), [Event::Reserved { queued_for: 5.0 }, admitted(5.0, None)]);
    let checked = json!({"admissionChecks": [{"name": "c", "state": "Ready"}]});
    let checked = workload("QuotaReserved@5 Admitted@9 Requeued@2", checked);
    assert_eq!(seen(&reserved, &checked, 9), [admitted(7.0, Some(4.0))], "in line again since second 2");
    assert_eq!(seen(&both, &both, 9), []);
}

#[test]
fn pods_count_as_ready_once() {
    let admitted = workload("QuotaReserved@5 Admitted@5", json!({}));
    let ready = workload("QuotaReserved@5 Admitted@5 PodsReady@8", json!({}));
    assert_eq!(seen(&admitted, &ready, 9), [Event::Ready { queued_for: 9.0, admitted_for: 3.0 }]);
    let mut again = workload("QuotaReserved@5 Admitted@5 PodsReady@8", json!({}));
    again.status.conditions[2].reason = "Recovered".to_owned();
    assert_eq!(seen(&admitted, &again, 9), []);
}

#[test]
fn evictions_are_told_apart_by_reason_and_cause() {
    let count = |count| json!({"schedulingStats": {"evictions": [{"reason": "Deactivated", "underlyingCause": "RequeuingLimitExceeded", "count": count}]}});
    let ready = workload("QuotaReserved@5 Admitted@5 PodsReady@8", json!({}));
    let evicted = workload("QuotaReserved@5 Admitted@5 PodsReady@8 Evicted@20", count(1));
    let event = |is_first, ready_for| Event::Evicted {
        reason: "Deactivated".to_owned(),
        cause: "RequeuingLimitExceeded".to_owned(),
        is_first,
        ready_for,
    };
    assert_eq!(seen(&ready, &evicted, 20), [event(true, Some(12.0))]);
    let once = workload("QuotaReserved@5 Admitted@5", count(1));
    let twice = workload("QuotaReserved@5 Admitted@5 Evicted@20", count(2));
    assert_eq!(seen(&once, &twice, 20), [event(false, None)]);
    let mut waiting = workload("", json!({}));
    waiting.status.admission = None;
    let evicted = workload("Evicted@20", count(1));
    assert_eq!(seen(&waiting, &evicted, 20), [], "who held nothing is not evicted");
}

#[test]
fn an_eviction_takes_until_the_quota_is_free() {
    let evicted = workload("QuotaReserved@5 Admitted@5 Evicted@20", json!({}));
    let free = workload("-QuotaReserved@27 -Admitted@27 Evicted@20", json!({}));
    let released = Event::Released { queue: "cq".to_owned(), reason: "Evicted".to_owned(), took: 7.0 };
    assert_eq!(seen(&evicted, &free, 27), [released]);
    let done = workload("-QuotaReserved@27 Evicted@20 Finished@27", json!({}));
    assert_eq!(seen(&evicted, &done, 27), [Event::Finished { ran_for: None }]);
}

#[test]
fn the_time_of_all_runs_counts() {
    let running = workload("QuotaReserved@5 Admitted@5", json!({}));
    let done = workload("QuotaReserved@5 Admitted@5 Finished@65", json!({"accumulatedPastExecutionTimeSeconds": 100}));
    assert_eq!(seen(&running, &done, 66), [Event::Finished { ran_for: Some(160.0) }]);
}
