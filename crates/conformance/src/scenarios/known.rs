//! Where a recording shows what we do otherwise on purpose: recognised by what happened, never by a scenario's name.
//! Each has its line in `docs/compat.md`.

use serde_json::{Value, json};

use kueue_api::kueue::topology_assignment::decode;

use super::state::{Shown, State};
use super::world::World;
use crate::known::{SIBLING_ADMITTED, STEPS_ASIDE};

const SLICE_REPLACED: &str = "WorkloadSliceReplaced";
const NO_LONGER_FITS: &str = "Workload no longer fits after processing another workload";

/// What is looked at to tell whether a step may differ.
pub(super) struct Sight<'a> {
    /// The recorded state that it started from.
    pub(super) before: &'a State,
    /// What was recorded of it.
    pub(super) out: &'a Value,
    pub(super) recorded: &'a Shown,
    pub(super) ours: &'a Shown,
    /// After the step.
    pub(super) world: &'a World,
}

impl Sight<'_> {
    /// Where the recording sends the pods of a workload in this step: flavor and domain of each share.
    fn places(&self, workload: &str) -> Vec<(String, Vec<String>)> {
        let mut places = Vec::new();
        let assigned = self.out["workloads"][workload]["admission"]["podSetAssignments"].as_array();
        for assigned in assigned.into_iter().flatten() {
            let flavor = assigned["flavors"].as_object().and_then(|flavors| flavors.values().next());
            let flavor = flavor.and_then(Value::as_str).unwrap_or_default();
            let compact = serde_json::from_value(assigned["topologyAssignment"].clone()).ok();
            let domains = compact.and_then(|compact| decode(&compact).ok()).unwrap_or_default();
            places.extend(domains.into_iter().map(|domain| (flavor.to_owned(), domain.values)));
        }
        places
    }
}

