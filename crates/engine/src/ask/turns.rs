//! Who would have the turn, and what would be kept free for those who wait.

use kueue_core::amount::Amount;

use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{Name, WorkloadId};

/// A workload that is first in its queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The workload.
    pub workload: Key,
    /// How far up the tree it would borrow from.
    pub borrowing: u32,
    /// Whether it waits for workloads that were preempted for it.
    pub is_preemptor: bool,
}

impl Engine {
    /// The order in which heads have their turn in a cycle without fair sharing; equals stay as they are given.
    pub fn turns(&self, heads: &[Turn]) -> Vec<Key> {
        let known = |turn: &Turn| Some((*self.workload_ids.get(&turn.workload)?, turn.borrowing, turn.is_preemptor));
        let mut order: Vec<(WorkloadId, u32, bool)> = heads.iter().filter_map(known).collect();
        order.sort_by_cached_key(|(id, borrowing, is_preemptor)| self.turn(*id, *borrowing, *is_preemptor));
        order.into_iter().map(|(id, _, _)| self.workloads[id].key.clone()).collect()
    }

    /// How much of what a workload needs (flavor, resource, amount) is kept free for it in a ClusterQueue that cannot
    /// always reclaim what it lent.
    pub fn would_keep_free(
        &mut self,
        queue: &str,
        needs: &[(Name, Name, Amount)],
        is_borrowing: bool,
    ) -> Vec<(Name, Name, Amount)> {
        let Some(queue) = self.queue_ids.get(queue) else { return Vec::new() };
        let node = self.queues[*queue].node;
        let mut kept = Vec::with_capacity(needs.len());
        for (flavor, resource, amount) in needs {
            let (flavor_id, resource_id) = (self.names.flavor_id(flavor), self.names.resource_id(resource));
            let pool = self.names.pool_id(flavor_id, resource_id);
            kept.push((flavor.clone(), resource.clone(), self.kept_free(node, pool, *amount, is_borrowing)));
        }
        kept
    }
}
