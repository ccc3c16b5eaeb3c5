//! The nodes of one flavor as a tree of domains.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::census::Censuses;
use super::{HOSTNAME, NodeSpec, domain_id};
use crate::id::Name;
use crate::placement::Toleration;

/// A domain of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct DomainId(pub(super) u32);

impl DomainId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A value of one level's label, within a domain of the level above.
#[derive(Debug)]
pub(super) struct Domain {
    value: Name,
    pub(super) parent: Option<DomainId>,
    /// By value.
    pub(super) children: Vec<DomainId>,
    /// Its place in the order of all domains of its level, by their values from the top.
    pub(super) rank: u32,
    pub(super) leaf: Option<Leaf>,
}

/// A domain of the lowest level.
#[derive(Debug)]
pub(super) struct Leaf {
    /// Where its usage is kept.
    pub(super) cell: u32,
    /// What its nodes have, less what plain pods use, by column.
    pub(super) free: Vec<i64>,
    /// The first of its nodes by name; the only one where each node is a domain.
    pub(super) node: Arc<NodeSpec>,
}

/// All nodes that a flavor stands for. Kept up to date node by node; the order of domains is found anew when somebody
/// asks after domains have come or gone.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(super) topology: Name,
    pub(crate) levels: Arc<[Name]>,
    /// The flavor's.
    labels: BTreeMap<Name, Name>,
    pub(super) tolerations: Vec<Toleration>,
    pub(super) domains: Vec<Domain>,
    unused: Vec<DomainId>,
    roots: Vec<DomainId>,
    /// Nodes by the lowest domain that they are in.
    members: FxHashMap<Name, BTreeSet<Name>>,
    leaves: FxHashMap<Name, DomainId>,
    leaf_by_cell: FxHashMap<u32, DomainId>,
    /// Per level, in the order of ranks; empty while it has to be found.
    by_level: Vec<Vec<DomainId>>,
    pub(super) censuses: Censuses,
}

impl Tree {
    pub(super) fn new(
        topology: Name,
        levels: Vec<Name>,
        labels: BTreeMap<Name, Name>,
        tolerations: Vec<Toleration>,
    ) -> Self {
        Self {
            topology,
            levels: levels.into(),
            labels,
            tolerations,
            domains: Vec::new(),
            unused: Vec::new(),
            roots: Vec::new(),
            members: FxHashMap::default(),
            leaves: FxHashMap::default(),
            leaf_by_cell: FxHashMap::default(),
            by_level: Vec::new(),
            censuses: Censuses::default(),
        }
    }

    /// Whether each node is a domain of its own.
    pub(crate) fn is_by_host(&self) -> bool {
        self.levels.last().is_some_and(|level| **level == *HOSTNAME)
    }

    pub(crate) fn level_of(&self, name: &str) -> Option<usize> {
        self.levels.iter().position(|level| **level == *name)
    }