/// Why the step may differ from what was recorded, if it may.
pub(super) fn difference(sight: &Sight<'_>) -> Option<&'static str> {
    let Sight { before, recorded, ours, .. } = *sight;
    let mut messages = recorded.events.values().flatten().map(|[_, _, message]| message.as_str());
    if messages.any(|message| message == SIBLING_ADMITTED) {
        Some(STEPS_ASIDE)
    } else if is_out_of_order(before, recorded, ours) {
        Some("with admission fair sharing the order that is shown is the order that is served")
    } else if is_given_twice(recorded, ours) {
        Some("what a slice held is given out once")
    } else if is_unexplained(recorded, ours) {
        Some("a workload that finds no place says why")
    } else if is_follower_refused(sight) {
        Some("pods that ask for nothing fit where there is room for a pod")
    } else if is_node_given_twice(sight) {
        Some("a node that two flavors stand for is given out once")
    } else if is_counted_apart(sight) {
        Some("what the pod sets of a workload take of one node is counted together")
    } else if is_return_outdated(sight) {
        Some("who needs no other place any more does not come for one")
    } else if is_strangers_pod_respected(sight) {
        Some("only its own pods keep a workload on a node that failed")
    } else {
        None
    }
}

/// Kueue gave the same node to two workloads in one cycle, by two flavors, and we gave it to the first only.
fn is_node_given_twice(sight: &Sight<'_>) -> bool {
    let all: Vec<_> = sight.recorded.order.iter().flat_map(|workload| sight.places(workload)).collect();
    let is_shared = all.iter().any(|(flavor, node)| all.iter().any(|other| other.1 == *node && other.0 != *flavor));
    // Or it told somebody about room on a node that was gone by then.
    let is_told_otherwise = sight.recorded.events.iter().any(|(workload, events)| {
        let told = |events: &[[String; 3]]| events.last().map(|[_, _, message]| message.clone()).unwrap_or_default();
        let ours = sight.ours.events.get(workload).map(|events| told(events)).unwrap_or_default();
        let recorded = told(events);
        recorded.contains("topology \"") && ours.contains("topology \"") && recorded != ours
    });
    is_shared && sight.recorded.order != sight.ours.order
        || is_told_otherwise && !sight.recorded.order.is_empty() && sight.world.has_shared_nodes()
}

/// Kueue gave one node to two pod sets of a workload, each of which would fit there alone after others had been placed
/// in the same cycle.
fn is_counted_apart(sight: &Sight<'_>) -> bool {
    sight.recorded.order.iter().skip(1).any(|workload| {
        let nodes: Vec<Vec<String>> = sight.places(workload).into_iter().map(|(_, node)| node).collect();
        let is_shared = nodes.iter().enumerate().any(|(index, node)| nodes[..index].contains(node));
        let ours = sight.world.cluster.workloads.get(workload).map(|object| json!(object.status.admission));
        is_shared && ours.as_ref() != Some(&sight.out["workloads"][workload]["admission"])
    })
}

/// Kueue keeps a workload among those that need other places although its node is back.
fn is_return_outdated(sight: &Sight<'_>) -> bool {
    let returning = sight.out["secondPass"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let is_healed = |key: &str| {
        sight.world.cluster.workloads.get(key).is_some_and(|object| object.status.unhealthy_nodes.is_empty())
    };
    returning
        .filter(|key| !sight.world.cluster.engine.second_pass().any(|ours| ours.to_string() == **key))
        .any(is_healed)
}

/// Kueue leaves a workload on a node that failed because of a pod of somebody else in the same namespace.
fn is_strangers_pod_respected(sight: &Sight<'_>) -> bool {
    let failed = sight.world.cluster.workloads.iter().flat_map(|(key, object)| {
        object.status.unhealthy_nodes.iter().map(move |node| (key.as_str(), node.name.as_str()))
    });
    failed.into_iter().any(|(key, node)| {
        let is_recorded = sight.out["workloads"][key].get("unhealthyNodes").is_some();
        let namespace = key.split('/').next().unwrap_or_default();
        !is_recorded && sight.world.has_plain_pod(namespace, node)
    })
}

/// Kueue said nothing of a workload that can have no place: it tried to write a condition without a reason.
fn is_unexplained(recorded: &Shown, ours: &Shown) -> bool {
    ours.events.iter().any(|(workload, events)| {
        let last = events.last().map(|[_, reason, _]| reason.as_str());
        !recorded.events.contains_key(workload) && matches!(last, Some("Misconfigured" | "TopologyPlacementFailed"))
    })
}

/// Kueue found places for a workload and then thought that they were taken, which it always does when one of the pod
/// sets asks for nothing.
fn is_follower_refused(sight: &Sight<'_>) -> bool {
    let asks_for_nothing = |key: &String| {
        let pod_sets = sight.world.cluster.workloads.get(key).map(|object| &object.spec.pod_sets);
        pod_sets.into_iter().flatten().any(|pod_set| pod_set.template.spec.requests().is_empty())
    };
    let is_refused = |events: &Vec<[String; 3]>| events.iter().any(|[_, _, message]| message == NO_LONGER_FITS);
    let mut refused = sight.recorded.events.iter().filter(|(_, events)| is_refused(events));
    refused.any(|(key, _)| asks_for_nothing(key))
}

/// Kueue admitted a workload in a cycle in which it also replaced a slice, and to us it no longer fitted there.
fn is_given_twice(recorded: &Shown, ours: &Shown) -> bool {
    let has =
        |events: Option<&Vec<[String; 3]>>, is: &dyn Fn(&[String; 3]) -> bool| events.into_iter().flatten().any(is);
    let is_replacing =
        recorded.events.values().any(|events| has(Some(events), &|[_, reason, _]| reason == SLICE_REPLACED));
    is_replacing
        && recorded.order.iter().any(|started| {
            !ours.order.contains(started)
                && has(ours.events.get(started), &|[_, _, message]| message.starts_with(NO_LONGER_FITS))
        })
}

/// Kueue said who would be served next, served another one of the queue, and we served the one that it had named.
fn is_out_of_order(before: &State, recorded: &Shown, ours: &Shown) -> bool {
    let part = |name: &str| before.0.get(name).and_then(Value::as_object);
    if part("localQueueUsage").is_none() {
        return false;
    }
    let queues = part("queues").into_iter().flat_map(|queues| queues.values());
    queues.filter_map(|queue| queue["active"].as_array()).any(|active| {
        let mut names = active.iter().filter_map(Value::as_str);
        let Some(first) = names.next() else { return false };
        !recorded.events.contains_key(first)
            && ours.events.contains_key(first)
            && names.any(|other| recorded.events.contains_key(other))
    })
}
