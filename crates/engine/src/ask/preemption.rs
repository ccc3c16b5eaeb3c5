//! Who would have to go, by which rule, and in which order.

use kueue_core::amount::Amount;

use crate::assign::Assignment;
use crate::change::PreemptionPolicy;
use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{Name, PoolId, QueueId, WorkloadId};
use crate::preempt::{Demand, Target, departure};

/// The flavors that a pod set is to have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WantedPodSet {
    /// How many pods.
    pub count: i32,
    /// Their flavors.
    pub flavors: Vec<WantedFlavor>,
}

/// The flavor that one resource is to have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WantedFlavor {
    /// The resource.
    pub resource: Name,
    /// The flavor.
    pub flavor: Name,
    /// Whether room has to be made for it.
    pub needs_room: bool,
}

/// A workload that would have to go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Victim {
    /// The workload.
    pub workload: Key,
    /// By which rule.
    pub reason: &'static str,
    /// The same in a sentence, as its condition would say it.
    pub message: String,
}

/// A workload's priority and what it is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Priority {
    /// What counts.
    pub effective: i64,
    /// What the workload says.
    pub base: i32,
    /// What is added.
    pub boost: i64,
}

/// What to do with the queue whose turn it is in [`Engine::fair_order`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FairStep {
    /// One of its workloads is looked at, and stays.
    PassOver,
    /// No more of its workloads are looked at.
    LeaveAlone,
}

impl Engine {
    /// Who would have to go for a workload that is to have these flavors in a ClusterQueue.
    pub fn victims(&mut self, workload: &Key, queue: &str, wanted: &[WantedPodSet]) -> Vec<Victim> {
        let Some((id, queue)) = self.find(workload, queue) else { return Vec::new() };
        let demand = self.demand_of(id, queue, wanted);
        let targets = self.targets(&demand);
        let victim = |target: &Target| Victim {
            workload: self.workloads[target.workload].key.clone(),
            reason: target.reason,
            message: self.preemption_message(id, demand.node, *target),
        };
        targets.iter().map(victim).collect()
    }

    /// What a workload that is to have these flavors needs room for: flavor, resource, amount.
    pub fn demand(&mut self, workload: &Key, queue: &str, wanted: &[WantedPodSet]) -> Vec<(Name, Name, Amount)> {
        let Some((id, queue)) = self.find(workload, queue) else { return Vec::new() };
        let demand = self.demand_of(id, queue, wanted);
        let named = |(pool, amount): &(PoolId, Amount)| {
            let (flavor, resource) = self.names.pool(*pool);
            (flavor.clone(), resource.clone(), *amount)
        };
        demand.requests.iter().map(named).collect()
    }

    fn demand_of(&mut self, id: WorkloadId, queue: QueueId, wanted: &[WantedPodSet]) -> Demand {
        let replaced = self.replaced_slice(id, queue);
        let assignment = Assignment::given(wanted, &mut self.names);
        let totals = self.workloads[id].totals(self.settings.gates);
        self.demand_for(id, queue, replaced.as_ref(), &assignment, &totals)
    }

    /// Whether one workload may preempt another under a policy.
    pub fn may_preempt(&self, preemptor: &Key, candidate: &Key, policy: PreemptionPolicy) -> bool {
        let id = |key: &Key| self.workload_ids.get(key).copied();
        let (Some(preemptor), Some(candidate)) = (id(preemptor), id(candidate)) else { return false };
        self.is_allowed_to_preempt(preemptor, candidate, policy)
    }

    /// The order in which workloads would go for one of the given ClusterQueue.
    pub fn preemption_order(&self, queue: &str, candidates: &[Key]) -> Vec<Key> {
        let mut ranks: Vec<_> = candidates
            .iter()
            .filter_map(|key| {
                let id = *self.workload_ids.get(key)?;
                let admission = self.workloads[id].status.admission.as_ref();
                Some((self.rank_of(id), admission.is_some_and(|admission| *admission.queue == *queue)))
            })
            .collect();
        ranks.sort_by(|(a, a_is_own), (b, b_is_own)| departure(a, *a_is_own).cmp(&departure(b, *b_is_own)));
        ranks.into_iter().map(|(rank, _)| self.workloads[rank.id].key.clone()).collect()
    }

    /// What a workload's priority is made of.
    pub fn priority(&self, workload: &Key) -> Option<Priority> {
        let workload = &self.workloads[*self.workload_ids.get(workload)?];
        let (effective, base) = (workload.priority, workload.base_priority);
        Some(Priority { effective, base, boost: effective - i64::from(base) })
    }

    /// The ClusterQueues in the order in which fair sharing would look at workloads of theirs, for one of `preemptor`.
    pub fn fair_order(&self, preemptor: &str, from: &[Name], step: impl FnMut(usize) -> FairStep) -> Vec<Name> {
        let Some(queue) = self.queue_ids.get(preemptor).copied() else { return Vec::new() };
        let from: Vec<_> = from.iter().filter_map(|name| self.queue_ids.get(name).copied()).collect();
        let order = self.fair_turns(queue, &from, step);
        order.into_iter().map(|queue| self.queues[queue].name.clone()).collect()
    }
}