    pub(super) fn lowest(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// The lowest domain of a node, if the flavor stands for the node.
    pub(super) fn leaf_id_of(&self, node: &NodeSpec) -> Option<Name> {
        let path = if node.is_usable() && self.stands_for(node) { self.path_of(node)? } else { return None };
        Some(if self.is_by_host() { path.last()?.clone() } else { domain_id(&path) })
    }

    /// Whether the flavor stands for a node, usable or not.
    pub(super) fn stands_for(&self, node: &NodeSpec) -> bool {
        !self.levels.is_empty()
            && self.labels.iter().all(|(key, value)| node.labels.get(key) == Some(value))
            && self.levels.iter().all(|level| node.labels.contains_key(level))
    }

    fn path_of(&self, node: &NodeSpec) -> Option<Vec<Name>> {
        self.levels.iter().map(|level| node.labels.get(level).cloned()).collect()
    }

    /// The names of the nodes in a lowest domain.
    pub(super) fn nodes_in(&self, leaf: &Name) -> impl Iterator<Item = &Name> {
        self.members.get(leaf).into_iter().flatten()
    }

    pub(super) fn join(&mut self, leaf: &Name, node: &Name) {
        self.members.entry(leaf.clone()).or_default().insert(node.clone());
    }

    pub(super) fn leave(&mut self, leaf: &Name, node: &Name) {
        if let Some(nodes) = self.members.get_mut(leaf) {
            nodes.remove(node);
            if nodes.is_empty() {
                self.members.remove(leaf);
            }
        }
    }

    pub(super) fn leaf(&self, id: &str) -> Option<DomainId> {
        self.leaves.get(id).copied()
    }

    pub(super) fn leaf_at(&self, cell: u32) -> Option<DomainId> {
        self.leaf_by_cell.get(&cell).copied()
    }

    pub(super) fn domain(&self, id: DomainId) -> &Domain {
        &self.domains[id.index()]
    }

    /// A lowest domain is now like this.
    pub(super) fn set_leaf(&mut self, id: &Name, leaf: Leaf) {
        let Some(path) = self.path_of(&leaf.node) else { return self.remove_leaf(id) };
        match self.leaf(id) {
            Some(domain) if self.values(domain) == path => {
                let old = self.domains[domain.index()].leaf.as_ref();
                let is_same_kind =
                    old.is_some_and(|old| old.node.labels == leaf.node.labels && old.node.taints == leaf.node.taints);
                if is_same_kind {
                    self.censuses.touch(domain);
                } else {
                    self.censuses.forget();
                }
                self.domains[domain.index()].leaf = Some(leaf);
            }
            known => {
                if known.is_some() {
                    self.remove_leaf(id);
                }
                self.insert_leaf(id, &path, leaf);
            }
        }
    }

    fn insert_leaf(&mut self, id: &Name, path: &[Name], leaf: Leaf) {
        let mut parent = None;
        for (level, value) in path.iter().enumerate() {
            let is_lowest = level + 1 == path.len();
            // Two lowest domains are never one, whatever their labels say: they are told apart by their ids.
            let known = if is_lowest { None } else { self.child(parent, value) };
            parent = Some(known.unwrap_or_else(|| self.add_domain(parent, value)));
        }
        let Some(domain) = parent else { return };
        self.leaf_by_cell.insert(leaf.cell, domain);
        self.domains[domain.index()].leaf = Some(leaf);
        self.leaves.insert(id.clone(), domain);
        self.by_level.clear();
        self.censuses.forget();
    }

    pub(super) fn remove_leaf(&mut self, id: &Name) {
        let Some(domain) = self.leaves.remove(id) else { return };
        if let Some(leaf) = self.domains[domain.index()].leaf.take() {
            self.leaf_by_cell.remove(&leaf.cell);
        }
        let mut empty = Some(domain);
        while let Some(domain) = empty.filter(|domain| self.domain(*domain).children.is_empty()) {
            let parent = self.domain(domain).parent;
            let siblings = match parent {
                Some(parent) => &mut self.domains[parent.index()].children,
                None => &mut self.roots,
            };
            siblings.retain(|sibling| *sibling != domain);
            self.unused.push(domain);
            empty = parent;
        }
        self.by_level.clear();
        self.censuses.forget();
    }

    fn siblings(&self, parent: Option<DomainId>) -> &[DomainId] {
        parent.map_or(&self.roots, |parent| &self.domain(parent).children)
    }

    fn child(&self, parent: Option<DomainId>, value: &Name) -> Option<DomainId> {
        let siblings = self.siblings(parent);
        let slot = siblings.binary_search_by(|sibling| self.domain(*sibling).value.cmp(value)).ok()?;
        Some(siblings[slot])
    }

    fn add_domain(&mut self, parent: Option<DomainId>, value: &Name) -> DomainId {
        let domain = Domain { value: value.clone(), parent, children: Vec::new(), rank: 0, leaf: None };
        let id = match self.unused.pop() {
            Some(id) => {
                self.domains[id.index()] = domain;
                id
            }
            None => {
                self.domains.push(domain);
                DomainId(u32::try_from(self.domains.len() - 1).expect("fewer than 2^32 domains"))
            }
        };
        let slot = self.siblings(parent).partition_point(|sibling| self.domain(*sibling).value <= *value);
        match parent {
            Some(parent) => self.domains[parent.index()].children.insert(slot, id),
            None => self.roots.insert(slot, id),
        }
        id
    }

    /// Finds the order of all domains if it is not known.
    pub(super) fn order(&mut self) {
        if !self.by_level.is_empty() {
            return;
        }
        let mut level = self.roots.clone();
        for _ in 0..self.levels.len() {
            for (rank, id) in level.iter().enumerate() {
                self.domains[id.index()].rank = u32::try_from(rank).expect("fewer than 2^32 domains");
            }
            let below = level.iter().flat_map(|id| self.domain(*id).children.iter().copied()).collect();
            self.by_level.push(std::mem::replace(&mut level, below));
        }
    }

    /// The domains of a level, by their values. [`order`](Self::order) has been called since the last change.
    pub(super) fn at_level(&self, level: usize) -> &[DomainId] {
        self.by_level.get(level).map_or(&[], Vec::as_slice)
    }

    /// The values of a domain from the top down to it.
    pub(super) fn values(&self, domain: DomainId) -> Vec<Name> {
        let mut values: Vec<Name> = self.upwards(domain).map(|id| self.domain(id).value.clone()).collect();
        values.reverse();
        values
    }

    /// The domain itself and all above it.
    pub(super) fn upwards(&self, domain: DomainId) -> impl Iterator<Item = DomainId> {
        std::iter::successors(Some(domain), |id| self.domain(*id).parent)
    }

    /// The domain of that level around a lowest domain.
    pub(super) fn ancestor(&self, leaf: DomainId, level: usize) -> DomainId {
        self.upwards(leaf).nth(self.lowest() - level).unwrap_or(leaf)
    }

    /// How a lowest domain is written in an assignment: by its name alone where that says everything.
    pub(super) fn assigned_values(&self, leaf: DomainId) -> Arc<[Name]> {
        if self.is_by_host() { [self.domain(leaf).value.clone()].into() } else { self.values(leaf).into() }
    }

    /// The levels at which assignments name domains.
    pub(super) fn assigned_levels(&self) -> Arc<[Name]> {
        match self.levels.last() {
            Some(last) if self.is_by_host() => [last.clone()].into(),
            _ => self.levels.clone(),
        }
    }
}
