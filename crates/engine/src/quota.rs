//! The quota tree: how much of each pool every ClusterQueue and cohort has, uses and may still take.
//!
//! Each node keeps one [`Cell`] per pool, sorted by pool. Usage is changed in place; while a [`Mark`] is open the
//! old values are logged, so that "remove these workloads, does it fit, put them back" costs what it touches.

mod arithmetic;
pub(crate) mod share;
#[cfg(test)]
mod tests;
mod tree;

use kueue_core::amount::Amount;
use rustc_hash::FxHashMap;

use crate::id::{Name, NodeId, PoolId, QueueId, Slab};
use crate::topology::{self, Sites};

/// What a ClusterQueue or Cohort object says about one pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Quota {
    pub(crate) nominal: Amount,
    pub(crate) borrowing_limit: Option<Amount>,
    pub(crate) lending_limit: Option<Amount>,
}

/// The state of one pool at one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pool: PoolId,
    quota: Quota,
    /// Quota of the node and of everything below it that is not kept back by a lending limit.
    subtree: Amount,
    /// Whether the node or one below it names the pool; only such pools count for fair sharing.
    is_named: bool,
    usage: Amount,
}

/// A node of the tree. Children are sorted by name so that no walk depends on the order of arrival.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: Name,
    /// The ClusterQueue at this node; a cohort has none.
    pub(crate) queue: Option<QueueId>,
    /// Whether an object of this name exists; a cohort that is only referred to vanishes with its last child.
    is_explicit: bool,
    /// Whether the ClusterQueue admits; cohorts ignore it.
    is_active: bool,
    pub(crate) parent: Option<NodeId>,
    pub(crate) child_cohorts: Vec<NodeId>,
    pub(crate) child_queues: Vec<NodeId>,
    quotas: Vec<(PoolId, Quota)>,
    cells: Vec<Cell>,
    /// 0 for a ClusterQueue, above it the longest way down to one.
    pub(crate) height: u32,
    pub(crate) weight: f64,
    /// Part of a cycle or below one: nothing may be admitted here, and no walk to the root is allowed.
    pub(crate) is_in_cycle: bool,
    /// Grows whenever capacity may have come free, so that a flavor scan knows that it is out of date.
    pub(crate) generation: u64,
}

/// The whole forest. Invariants: usage of a cohort is what its children use beyond what they keep for themselves;
/// a pool with usage or quota below a node has a cell at that node; the log is empty when no mark is open.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    nodes: Slab<NodeId, Node>,
    cohorts: FxHashMap<Name, NodeId>,
    log: Vec<(NodeId, PoolId, Amount)>,
    open_marks: usize,
    has_seen_cycle: bool,
    /// What nodes have room for; simulations of quota are simulations of that as well.
    pub(crate) sites: Sites,
}

/// A point to return to.
#[derive(Debug)]
#[must_use = "a mark that is not closed keeps the log growing"]
pub(crate) struct Mark(usize, topology::Mark);

