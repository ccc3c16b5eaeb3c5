//! Workloads that are alike are put aside together.
//!
//! Kueue's tests give workloads a hash of their choice; here a node selector makes those alike that have the same.

use kueue_engine::{PendingCount, RequeueReason};
use serde_json::{Value, json};

use super::{only_queue, waiting};
use crate::compare::equal;
use crate::corpus::{Case, Failure};
use crate::trace::{Replay, key_of, split};

fn with_hash(workload: &Value, hash: &str) -> Value {
    let mut workload = workload.clone();
    for pod_set in workload["spec"]["podSets"].as_array_mut().into_iter().flatten() {
        pod_set["template"]["spec"]["nodeSelector"] = json!({"hash": hash});
    }
    workload
}

fn some_workload(name: &str, hash: &str) -> Value {
    let pod_set =
        json!({"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "c", "resources": {}}]}}});
    let workload = json!({"kind": "Workload", "metadata": {"namespace": "default", "name": name, "uid": name}, "spec": {"podSets": [pod_set]}});
    with_hash(&workload, hash)
}

fn counts(replay: &Replay) -> PendingCount {
    let engine = &replay.cluster.engine;
    engine.pending_count(&only_queue(engine)).unwrap_or_default()
}

pub(super) fn reason(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::of(case)?;
    let key = case.local("wlKey").as_str().unwrap_or_default().to_owned();
    if case.arg("deleteFromInadmissible")? {
        replay.call("queue.Delete", &json!([key]))?;
    }
    let reason = replay.cluster.engine.no_fit_reason(&split(&key)).map(str::to_owned);
    equal(&case.arg("wantOk")?, &reason.is_some())?;
    equal(&case.arg::<String>("wantReason")?, &reason.unwrap_or_default())
}

pub(super) fn which_reasons(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let reason = replay.cluster.engine.no_fit_reason(&split(&key_of(case.local("wl"))));
    equal(&case.arg("wantHash")?, &reason.is_some())
}

/// One of the workloads with the hash does not fit.
pub(super) fn sleep(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    let mut hopeless = None;
    for call in case.trace.as_array().into_iter().flatten() {
        let workload = &call["args"][0]["Obj"];
        let hash = &case.raw("heapWorkloads")[workload["metadata"]["name"].as_str().unwrap_or_default()];
        let workload = with_hash(workload, hash.as_str().unwrap_or_default());
        replay.push(&workload)?;
        if hash == case.raw("hashToRecord") {
            hopeless = Some(workload);
        }
    }
    if let Some(workload) = hopeless {
        replay.hand_back(&workload, RequeueReason::NoFit);
    }
    let found = counts(&replay);
    equal(&case.arg("wantActive")?, &found.active)?;
    equal(&case.arg("wantInadmissible")?, &found.inadmissible)?;
    equal(&case.arg("wantMoved")?, &found.inadmissible)
}

/// What is known about a hash outlives the workload that it was learnt from.
pub(super) fn push(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    let shape = case.local("wl");
    for hash in case.arg::<Vec<String>>("inadmissibleHashes")? {
        let mut blocked = with_hash(shape, &hash);
        blocked["metadata"]["name"] = json!(format!("blocked-{hash}"));
        replay.push(&blocked)?;
        replay.hand_back(&blocked, RequeueReason::NoFit);
        replay.call("queue.Delete", &json!([key_of(&blocked)]))?;
    }
    replay.push(&with_hash(shape, &case.arg::<String>("pushHash")?))?;
    let found = counts(&replay);
    equal(&case.arg("wantActive")?, &found.active)?;
    equal(&case.arg("wantInadmissible")?, &found.inadmissible)
}

pub(super) fn count(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    if case.arg("hasInflight")? {
        replay.push(&some_workload("in-flight", &case.arg::<String>("inflightHash")?))?;
        replay.take_heads()?;
    }
    for (index, hash) in case.arg::<Vec<String>>("activeHashes")?.iter().enumerate() {
        replay.push(&some_workload(&format!("active-{index}"), hash))?;
    }
    for (index, hash) in case.arg::<Vec<String>>("inadmissibleHashes")?.iter().enumerate() {
        let workload = some_workload(&format!("parked-{index}"), hash);
        replay.push(&workload)?;
        replay.hand_back(&workload, RequeueReason::Generic);
    }
    let shapes = |replay: &Replay| {
        let engine = &replay.cluster.engine;
        engine.pending_shapes(&only_queue(engine)).unwrap_or_default()
    };
    let wanted = PendingCount { active: case.arg("wantActive")?, inadmissible: case.arg("wantInadmissible")? };
    equal(&wanted, &shapes(&replay))?;
    replay.stop_queue()?;
    equal(&PendingCount { active: 0, inadmissible: case.arg("wantUnion")? }, &shapes(&replay))?;
    let (active, _) = waiting(&replay.cluster.engine);
    equal(&case.arg::<Vec<String>>("activeHashes")?.len(), &active.values().map(std::collections::BTreeSet::len).sum())
}
