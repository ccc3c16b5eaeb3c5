//! Who holds what a workload would need, and why they need not leave for it.

use std::collections::BTreeMap;

use crate::assign::Attempt;
use crate::change::PreemptionPolicy;
use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{NodeId, PoolId, QueueId, WorkloadId};
use crate::preempt::uses_any;
use crate::trace::Trace;

/// Why somebody who holds what is wanted may stay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Spared {
    /// They are in the same ClusterQueue, which does not preempt its own.
    SameQueue,
    /// They are in other ClusterQueues, and theirs reclaims nothing.
    OtherQueue,
    /// Their ClusterQueue is not active.
    InactiveQueue,
    /// Their ClusterQueue, or a cohort above it, uses no more than its own.
    NotBorrowing,
    /// Their priority, or their age, protects them.
    Protected,
    /// They could be made to leave, and it would not be enough, or not be fair.
    InVain,
    /// They could be made to leave, and others are.
    NotNeeded,
}

impl Engine {
    /// Those who hold any of what the last look found to be contested and were not chosen, counted by why.
    pub(super) fn spared(&self, id: WorkloadId, queue: QueueId, trace: &Trace) -> Vec<(Spared, usize)> {
        let pools = self.contested_pools(id, trace);
        let node = self.queues[queue].node;
        if pools.is_empty() || self.quotas.node(node).is_in_cycle {
            return Vec::new();
        }
        let mut nodes = Vec::new();
        self.quotas.queues_below(self.quotas.root(node), &mut nodes);
        let mut counts: BTreeMap<Spared, usize> = BTreeMap::new();
        for other in nodes {
            let other_queue = self.quotas.node(other).queue.expect("only ClusterQueues are listed");
            let of_queue = self.spared_queue(node, other, &pools);
            for rank in self.queues[other_queue].reserving.iter() {
                let holder = &self.workloads[rank.id];
                if uses_any(holder, &pools) && !is_victim(trace, &holder.key) {
                    let why = of_queue.unwrap_or_else(|| self.spared_one(id, queue, rank.id, other == node, trace));
                    *counts.entry(why).or_default() += 1;
                }
            }
        }
        counts.into_iter().collect()
    }

    /// The pools in which preemption was the question.
    fn contested_pools(&self, id: WorkloadId, trace: &Trace) -> Vec<PoolId> {
        let mut pools = Vec::new();
        for (pod_set, looked) in self.workloads[id].pod_sets.iter().zip(&trace.pod_sets) {
            let flavors = looked.attempts.iter().filter_map(Attempt::contested);
            for flavor in flavors {
                let wanted =
                    pod_set.requests.iter().filter_map(|(resource, _)| self.names.known_pool(flavor, *resource));
                pools.extend(wanted);
            }
        }
        pools
    }

    /// Why nobody of the other ClusterQueue has to leave, if that is so.
    fn spared_queue(&self, node: NodeId, other: NodeId, pools: &[PoolId]) -> Option<Spared> {
        let queue = |node: NodeId| &self.queues[self.quotas.node(node).queue.expect("the node of a ClusterQueue")];
        let preemption = queue(node).rules.preemption;
        if other == node {
            return (preemption.within_queue == PreemptionPolicy::Never).then_some(Spared::SameQueue);
        }
        if preemption.reclaim_within_cohort == PreemptionPolicy::Never {
            return Some(Spared::OtherQueue);
        }
        if !queue(other).is_active {
            return Some(Spared::InactiveQueue);
        }
        // With fair sharing the shares of cohorts are compared; else each on the way must have borrowed.
        let is_fair = self.settings.fair_sharing.is_some();
        let is_common = |above: &NodeId| is_fair || self.quotas.ancestors(node).any(|own| own == *above);
        let mut path = std::iter::once(other).chain(self.quotas.ancestors(other).take_while(|above| !is_common(above)));
        path.any(|node| self.quotas.is_within_nominal(node, pools)).then_some(Spared::NotBorrowing)
    }

    fn spared_one(&self, id: WorkloadId, queue: QueueId, holder: WorkloadId, is_own: bool, trace: &Trace) -> Spared {
        let preemption = self.queues[queue].rules.preemption;
        let policy = if is_own { preemption.within_queue } else { preemption.reclaim_within_cohort };
        if !self.is_allowed_to_preempt(id, holder, policy) {
            Spared::Protected
        } else if trace.victims.is_empty() {
            Spared::InVain
        } else {
            Spared::NotNeeded
        }
    }
}

fn is_victim(trace: &Trace, key: &Key) -> bool {
    trace.victims.iter().any(|(victim, _)| victim == key)
}
