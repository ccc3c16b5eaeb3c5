//! A ClusterQueue as the engine keeps it.

mod holdings;
mod readiness;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kueue_core::resource_list::ResourceList;
use kueue_core::selector::LabelSelector;
use kueue_core::time::Time;

use crate::change::{Fungibility, Preemption, QueueSpec, QueueingStrategy, StopPolicy};
use crate::id::{FlavorId, LocalQueueId, Name, NodeId, QueueId, ResourceId, WorkloadId};
use crate::ledger::Ledger;
use crate::pending::Pending;
use crate::reserving::Reserving;

pub(crate) use holdings::{Holdings, QueueHoldings, Taken};
pub(crate) use readiness::{Around, Obstacle};

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
    /// What they hold together.
    pub(crate) holdings: QueueHoldings,
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
    /// The ClusterQueue of that name, while there is one.
    pub(crate) home: Option<QueueId>,
    pub(crate) stop: StopPolicy,
    pub(crate) is_terminating: bool,
    pub(crate) weight: f64,
    /// What its status said it consumed when it became known, or what was last decided to be written there.
    pub(crate) consumed: Option<ResourceList>,
    /// When the latter was decided; missing until usage is counted for the first time.
    pub(crate) told_at: Option<Time>,
    /// What it used; kept with admission fair sharing only.
    pub(crate) ledger: Option<Ledger>,
    /// When its usage is to be counted.
    pub(crate) next_sample: Option<Time>,
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
        self.object.as_ref().filter(|object| object.is_running()).map(|object| &object.queue)
    }
}

impl LocalQueueObject {
    /// Whether its workloads may be queued: it is neither halted nor about to go.
    pub(crate) fn is_running(&self) -> bool {
        self.stop == StopPolicy::None && !self.is_terminating
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

    /// Whether these are all flavors there are, and no others.
    pub(crate) fn are_all_flavors(&self, flavors: &[FlavorId]) -> bool {
        self.flavors().all(|flavor| flavors.contains(&flavor))
            && flavors.iter().all(|flavor| self.flavors().any(|known| known == *flavor))
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

/// A LocalQueue that a ClusterQueue serves.
pub(crate) type ServedBy = BTreeMap<Name, BTreeSet<LocalQueueId>>;
