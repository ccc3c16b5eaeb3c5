//! Who is served first.

use serde_json::{Value, json};

use super::only_queue;
use crate::compare::equal;
use crate::corpus::{Case, Failure};
use crate::trace::{Replay, key_of};

pub(super) fn first_of_two(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let first = replay.heads.first().and_then(|heads| heads.first()).map(|key| key.name.to_string());
    equal(&case.get::<String>("expected")?, &first)
}

/// A queue that is not called active does not admit.
pub(super) fn heads(case: &Case) -> Result<(), Failure> {
    let mut calls = case.trace.clone();
    for call in calls.as_array_mut().into_iter().flatten().filter(|call| call["op"] == "queues.AddClusterQueue") {
        let queue = &mut call["args"][0];
        if !queue["metadata"]["name"].as_str().is_some_and(|name| name.contains("active-")) {
            queue["spec"]["stopPolicy"] = json!("Hold");
        }
    }
    let mut replay = Replay::new(case)?;
    replay.play(&calls)?;
    let heads = replay.heads.last().cloned().unwrap_or_default();
    let heads: Vec<String> = heads.iter().map(|key| key.name.to_string()).collect();
    equal(&case.arg("wantWorkloads")?, &heads)?;
    equal(&case.arg("wantAssigned")?, &replay.assigned())
}

/// Whatever came last, the heads follow; objects that exist at the start are known to everybody.
pub(super) fn heads_after_changes(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    for object in case.raw("initialObjs").as_array().into_iter().flatten() {
        replay.add(object)?;
    }
    replay.play(&case.trace)?;
    let wanted = case.expected("tc.wantHeads").unwrap_or(case.raw("wantHeads"));
    let wanted = wanted.as_array().into_iter().flatten();
    let wanted: Vec<String> = wanted.map(|head| key_of(&head["Info"]["Obj"])).collect();
    // In the test somebody waits for heads while the changes happen.
    replay.take_heads()?;
    let heads = replay.heads.iter().rfind(|heads| !heads.is_empty()).cloned().unwrap_or_default();
    equal(&wanted, &heads.iter().map(ToString::to_string).collect())
}

pub(super) fn order(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    for field in ["clusterQueues", "queues", "workloads"] {
        for object in case.scope(field).as_array().into_iter().flatten() {
            replay.add(object)?;
        }
    }
    same_order(&replay, &case.arg::<String>("cqName")?, case.raw("wantPendingWorkloadsInfo"))
}

pub(super) fn snapshot(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let queue = only_queue(&replay.cluster.engine);
    same_order(&replay, &queue, case.expected("firstSnap").unwrap_or(&Value::Null))
}

fn same_order(replay: &Replay, queue: &str, wanted: &Value) -> Result<(), Failure> {
    let wanted: Vec<String> = wanted.as_array().into_iter().flatten().map(|info| key_of(&info["Obj"])).collect();
    let found = replay.cluster.engine.positions(queue).map(|position| position.workload.to_string());
    equal(&wanted, &found.collect())
}
