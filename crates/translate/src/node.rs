//! Nodes and the pods on them.

use kueue_api::core_v1::{Node, Pod, ResourceList};
use kueue_core::resource::base_units;
use kueue_engine::{Change, Name, NodeSpec, PlainPodSpec};

use crate::placement::{names, taint};

/// What a Node says.
pub fn node(object: &Node) -> Change {
    let ready = object.status.conditions.iter().find(|condition| condition.r#type == "Ready");
    Change::Node(Box::new(NodeSpec {
        name: object.metadata.name.as_str().into(),
        labels: names(&object.metadata.labels),
        taints: object.spec.taints.iter().filter_map(taint).collect(),
        allocatable: units(&object.status.allocatable),
        ready: ready.map(|ready| ready.status == "True"),
        ready_since: ready.map(|ready| ready.last_transition_time).unwrap_or_default(),
        is_cordoned: object.spec.unschedulable,
    }))
}

/// What a Pod says that belongs to no workload which was placed: it takes room where it runs.
pub fn plain_pod(object: &Pod) -> Change {
    let namespace: Name = object.metadata.namespace.as_str().into();
    let name: Name = object.metadata.name.as_str().into();
    let is_over = ["Succeeded", "Failed"].contains(&object.status.phase.as_str());
    let node = object.spec.node_name.as_str();
    match (!node.is_empty() && !is_over).then_some(node) {
        Some(node) => Change::PlainPod(PlainPodSpec {
            namespace,
            name,
            node: node.into(),
            requests: units(&object.spec.requests()),
        }),
        None => Change::PlainPodGone { namespace, name },
    }
}

pub(crate) fn units(list: &ResourceList) -> Vec<(Name, i64)> {
    list.iter().map(|(name, quantity)| (name.as_str().into(), base_units(name, quantity))).collect()
}
