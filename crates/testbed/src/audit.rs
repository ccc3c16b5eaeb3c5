//! What a real API server was asked, by whom, and what it answered: its audit log.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::control::PlaneInfo;
use crate::manager::{ACCOUNT, NAMESPACE};
use crate::problem::{Problem, Result};

/// What is written down: every request of our manager, and all that changes what it works with, whoever does it, with the
/// object that came of it.
pub(crate) fn policy() -> String {
    let changes = json!(["create", "update", "patch", "delete", "deletecollection"]);
    let kinds = json!([
        {"group": "kueue.x-k8s.io"},
        {"group": "batch", "resources": ["jobs", "jobs/status"]},
        {"group": "", "resources": ["pods", "pods/status", "pods/binding"]},
        {"group": "coordination.k8s.io", "resources": ["leases"]},
    ]);
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted"],
        "omitManagedFields": true,
        "rules": [
            {"level": "RequestResponse", "verbs": changes, "resources": kinds},
            {"level": "Metadata", "users": [account()]},
            {"level": "None"},
        ],
    })
    .to_string()
}

/// How API servers call our manager.
fn account() -> String {
    format!("system:serviceaccount:{NAMESPACE}:{ACCOUNT}")
}

/// The log of one control plane.
pub(crate) fn file(logs: &Path) -> PathBuf {
    logs.join("audit.log")
}

/// All that was written down, in the order in which it was answered.
pub fn events(plane: &PlaneInfo) -> Result<Vec<Value>> {
    let path = file(&plane.logs);
    let log = File::open(&path).map_err(|error| Problem::file("open", &path, &error))?;
    // Whoever is killed while writing leaves half a line.
    Ok(BufReader::new(log).lines().map_while(|line| serde_json::from_str(&line.ok()?).ok()).collect())
}

/// Whether our manager asked.
pub fn is_ours(event: &Value) -> bool {
    event["user"]["username"] == account().as_str()
}

/// What our manager asked for and has no right to, each once: `VERB RESOURCE`. Others may say no with the same code, as
/// those do who guard a namespace that ends.
pub fn forbidden<'a>(events: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let is_denied = |event: &Value| event["annotations"]["authorization.k8s.io/decision"] == "forbid";
    let denied = events.into_iter().filter(|event| is_ours(event) && is_denied(event));
    let mut told: Vec<String> = denied.map(request).collect();
    told.sort_unstable();
    told.dedup();
    told
}

fn request(event: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let object = &event["objectRef"];
    let parts = [&object["apiGroup"], &object["resource"], &object["subresource"]].map(text);
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{} {}", text(&event["verb"]), parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_manager_may_not_do_is_told_once() {
        let event = |user: &str, verb: &str, decision: &str| {
            json!({"user": {"username": user}, "verb": verb, "annotations": {"authorization.k8s.io/decision": decision},
                "objectRef": {"apiGroup": "batch", "resource": "jobs", "subresource": "status"}})
        };
        let (ours, other) = ("system:serviceaccount:kueue-system:kueue-controller-manager", "other");
        let events = [
            event(ours, "patch", "forbid"),
            event(ours, "patch", "forbid"),
            event(ours, "update", "allow"),
            event(other, "delete", "forbid"),
        ];
        assert_eq!(forbidden(&events), ["patch batch/jobs/status"]);
    }
}
