//! Taints, tolerations, node selectors and flavors.

use std::collections::BTreeMap;

use kueue_api::core_v1::{NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration};
use kueue_api::kueue::v1beta2::ResourceFlavor;
use kueue_engine::{
    Change, FlavorNodes, FlavorSpec, Name, NodeOperator, NodeRequirement, PodPlacement, TaintEffect, TolerationOperator,
};

/// What a ResourceFlavor says.
pub fn flavor(object: &ResourceFlavor) -> Change {
    Change::Flavor(FlavorSpec {
        name: object.metadata.name.as_str().into(),
        nodes: FlavorNodes {
            labels: names(&object.spec.node_labels),
            taints: object.spec.node_taints.iter().filter_map(taint).collect(),
            tolerations: object.spec.tolerations.iter().map(toleration).collect(),
            topology: object.spec.topology_name.as_deref().map(Into::into),
        },
    })
}

pub(crate) fn placement(pod: &PodSpec) -> PodPlacement {
    let affinity = pod.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required.as_ref());
    let preferred = affinity.map_or(&[][..], |affinity| &affinity.preferred);
    PodPlacement {
        node_selector: names(&pod.node_selector),
        node_terms: required.into_iter().flat_map(|selector| &selector.terms).map(term).collect(),
        tolerations: pod.tolerations.iter().map(toleration).collect(),
        preferred: preferred.iter().map(|liked| (liked.weight, term(&liked.preference))).collect(),
    }
}

pub(crate) fn names(map: &BTreeMap<String, String>) -> BTreeMap<Name, Name> {
    map.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
}

fn effect(text: &str) -> Option<TaintEffect> {
    match text {
        "NoSchedule" => Some(TaintEffect::NoSchedule),
        "PreferNoSchedule" => Some(TaintEffect::PreferNoSchedule),
        "NoExecute" => Some(TaintEffect::NoExecute),
        _ => None,
    }
}

pub(crate) fn taint(taint: &Taint) -> Option<kueue_engine::Taint> {
    let effect = effect(&taint.effect)?;
    Some(kueue_engine::Taint { key: taint.key.as_str().into(), value: taint.value.as_str().into(), effect })
}

pub(crate) fn toleration(toleration: &Toleration) -> kueue_engine::Toleration {
    kueue_engine::Toleration {
        key: toleration.key.as_str().into(),
        operator: match toleration.operator.as_str() {
            "Exists" => TolerationOperator::Exists,
            "Lt" => TolerationOperator::Lt,
            "Gt" => TolerationOperator::Gt,
            _ => TolerationOperator::Equal,
        },
        value: toleration.value.as_str().into(),
        effect: effect(&toleration.effect),
        is_limited: toleration.toleration_seconds.is_some(),
    }
}

/// All of its requirements; an empty one is fulfilled by no node.
fn term(term: &NodeSelectorTerm) -> Vec<NodeRequirement> {
    term.match_expressions.iter().chain(&term.match_fields).filter_map(requirement).collect()
}

fn requirement(requirement: &NodeSelectorRequirement) -> Option<NodeRequirement> {
    let operator = match requirement.operator.as_str() {
        "In" => NodeOperator::In,
        "NotIn" => NodeOperator::NotIn,
        "Exists" => NodeOperator::Exists,
        "DoesNotExist" => NodeOperator::DoesNotExist,
        "Gt" => NodeOperator::Gt,
        "Lt" => NodeOperator::Lt,
        _ => return None,
    };
    let values = requirement.values.iter().map(|value| value.as_str().into()).collect();
    Some(NodeRequirement { key: requirement.key.as_str().into(), operator, values })
}
