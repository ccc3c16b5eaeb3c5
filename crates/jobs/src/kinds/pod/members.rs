//! Which pods of a group stay, which are too many, and which were replaced.

use std::cmp::Reverse;
use std::sync::Arc;

use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::meta::ConditionStatus;
use kueue_core::time::Time;

use super::Pod;

/// The pods of a group, sorted out by the pod sets of its Workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sorted {
    /// Those that count.
    pub kept: Vec<Arc<Pod>>,
    /// More than the Workload has room for: the newest, preferably such as do not run yet.
    pub excess: Vec<Arc<Pod>>,
    /// Pods that are lost and have successors.
    pub replaced: Vec<Arc<Pod>>,
    /// How many pods are missing.
    pub absent: usize,
}

/// Those that run, may run or ran to their end; and the others.
pub fn partition(pods: &[Arc<Pod>]) -> (Vec<Arc<Pod>>, Vec<Arc<Pod>>) {
    pods.iter().cloned().partition(|pod| pod.is_runnable_or_succeeded())
}

/// Sorts the pods of a group out. In one that need not be complete, a role is missing only when nobody has it.
pub fn sort_out(pods: &[Arc<Pod>], pod_sets: &[PodSet], is_fast: bool, now: Time) -> Sorted {
    let mut sorted = Sorted::default();
    let roles: Vec<(String, &Arc<Pod>)> = pods.iter().map(|pod| (pod.role(), pod)).collect();
    for pod_set in pod_sets {
        let of_role = roles.iter().filter(|(role, _)| *role == pod_set.name);
        let of_role: Vec<Arc<Pod>> = of_role.map(|(_, pod)| Arc::clone(pod)).collect();
        let (mut active, mut inactive) = partition(&of_role);
        let count = usize::try_from(pod_set.count).unwrap_or(0);
        sorted.absent += match is_fast {
            true => usize::from(count > 0 && active.is_empty()),
            false => count.saturating_sub(active.len()),
        };
        let replaced = (inactive.len() + active.len()).saturating_sub(count).min(inactive.len());
        sorted.excess.extend(newest(&mut active, count));
        sort_inactive(&mut inactive, now);
        sorted.kept.extend(active);
        sorted.replaced.extend(inactive.split_off(inactive.len() - replaced));
        sorted.kept.extend(inactive);
    }
    sorted
}

/// Takes away what is over the count: those first that others know least of, that wait, that are new.
pub fn newest(active: &mut Vec<Arc<Pod>>, count: usize) -> Vec<Arc<Pod>> {
    if active.len() <= count {
        return Vec::new();
    }
    active.sort_by_key(|pod| (!pod.has_finalizer(), pod.is_gated(), pod.metadata.creation_timestamp));
    active.split_off(count)
}

/// The ones to let go last come first: such as have our finalizer, and were lost last.
fn sort_inactive(inactive: &mut [Arc<Pod>], now: Time) {
    inactive.sort_by_key(|pod| (!pod.has_finalizer(), Reverse(last_active(pod, now)), pod.metadata.creation_timestamp));
}

/// When a pod was seen to be alive last: before it failed, or before it was deleted.
fn last_active(pod: &Pod, now: Time) -> Time {
    let containers = pod.status.conditions.iter().find(|condition| condition.r#type == "ContainersReady");
    let failed = containers.filter(|ready| ready.status == ConditionStatus::False && ready.reason == "Failed");
    let failed = failed.map_or(now, |failed| failed.last_transition_time);
    failed.min(pod.metadata.deletion_timestamp.unwrap_or(now))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Pods as `name[:role] [words]`: a role, `gated`, `failed`, `bare` without our finalizer, and when it was created.
    fn pods(text: &str) -> Vec<Arc<Pod>> {
        text.split(", ").map(|line| Arc::new(pod(line))).collect()
    }

    fn pod(line: &str) -> Pod {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap();
        let words: Vec<&str> = words.collect();
        let has = |word: &str| words.contains(&word);
        let age = words.iter().find_map(|word| word.strip_prefix('@')).unwrap_or("0");
        let gates = if has("gated") { json!([{"name": "kueue.x-k8s.io/admission"}]) } else { json!([]) };
        let finalizers = if has("bare") { json!([]) } else { json!(["kueue.x-k8s.io/managed"]) };
        let role = words.iter().find_map(|word| word.strip_prefix("role=")).unwrap_or("r");
        let phase = if has("failed") { "Failed" } else { "Running" };
        let lost = words.iter().find_map(|word| word.strip_prefix("lost@"));
        let conditions: Vec<Value> = lost
            .iter()
            .map(|at| {
                json!({"type": "ContainersReady", "status": "False", "reason": "Failed",
                "lastTransitionTime": format!("2026-01-01T00:00:0{at}Z")})
            })
            .collect();
        serde_json::from_value(json!({
            "metadata": {"name": name, "finalizers": finalizers, "annotations": {"kueue.x-k8s.io/role-hash": role},
                "creationTimestamp": format!("2026-01-01T00:00:0{age}Z")},
            "spec": {"schedulingGates": gates}, "status": {"phase": phase, "conditions": conditions},
        }))
        .unwrap()
    }

    fn check(pods_text: &str, roles: &[(&str, i32)], is_fast: bool, expected: &str) {
        let pod_sets: Vec<PodSet> = roles
            .iter()
            .map(|(name, count)| PodSet { name: (*name).to_owned(), count: *count, ..PodSet::default() })
            .collect();
        let sorted = sort_out(&pods(pods_text), &pod_sets, is_fast, "2026-01-01T01:00:00Z".parse().unwrap());
        let names = |pods: &[Arc<Pod>]| {
            let names: Vec<&str> = pods.iter().map(|pod| pod.metadata.name.as_str()).collect();
            names.join(" ")
        };
        let Sorted { kept, excess, replaced, absent } = &sorted;
        let shown =
            format!("keep {}; excess {}; replaced {}; absent {absent}", names(kept), names(excess), names(replaced));
        assert_eq!(shown, expected, "{pods_text}");
    }

    #[test]
    fn the_newest_and_those_that_wait_are_too_many() {
        check("a @1, b @2, c @3", &[("r", 2)], false, "keep a b; excess c; replaced ; absent 0");
        check("a gated @1, b @2, c @3", &[("r", 2)], false, "keep b c; excess a; replaced ; absent 0");
        check("a bare @1, b gated @3, c @2", &[("r", 2)], false, "keep c b; excess a; replaced ; absent 0");
    }

    #[test]
    fn lost_pods_stay_until_they_are_replaced() {
        check("a, b failed", &[("r", 2)], false, "keep a b; excess ; replaced ; absent 1");
        check("a, b failed, c", &[("r", 2)], false, "keep a c; excess ; replaced b; absent 0");
        check("a failed lost@1, b failed lost@2, c", &[("r", 2)], false, "keep c b; excess ; replaced a; absent 1");
    }

    #[test]
    fn each_role_is_counted_for_itself() {
        let roles = [("r", 1), ("s", 2)];
        check("a, b, c role=s", &roles, false, "keep a c; excess b; replaced ; absent 1");
        check("a, b, c role=s", &roles, true, "keep a c; excess b; replaced ; absent 0");
        check("a", &roles, true, "keep a; excess ; replaced ; absent 1");
    }
}
