//! Who goes first among the heads of a cycle.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use kueue_core::amount::Amount;
use kueue_core::gates::Gate;
use rustc_hash::FxHashMap;

use super::entry::Entry;
use crate::engine::Engine;
use crate::id::{Name, NodeId, PoolId, WorkloadId};
use crate::quota::share::Share;

/// The entries of one tree that have not had their turn, by the node of their ClusterQueue.
type Waiting = BTreeMap<NodeId, usize>;

/// An entry among those of its cohort, as far as they are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender<'a> {
    pub(crate) workload: WorkloadId,
    pub(crate) is_preemptor: bool,
    /// What it would take.
    pub(crate) usage: &'a [(PoolId, Amount)],
    /// The share that its part of the cohort would have then.
    pub(crate) share: &'a Share,
}

impl Engine {
    /// One turn after the other; names decide where that leaves a choice.
    pub(super) fn classical_order(&self, entries: &[Entry]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by_cached_key(|index| {
            let entry = &entries[*index];
            let turn = self.turn(entry.workload, entry.assignment.borrowing, entry.is_preemptor);
            (turn, self.workloads[entry.workload].key.clone())
        });
        order
    }

    /// Those that hold quota, those that borrow least, the most important, the oldest.
    pub(crate) fn turn(&self, id: WorkloadId, borrowing: u32, is_preemptor: bool) -> impl Ord + use<> {
        let gates = self.settings.gates;
        let workload = &self.workloads[id];
        let is_preferred = is_preemptor && gates.enabled(Gate::PrioritizePreemptorWorkloads);
        let priority = if gates.enabled(Gate::PrioritySortingWithinCohort) { workload.priority } else { 0 };
        (
            Reverse(workload.status.has_reservation()),
            Reverse(is_preferred),
            borrowing,
            Reverse(priority),
            workload.order_time(&self.settings),
        )
    }

    /// The trees of the entries, by name, each with one entry per ClusterQueue.
    pub(super) fn trees(&self, entries: &[Entry]) -> Vec<Waiting> {
        let mut trees: BTreeMap<Name, Waiting> = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let root = self.quotas.root(entry.node);
            trees.entry(self.quotas.node(root).name.clone()).or_default().insert(entry.node, index);
        }
        trees.into_values().collect()
    }

    /// The next entry of a tree by fair sharing, with everything counted that earlier ones took.
    pub(super) fn next_by_share(&mut self, entries: &[Entry], waiting: &mut Waiting) -> Option<usize> {
        let (node, index) = waiting.first_key_value().map(|(node, index)| (*node, *index))?;
        if self.quotas.node(node).parent.is_none() {
            waiting.remove(&node);
            return Some(index);
        }
        let shares = self.shares(entries, waiting);
        let root = self.quotas.root(node);
        let winner = self.tournament(entries, waiting, &shares, root)?;
        waiting.remove(&entries[winner].node);
        Some(winner)
    }

    /// For each entry and cohort above it: the share of the cohort's child on the way, with the entry.
    fn shares(&mut self, entries: &[Entry], waiting: &Waiting) -> FxHashMap<(NodeId, usize), Share> {
        let mut shares = FxHashMap::default();
        for (node, index) in waiting {
            let mark = self.quotas.open_mark();
            for (pool, amount) in self.net_usage(&entries[*index]) {
                self.quotas.add_usage(*node, *pool, *amount);
            }
            let share_of = |node| self.quotas.share(node, |pool| self.names.resource_of(pool));
            let mut below = *node;
            for above in self.quotas.ancestors(*node) {
                shares.insert((above, *index), share_of(below));
                below = above;
            }
            self.quotas.close_mark(mark);
        }
        shares
    }

    fn tournament(
        &self,
        entries: &[Entry],
        waiting: &Waiting,
        shares: &FxHashMap<(NodeId, usize), Share>,
        cohort: NodeId,
    ) -> Option<usize> {
        let here = self.quotas.node(cohort);
        let below = here.child_cohorts.iter().filter_map(|child| self.tournament(entries, waiting, shares, *child));
        let own = here.child_queues.iter().filter_map(|child| waiting.get(child).copied());
        below.chain(own).reduce(|best, current| {
            let contender = |index: usize| Contender {
                workload: entries[index].workload,
                is_preemptor: entries[index].is_preemptor,
                usage: self.net_usage(&entries[index]),
                share: &shares[&(cohort, index)],
            };
            if self.goes_before(contender(current), contender(best)) { current } else { best }
        })
    }

    /// Whose turn it is of two, by fair sharing.
    pub(crate) fn goes_before(&self, a: Contender<'_>, b: Contender<'_>) -> bool {
        let gates = self.settings.gates;
        if gates.enabled(Gate::PrioritizePreemptorWorkloads) && a.is_preemptor != b.is_preemptor {
            return a.is_preemptor;
        }
        if gates.enabled(Gate::FairSharingPrioritizeNonBorrowing) {
            let a_borrows = a.share.is_borrowing_on(a.usage);
            let b_borrows = b.share.is_borrowing_on(b.usage);
            if a_borrows != b_borrows {
                return b_borrows;
            }
        }
        let by_share = a.share.compare(b.share);
        if by_share != Ordering::Equal {
            return by_share == Ordering::Less;
        }
        let (a, b) = (&self.workloads[a.workload], &self.workloads[b.workload]);
        if gates.enabled(Gate::PrioritySortingWithinCohort) && a.priority != b.priority {
            return a.priority > b.priority;
        }
        (a.order_time(&self.settings), &a.key) < (b.order_time(&self.settings), &b.key)
    }
}
