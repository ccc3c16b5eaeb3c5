//! How much is held by whom, kept while claims come and go so that nobody has to add it up.

use kueue_core::amount::Amount;
use rustc_hash::FxHashMap;

use crate::few::Sums;
use crate::id::{LocalQueueId, PoolId};
use crate::workload::Claim;

/// How many workloads hold quota, and how much of each pool.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) workloads: usize,
    pub(crate) usage: Sums<PoolId>,
}

/// What some workloads hold: all of them, and those of them that may run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Holdings {
    pub(crate) reserved: Taken,
    pub(crate) admitted: Taken,
}

/// What is held in a ClusterQueue: as a whole, and through each LocalQueue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct QueueHoldings {
    pub(crate) all: Holdings,
    by_local_queue: FxHashMap<LocalQueueId, Holdings>,
}

impl QueueHoldings {
    pub(crate) fn of(&self, local_queue: LocalQueueId) -> Option<&Holdings> {
        self.by_local_queue.get(&local_queue)
    }

    pub(crate) fn add(&mut self, claim: &Claim) {
        self.all.add(claim);
        self.by_local_queue.entry(claim.rank.local_queue).or_default().add(claim);
    }

    pub(crate) fn remove(&mut self, claim: &Claim) {
        self.all.remove(claim);
        let holdings = self.by_local_queue.get_mut(&claim.rank.local_queue).expect("what is removed was added");
        holdings.remove(claim);
        if holdings.reserved.workloads == 0 {
            self.by_local_queue.remove(&claim.rank.local_queue);
        }
    }
}

impl Holdings {
    fn add(&mut self, claim: &Claim) {
        self.reserved.add(claim);
        if claim.admitted_through.is_some() {
            self.admitted.add(claim);
        }
    }

    fn remove(&mut self, claim: &Claim) {
        self.reserved.remove(claim);
        if claim.admitted_through.is_some() {
            self.admitted.remove(claim);
        }
    }
}

impl Taken {
    pub(crate) fn amount(&self, pool: PoolId) -> Amount {
        Amount::new(i64::try_from(self.usage.of(pool)).unwrap_or(i64::MAX))
    }

    fn add(&mut self, claim: &Claim) {
        self.workloads += 1;
        for (pool, amount) in claim.usage.iter().filter(|(_, amount)| *amount != Amount::ZERO) {
            self.usage.add(*pool, amount.get());
        }
    }

    fn remove(&mut self, claim: &Claim) {
        self.workloads -= 1;
        for (pool, amount) in claim.usage.iter().filter(|(_, amount)| *amount != Amount::ZERO) {
            self.usage.remove(*pool, amount.get());
        }
    }
}
