//! What can be read of the engine's state.

use kueue_core::amount::Amount;

use crate::cycle::CycleSummary;
use crate::effect::Key;
use crate::engine::Engine;
use crate::id::Name;
use crate::ledger::Ledger;
use crate::reserving::{self, Eligibility};
use crate::status::Status;

/// A ClusterQueue's waiting workloads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PendingView {
    /// Those that are looked at next, in order.
    pub active: Vec<Key>,
    /// Those that wait for something to change, by name.
    pub parked: Vec<Key>,
}

impl Engine {
    /// The names of all ClusterQueues.
    pub fn queue_names(&self) -> impl Iterator<Item = &Name> {
        self.queue_ids.keys()
    }

    /// Who waits in a ClusterQueue.
    pub fn pending(&self, queue: &str) -> PendingView {
        let Some(id) = self.queue_ids.get(queue) else { return PendingView::default() };
        let pending = &self.queues[*id].pending;
        let key = |id| self.workloads[id].key.clone();
        let active: Vec<Key> = pending.awake().into_iter().map(|ticket| key(ticket.id)).collect();
        let mut parked: Vec<Key> = pending.asleep().map(|ticket| key(ticket.id)).collect();
        parked.sort();
        PendingView { active, parked }
    }

    /// Who holds quota in a ClusterQueue, in the order in which they would be preempted.
    pub fn reserving(&self, queue: &str) -> Vec<Key> {
        let Some(id) = self.queue_ids.get(queue) else { return Vec::new() };
        let queue = &self.queues[*id];
        let mut keys = Vec::new();
        for is_staying in [false, true] {
            let mut lines: Vec<_> = queue.reserving.lines(is_staying, |lq| queue.pending.usage(lq)).collect();
            while let Some(rank) = reserving::next(&mut lines, |_| Eligibility::Yes) {
                keys.push(self.workloads[rank.id].key.clone());
            }
        }
        keys
    }

    /// What the last cycle that looked at anybody had to give up or do again.
    pub fn last_cycle(&self) -> &CycleSummary {
        &self.last_cycle
    }

    /// What is reserved in a ClusterQueue: flavor, resource, amount.
    pub fn usage(&self, queue: &str) -> Vec<(Name, Name, Amount)> {
        let Some(id) = self.queue_ids.get(queue) else { return Vec::new() };
        self.quotas
            .usages(self.queues[*id].node)
            .map(|(pool, amount)| {
                let (flavor, resource) = self.names.pool(pool);
                (flavor.clone(), resource.clone(), amount)
            })
            .collect()
    }

    /// A workload's status, with everything that was decided.
    pub fn status(&self, workload: &Key) -> Option<&Status> {
        self.workload_ids.get(workload).map(|id| &self.workloads[*id].status)
    }

    /// What a LocalQueue used of late, if that is kept.
    pub fn ledger(&self, namespace: &str, local_queue: &str) -> Option<&Ledger> {
        let id = self.names.known_local_queue(&namespace.into(), &local_queue.into())?;
        self.local_queues.get(&id)?.ledger.as_ref()
    }

    /// A ClusterQueue's share of what its cohort lends, as the API shows it.
    pub fn queue_share(&self, queue: &str) -> Option<i64> {
        let id = self.queue_ids.get(queue)?;
        Some(self.share_of(self.queues[*id].node))
    }

    /// The same for a Cohort object.
    pub fn cohort_share(&self, cohort: &str) -> Option<i64> {
        let node = self.quotas.cohort(cohort).filter(|node| self.quotas.is_explicit(*node))?;
        Some(self.share_of(node))
    }

    fn share_of(&self, node: crate::id::NodeId) -> i64 {
        if self.quotas.node(node).is_in_cycle {
            return 0;
        }
        self.quotas.share(node, |pool| self.names.resource_of(pool)).rounded()
    }
}
