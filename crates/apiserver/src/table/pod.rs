//! The row of a pod: how far it is, in one word.

use jiff::Timestamp;

use super::{age, human_duration};
use crate::json::Value;

pub fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let summary = Summary::of(object);
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).unwrap_or("<none>").to_owned();
    let status = &object["status"];
    vec![
        object["metadata"]["name"].clone(),
        format!("{}/{}", summary.ready, summary.containers).into(),
        summary.word.into(),
        restarts(summary.restarts, summary.last_restart, now).into(),
        age(&object["metadata"]["creationTimestamp"], now).into(),
        text(&status["podIP"]).into(),
        text(&object["spec"]["nodeName"]).into(),
        text(&status["nominatedNodeName"]).into(),
        readiness_gates(object).into(),
    ]
}

/// What is known of a pod's containers.
#[derive(Debug, Default)]
struct Summary {
    word: String,
    ready: usize,
    containers: usize,
    restarts: i64,
    last_restart: Option<i64>,
    /// Of those, what containers did that run beside the others.
    sidecars: (i64, Option<i64>),
}

impl Summary {
    fn of(object: &Value) -> Self {
        let (spec, status) = (&object["spec"], &object["status"]);
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut found = Self { containers: list(&spec["containers"]).len(), ..Self::default() };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        found.word = text(&status["phase"]);
        if !text(&status["reason"]).is_empty() {
            found.word = text(&status["reason"]);
        }
        let conditions = list(&status["conditions"]);
        let is_gated =
            |condition: &Value| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated";
        if conditions.iter().any(is_gated) {
            found.word = "SchedulingGated".into();
        }
        let is_initializing = found.look_at_init(spec, &list(&status["initContainerStatuses"]));
        if !is_initializing || is_true(&conditions, "Initialized") {
            found.look_at_containers(&list(&status["containerStatuses"]), &conditions);
        }
        if object["metadata"].get("deletionTimestamp").is_some() {
            let is_lost = status["reason"] == "NodeLost";
            let is_over = ["Succeeded", "Failed"].contains(&text(&status["phase"]).as_str());
            if is_lost {
                found.word = "Unknown".into();
            } else if !is_over {
                found.word = "Terminating".into();
            }
        }
        found
    }

    /// Tells whether an init container is still to be waited for.
    fn look_at_init(&mut self, spec: &Value, statuses: &[Value]) -> bool {
        let declared = spec["initContainers"].as_array().map(Vec::as_slice).unwrap_or_default();
        let restartable: Vec<&Value> =
            declared.iter().filter(|one| one["restartPolicy"] == "Always").map(|one| &one["name"]).collect();
        self.containers += restartable.len();
        for (index, status) in statuses.iter().enumerate() {
            let before = (self.restarts, self.last_restart);
            self.count_restarts(status);
            let is_restartable = restartable.contains(&&status["name"]);
            if is_restartable {
                let (count, last) = self.sidecars;
                self.sidecars = (count + self.restarts - before.0, last.max(last_end(status)));
            }
            let state = &status["state"];
            let ended = &state["terminated"];
            if ended.is_object() && ended["exitCode"] == 0 {
                continue;
            }
            if is_restartable && status["started"] == true {
                self.ready += usize::from(status["ready"] == true);
                continue;
            }
            self.word = match (ended.is_object(), state["waiting"]["reason"].as_str()) {
                (true, _) => format!("Init:{}", ending(ended)),
                (false, Some(reason)) if !reason.is_empty() && reason != "PodInitializing" => format!("Init:{reason}"),
                _ => format!("Init:{index}/{}", declared.len()),
            };
            return true;
        }
        false
    }

    fn look_at_containers(&mut self, statuses: &[Value], conditions: &[Value]) {
        // Containers that ran before the others no longer matter.
        (self.restarts, self.last_restart) = self.sidecars;
        let mut is_running = false;
        let mut failure = String::new();
        for status in statuses.iter().rev() {
            self.count_restarts(status);
            let state = &status["state"];
            let waits = state["waiting"]["reason"].as_str().filter(|reason| !reason.is_empty());
            if let Some(reason) = waits {
                self.word = reason.to_owned();
            } else if state["terminated"].is_object() {
                self.word = ending(&state["terminated"]);
                if state["terminated"]["exitCode"].as_i64().unwrap_or_default() != 0 {
                    failure = self.word.clone();
                }
            } else if status["ready"] == true && state["running"].is_object() {
                is_running = true;
                self.ready += 1;
            }
        }
        if self.word == "Completed" {
            if is_running && is_true(conditions, "Ready") {
                self.word = "Running".into();
            } else if !failure.is_empty() {
                self.word = failure;
            } else if is_running {
                self.word = "NotReady".into();
            }
        }
    }

    fn count_restarts(&mut self, status: &Value) {
        self.restarts += status["restartCount"].as_i64().unwrap_or_default();
        self.last_restart = self.last_restart.max(last_end(status));
    }
}

/// When a container ended before it was started again.
fn last_end(status: &Value) -> Option<i64> {
    let ended = &status["lastState"]["terminated"]["finishedAt"];
    ended.as_str().and_then(|text| text.parse::<Timestamp>().ok()).map(Timestamp::as_second)
}

/// Why a container ended, in one word.
fn ending(state: &Value) -> String {
    let number = |name: &str| state[name].as_i64().unwrap_or_default();
    match state["reason"].as_str().filter(|reason| !reason.is_empty()) {
        Some(reason) => reason.to_owned(),
        None if number("signal") != 0 => format!("Signal:{}", number("signal")),
        None => format!("ExitCode:{}", number("exitCode")),
    }
}

fn is_true(conditions: &[Value], kind: &str) -> bool {
    conditions.iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn restarts(count: i64, last: Option<i64>, now: Timestamp) -> String {
    match last.filter(|_| count != 0) {
        Some(second) => format!("{count} ({} ago)", human_duration(now.as_second() - second)),
        None => count.to_string(),
    }
}

fn readiness_gates(object: &Value) -> String {
    let gates = object["spec"]["readinessGates"].as_array().map(Vec::as_slice).unwrap_or_default();
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let is_open = |gate: &&Value| is_true(&conditions, gate["conditionType"].as_str().unwrap_or_default());
    format!("{}/{}", gates.iter().filter(is_open).count(), gates.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    fn word(status: &Value) -> String {
        Summary::of(&json!({"metadata": {}, "spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}]}, "status": status})).word
    }

    #[test]
    fn one_word_says_how_far_a_pod_is() {
        let gated = json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]);
        let cases = [
            (json!({"phase": "Pending"}), "Pending"),
            (json!({"phase": "Pending", "conditions": gated}), "SchedulingGated"),
            (
                json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"running": {}}}]}),
                "Init:0/1",
            ),
            (
                json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 2}}}]}),
                "Init:ExitCode:2",
            ),
            (
                json!({"phase": "Running", "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}),
                "CrashLoopBackOff",
            ),
            (
                json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 1, "signal": 9}}}]}),
                "Signal:9",
            ),
            (json!({"phase": "Failed", "reason": "Evicted"}), "Evicted"),
        ];
        for (status, wanted) in cases {
            assert_eq!(word(&status), wanted, "{status}");
        }
    }

    #[test]
    fn restarts_tell_when() {
        let now = Timestamp::from_second(1000).unwrap();
        assert_eq!(restarts(0, None, now), "0");
        assert_eq!(restarts(3, Some(700), now), "3 (5m ago)");
    }
}
