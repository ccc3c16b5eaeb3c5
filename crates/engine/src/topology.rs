//! Where pods go: nodes as trees of domains, and the search for places that keep pods close together.
//!
//! Each flavor with a topology has one [`Tree`] over the nodes it stands for. What workloads use is kept per lowest
//! domain in [`Sites`], in place and with an undo log like the quota tree's, so that "without these victims" is a
//! removal that is taken back. How many pods of one shape fit where is a [`Census`], kept from one question to the
//! next and brought up to date by the domains that were touched since: a question costs what changed.

mod balanced;
#[cfg(feature = "by-hand")]
mod by_hand;
mod census;
mod failure;
mod filter;
mod node;
mod place;
mod ranking;
mod request;
mod search;
mod sites;
mod spread;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::Arc;

use kueue_core::time::Time;
use serde::{Deserialize, Serialize};

use crate::id::Name;

#[cfg(feature = "by-hand")]
pub use by_hand::{Sketch, SketchRoom, Wish};
pub(crate) use failure::Failure;
pub(crate) use node::Labels;
pub(crate) use place::{Found, Manner, Repair};
pub(crate) use request::{Conflict, Pods, Wanted};
pub use request::{SliceSpec, TopologyRequest};
pub(crate) use search::Habits;
pub(crate) use sites::{Mark, Occupied, Sites};

/// The label whose value names a node; as the lowest level it makes every node a domain of its own.
pub(crate) const HOSTNAME: &str = "kubernetes.io/hostname";

/// A Topology: labels of nodes, from the widest domain to the narrowest.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TopologySpec {
    /// Its name.
    pub name: Name,
    /// The labels.
    pub levels: Vec<Name>,
}

/// A node, as far as placement depends on it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct NodeSpec {
    /// Its name.
    pub name: Name,
    /// Its labels.
    pub labels: std::collections::BTreeMap<Name, Name>,
    /// Its taints.
    pub taints: Vec<crate::placement::Taint>,
    /// What pods can be given, by resource name: milli-units of cpu, units of everything else.
    pub allocatable: Vec<(Name, i64)>,
    /// What its Ready condition says, if it has one.
    pub ready: Option<bool>,
    /// Since when.
    pub ready_since: Time,
    /// Whether it takes no new pods.
    pub is_cordoned: bool,
}

/// A pod that runs on a node and belongs to no workload that was placed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PlainPodSpec {
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// The node.
    pub node: Name,
    /// What it needs, by resource name: milli-units of cpu, units of everything else.
    pub requests: Vec<(Name, i64)>,
}

/// Where the pods of a pod set go.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TopologyAssignment {
    /// The levels that domains are named at.
    pub levels: Arc<[Name]>,
    /// In the order of their names.
    pub domains: Vec<DomainShare>,
}

/// A domain and how many pods go there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DomainShare {
    /// Its name at each level.
    pub values: Arc<[Name]>,
    /// Pods.
    pub count: i32,
}

impl TopologyAssignment {
    /// How many pods there are in all.
    #[must_use]
    pub fn pods(&self) -> i32 {
        self.domains.iter().fold(0, |sum, domain| sum.saturating_add(domain.count))
    }

    /// What it has beyond another one, domain by domain.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        let held = |share: &DomainShare| {
            let there = other.domains.iter().filter(|held| held.values == share.values);
            there.fold(0, |sum: i32, held| sum.saturating_add(held.count))
        };
        let more = |share: &DomainShare| DomainShare { values: share.values.clone(), count: share.count - held(share) };
        let domains = self.domains.iter().map(more).filter(|share| share.count > 0).collect();
        Self { levels: self.levels.clone(), domains }
    }

    /// The same for fewer pods: those at the end go.
    #[must_use]
    pub fn truncated(&self, count: i32) -> Self {
        let mut left = count.max(0);
        let mut domains = Vec::new();
        for domain in &self.domains {
            if left == 0 {
                break;
            }
            let count = domain.count.min(left);
            left -= count;
            domains.push(DomainShare { values: domain.values.clone(), count });
        }
        Self { levels: self.levels.clone(), domains }
    }
}

impl DomainShare {
    /// How the domain is known among those at the lowest level.
    pub(crate) fn id(&self) -> Name {
        domain_id(&self.values)
    }

    pub(crate) fn is_on(&self, node: &str) -> bool {
        self.values.last().is_some_and(|value| **value == *node)
    }
}

pub(crate) fn domain_id(values: &[Name]) -> Name {
    match values {
        [only] => only.clone(),
        values => values.iter().map(|value| &**value).collect::<Vec<_>>().join(",").into(),
    }
}
