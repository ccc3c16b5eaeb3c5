//! Objects in, one cycle, and everything that can be seen afterwards.

use std::collections::BTreeMap;

use kueue_api::kueue::v1beta2::Workload;
use kueue_core::gates::Gate;
use kueue_core::time::Time;
use kueue_engine::{Effect, FairSharing, Key};
use serde_json::{Map, Value, json};

use crate::cluster::{Cluster, read};
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};

/// One cycle over the objects of a case that was recorded in both ways of writing.
pub(super) fn schedule(case: &Case) -> Result<(), Failure> {
    if writes_as_we_do(case)? { cycle(case) } else { Ok(()) }
}

/// One cycle over the objects of the case.
pub(super) fn cycle(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, fair_sharing(case))?;
    for objects in [case.scope("resourceFlavors"), &case.cluster, case.raw("cohorts")] {
        cluster.add(objects)?;
    }
    let effects = cluster.engine.cycle(cluster.now);
    if case.has("admissionError") {
        cluster.refuse();
    } else {
        cluster.perform(&effects);
    }
    cluster.engine.check_invariants();
    same_workloads(wanted_workloads(case), &cluster)?;
    same(case.raw("wantAssignments"), &assignments(&cluster), "assignments")?;
    same_left(case, &cluster)?;
    same_events(case, &effects, !case.has("eventCmpOpts"))?;
    same_counts(case, &cluster)
}

/// Recordings come in two variants of how a status was written; the one that can remove a field tells the truth.
pub(in crate::packages) fn writes_as_we_do(case: &Case) -> Result<bool, Failure> {
    Ok(case.gates()?.enabled(Gate::WorkloadRequestUseMergePatch))
}

pub(super) fn fair_sharing(case: &Case) -> Option<FairSharing> {
    (case.raw("enableFairSharing") == true).then(FairSharing::default)
}

pub(super) fn wanted_workloads(case: &Case) -> &Value {
    let names = ["wantWorkloadUseMergePatch", "wantWorkloads"];
    let computed = names.iter().find_map(|name| case.expected(name));
    let told = || names.iter().map(|name| case.raw(name)).find(|value| !value.is_null());
    computed.or_else(told).unwrap_or(&Value::Null)
}

/// The objects as the API shows them, conditions in one order.
pub(super) fn same_workloads(expected: &Value, cluster: &Cluster) -> Result<(), Failure> {
    let mut wanted = Vec::new();
    for object in expected.as_array().into_iter().flatten() {
        wanted.push(read::<Workload>(object)?);
    }
    wanted.sort_by(|a, b| (&a.metadata.namespace, &a.metadata.name).cmp(&(&b.metadata.namespace, &b.metadata.name)));
    let rules = Rules::equate_empty().ignoring(&["resourceVersion", "creationTimestamp"]);
    let wanted: Vec<Value> = wanted.iter().map(shown).collect();
    let actual: Vec<Value> = cluster.workloads.values().map(shown).collect();
    rules.same(&json!({"workloads": wanted}), &json!({"workloads": actual}))
}

fn shown(workload: &Workload) -> Value {
    let mut workload = workload.clone();
    workload.status.conditions.sort_by(|a, b| a.r#type.cmp(&b.r#type));
    for check in &mut workload.status.admission_checks {
        check.last_transition_time = Time::default();
    }
    json!(workload)
}

pub(in crate::packages) fn same(expected: &Value, actual: &Value, what: &str) -> Result<(), Failure> {
    Rules::equate_empty().same(&json!({what: expected}), &json!({what: actual}))
}

/// The admission of everybody who holds quota.
pub(super) fn assignments(cluster: &Cluster) -> Value {
    let mut assignments = Map::new();
    for queue in cluster.engine.queue_names() {
        for key in cluster.engine.reserving(queue) {
            let object = &cluster.workloads[&key.to_string()];
            assignments.insert(key.to_string(), json!(object.status.admission));
        }
    }
    Value::Object(assignments)
}

pub(super) fn same_left(case: &Case, cluster: &Cluster) -> Result<(), Failure> {
    same(&sorted(case.raw("wantLeft")), &left(cluster, |pending| pending.active), "left")?;
    same(&sorted(case.raw("wantInadmissibleLeft")), &left(cluster, |pending| pending.parked), "inadmissible")
}

fn left(cluster: &Cluster, of: fn(kueue_engine::PendingView) -> Vec<Key>) -> Value {
    let mut left = Map::new();
    for queue in cluster.engine.queue_names() {
        let mut keys: Vec<String> = of(cluster.engine.pending(queue)).iter().map(Key::to_string).collect();
        keys.sort();
        if !keys.is_empty() {
            left.insert(queue.to_string(), json!(keys));
        }
    }
    Value::Object(left)
}

fn sorted(lists: &Value) -> Value {
    let mut lists = lists.clone();
    for list in lists.as_object_mut().into_iter().flat_map(|map| map.values_mut()).filter_map(Value::as_array_mut) {
        list.sort_by_key(ToString::to_string);
    }
    lists
}

pub(in crate::packages) fn same_events(case: &Case, effects: &[Effect], with_messages: bool) -> Result<(), Failure> {
    let wanted = case.expected("wantEvents").unwrap_or_else(|| case.raw("wantEvents"));
    if wanted.as_array().is_none_or(Vec::is_empty) {
        return Ok(());
    }
    let mut actual: Vec<Value> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Event(event) => Some(json!({
                "EventType": if event.is_warning { "Warning" } else { "Normal" },
                "Key": {"Name": &*event.workload.name, "Namespace": &*event.workload.namespace},
                "Reason": event.reason.to_string(),
                "Message": event.message,
            })),
            _ => None,
        })
        .collect();
    let mut wanted = wanted.clone();
    if case.has("eventCmpOpts") {
        // Who was decided about first is not compared there.
        let key = |event: &Value| format!("{}{}{}", event["Key"], event["Reason"], event["EventType"]);
        actual.sort_by_key(key);
        wanted.as_array_mut().into_iter().for_each(|wanted| wanted.sort_by_key(key));
    }
    let rules = Rules::equate_empty().ignoring(if with_messages { &["$type"] } else { &["$type", "Message"] });
    rules.same(&json!({"events": wanted}), &json!({"events": actual}))
}

/// Metrics are compared where the case names them.
fn same_counts(case: &Case, cluster: &Cluster) -> Result<(), Failure> {
    let summary = cluster.engine.last_cycle();
    for (queue, wanted) in case.arg::<BTreeMap<String, u32>>("wantSkippedPreemptions")? {
        let skipped = summary.skipped_preemptions.get(queue.as_str()).copied().unwrap_or_default();
        equal(&(&queue, wanted), &(&queue, skipped))?;
    }
    for (queue, wanted) in case.arg::<BTreeMap<String, BTreeMap<String, u32>>>("wantPreemptionTargetRecomputations")? {
        for (result, wanted) in wanted {
            let of =
                summary.recomputations.iter().filter(|((name, came), _)| **name == *queue && came.as_str() == result);
            equal(&(&queue, &result, wanted), &(&queue, &result, of.map(|(_, count)| *count).sum()))?;
        }
    }
    Ok(())
}