impl Quotas {
    pub(crate) fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node]
    }

    pub(crate) fn cohort(&self, name: &str) -> Option<NodeId> {
        self.cohorts.get(name).copied()
    }

    /// Every cohort, in no particular order.
    pub(crate) fn cohorts(&self) -> impl Iterator<Item = NodeId> {
        self.cohorts.values().copied()
    }

    /// From the parent of `node` to the root.
    pub(crate) fn ancestors(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        debug_assert!(!self.nodes[node].is_in_cycle, "nobody walks up inside a cycle");
        std::iter::successors(self.nodes[node].parent, |above| self.nodes[*above].parent)
    }

    pub(crate) fn root(&self, node: NodeId) -> NodeId {
        self.ancestors(node).last().unwrap_or(node)
    }

    /// The ClusterQueues at or below `node`, by name within each cohort.
    pub(crate) fn queues_below(&self, node: NodeId, found: &mut Vec<NodeId>) {
        let here = &self.nodes[node];
        if here.queue.is_some() {
            found.push(node);
        }
        found.extend(&here.child_queues);
        for cohort in &here.child_cohorts {
            self.queues_below(*cohort, found);
        }
    }

    pub(crate) fn open_mark(&mut self) -> Mark {
        self.open_marks += 1;
        Mark(self.log.len(), self.sites.open_mark())
    }

    /// Rolls back and ends the simulation. Marks are closed in the opposite order of their opening.
    pub(crate) fn close_mark(&mut self, mark: Mark) {
        while self.log.len() > mark.0 {
            let (node, pool, usage) = self.log.pop().expect("the log is longer than the mark");
            self.cell_mut(node, pool).usage = usage;
        }
        self.open_marks -= 1;
        self.sites.close_mark(mark.1);
    }

    /// Panics when anything kept differs from what follows from the quotas and usages told.
    pub(crate) fn check_invariants(&self) {
        assert!(self.log.is_empty() && self.open_marks == 0, "no simulation is open");
        self.sites.check_invariants();
        for id in self.nodes.ids() {
            let node = &self.nodes[id];
            let name = &node.name;
            assert!(node.cells.is_sorted_by(|a, b| a.pool < b.pool), "the cells of {name} are sorted");
            let below: Vec<NodeId> = node.child_cohorts.iter().chain(&node.child_queues).copied().collect();
            assert!(below.iter().all(|child| self.nodes[*child].parent == Some(id)), "children know {name}");
            if let Some(parent) = node.parent.map(|parent| &self.nodes[parent]) {
                let siblings = if node.queue.is_some() { &parent.child_queues } else { &parent.child_cohorts };
                assert!(siblings.contains(&id), "the parent of {name} knows it");
                assert!(node.is_in_cycle || !parent.is_in_cycle, "{name} is below a cycle");
            }
            if node.queue.is_none() {
                assert_eq!(self.cohort(name), Some(id), "{name} is found by its name");
                assert!(node.is_explicit || !below.is_empty(), "somebody needs {name}");
            }
            let is_in_cycle = self.find_top(id).is_err();
            assert_eq!(node.is_in_cycle, is_in_cycle, "{name} knows whether it is in a cycle");
            if !is_in_cycle {
                self.check_cells(id, &below);
            }
        }
    }

    fn check_cells(&self, id: NodeId, below: &[NodeId]) {
        let node = &self.nodes[id];
        assert_eq!(node.height, self.height_of(id), "{} is as high as it is", node.name);
        let sums = self.sum_cells(id, below);
        for want in &sums {
            let cell = self.cell(id, want.pool);
            assert_eq!(
                (cell.usage, cell.subtree, cell.quota, cell.is_named),
                (want.usage, want.subtree, want.quota, want.is_named),
                "{} has and uses what it and its children do",
                node.name
            );
        }
        for cell in node.cells.iter().filter(|cell| cell.usage != Amount::ZERO || cell.is_named) {
            assert!(sums.iter().any(|want| want.pool == cell.pool), "{} has no more than that", node.name);
        }
    }

    fn cell(&self, node: NodeId, pool: PoolId) -> Cell {
        let cells = &self.nodes[node].cells;
        match cells.binary_search_by_key(&pool, |cell| cell.pool) {
            Ok(slot) => cells[slot],
            Err(_) => Cell::empty(pool),
        }
    }

    fn cell_mut(&mut self, node: NodeId, pool: PoolId) -> &mut Cell {
        let cells = &mut self.nodes[node].cells;
        let slot = cells.binary_search_by_key(&pool, |cell| cell.pool).unwrap_or_else(|slot| {
            cells.insert(slot, Cell::empty(pool));
            slot
        });
        &mut cells[slot]
    }

    fn set_usage(&mut self, node: NodeId, pool: PoolId, usage: Amount) {
        let cell = self.cell_mut(node, pool);
        let old = std::mem::replace(&mut cell.usage, usage);
        if self.open_marks > 0 {
            self.log.push((node, pool, old));
        }
    }
}

impl Cell {
    fn empty(pool: PoolId) -> Self {
        Self { pool, quota: Quota::default(), subtree: Amount::ZERO, is_named: false, usage: Amount::ZERO }
    }

    /// What the node keeps for itself because of its lending limit.
    fn local_quota(&self) -> Amount {
        match self.quota.lending_limit {
            Some(limit) => self.subtree.minus(limit).max(Amount::ZERO),
            None => Amount::ZERO,
        }
    }

    fn local_available(&self) -> Amount {
        self.local_quota().minus(self.usage).max(Amount::ZERO)
    }

    /// What the node has of its parent's.
    fn used_in_parent(&self) -> Amount {
        self.usage.minus(self.local_quota()).max(Amount::ZERO)
    }
}
