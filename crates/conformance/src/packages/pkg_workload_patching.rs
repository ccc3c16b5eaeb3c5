//! What is written into a Workload's status, and what becomes of it when somebody else was faster.

use kueue_api::kueue::v1beta2::{AdmissionCheckState, Workload};
use kueue_api::meta::Condition;
use kueue_controllers::check_states;
use kueue_core::time::Time;
use kueue_translate::{admission_patch, condition_patch};
use serde_json::{Value, json};

use super::Runners;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners =
    &[("TestPatchAdmissionStatus", admission), ("TestPatchStatus", condition), ("TestSetCheckState", check_state)];

/// The version that somebody else wrote.
const NEWER: &str = "3";

/// What is decided: conditions that are not ours to decide are not sent.
fn admission(case: &Case) -> Result<(), Failure> {
    written(case, |workload, _| admission_patch(workload))
}

/// A condition with a manager of its own.
fn condition(case: &Case) -> Result<(), Failure> {
    written(case, condition_patch)
}

/// The rows are code; what they expect tells what they do: set the condition, set none, find a newer version or no
/// Workload at all.
fn written(case: &Case, body: fn(&Workload, &Condition) -> Value) -> Result<(), Failure> {
    let mut read: Workload = case.arg("args.wl")?;
    let wanted: Workload = case.arg("want.wl")?;
    let refusal = case.raw("want.err.status.reason").as_str().unwrap_or_default();
    let mut condition: Condition = decode("condition", case.scope("baseCond"))?.unwrap_or_default();
    let mut stored = json!(read);
    if case.arg::<bool>("conflict")? {
        stored["metadata"]["resourceVersion"] = json!(NEWER);
    }
    let mut server = (refusal != "NotFound").then_some(stored);
    if wanted.status.conditions.is_empty() && refusal.is_empty() {
        if condition.r#type != "QuotaReserved" {
            // Nothing was changed, and nothing else would keep the condition from being written.
            return Ok(());
        }
        "NotOurs".clone_into(&mut condition.r#type);
    }
    // Who lost against somebody else reads again, and decides again, where the row does so.
    let attempts = if case.has("args.opts") { 2 } else { 1 };
    let mut outcome = Ok(());
    for _ in 0..attempts {
        let mut edited = read.clone();
        edited.status.conditions = vec![condition.clone()];
        outcome = apply(server.as_mut(), &body(&edited, &condition));
        if outcome.is_err() && server.is_some() {
            NEWER.clone_into(&mut read.metadata.resource_version);
        }
    }
    equal(&refusal, &outcome.err().unwrap_or_default())?;
    let left = server.unwrap_or_else(|| json!(wanted));
    Rules::equate_empty().ignoring(&["resourceVersion", "labels"]).same(&json!(wanted), &left)
}

/// What an API server does with an apply: a version that is named must be the one that is stored.
fn apply(stored: Option<&mut Value>, body: &Value) -> Result<(), &'static str> {
    let stored = stored.ok_or("NotFound")?;
    let named = &body["metadata"]["resourceVersion"];
    if !named.is_null() && *named != stored["metadata"]["resourceVersion"] {
        return Err("Conflict");
    }
    for condition in body["status"]["conditions"].as_array().into_iter().flatten() {
        stored["status"]["conditions"] = json!([condition]);
    }
    Ok(())
}

/// The state of one check among those of others.
fn check_state(case: &Case) -> Result<(), Failure> {
    let mut states: Vec<AdmissionCheckState> = case.arg("origStates")?;
    let new: AdmissionCheckState = case.arg("state")?;
    // Where no time is given it is the clock's, which the row does not tell.
    let has_time = case.has("state.lastTransitionTime");
    check_states::set(&mut states, new, Time::default());
    let ignored: &[&str] = if has_time { &[] } else { &["lastTransitionTime"] };
    let wanted: Vec<AdmissionCheckState> = case.arg("wantStates")?;
    Rules::equate_empty().ignoring(ignored).same(&json!(wanted), &json!(states))
}
