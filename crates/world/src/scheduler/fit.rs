//! Whether a pod may run on a node, and if not, why.

use std::collections::BTreeMap;

use kueue_api::core_v1::{NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration};
use kueue_core::requests::{Requests, ResourceNames};

use crate::kinds::{Node, holds};

/// What a node has and what is taken of it.
#[derive(Debug, Default)]
pub(super) struct Room {
    pub(super) allocatable: Requests,
    pub(super) used: Requests,
}

/// Why a pod may not run on a node, in the words of kube-scheduler; none if it may.
pub(super) fn refusal(spec: &PodSpec, node: &Node) -> Option<String> {
    if !holds(&node.status.conditions, "Ready") && node.spec.taints.is_empty() {
        return Some("node(s) had untolerated taint {node.kubernetes.io/not-ready: }".to_owned());
    }
    let unschedulable = Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    };
    if node.spec.unschedulable && !is_tolerated(&unschedulable, &spec.tolerations) {
        return Some("node(s) were unschedulable".to_owned());
    }
    let hard = node.spec.taints.iter().filter(|taint| taint.effect != "PreferNoSchedule");
    if let Some(taint) = hard.into_iter().find(|taint| !is_tolerated(taint, &spec.tolerations)) {
        return Some(format!("node(s) had untolerated taint {{{}: {}}}", taint.key, taint.value));
    }
    if !is_selected(spec, node) {
        return Some("node(s) didn't match Pod's node affinity/selector".to_owned());
    }
    None
}

/// The resources that there is too little of, in the words of kube-scheduler.
pub(super) fn shortages(asked: &Requests, room: &Room, names: &ResourceNames) -> Vec<String> {
    let lacks = |(id, value): &(_, i64)| *value > room.allocatable.get(*id).saturating_sub(room.used.get(*id));
    let mut lacking: Vec<&str> =
        asked.iter().filter(|(_, value)| *value > 0).filter(lacks).map(|(id, _)| names.name(id)).collect();
    lacking.sort_unstable();
    let told = |name: &str| match name {
        "pods" => "Too many pods".to_owned(),
        name => format!("Insufficient {name}"),
    };
    lacking.into_iter().map(told).collect()
}

/// How much of the node would be taken with the pod on it, in thousandths of its most wanted resource.
pub(super) fn fullness(asked: &Requests, room: &Room) -> i64 {
    let share = |(id, total): (_, i64)| {
        let taken = i128::from(room.used.get(id)) + i128::from(asked.get(id));
        i64::try_from(taken * 1000 / i128::from(total.max(1))).unwrap_or(i64::MAX)
    };
    room.allocatable.iter().map(share).max().unwrap_or(0)
}

/// How well the node suits what the pod would like.
pub(super) fn preference(spec: &PodSpec, node: &Node) -> i64 {
    let affinity = spec.affinity.iter().filter_map(|affinity| affinity.node_affinity.as_ref());
    let liked = affinity.flat_map(|affinity| &affinity.preferred).filter(|term| matches(&term.preference, node));
    let weights: i64 = liked.map(|term| i64::from(term.weight)).sum();
    let soft = node.spec.taints.iter().filter(|taint| taint.effect == "PreferNoSchedule");
    let disliked = soft.filter(|taint| !is_tolerated(taint, &spec.tolerations)).count();
    weights - i64::try_from(disliked).unwrap_or(0)
}

fn is_tolerated(taint: &Taint, tolerations: &[Toleration]) -> bool {
    tolerations.iter().any(|toleration| tolerates(toleration, taint))
}

pub(crate) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    if !toleration.effect.is_empty() && toleration.effect != taint.effect {
        return false;
    }
    if toleration.key.is_empty() {
        return toleration.operator == "Exists";
    }
    if toleration.key != taint.key {
        return false;
    }
    let numbers = || Some((taint.value.parse::<i64>().ok()?, toleration.value.parse::<i64>().ok()?));
    match toleration.operator.as_str() {
        "Exists" => true,
        "" | "Equal" => toleration.value == taint.value,
        "Lt" => numbers().is_some_and(|(taint, own)| taint < own),
        "Gt" => numbers().is_some_and(|(taint, own)| taint > own),
        _ => false,
    }
}

/// Whether the node is one of those that the pod wants.
pub(crate) fn is_selected(spec: &PodSpec, node: &Node) -> bool {
    let labels = &node.metadata.labels;
    let required = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref()?.required.as_ref());
    spec.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value))
        && required.is_none_or(|required| required.terms.iter().any(|term| matches(term, node)))
}

fn matches(term: &NodeSelectorTerm, node: &Node) -> bool {
    let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
    let name = BTreeMap::from([("metadata.name".to_owned(), node.metadata.name.clone())]);
    !is_empty
        && term.match_expressions.iter().all(|requirement| holds_for(requirement, &node.metadata.labels))
        && term.match_fields.iter().all(|requirement| holds_for(requirement, &name))
}

fn holds_for(requirement: &NodeSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let is_listed = value.is_some_and(|value| requirement.values.contains(value));
    let numbers = || Some((value?.parse::<i64>().ok()?, requirement.values.first()?.parse::<i64>().ok()?));
    match requirement.operator.as_str() {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => numbers().is_some_and(|(label, wanted)| label > wanted),
        "Lt" => numbers().is_some_and(|(label, wanted)| label < wanted),
        _ => false,
    }
}
