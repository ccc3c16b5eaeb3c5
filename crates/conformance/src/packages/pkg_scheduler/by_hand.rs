//! Single steps of a cycle, with entries that were made by hand.

use kueue_core::amount::Amount;
use kueue_core::gates::Gate;
use kueue_engine::{Decision, Effect, FairTurn, Handover, Key, Name, RequeueReason, Told};
use serde_json::{Value, json};

use crate::cluster::{Cluster, key_of};
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};
use crate::trace::{Replay, reason, split, words};

/// Which of two heads has its turn first, with shares that are given.
pub(super) fn entry_comparer(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    let [a, b] = ["a", "b"].map(|entry| -> Result<FairTurn, Failure> {
        let head = case.raw(entry)["Head"].clone();
        let mut object = head["Info"]["Obj"].clone();
        object["spec"]["podSets"] = json!([]);
        cluster.add(&object)?;
        fair_turn(case, key_of(&object)?, head["IsPreemptor"] == true)
    });
    equal(&Some(case.arg::<bool>("wantLess")?), &cluster.engine.has_turn_before(&a?, &b?))
}

fn fair_turn(case: &Case, workload: Key, is_preemptor: bool) -> Result<FairTurn, Failure> {
    let name = workload.to_string();
    let shares = case.raw("drsValues").as_object().into_iter().flatten();
    let share = shares
        .filter_map(|(key, share)| Some((serde_json::from_str::<Value>(key).ok()?, share)))
        .find_map(|(key, share)| (key["workloadKey"] == *name).then_some(share))
        .unwrap_or(&Value::Null);
    let pool = |pool: &Value| -> (Name, Name) {
        let text = |field: &str| pool[field].as_str().unwrap_or_default().into();
        (text("Flavor"), text("Resource"))
    };
    let needs = case.raw("requestedFRs")[&name].as_object().into_iter().flatten().map(|(pool, amount)| {
        let (flavor, resource) = pool.split_once('/').unwrap_or((pool, ""));
        (flavor.into(), resource.into(), Amount::new(amount.as_i64().unwrap_or(0)))
    });
    Ok(FairTurn {
        workload,
        is_preemptor,
        needs: needs.collect(),
        weight: share["fairWeight"].as_f64().unwrap_or(0.0),
        ratio: share["unweightedRatio"].as_f64().unwrap_or(0.0),
        borrowed: share["borrowedFRs"].as_array().into_iter().flatten().map(pool).collect(),
    })
}

/// Whether a search for flavors goes on where it stopped some cycles ago.
pub(super) fn last_assignment_outdated(case: &Case) -> Result<(), Failure> {
    let (last, now) = (case.raw("args.last"), case.raw("args"));
    let shape = |shape: &Value| shape.as_str().unwrap_or_default().to_owned();
    let (before, after) = (shape(&last["SchedulingHash"]), shape(&now["currentSchedulingHash"]));
    // Shapes are not known where the gate is off.
    let knows_shapes = before != "unknown" && after != "unknown";
    let mut replay = Replay::with_gates(case, case.gates()?.with(Gate::SchedulingEquivalenceHashing, knows_shapes))?;
    let workload = |cpu: &str| {
        let containers = json!([{"name": "c", "resources": {"requests": {"cpu": cpu}}}]);
        let pods = json!({"name": "main", "count": 1, "template": {"spec": {"containers": containers}}});
        json!({"kind": "Workload", "metadata": {"namespace": "ns", "name": "w", "uid": "w"},
               "spec": {"queueName": "lq", "podSets": [pods]}})
    };
    replay.push(&workload("1"))?;
    replay.take_heads()?;
    let key = split("ns/w");
    let tried = vec![vec![("cpu".into(), 0)]];
    let handover = Handover { reason: RequeueReason::FailedAfterNomination, why: "", tried, told: Told::Nothing };
    replay.cluster.engine.hand_back(&key, handover, replay.cluster.now);
    if before != after {
        replay.add(&workload("2"))?;
    }
    let since = |now: &Value, then: &Value| now.as_u64().unwrap_or(0) - then.as_u64().unwrap_or(0);
    let cycles = since(&now["currentSchedulingCycle"], &last["SchedulingCycle"]);
    let generations = since(&now["currentCQGeneration"], &last["ClusterQueueGeneration"]);
    let is_outdated = replay.cluster.engine.is_scan_outdated(&key, cycles, generations);
    equal(&Some(case.arg::<bool>("want")?), &is_outdated)
}

/// What becomes of a head that does not start: where it waits, and what its status says, once.
pub(super) fn requeue_and_update(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    replay.add(case.scope("cq"))?;
    for object in case.local("objs").as_array().into_iter().flatten() {
        replay.add(object)?;
    }
    replay.take_heads()?;
    let key = split(&crate::trace::key_of(case.scope("w1")));
    let entry = case.raw("e");
    let message = entry["inadmissibleMsg"].as_str().unwrap_or_default().to_owned();
    let told = match entry["status"].as_str().unwrap_or_default() {
        "assumed" | "nominated" => Told::Nothing,
        "preemptionGated" => Told::Gated(message),
        _ => Told::Waits(message),
    };
    let mut writes = 0;
    for call in case.trace.as_array().into_iter().flatten().filter(|call| call["op"] == "queues.RequeueWorkload") {
        let (reason, why) = (reason(&call["args"][1])?, words(&call["args"][2])?);
        let handover = Handover { reason, why, tried: Vec::new(), told: told.clone() };
        replay.cluster.engine.hand_back(&key, handover, replay.cluster.now);
        // What its life cycle makes of that is another test's matter.
        let mut effects = replay.cluster.engine.settle(replay.cluster.now);
        effects.retain(|effect| matches!(effect, Effect::Status { decision: Decision::Waiting, .. }));
        writes += effects.len();
        replay.cluster.perform(&effects);
    }
    let queue = case.scope("cq")["metadata"]["name"].as_str().unwrap_or_default();
    let pending = replay.cluster.engine.pending(queue);
    let names = |keys: &[Key]| -> Vec<String> { keys.iter().map(ToString::to_string).collect() };
    let wanted = |field: &str| -> Result<Vec<String>, Failure> { case.arg(&format!("{field}.{queue}")) };
    equal(&wanted("wantWorkloads")?, &names(&pending.active))?;
    equal(&wanted("wantInadmissible")?, &names(&pending.parked))?;
    equal(&case.arg::<usize>("wantStatusUpdates")?, &writes)?;
    let mut wanted = case.expected("wantStatus").unwrap_or_else(|| case.raw("wantStatus")).clone();
    let mut found = json!(replay.cluster.workloads[&key.to_string()].status);
    for status in [&mut wanted, &mut found] {
        if let Some(conditions) = status["conditions"].as_array_mut() {
            conditions.sort_by_key(|condition| condition["type"].to_string());
        }
    }
    Rules::equate_empty().ignoring(&["lastTransitionTime", "observedGeneration"]).same(&wanted, &found)
}
