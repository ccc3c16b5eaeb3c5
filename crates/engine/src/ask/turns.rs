//! Who would have the turn, and what would be kept free for those who wait.

use kueue_core::amount::Amount;

use crate::cycle::Contender;
use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{Name, PoolId, WorkloadId};
use crate::quota::share::Share;

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

/// A workload that is first in its queue, where its turn follows from shares.
#[derive(Clone, PartialEq, Debug)]
pub struct FairTurn {
    /// The workload.
    pub workload: Key,
    /// Whether it waits for workloads that were preempted for it.
    pub is_preemptor: bool,
    /// What it needs: flavor, resource, amount.
    pub needs: Vec<(Name, Name, Amount)>,
    /// The weight of its part of the tree.
    pub weight: f64,
    /// How much that part would have borrowed, per thousand of what can be lent to it.
    pub ratio: f64,
    /// The flavors and resources that it would have borrowed.
    pub borrowed: Vec<(Name, Name)>,
}

impl Engine {
    /// Whether one has its turn before the other in a cycle with fair sharing; nothing if one of them is not known.
    pub fn has_turn_before(&mut self, one: &FairTurn, other: &FairTurn) -> Option<bool> {
        let ids = [one, other].map(|turn| self.workload_ids.get(&turn.workload).copied());
        let [one_usage, other_usage] = [one, other].map(|turn| self.usage_in(turn));
        let [one_share, other_share] = [one, other].map(|turn| self.share_in(turn));
        let contender = |id: Option<WorkloadId>, turn: &FairTurn, usage, share| {
            Some(Contender { workload: id?, is_preemptor: turn.is_preemptor, usage, share })
        };
        let one = contender(ids[0], one, &one_usage, &one_share)?;
        Some(self.goes_before(one, contender(ids[1], other, &other_usage, &other_share)?))
    }

    fn usage_in(&mut self, turn: &FairTurn) -> Vec<(PoolId, Amount)> {
        let pool = |(flavor, resource, amount): &(Name, Name, Amount)| (self.pool_named(flavor, resource), *amount);
        turn.needs.iter().map(pool).collect()
    }

    fn share_in(&mut self, turn: &FairTurn) -> Share {
        let borrowed = turn.borrowed.iter().map(|(flavor, resource)| self.pool_named(flavor, resource)).collect();
        Share::told(turn.weight, turn.ratio, borrowed)
    }

    fn pool_named(&mut self, flavor: &Name, resource: &Name) -> PoolId {
        let (flavor, resource) = (self.names.flavor_id(flavor), self.names.resource_id(resource));
        self.names.pool_id(flavor, resource)
    }

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
            let pool = self.pool_named(flavor, resource);
            kept.push((flavor.clone(), resource.clone(), self.kept_free(node, pool, *amount, is_borrowing)));
        }
        kept
    }
}
