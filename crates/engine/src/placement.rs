//! Whether pods may run on the nodes of a flavor: taints, node selectors, required node affinity.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::Name;
use crate::topology::Labels;

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TaintEffect {
    /// They are not placed.
    NoSchedule,
    /// They are placed elsewhere if possible.
    PreferNoSchedule,
    /// They are not placed, and are removed.
    NoExecute,
}

impl TaintEffect {
    fn name(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// A taint of a flavor's nodes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Taint {
    /// Its key.
    pub key: Name,
    /// Its value.
    pub value: Name,
    /// What it does.
    pub effect: TaintEffect,
}

/// How a toleration compares the value of a taint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TolerationOperator {
    /// Equal values.
    Equal,
    /// Any value.
    Exists,
    /// The taint's number is smaller.
    Lt,
    /// The taint's number is greater.
    Gt,
}

/// A taint that pods can live with.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Toleration {
    /// The key; any when empty.
    pub key: Name,
    /// How values are compared.
    pub operator: TolerationOperator,
    /// The value.
    pub value: Name,
    /// The effect; any when missing.
    pub effect: Option<TaintEffect>,
    /// Whether they can live with it for some time only.
    pub is_limited: bool,
}

/// How a node label is compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum NodeOperator {
    /// One of the values.
    In,
    /// None of the values.
    NotIn,
    /// Present.
    Exists,
    /// Absent.
    DoesNotExist,
    /// A greater number.
    Gt,
    /// A smaller number.
    Lt,
}

/// One requirement on a node label.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct NodeRequirement {
    /// The label.
    pub key: Name,
    /// How it is compared.
    pub operator: NodeOperator,
    /// With what.
    pub values: Vec<Name>,
}

/// Where the pods of a pod set may run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct PodPlacement {
    /// Labels that a node must have.
    pub node_selector: BTreeMap<Name, Name>,
    /// Alternatives, of which a node must fulfil one; no constraint when empty.
    pub node_terms: Vec<Vec<NodeRequirement>>,
    /// Taints that they can live with.
    pub tolerations: Vec<Toleration>,
    /// What they like, and how much.
    pub preferred: Vec<(i32, Vec<NodeRequirement>)>,
}

/// The nodes of a flavor.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FlavorNodes {
    /// Labels that all of them have.
    pub labels: BTreeMap<Name, Name>,
    /// Taints that all of them have.
    pub taints: Vec<Taint>,
    /// Tolerations that pods on them are given.
    pub tolerations: Vec<Toleration>,
    /// The Topology that describes where they are.
    pub topology: Option<Name>,
}

/// What keeps pods off the nodes of a flavor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Mismatch {
    Taint(Name),
    Affinity,
}

impl FlavorNodes {
    pub(crate) fn mismatch(&self, pods: &PodPlacement) -> Option<Mismatch> {
        let untolerated =
            self.taints.iter().filter(|taint| taint.effect != TaintEffect::PreferNoSchedule).find(|taint| {
                !pods.tolerations.iter().chain(&self.tolerations).any(|toleration| toleration.tolerates(taint))
            });
        if let Some(taint) = untolerated {
            return Some(Mismatch::Taint(taint.render()));
        }
        let is_selected = pods.node_selector.iter().all(|(key, value)| match self.labels.get(key) {
            Some(label) => label == value,
            // Labels that the flavor does not speak about are left to the scheduler of pods.
            None => true,
        });
        if is_selected && self.fulfils(&pods.node_terms) { None } else { Some(Mismatch::Affinity) }
    }

    fn fulfils(&self, terms: &[Vec<NodeRequirement>]) -> bool {
        let mut is_any_met = terms.is_empty();
        for term in terms {
            let mut known = term.iter().filter(|requirement| self.labels.contains_key(&requirement.key)).peekable();
            if known.peek().is_none() {
                // An alternative about other labels only may come true on any node of the flavor.
                return true;
            }
            is_any_met |= known.all(|requirement| requirement.is_met(self.labels.get(&requirement.key)));
        }
        is_any_met
    }
}

impl PodPlacement {
    /// Whether a node of that name and labels fulfils one of the alternatives.
    pub(crate) fn accepts(&self, name: &Name, labels: &Labels) -> bool {
        self.node_terms.is_empty() || self.node_terms.iter().any(|term| is_fulfilled(term, name, labels))
    }

    /// How much they like such a node.
    pub(crate) fn taste(&self, name: &Name, labels: &Labels) -> i64 {
        let liked = self.preferred.iter().filter(|(_, term)| is_fulfilled(term, name, labels));
        liked.map(|(weight, _)| i64::from(*weight)).sum()
    }
}

/// The name under which a node's own name is compared, beside its labels.
pub const NODE_NAME_FIELD: &str = "metadata.name";

/// An alternative that says nothing is fulfilled by no node.
fn is_fulfilled(term: &[NodeRequirement], name: &Name, labels: &Labels) -> bool {
    let value = |key: &Name| if **key == *NODE_NAME_FIELD { Some(name) } else { labels.get(key) };
    !term.is_empty() && term.iter().all(|requirement| requirement.is_met(value(&requirement.key)))
}

impl Toleration {
    pub(crate) fn tolerates(&self, taint: &Taint) -> bool {
        if self.effect.is_some_and(|effect| effect != taint.effect) || (!self.key.is_empty() && self.key != taint.key) {
            return false;
        }
        match self.operator {
            TolerationOperator::Exists => true,
            TolerationOperator::Equal => self.value == taint.value,
            TolerationOperator::Lt => compare(&taint.value, &self.value).is_some_and(std::cmp::Ordering::is_lt),
            TolerationOperator::Gt => compare(&taint.value, &self.value).is_some_and(std::cmp::Ordering::is_gt),
        }
    }
}

impl Taint {
    /// As kubectl prints it.
    pub(crate) fn short(&self) -> String {
        let effect = self.effect.name();
        match &*self.value {
            "" => format!("{}:{effect}", self.key),
            value => format!("{}={value}:{effect}", self.key),
        }
    }

    /// As Go prints the struct, with the time that it never has.
    fn render(&self) -> Name {
        let effect = self.effect.name();
        format!("{{{} {} {effect} <nil>}}", self.key, self.value).into()
    }
}

impl NodeRequirement {
    fn is_met(&self, label: Option<&Name>) -> bool {
        match self.operator {
            NodeOperator::In => label.is_some_and(|label| self.values.contains(label)),
            NodeOperator::NotIn => label.is_none_or(|label| !self.values.contains(label)),
            NodeOperator::Exists => label.is_some(),
            NodeOperator::DoesNotExist => label.is_none(),
            NodeOperator::Gt => self.compare(label).is_some_and(std::cmp::Ordering::is_gt),
            NodeOperator::Lt => self.compare(label).is_some_and(std::cmp::Ordering::is_lt),
        }
    }

    fn compare(&self, label: Option<&Name>) -> Option<std::cmp::Ordering> {
        compare(label?, self.values.first()?)
    }
}

fn compare(a: &str, b: &str) -> Option<std::cmp::Ordering> {
    Some(a.parse::<i64>().ok()?.cmp(&b.parse::<i64>().ok()?))
}
