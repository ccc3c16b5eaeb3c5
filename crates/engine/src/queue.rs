//! A ClusterQueue as the engine keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kueue_core::amount::Amount;
use kueue_core::resource_list::ResourceList;
use kueue_core::selector::LabelSelector;
use kueue_core::time::Time;

use crate::change::{CheckController, CheckSpec, Fungibility, Preemption, QueueSpec, QueueingStrategy, StopPolicy};
use crate::id::{FlavorId, LocalQueueId, Name, NodeId, PoolId, ResourceId, WorkloadId};
use crate::ledger::Ledger;
use crate::pending::Pending;
use crate::reserving::Reserving;

/// A ClusterQueue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) name: Name,
    pub(crate) node: NodeId,
    pub(crate) spec: QueueSpec,
    /// What a cycle needs of the spec, shared with it while it runs.
    pub(crate) rules: Arc<Rules>,
    /// Whether anything may be admitted.
    pub(crate) is_active: bool,
    pub(crate) pending: Pending,
    /// Those that hold quota here, in the order in which they would be preempted.
    pub(crate) reserving: Reserving,
    /// What admitted workloads use, by the LocalQueue that they came through. Wide enough that sums never saturate.
    pub(crate) admitted: BTreeMap<LocalQueueId, BTreeMap<PoolId, i128>>,
}

/// The parts of a spec that decide about a workload, with names turned into ids.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) groups: Vec<ResourceGroup>,
    pub(crate) preemption: Preemption,
    pub(crate) fungibility: Fungibility,
    pub(crate) strategy: QueueingStrategy,
    pub(crate) namespaces: Option<LabelSelector>,
    /// Each check with the flavors it is for.
    pub(crate) checks: Vec<(Name, Vec<FlavorId>)>,
}

/// Resources that are given the same flavor.
#[derive(Debug)]
pub(crate) struct ResourceGroup {
    pub(crate) resources: Vec<ResourceId>,
    pub(crate) flavors: Vec<FlavorId>,
}

/// A LocalQueue name: the object, if there is one, and all workloads that were submitted to it.
#[derive(Debug, Default)]
pub(crate) struct LocalQueue {
    pub(crate) object: Option<LocalQueueObject>,
    pub(crate) workloads: BTreeSet<WorkloadId>,
}

/// A LocalQueue object.
#[derive(Debug)]
pub(crate) struct LocalQueueObject {
    pub(crate) queue: Name,
    pub(crate) stop: StopPolicy,
    pub(crate) weight: f64,
    /// What its status said it consumed when it became known, or what was last decided to be written there.
    pub(crate) consumed: Option<ResourceList>,
    /// What it used; kept with admission fair sharing only.
    pub(crate) ledger: Option<Ledger>,
    /// When its usage is to be counted.
    pub(crate) next_sample: Option<Time>,
}

impl Queue {
    /// Adds to (1) or takes from (-1) what admitted workloads of a LocalQueue use.
    pub(crate) fn count_admitted(&mut self, lq: LocalQueueId, usage: &[(PoolId, Amount)], sign: i128) {
        let sums = self.admitted.entry(lq).or_default();
        for (pool, amount) in usage {
            *sums.entry(*pool).or_default() += sign * i128::from(amount.get());
        }
        sums.retain(|_, sum| *sum != 0);
        if sums.is_empty() {
            self.admitted.remove(&lq);
        }
    }
}

impl LocalQueue {
    pub(crate) fn ledger(&self) -> Option<&Ledger> {
        self.object.as_ref()?.ledger.as_ref()
    }

    pub(crate) fn ledger_mut(&mut self) -> Option<&mut Ledger> {
        self.object.as_mut()?.ledger.as_mut()
    }

    /// The ClusterQueue it leads to while it runs.
    pub(crate) fn target(&self) -> Option<&Name> {
        self.object.as_ref().filter(|object| object.stop == StopPolicy::None).map(|object| &object.queue)
    }
}

impl Rules {
    pub(crate) fn group_of(&self, resource: ResourceId) -> Option<&ResourceGroup> {
        self.groups.iter().find(|group| group.resources.contains(&resource))
    }

    /// Every flavor, in order, once.
    pub(crate) fn flavors(&self) -> impl Iterator<Item = FlavorId> {
        self.groups.iter().flat_map(|group| group.flavors.iter().copied())
    }

    /// The checks that a workload with these flavors must pass.
    pub(crate) fn checks_for(&self, assigned: &[FlavorId]) -> impl Iterator<Item = &Name> {
        self.checks
            .iter()
            .filter(move |(_, flavors)| flavors.iter().any(|flavor| assigned.contains(flavor)))
            .map(|(name, _)| name)
    }

    /// The checks that every workload must pass, whatever flavors it gets.
    pub(crate) fn checks_for_all(&self) -> impl Iterator<Item = &Name> {
        self.checks
            .iter()
            .filter(|(_, flavors)| self.flavors().all(|flavor| flavors.contains(&flavor)))
            .map(|(name, _)| name)
    }
}

/// Whether a queue may admit, given what exists around it.
pub(crate) fn is_ready<'a>(
    queue: &Queue,
    has_flavor: impl Fn(FlavorId) -> bool,
    check: impl Fn(&Name) -> Option<&'a CheckSpec>,
) -> bool {
    if queue.spec.stop != StopPolicy::None || !queue.rules.flavors().all(has_flavor) {
        return false;
    }
    let mut multi_kueue = 0;
    let mut has_provisioning = false;
    for (name, flavors) in &queue.rules.checks {
        let Some(check) = check(name).filter(|check| check.is_active) else { return false };
        match check.controller {
            CheckController::MultiKueue => {
                multi_kueue += 1;
                let is_for_all = queue.rules.flavors().all(|flavor| flavors.contains(&flavor));
                if !is_for_all {
                    return false;
                }
            }
            CheckController::Provisioning => has_provisioning = true,
            CheckController::Other => {}
        }
    }
    multi_kueue <= 1 && !(multi_kueue == 1 && has_provisioning)
}

/// A LocalQueue that a ClusterQueue serves.
pub(crate) type ServedBy = BTreeMap<Name, BTreeSet<LocalQueueId>>;
