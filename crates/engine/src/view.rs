//! What can be read of the engine's state: what status controllers, metrics, the visibility API and explanations show.
//!
//! Every question costs what its answer holds: numbers are kept while the state changes, lists are walked as far as
//! the caller takes from them.

mod domains;
mod pending;
mod readiness;
mod share;
mod tree;
mod usage;

use kueue_core::amount::Amount;
use kueue_core::resource_list::ResourceList;
use kueue_core::time::Time;

use crate::cycle::CycleSummary;
use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{Name, QueueId};
use crate::ledger::Ledger;
use crate::queue::Queue;
use crate::reserving::{self, Eligibility};
use crate::status::Status;

pub use domains::DomainView;
pub use pending::{PendingView, Position};
pub use readiness::Readiness;
pub use share::ShareView;
pub use tree::{CohortCycle, PoolView};
pub use usage::{FlavorUsageView, ResourceUsageView, UsageView};

/// What a pod set asks for, or holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodSetDemand {
    /// Its name.
    pub name: Name,
    /// How many pods that is for; those that are done do not count.
    pub count: i32,
    /// By resource, for all pods: milli-units of cpu, units of everything else.
    pub requests: Vec<(Name, i64)>,
    /// The flavors it was given, by resource; none while it waits.
    pub flavors: Vec<(Name, Name)>,
}

impl Engine {
    /// What a workload asks for while it waits, or holds when it has been given something, per pod set.
    pub fn requests(&self, workload: &Key) -> Vec<PodSetDemand> {
        let Some(id) = self.workload_ids.get(workload) else { return Vec::new() };
        let workload = &self.workloads[*id];
        let gates = self.settings.gates;
        let Some(admission) = &workload.status.admission else {
            let asked = workload.pod_sets.iter().zip(workload.totals(gates));
            return asked
                .map(|(pod_set, total)| PodSetDemand {
                    name: pod_set.spec.name.clone(),
                    count: total.count,
                    requests: total
                        .requests
                        .iter()
                        .map(|(resource, amount)| (self.names.resource(*resource).clone(), *amount))
                        .collect(),
                    flavors: Vec::new(),
                })
                .collect();
        };
        let held = admission.pod_sets.iter().map(|assigned| {
            let share = workload.living_share(assigned, gates);
            let requests = assigned.usage.iter().map(|(resource, total)| (resource.clone(), share.of(*total)));
            let (name, flavors) = (assigned.name.clone(), assigned.flavors.clone());
            PodSetDemand { name, count: share.count(), requests: requests.collect(), flavors }
        });
        held.collect()
    }

    /// Whether every queue would treat the two alike, so that what one attempt finds out about one holds for the other.
    pub fn are_alike(&self, one: &Key, other: &Key) -> bool {
        let class = |key: &Key| self.workload_ids.get(key).and_then(|id| self.workloads[*id].class);
        class(one).is_some() && class(one) == class(other)
    }

    /// The names of all ClusterQueues.
    pub fn queue_names(&self) -> impl Iterator<Item = &Name> {
        let mut names: Vec<&Name> = self.queue_ids.keys().collect();
        names.sort_unstable();
        names.into_iter()
    }

    fn queue(&self, name: &str) -> Option<&Queue> {
        self.queue_ids.get(name).map(|id: &QueueId| &self.queues[*id])
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
        self.workload_ids.get(workload).map(|id| &*self.workloads[*id].status)
    }

    /// What a LocalQueue used of late, if that is kept.
    pub fn ledger(&self, namespace: &str, local_queue: &str) -> Option<&Ledger> {
        let id = self.names.known_local_queue(&namespace.into(), &local_queue.into())?;
        self.local_queues.get(&id)?.ledger()
    }

    /// The same in one number, as the order of LocalQueues compares it.
    pub fn fair_usage(&self, namespace: &str, local_queue: &str) -> Option<f64> {
        let id = self.names.known_local_queue(&namespace.into(), &local_queue.into())?;
        self.local_queues.get(&id)?.ledger()?;
        Some(self.usage_of(id).get())
    }

    /// What was last decided that the status of a LocalQueue says about what it used, and when.
    pub fn told_usage(&self, namespace: &str, local_queue: &str) -> Option<(&ResourceList, Time)> {
        let id = self.names.known_local_queue(&namespace.into(), &local_queue.into())?;
        let object = self.local_queues.get(&id)?.object.as_ref()?;
        Some((object.consumed.as_ref()?, object.told_at?))
    }
}
