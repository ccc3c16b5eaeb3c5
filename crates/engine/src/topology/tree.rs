//! The nodes of one flavor as a tree of domains.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::census::Censuses;
use super::node::Node;
use super::{HOSTNAME, domain_id};
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
    pub(super) level: usize,
    pub(super) parent: Option<DomainId>,
    /// Tells its place in the order of all domains of its level, by their values from the top. There are gaps, so that
    /// a new one seldom changes the others.
    pub(super) rank: u64,
    below: Below,
}

/// What is in a domain: most are of the lowest level, and have no room to spare for a list.
#[derive(Debug)]
enum Below {
    /// By value. None in a domain of the lowest level that is free to be used again.
    Domains(Vec<DomainId>),
    Nodes(Leaf),
}

impl Domain {
    pub(super) fn children(&self) -> &[DomainId] {
        match &self.below {
            Below::Domains(children) => children,
            Below::Nodes(_) => &[],
        }
    }

    pub(super) fn leaf(&self) -> Option<&Leaf> {
        match &self.below {
            Below::Domains(_) => None,
            Below::Nodes(leaf) => Some(leaf),
        }
    }
}

/// A domain of the lowest level.
#[derive(Debug)]
pub(super) struct Leaf {
    /// Where its usage is kept.
    pub(super) cell: u32,
    /// What its nodes have, less what plain pods use, by column.
    pub(super) free: Box<[i64]>,
    /// The first of its nodes by name; the only one where each node is a domain.
    pub(super) node: Arc<Node>,
}

/// What is known by the id of a lowest domain.
#[derive(Debug, Default)]
struct Lowest {
    /// In the order of their names.
    nodes: SmallVec<[Name; 1]>,
    domain: Option<DomainId>,
}

/// The distance between ranks where nothing came between.
const GAP: u64 = 1 << 32;

