//! How many wait, and for what.

use std::collections::BTreeMap;

use kueue_api::config::v1beta2::CustomLabel;
use kueue_engine::{PendingCount, RequeueReason, UnadmittedCount};
use kueue_translate::MetricLabels;
use serde_json::{Value, json};

use super::{names, only_queue, waiting};
use crate::compare::equal;
use crate::corpus::{Case, Failure};
use crate::trace::{Replay, key_of};

/// Kueue keeps room for so many labels, and fills up with empty values.
const LABELS: usize = 6;

pub(super) fn by_labels(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    replay.cluster.metric_labels = MetricLabels::new(&case.arg::<Vec<CustomLabel>>("labels")?, case.gates()?);
    replay.play(&case.trace)?;
    let wanted = |field: &str| -> Result<BTreeMap<String, usize>, Failure> {
        let counts: BTreeMap<String, usize> = case.arg(field)?;
        Ok(counts.into_iter().filter(|(_, count)| *count > 0).collect())
    };
    if wanted("wantInadmissible")?.is_empty() {
        // Waking all is not among the recorded calls; where nobody is to be aside, it was the last one.
        replay.wake();
    }
    let engine = &replay.cluster.engine;
    let counts = engine.pending_by_labels(&only_queue(engine));
    let found = |number: fn(&PendingCount) -> usize| -> BTreeMap<String, usize> {
        let filled = |labels: &[kueue_engine::Name]| {
            let values = labels.iter().map(|value| &**value).chain(std::iter::repeat(""));
            json!(values.take(LABELS).collect::<Vec<&str>>()).to_string()
        };
        let counts = counts.iter().map(|(labels, count)| (filled(labels), number(count)));
        counts.filter(|(_, count)| *count > 0).collect()
    };
    equal(&wanted("wantPending")?, &found(|count| count.active))?;
    equal(&wanted("wantInadmissible")?, &found(|count| count.inadmissible))
}

pub(super) fn requests(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let engine = &replay.cluster.engine;
    let queue = case.scope("cq")["metadata"]["name"].as_str().unwrap_or_default();
    let cpu = engine.pending_requests(queue).into_iter().find(|(resource, _)| &**resource == "cpu");
    equal(&Some(case.arg::<i64>("wantValue")? * 1000), &cpu.map(|(_, amount)| amount))
}

/// A workload that is aside, or taken by a cycle, is told of again by its LocalQueue; then it is given back at once,
/// deleted, or all are woken, as the calls say.
pub(super) fn after_resync(case: &Case) -> Result<(), Failure> {
    let stored = if case.local("storedInfo").is_null() { case.local("wInfo") } else { case.local("storedInfo") };
    let workload = &stored["Obj"];
    let calls: Vec<Value> = case.trace.as_array().cloned().unwrap_or_default();
    let has = |operation: &str| calls.iter().any(|call| call["op"] == operation);
    let mut replay = Replay::new(case)?;
    replay.push(workload)?;
    if has("queue.Pop") {
        replay.take_heads()?;
    } else {
        replay.hand_back(workload, RequeueReason::Generic);
    }
    // The same LocalQueue once more.
    replay.push(workload)?;
    let later = calls.iter().filter(|call| call["op"] != "queue.Pop" && call["op"] != "queue.PushOrUpdate");
    replay.play(&json!(later.collect::<Vec<_>>()))?;
    let is_done_by_calls = has("queue.Delete") || has("queue.requeueIfNotPresent");
    let is_woken = case.has("afterResync") || case.has("transition");
    if is_woken && !is_done_by_calls {
        replay.wake();
    }
    compare_resync(case, &replay, stored)
}

fn compare_resync(case: &Case, replay: &Replay, stored: &Value) -> Result<(), Failure> {
    let engine = &replay.cluster.engine;
    let queue = only_queue(engine);
    let (active, parked) = waiting(engine);
    let count = engine.pending_count(&queue).unwrap_or_default();
    let cpu: i64 =
        engine.pending_requests(&queue).iter().filter(|(name, _)| &**name == "cpu").map(|(_, cpu)| cpu).sum();
    let one = stored["TotalRequests"][0]["Requests"]["cpu"].as_i64().unwrap_or(0);
    if case.has("transition") {
        let shapes = engine.pending_shapes(&queue).unwrap_or_default();
        equal(&case.arg("wantActive")?, &shapes.active)?;
        equal(&case.arg("wantInadmissible")?, &shapes.inadmissible)?;
        return equal(&if case.arg("wantCPU")? { one } else { 0 }, &cpu);
    }
    equal(&case.arg("wantInHeap")?, &!active.is_empty())?;
    equal(&case.arg("wantInInadmissible")?, &!parked.is_empty())?;
    equal(&case.arg("wantPendingActive")?, &count.active)?;
    // What is expected is code; it is what the workload asks for while it waits.
    equal(&if count.total() > 0 { one } else { 0 }, &cpu)
}

pub(super) fn of_local_queue(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    for field in ["queues", "workloads"] {
        for object in case.scope(field).as_array().into_iter().flatten() {
            replay.add(object)?;
        }
    }
    let (namespace, name) = names(case.raw("queue"));
    let count = replay.cluster.engine.pending_in_local_queue(&namespace, &name);
    equal(&case.has("wantErr"), &count.is_none())?;
    equal(&case.arg("wantStatus")?, &count.unwrap_or_default().total())
}

/// A workload is counted under why it is not admitted, until it is.
pub(super) fn unadmitted(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    let queue: String = case.arg("expectedStatus.ClusterQueue")?;
    let text = |field: &str| case.raw("expectedStatus")[field].as_str().unwrap_or_default().to_owned();
    for call in case.trace.as_array().into_iter().flatten() {
        replay.call(call["op"].as_str().unwrap_or_default(), &call["args"])?;
        if call["op"] != "queues.UpdateUnadmittedWorkload" {
            continue;
        }
        let is_first =
            key_of(&call["args"][0]) == key_of(case.raw("workload")) && call["args"][0] == *case.raw("workload");
        let wanted = UnadmittedCount {
            namespace: text("LocalQueueNamespace").into(),
            local_queue: text("LocalQueueName").into(),
            reason: text("Reason").into(),
            cause: text("UnderlyingCause").into(),
            count: 1,
        };
        equal(&if is_first { vec![wanted] } else { Vec::new() }, &replay.cluster.engine.unadmitted(&queue))?;
    }
    Ok(())
}
