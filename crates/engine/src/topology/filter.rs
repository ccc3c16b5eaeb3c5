//! Which nodes pods may run on, and which they like.

use super::node::Node;
use crate::placement::{PodPlacement, TaintEffect, Toleration};

/// What keeps pods off a node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Repelled {
    Taint(String),
    Selector,
    Affinity,
}

/// Whether pods may run on a node, with the tolerations that the flavor gives them.
pub(super) fn repels(node: &Node, pods: &PodPlacement, given: &[Toleration]) -> Option<Repelled> {
    let tolerated = |taint| pods.tolerations.iter().chain(given).any(|toleration| toleration.tolerates(taint));
    let taint = node
        .taints
        .iter()
        .filter(|taint| taint.effect != TaintEffect::PreferNoSchedule)
        .find(|taint| !tolerated(taint));
    if let Some(taint) = taint {
        return Some(Repelled::Taint(taint.short()));
    }
    if !pods.node_selector.iter().all(|(key, value)| node.labels.get(key) == Some(value)) {
        return Some(Repelled::Selector);
    }
    (!pods.accepts(&node.name, &node.labels)).then_some(Repelled::Affinity)
}
