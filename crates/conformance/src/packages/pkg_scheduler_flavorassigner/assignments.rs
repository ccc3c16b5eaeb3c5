//! The assigner with an oracle that answers from the case.

use std::collections::{BTreeMap, BTreeSet};

use kueue_core::gates::Gate;
use kueue_core::quantity::Quantity;
use kueue_core::resource::{Formatter, base_units};
use kueue_engine::{AssignmentView, AttemptView, FairSharing, Mode, Oracle, Outlook, PodSetAssignmentView};
use serde_json::{Map, Value, json};

use crate::cluster::{Cluster, key_of};
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure, decode};

/// Compares the whole assignment, with all attempts.
pub(super) fn whole(case: &Case) -> Result<(), Failure> {
    let view = assign(case)?;
    let is_observed = case.gates()?.enabled(Gate::UnadmittedWorkloadsObservability);
    let wanted = case.raw("wantAssignment");
    equal(&mode_of(case.raw("wantRepMode")), &view.mode)?;
    Rules::equate_empty().same(&wanted_assignment(wanted, is_observed)?, &shown(&view, is_observed))?;
    for (wanted, pod_set) in list(&wanted["PodSets"]).zip(&view.pod_sets) {
        same_attempts(&wanted["FlavorAssignmentAttempts"], pod_set, is_observed)?;
    }
    Ok(())
}

/// Compares the mode, and the flavor of each resource.
pub(super) fn flavors_only(case: &Case) -> Result<(), Failure> {
    let view = assign(case)?;
    equal(&mode_of(case.raw("wantMode")), &view.mode)?;
    let flavors: BTreeMap<String, String> = view
        .pod_sets
        .iter()
        .flat_map(|pod_set| &pod_set.flavors)
        .map(|chosen| (chosen.resource.to_string(), chosen.flavor.to_string()))
        .collect();
    equal(&case.arg::<BTreeMap<String, String>>("wantAssigment")?, &flavors)
}

/// Compares why nothing fits, and why the named flavors do not.
pub(super) fn obstacles(case: &Case) -> Result<(), Failure> {
    let view = assign(case)?;
    equal(&case.arg::<String>("wantNoFitReason")?.as_str(), &view.obstacle.unwrap_or_default())?;
    let attempts: Vec<&AttemptView> = view.pod_sets.iter().flat_map(|pod_set| &pod_set.attempts).collect();
    for (flavor, wanted) in case.arg::<BTreeMap<String, String>>("wantFlavorAttempts")? {
        if let Some(attempt) = attempts.iter().find(|attempt| *attempt.flavor == *flavor) {
            equal(&(flavor.as_str(), wanted.as_str()), &(flavor.as_str(), attempt.obstacle.unwrap_or_default()))?;
        }
    }
    Ok(())
}

pub(super) fn assign(case: &Case) -> Result<AssignmentView, Failure> {
    let fair_sharing = (case.raw("enableFairSharing") == true).then(FairSharing::default);
    let mut cluster = Cluster::for_case(case, fair_sharing)?;
    cluster.replay(&case.trace)?;
    let queues = ["clusterQueue", "cq"].into_iter().map(|name| case.raw(name));
    let queue = queues
        .chain([case.local("testCq"), case.scope("cq")])
        .find_map(|queue| queue["metadata"]["name"].as_str())
        .or_else(|| queue_of_trace(&case.trace))
        .ok_or_else(|| Failure("no queue is asked about".to_owned()))?;
    let mut workload = case.local("wlInfo")["Obj"].clone();
    let old = if case.has("preemptWorkloadSlice") { case.raw("preemptWorkloadSlice") } else { case.raw("replaceWl") };
    if !old.is_null() {
        let namespace = workload["metadata"]["namespace"].as_str().unwrap_or_default();
        cluster.add(&old_slice(old, namespace, queue))?;
        workload["metadata"]["annotations"] =
            json!({"kueue.x-k8s.io/workload-slice-replacement-for": format!("{namespace}/old-slice")});
    }
    cluster.add(&workload)?;
    let answers: BTreeMap<String, Value> = case.arg("simulationResult")?;
    let answer = |flavor: &str, resource: &str| match answers.get(&format!("{flavor}/{resource}")) {
        Some(told) => {
            let borrow = told["borrowingAfterSimulation"].as_u64().and_then(|height| u32::try_from(height).ok());
            (outlook(&told["preemptionPossiblity"]), borrow.unwrap_or_default())
        }
        None => (Outlook::Preempt, 0),
    };
    let view = cluster.engine.would_assign(&key_of(&workload)?, queue, Oracle::Told(&answer));
    view.ok_or_else(|| Failure("the engine does not know the workload".to_owned()))
}

