//! Taints, tolerations, node selectors and flavors.

use std::collections::BTreeMap;

use kueue_api::core_v1::{NodeSelectorRequirement, PodSpec, Taint, Toleration};
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
    let required = pod.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref()?.required.as_ref());
    PodPlacement {
        node_selector: names(&pod.node_selector),
        node_terms: required
            .into_iter()
            .flat_map(|selector| &selector.terms)
            .map(|term| term.match_expressions.iter().filter_map(requirement).collect())
            .collect(),
        tolerations: pod.tolerations.iter().map(toleration).collect(),
    }
}

fn names(map: &BTreeMap<String, String>) -> BTreeMap<Name, Name> {
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

fn taint(taint: &Taint) -> Option<kueue_engine::Taint> {
    let effect = effect(&taint.effect)?;
    Some(kueue_engine::Taint { key: taint.key.as_str().into(), value: taint.value.as_str().into(), effect })
}

fn toleration(toleration: &Toleration) -> kueue_engine::Toleration {
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
    }
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
