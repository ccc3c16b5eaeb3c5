//! Whether queues may admit, and who refers to what.

use serde_json::{Value, json};

use crate::compare::equal;
use crate::corpus::{Case, Failure};
use crate::trace::Replay;

pub(super) fn of_queue(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let readiness = replay.cluster.engine.readiness(&case.arg::<String>("clusterQueueName")?);
    equal(&(case.arg::<String>("wantStatus")? == "True"), &readiness.is_active)?;
    equal(&case.arg("wantActive")?, &readiness.is_active)?;
    equal(&case.arg("wantTerminating")?, &(readiness.reason == "Terminating"))?;
    reason_and_message(case, &readiness)
}

pub(super) fn with_topologies(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    reason_and_message(case, &replay.cluster.engine.readiness(&case.arg::<String>("cq.metadata.name")?))
}

fn reason_and_message(case: &Case, readiness: &kueue_engine::Readiness) -> Result<(), Failure> {
    equal(&case.arg::<String>("wantReason")?, &readiness.reason.to_owned())?;
    equal(&case.arg::<String>("wantMessage")?, &readiness.message.to_string())
}

pub(super) fn with_checks(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    for (name, check) in case.raw("admissionChecks").as_object().into_iter().flatten() {
        let status = if check["Active"] == true { "True" } else { "False" };
        replay.add(&json!({
            "kind": "AdmissionCheck",
            "metadata": {"name": name},
            "spec": {"controllerName": check["Controller"].as_str().unwrap_or_default()},
            "status": {"conditions": [{"type": "Active", "status": status, "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        }))?;
    }
    add_queue(&mut replay, case.raw("cq"), case.raw("cqStatus"))?;
    let readiness = replay.cluster.engine.readiness(&case.arg::<String>("cq.metadata.name")?);
    equal(&case.arg::<String>("wantStatus")?, &status(&readiness))?;
    reason_and_message(case, &readiness)
}

pub(super) fn with_flavors(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    for flavor in case.raw("flavors").as_object().into_iter().flat_map(|flavors| flavors.values()) {
        replay.add(flavor)?;
    }
    add_queue(&mut replay, case.scope("cq"), case.raw("curStatus"))?;
    let name = case.scope("cq")["metadata"]["name"].as_str().unwrap_or_default();
    equal(&case.arg::<String>("wantStatus")?, &status(&replay.cluster.engine.readiness(name)))
}

/// A queue that is being deleted stays so; any other status follows from what is there.
fn add_queue(replay: &mut Replay, queue: &Value, status: &Value) -> Result<(), Failure> {
    replay.add(queue)?;
    if status == "terminating" {
        replay.call("cache.TerminateClusterQueue", &json!([queue["metadata"]["name"]]))?;
    }
    Ok(())
}

fn status(readiness: &kueue_engine::Readiness) -> String {
    match (readiness.is_active, readiness.reason) {
        (true, _) => "active",
        (false, "Terminating") => "terminating",
        (false, _) => "pending",
    }
    .to_owned()
}

pub(super) fn queues_with_flavor(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let flavor = case.scope("x86Rf")["metadata"]["name"].as_str().unwrap_or_default();
    same_names(case, "wantInUseClusterQueueNames", &replay.cluster.engine.queues_with_flavor(flavor))
}

pub(super) fn queues_with_check(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let check: String = case.arg("check")?;
    same_names(case, "wantInUseClusterQueueNames", &replay.cluster.engine.queues_with_check(&check))
}

pub(super) fn queues_with_resource(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let resources: Vec<String> = case.arg("resourceNames")?;
    let resources: Vec<kueue_engine::Name> = resources.iter().map(|name| name.as_str().into()).collect();
    same_names(case, "wantCQNames", &replay.cluster.engine.queues_with_resource(&resources))
}

fn same_names(case: &Case, field: &str, found: &[kueue_engine::Name]) -> Result<(), Failure> {
    let mut wanted: Vec<String> = case.arg(field)?;
    wanted.sort();
    equal(&wanted, &found.iter().map(ToString::to_string).collect())
}
