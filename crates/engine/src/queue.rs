//! A ClusterQueue as the engine keeps it.

use std::collections::BTreeSet;
use std::sync::Arc;

use kueue_core::selector::LabelSelector;

use crate::change::{CheckController, CheckSpec, Fungibility, Preemption, QueueSpec, QueueingStrategy, StopPolicy};
use crate::id::{FlavorId, LocalQueueId, Name, NodeId, ResourceId, WorkloadId};
use crate::pending::Pending;
use crate::workload::Rank;

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
    pub(crate) reserving: BTreeSet<Rank>,
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
}

impl LocalQueue {
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
pub(crate) type ServedBy = std::collections::BTreeMap<Name, BTreeSet<LocalQueueId>>;