/// The first queue that the recorded calls tell of.
fn queue_of_trace(trace: &Value) -> Option<&str> {
    let mut added = list(trace).filter(|call| call["op"] == "cache.AddClusterQueue");
    added.find_map(|call| call["args"][0]["metadata"]["name"].as_str())
}

/// The slice that is replaced, which the case knows by what it holds.
pub(super) fn old_slice(info: &Value, namespace: &str, queue: &str) -> Value {
    // A hand-written one may leave the count out.
    let count = |total: &Value| total["Count"].as_i64().unwrap_or(1);
    let pod_sets = list(&info["TotalRequests"]).map(|total| json!({"name": total["Name"], "count": count(total)}));
    let assigned = list(&info["TotalRequests"]).map(|total| {
        let usage: Map<String, Value> = total["Requests"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(resource, amount)| {
                let quantity = Formatter::default().quantity(resource, amount.as_i64().unwrap_or_default());
                (resource.clone(), json!(quantity))
            })
            .collect();
        json!({"name": total["Name"], "count": count(total), "flavors": total["Flavors"], "resourceUsage": usage})
    });
    json!({
        "kind": "Workload",
        "metadata": {"name": "old-slice", "namespace": namespace},
        "spec": {"podSets": pod_sets.collect::<Vec<_>>()},
        "status": {
            "admission": {"clusterQueue": queue, "podSetAssignments": assigned.collect::<Vec<_>>()},
            "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "Told", "message": "",
                            "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        },
    })
}

pub(super) fn outlook(told: &Value) -> Outlook {
    match told.as_str() {
        Some("Reclaim") => Outlook::Reclaim,
        Some("Preempt") => Outlook::Preempt,
        _ => Outlook::NoCandidates,
    }
}

fn mode_of(told: &Value) -> Mode {
    match told.as_str() {
        Some("Fit") => Mode::Fit,
        Some("DeferredFit") => Mode::DeferredFit,
        Some("Preempt") => Mode::Preempt,
        _ => Mode::NoFit,
    }
}

fn wanted_assignment(wanted: &Value, is_observed: bool) -> Result<Value, Failure> {
    let mut pod_sets = Vec::new();
    for pod_set in list(&wanted["PodSets"]) {
        let requests: BTreeMap<String, Quantity> = decode("requests", &pod_set["Requests"])?.unwrap_or_default();
        let requests: BTreeMap<&String, i64> =
            requests.iter().map(|(resource, quantity)| (resource, base_units(resource, quantity))).collect();
        let flavors: Map<String, Value> = pod_set["Flavors"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(resource, chosen)| {
                let tried = chosen["TriedFlavorIdx"].as_i64().unwrap_or_default();
                (resource.clone(), json!([chosen["Name"], format!("{:?}", mode_of(&chosen["Mode"])), tried]))
            })
            .collect();
        let reasons: BTreeSet<&str> = list(&pod_set["Status"]["reasons"]).filter_map(Value::as_str).collect();
        let count = pod_set["Count"].as_i64().unwrap_or_default();
        pod_sets.push(json!({
            "name": pod_set["Name"], "count": count, "requests": requests, "flavors": flavors, "reasons": reasons,
        }));
    }
    let obstacle = wanted["NoFitReason"].as_str().filter(|_| is_observed);
    Ok(json!({
        "podSets": pod_sets,
        "usage": wanted["Usage"]["Quota"]["Assigned"],
        "borrowing": wanted["Borrowing"].as_u64().unwrap_or_default(),
        "obstacle": obstacle,
    }))
}

fn shown(view: &AssignmentView, is_observed: bool) -> Value {
    let pod_sets = view.pod_sets.iter().map(|pod_set| {
        let requests: BTreeMap<&str, i64> =
            pod_set.requests.iter().map(|(resource, amount)| (&**resource, *amount)).collect();
        let flavors: Map<String, Value> = pod_set
            .flavors
            .iter()
            .map(|chosen| {
                (chosen.resource.to_string(), json!([&*chosen.flavor, format!("{:?}", chosen.mode), chosen.tried]))
            })
            .collect();
        let reasons: BTreeSet<&String> = pod_set.reasons.iter().collect();
        json!({
            "name": &*pod_set.name, "count": pod_set.count, "requests": requests, "flavors": flavors, "reasons": reasons,
        })
    });
    let usage: Map<String, Value> = view
        .usage
        .iter()
        .map(|(flavor, resource, amount)| (format!("{flavor}/{resource}"), json!(amount.get())))
        .collect();
    json!({
        "podSets": pod_sets.collect::<Vec<_>>(),
        "usage": usage,
        "borrowing": view.borrowing,
        "obstacle": view.obstacle.filter(|_| is_observed),
    })
}

/// Which flavors are looked at before one fits depends on the order of resources, so then only those that were
/// looked at are compared; otherwise all that are wanted.
fn same_attempts(wanted: &Value, pod_set: &PodSetAssignmentView, is_observed: bool) -> Result<(), Failure> {
    let wanted: BTreeMap<&str, Value> = list(wanted)
        .map(|attempt| (attempt["Flavor"].as_str().unwrap_or_default(), wanted_attempt(attempt, is_observed)))
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let found: BTreeMap<&str, Value> =
        pod_set.attempts.iter().map(|attempt| (&*attempt.flavor, shown_attempt(attempt, is_observed))).collect();
    let has_fit = pod_set.attempts.iter().any(|attempt| attempt.mode == Mode::Fit);
    let names: Vec<&&str> = if has_fit { found.keys().collect() } else { wanted.keys().collect() };
    for name in names {
        let (Some(wanted), Some(found)) = (wanted.get(*name), found.get(*name)) else {
            return Err(Failure(format!(
                "attempt {name}: expected {:?}, got {:?}",
                wanted.get(*name),
                found.get(*name)
            )));
        };
        let mut reasons = list(&wanted["reasons"]).filter_map(Value::as_str).peekable();
        let is_only_unprovided =
            reasons.peek().is_some() && reasons.all(|reason| reason.contains("does not provide resource"));
        if wanted["mode"] == "NoFit" && is_only_unprovided && found["mode"] == "Fit" {
            continue;
        }
        Rules::equate_empty().same(&json!({*name: wanted}), &json!({*name: found}))?;
    }
    Ok(())
}

fn wanted_attempt(attempt: &Value, is_observed: bool) -> Value {
    let reasons: BTreeSet<&str> = list(&attempt["Reasons"]).filter_map(Value::as_str).collect();
    json!({
        "mode": format!("{:?}", mode_of(&attempt["Mode"])),
        "preemption": attempt["PreemptionPossibility"],
        "borrow": attempt["Borrow"].as_u64().unwrap_or_default(),
        "reasons": reasons,
        "obstacle": attempt["NoFitReason"].as_str().filter(|_| is_observed),
    })
}

fn shown_attempt(attempt: &AttemptView, is_observed: bool) -> Value {
    let reasons: BTreeSet<&String> = attempt.reasons.iter().collect();
    json!({
        "mode": format!("{:?}", attempt.mode),
        "preemption": attempt.preemption.map(|outlook| format!("{outlook:?}")),
        "borrow": attempt.borrow,
        "reasons": reasons,
        "obstacle": attempt.obstacle.filter(|_| is_observed),
    })
}

pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