/// All nodes that a flavor stands for. Kept up to date node by node: each costs its path to the root.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(super) topology: Name,
    pub(crate) levels: Arc<[Name]>,
    /// The flavor's.
    labels: BTreeMap<Name, Name>,
    pub(super) tolerations: Vec<Toleration>,
    pub(super) domains: Vec<Domain>,
    /// Free to be used again, by level: a domain never changes its level.
    unused: Vec<Vec<DomainId>>,
    roots: Vec<DomainId>,
    lowest: FxHashMap<Name, Lowest>,
    /// How many of them are in the tree.
    leaf_count: usize,
    leaf_by_cell: FxHashMap<u32, DomainId>,
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
            unused: vec![Vec::new(); levels.len()],
            topology,
            levels: levels.into(),
            labels,
            tolerations,
            domains: Vec::new(),
            roots: Vec::new(),
            lowest: FxHashMap::default(),
            leaf_count: 0,
            leaf_by_cell: FxHashMap::default(),
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
    pub(super) fn leaf_id_of(&self, node: &Node) -> Option<Name> {
        let path = if node.is_usable() && self.stands_for(node) { self.path_of(node)? } else { return None };
        Some(if self.is_by_host() { path.last()?.clone() } else { domain_id(&path) })
    }

    /// Whether the flavor stands for a node, usable or not.
    pub(super) fn stands_for(&self, node: &Node) -> bool {
        !self.levels.is_empty()
            && self.labels.iter().all(|(key, value)| node.labels.get(key) == Some(value))
            && self.levels.iter().all(|level| node.labels.get(level).is_some())
    }

    fn path_of(&self, node: &Node) -> Option<Vec<Name>> {
        self.levels.iter().map(|level| node.labels.get(level).cloned()).collect()
    }

    /// The names of the nodes in a lowest domain.
    pub(super) fn nodes_in(&self, leaf: &Name) -> impl Iterator<Item = &Name> {
        self.lowest.get(leaf).into_iter().flat_map(|lowest| &lowest.nodes)
    }

    pub(super) fn join(&mut self, leaf: &Name, node: &Name) {
        let nodes = &mut self.lowest.entry(leaf.clone()).or_default().nodes;
        if let Err(slot) = nodes.binary_search(node) {
            nodes.insert(slot, node.clone());
        }
    }

    pub(super) fn leave(&mut self, leaf: &Name, node: &Name) {
        if let Some(lowest) = self.lowest.get_mut(leaf) {
            lowest.nodes.retain(|known| known != node);
            self.drop_unused(leaf);
        }
    }

    fn drop_unused(&mut self, leaf: &Name) {
        let is_unused = |lowest: &Lowest| lowest.nodes.is_empty() && lowest.domain.is_none();
        if self.lowest.get(leaf).is_some_and(is_unused) {
            self.lowest.remove(leaf);
        }
    }

    pub(super) fn leaf(&self, id: &str) -> Option<DomainId> {
        self.lowest.get(id)?.domain
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
                self.censuses.touch(domain);
                self.domains[domain.index()].below = Below::Nodes(leaf);
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
            parent = Some(known.unwrap_or_else(|| self.add_domain(level, parent, value)));
        }
        let Some(domain) = parent else { return };
        self.leaf_by_cell.insert(leaf.cell, domain);
        self.domains[domain.index()].below = Below::Nodes(leaf);
        self.lowest.entry(id.clone()).or_default().domain = Some(domain);
        self.leaf_count += 1;
    }

    pub(super) fn remove_leaf(&mut self, id: &Name) {
        let Some(domain) = self.lowest.get_mut(id).and_then(|lowest| lowest.domain.take()) else { return };
        self.drop_unused(id);
        self.leaf_count -= 1;
        let below = std::mem::replace(&mut self.domains[domain.index()].below, Below::Domains(Vec::new()));
        if let Below::Nodes(leaf) = below {
            self.leaf_by_cell.remove(&leaf.cell);
        }
        let mut empty = Some(domain);
        while let Some(domain) = empty.filter(|domain| self.domain(*domain).children().is_empty()) {
            let Domain { parent, level, .. } = *self.domain(domain);
            self.siblings_mut(parent).retain(|sibling| *sibling != domain);
            self.unused[level].push(domain);
            self.censuses.touch_branch(domain, parent);
            empty = parent;
        }
    }

    fn siblings(&self, parent: Option<DomainId>) -> &[DomainId] {
        parent.map_or(&self.roots, |parent| self.domain(parent).children())
    }

    fn siblings_mut(&mut self, parent: Option<DomainId>) -> &mut Vec<DomainId> {
        let Some(parent) = parent else { return &mut self.roots };
        match &mut self.domains[parent.index()].below {
            Below::Domains(children) => children,
            Below::Nodes(_) => unreachable!("a domain of the lowest level is no parent"),
        }
    }

    pub(super) fn child(&self, parent: Option<DomainId>, value: &Name) -> Option<DomainId> {
        let siblings = self.siblings(parent);
        let slot = siblings.binary_search_by(|sibling| self.domain(*sibling).value.cmp(value)).ok()?;
        Some(siblings[slot])
    }

    pub(super) fn add_domain(&mut self, level: usize, parent: Option<DomainId>, value: &Name) -> DomainId {
        let slot = self.siblings(parent).partition_point(|sibling| self.domain(*sibling).value <= *value);
        let rank = self.rank_between(level, self.before(parent, slot), self.at_or_after(parent, slot));
        let domain = Domain { value: value.clone(), level, parent, rank, below: Below::Domains(Vec::new()) };
        let id = match self.unused[level].pop() {
            Some(id) => {
                self.domains[id.index()] = domain;
                id
            }
            None => {
                self.domains.push(domain);
                DomainId(u32::try_from(self.domains.len() - 1).expect("fewer than 2^32 domains"))
            }
        };
        self.siblings_mut(parent).insert(slot, id);
        self.censuses.touch_branch(id, parent);
        id
    }

    /// A rank after one domain and before another of the same level.
    fn rank_between(&mut self, level: usize, before: Option<DomainId>, after: Option<DomainId>) -> u64 {
        let low = before.map_or(0, |domain| self.domain(domain).rank);
        let Some(after) = after else { return low.checked_add(GAP).unwrap_or_else(|| self.rank_anew(level, before)) };
        let high = self.domain(after).rank;
        if high - low > 1 { low + (high - low) / 2 } else { self.rank_anew(level, before) }
    }

    /// Gives the domains of a level new ranks with gaps between them; returns the one in the gap after a domain.
    fn rank_anew(&mut self, level: usize, before: Option<DomainId>) -> u64 {
        let mut gap = GAP / 2;
        for (place, domain) in (1_u64..).zip(self.at_level(level)) {
            self.domains[domain.index()].rank = place * GAP;
            if Some(domain) == before {
                gap = place * GAP + GAP / 2;
            }
        }
        self.censuses.rank_anew(level);
        gap
    }

    /// The domain before the one in a slot below a parent, in the order of their level.
    fn before(&self, parent: Option<DomainId>, slot: usize) -> Option<DomainId> {
        if slot > 0 {
            return Some(self.siblings(parent)[slot - 1]);
        }
        let above = self.before(self.domain(parent?).parent, self.slot(parent?)?)?;
        self.domain(above).children().last().copied()
    }

    /// The domain in a slot below a parent, or the first one after it.
    fn at_or_after(&self, parent: Option<DomainId>, slot: usize) -> Option<DomainId> {
        if let Some(domain) = self.siblings(parent).get(slot) {
            return Some(*domain);
        }
        let above = self.at_or_after(self.domain(parent?).parent, self.slot(parent?)? + 1)?;
        self.domain(above).children().first().copied()
    }

    fn slot(&self, domain: DomainId) -> Option<usize> {
        let Domain { value, parent, .. } = self.domain(domain);
        self.siblings(*parent).binary_search_by(|sibling| self.domain(*sibling).value.cmp(value)).ok()
    }

    pub(super) fn has_domains(&self) -> bool {
        !self.roots.is_empty()
    }

    /// How many lowest domains there are.
    pub(super) fn leaf_count(&self) -> usize {
        self.leaf_count
    }

    /// The domains of a level, by their values.
    pub(super) fn at_level(&self, level: usize) -> Vec<DomainId> {
        let mut domains = self.roots.clone();
        for _ in 0..level {
            domains = domains.iter().flat_map(|id| self.domain(*id).children().iter().copied()).collect();
        }
        domains
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
