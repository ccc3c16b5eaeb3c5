//! Pods that are forced off nodes that cannot be reached.

use kueue_api::core_v1::{Node, Pod};
use kueue_controllers::failure_recovery::{Fate, fate, is_newly_forceable};
use serde_json::{Value, json};

use super::Runners;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};
use crate::objects::{Objects, same_events};

pub const RUNNERS: Runners =
    &[("TestCreateEventFilter", created), ("TestReconciler", reconcile), ("TestUpdateEventFilter", updated)];

fn created(case: &Case) -> Result<(), Failure> {
    equal(&case.arg("wantResult")?, &is_newly_forceable(None, case.get::<Pod>("pod")?.as_ref()))
}

fn updated(case: &Case) -> Result<(), Failure> {
    let (old, new) = (case.get::<Pod>("oldPod")?, case.get::<Pod>("newPod")?);
    equal(&case.arg("wantResult")?, &is_newly_forceable(old.as_ref(), new.as_ref()))
}

fn reconcile(case: &Case) -> Result<(), Failure> {
    let mut objects = Objects::of_case(case)?;
    let pod: Pod = case.arg("testPod")?;
    let node = objects.get::<Node>("", &pod.spec.node_name)?;
    let mut left = case.raw("testPod").clone();
    match fate(&pod, node.as_ref(), objects.now) {
        Fate::Spared => equal(&false, &case.has("wantResult.RequeueAfter"))?,
        Fate::Until(at) => {
            let wait: kueue_core::duration::Duration = case.arg("wantResult.RequeueAfter")?;
            equal(&(objects.now + wait), &at)?;
        }
        Fate::Ended { status, message } => {
            // Conditions are added by type, as the server does with what is applied.
            let mut conditions = left["status"]["conditions"].as_array().cloned().unwrap_or_default();
            conditions.extend(status["conditions"].as_array().cloned().unwrap_or_default());
            left["status"]["conditions"] = json!(conditions);
            if status["phase"] != Value::Null {
                left["status"]["phase"] = status["phase"].clone();
            }
            objects.tell(&pod, true, "KueueForcefullyDeleted", &message);
        }
    }
    let rules = Rules::equate_empty().ignoring(&["resourceVersion", "deletionTimestamp"]);
    rules.same(case.raw("wantPod"), &left)?;
    same_events(case, &objects.events)
}
