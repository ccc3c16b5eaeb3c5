//! Whether what starts may start: its Workload is admitted, and all of it starts together.

use serde_json::Value;

use super::{Workloads, is_true};

const GATE: &str = "kueue.x-k8s.io/admission";
const GROUP: &str = "kueue.x-k8s.io/pod-group-name";

/// Why a Job should not have been started.
pub fn job(old: Option<&Value>, new: Option<&Value>, workloads: &Workloads) -> Option<String> {
    let new = new?;
    let was_stopped = old.is_none_or(|old| old["spec"]["suspend"] == true);
    if !was_stopped || new["spec"]["suspend"] == true {
        return None;
    }
    let name = &new["metadata"]["name"];
    let admitted = owned_by(new, workloads).find(|workload| is_admitted(workload));
    let Some(workload) = admitted else { return Some(format!("Job {name} runs, and no Workload of it is admitted")) };
    let sets = workload["status"]["admission"]["podSetAssignments"].as_array().into_iter().flatten();
    let count: i64 = sets.filter_map(|set| set["count"].as_i64()).sum();
    let pods = new["spec"]["parallelism"].as_i64().unwrap_or(1);
    // Of one that was stopped when a part of it was done, only the others run.
    let done = new["status"]["succeeded"].as_i64().unwrap_or(0);
    let left = new["spec"]["completions"].as_i64().map_or(pods, |completions| pods.min(completions - done));
    (count != pods && count != left).then(|| format!("Job {name} runs with {pods} pods, and {count} are admitted"))
}

/// Why a pod should not have lost its gate.
pub fn pod(old: Option<&Value>, new: Option<&Value>, workloads: &Workloads) -> Option<String> {
    let (old, new) = (old?, new?);
    if !is_gated(old) || is_gated(new) {
        return None;
    }
    let name = &new["metadata"]["name"];
    let group = new["metadata"]["labels"][GROUP].as_str();
    let admitted = match group {
        Some(group) => workloads.values().find(|workload| workload["metadata"]["name"] == group),
        None => owned_by(new, workloads).next(),
    };
    (!admitted.is_some_and(is_admitted)).then(|| format!("pod {name} lost its gate, and its Workload is not admitted"))
}

pub fn is_gated(pod: &Value) -> bool {
    pod["spec"]["schedulingGates"].as_array().into_iter().flatten().any(|gate| gate["name"] == GATE)
}

fn is_admitted(workload: &Value) -> bool {
    is_true(workload, "Admitted") && is_true(workload, "QuotaReserved")
}

fn owned_by<'a>(owner: &Value, workloads: &'a Workloads) -> impl Iterator<Item = &'a Value> + use<'a> {
    let uid = owner["metadata"]["uid"].clone();
    workloads.values().filter(move |workload| {
        let owners = workload["metadata"]["ownerReferences"].as_array();
        owners.into_iter().flatten().any(|owner| owner["uid"] == uid)
    })
}
