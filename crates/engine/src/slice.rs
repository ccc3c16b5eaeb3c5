//! Elastic jobs: a workload takes the place of a smaller one of the same job.
//!
//! The larger *slice* asks only for what it needs beyond the other, which holds its quota until the moment of the
//! replacement. It must get the flavors that the other has, because the pods of the job go on running.

use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{FlavorId, Name, QueueId, ResourceId, WorkloadId};
use crate::workload::Held;

/// The slice whose place a workload takes, and what it holds.
#[derive(Debug)]
pub(crate) struct Replaced {
    pub(crate) workload: WorkloadId,
    held: Vec<Held>,
}

impl Engine {
    /// The slice whose place the workload would take.
    pub fn replaces(&self, workload: &Key) -> Option<&Key> {
        let id = *self.workload_ids.get(workload)?;
        let queue = self.queue_of(self.workloads[id].local_queue)?;
        self.predecessor(id, queue).map(|old| &self.workloads[old].key)
    }

    /// The slice that the workload replaces, and what it holds.
    pub(crate) fn replaced_slice(&mut self, id: WorkloadId, queue: QueueId) -> Option<Replaced> {
        let workload = self.predecessor(id, queue).filter(|old| !self.departed.contains(old))?;
        Some(Replaced { workload, held: self.held_by(workload) })
    }

    /// The slice that the workload replaces, while it holds quota in the same ClusterQueue.
    ///
    /// A name that leads nowhere, to another namespace or queue, or to the workload itself is no replacement: the
    /// workload is admitted like any other.
    fn predecessor(&self, id: WorkloadId, queue: QueueId) -> Option<WorkloadId> {
        let workload = &self.workloads[id];
        let old = *self.workload_ids.get(workload.replaces.as_ref()?)?;
        let is_same_job = self.workloads[old].namespace == workload.namespace && old != id;
        let is_in_queue = self.workloads[old].claim.as_ref().is_some_and(|claim| claim.queue == queue);
        (is_same_job && is_in_queue).then_some(old)
    }
}

impl Replaced {
    fn held(&self, pod_set: &Name) -> Option<&Held> {
        self.held.iter().find(|held| held.pod_set == *pod_set)
    }

    /// How many pods of the pod set hold quota.
    pub(crate) fn count(&self, pod_set: &Name) -> i32 {
        self.held(pod_set).map_or(0, |held| held.count)
    }

    /// The flavor that the pod set has for a resource, and how much of it.
    pub(crate) fn holding(&self, pod_set: &Name, resource: ResourceId) -> Option<(FlavorId, i64)> {
        let resources = &self.held(pod_set)?.resources;
        resources.iter().find(|(known, _, _)| *known == resource).map(|(_, flavor, amount)| (*flavor, *amount))
    }
}
