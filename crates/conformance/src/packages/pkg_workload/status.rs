//! Conditions, backoff and history.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::kueue::v1beta2::{Admission, Workload, WorkloadStatus};
use kueue_api::meta::Condition;
use kueue_core::duration::Duration;
use kueue_core::gates::Gates;
use kueue_core::resource::Formatter;
use kueue_core::time::Time;
use kueue_engine::{RequeueOrder, Settings, Stage, Stamp, Status};
use kueue_translate::{status_from_engine, status_to_engine};
use serde_json::{Value, json};

use super::from_json;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};

fn stamp(case: &Case, generation: i64) -> Result<Stamp, Failure> {
    let now = case.base_time.parse().map_err(|error| Failure(format!("base time: {error}")))?;
    Ok(Stamp { now, generation, gates: case.gates()? })
}

fn status_of(case: &Case, field: &str) -> Result<Status, Failure> {
    Ok(status_to_engine(&case.arg::<Workload>(field)?.status))
}

/// The status with what was decided, as it is written.
fn written(status: &Status, mut object: WorkloadStatus) -> WorkloadStatus {
    status_from_engine(status, &Formatter::default(), Gates::default(), &mut object);
    object
}

pub(super) fn sync_admitted(case: &Case) -> Result<(), Failure> {
    let past: Option<i32> = case.get("pastAdmittedTime")?;
    let object = WorkloadStatus {
        conditions: case.arg("conditions")?,
        admission: case.get("admission")?,
        admission_checks: case.arg("checkStates")?,
        accumulated_past_execution_time_seconds: past,
        ..WorkloadStatus::default()
    };
    let mut status = status_to_engine(&object);
    let is_changed = status.sync_admitted(stamp(case, 1)?);
    equal(&case.arg::<bool>("wantChange")?, &is_changed)?;
    let got = written(&status, object);
    let want_past: Option<i32> = case.get("wantAdmittedTime")?;
    if want_past.is_some() {
        equal(&want_past, &got.accumulated_past_execution_time_seconds)?;
    }
    Rules::equate_empty()
        .ignoring(&["lastTransitionTime", "message"])
        .same(case.raw("wantConditions"), &json!(got.conditions))
}

pub(super) fn reserve(case: &Case) -> Result<(), Failure> {
    let mut workload: Workload = case.arg("args.workload")?;
    let admission =
        WorkloadStatus { admission: case.get::<Arc<Admission>>("args.admission")?, ..WorkloadStatus::default() };
    let admission = status_to_engine(&admission).admission.ok_or_else(|| Failure("no admission".to_owned()))?;
    let mut status = status_to_engine(&workload.status);
    status.reserve(admission, stamp(case, workload.metadata.generation)?);
    workload.status = written(&status, workload.status);
    equal(&case.arg::<Workload>("want")?, &workload)
}

pub(super) fn back_off(case: &Case) -> Result<(), Failure> {
    let mut status = status_of(case, "workload")?;
    let until: Time = case.arg("waitUntil")?;
    let is_changed = status.back_off(until, case.arg("incrementCount")?);
    equal(&case.arg::<bool>("wantUpdated")?, &is_changed)?;
    let requeue = status.requeue.unwrap_or_default();
    equal(&case.get::<Time>("wantRequeueAt")?, &requeue.at)?;
    equal(&case.get::<i32>("wantCount")?, &requeue.count)
}

pub(super) fn set_condition(case: &Case) -> Result<(), Failure> {
    let object: WorkloadStatus = case.arg("oldStatus")?;
    let text = |field: &str| case.arg::<String>(field);
    let new: Condition = from_json(json!({
        "type": text("condType")?,
        "status": text("condStatus")?,
        "reason": text("reason")?,
        "message": text("message")?,
        "observedGeneration": 1,
        "lastTransitionTime": case.base_time,
    }))?;
    let with_new = WorkloadStatus { conditions: vec![new], ..WorkloadStatus::default() };
    let mut status = status_to_engine(&object);
    for condition in status_to_engine(&with_new).conditions {
        status.set(condition);
    }
    let got = json!(written(&status, object));
    Rules::equate_empty().ignoring(&["lastTransitionTime"]).same(case.raw("wantStatus"), &got)
}

pub(super) fn execution_time(case: &Case) -> Result<(), Failure> {
    let got = status_of(case, "wl")?.execution_time().map(|time| time.to_string());
    equal(&case.get::<String>("want")?, &got)
}

pub(super) fn is_on_hold(case: &Case) -> Result<(), Failure> {
    equal(&case.arg::<bool>("want")?, &status_of(case, "wl")?.is_on_hold())
}

pub(super) fn retry_time(case: &Case) -> Result<(), Failure> {
    let object = WorkloadStatus { admission_checks: case.arg("checkStates")?, ..WorkloadStatus::default() };
    equal(&case.get::<Time>("wantRetryTime")?, &status_to_engine(&object).retry_at())
}

pub(super) fn order_time(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("wl")?;
    let want: BTreeMap<String, Time> = case.arg("want")?;
    let status = status_to_engine(&workload.status);
    for (ordering, second) in want {
        let requeue_order =
            if ordering.contains("\"Eviction\"") { RequeueOrder::Eviction } else { RequeueOrder::Creation };
        let settings = Settings { gates: case.gates()?, requeue_order, ..Settings::default() };
        let got = status.order_time(workload.metadata.creation_timestamp, &settings);
        equal(&(second, false), &(got.second, got.is_after))?;
    }
    Ok(())
}

pub(super) fn loses_quota(case: &Case) -> Result<(), Failure> {
    let stage = |field: &str| match case.raw(field).as_str() {
        Some("finished") => Ok(Stage::Finished),
        Some("admitted") => Ok(Stage::Admitted),
        Some("quotaReserved") => Ok(Stage::Reserved),
        Some("pending") => Ok(Stage::Pending),
        other => Err(Failure(format!("no such stage: {other:?}"))),
    };
    equal(&case.arg::<bool>("want")?, &stage("prev")?.loses_quota_as(stage("new")?))
}

pub(super) fn eviction_latency(case: &Case) -> Result<(), Failure> {
    let now: Time = case.arg("now")?;
    let got = match (case.raw("oldWl"), case.raw("newWl")) {
        (Value::Null, _) | (_, Value::Null) => None,
        _ => status_of(case, "newWl")?.release_since(&status_of(case, "oldWl")?, now),
    };
    equal(&case.arg::<bool>("wantOK")?, &got.is_some())?;
    let Some(release) = got else { return Ok(()) };
    equal(&case.arg::<String>("wantCQ")?, &release.queue.to_string())?;
    equal(&case.arg::<String>("wantReason")?, &release.reason.to_string())?;
    equal(&case.arg::<Duration>("wantLatency")?, &release.took)
}
