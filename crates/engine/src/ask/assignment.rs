//! Which flavors a workload would get, and what spoke against the others.

use kueue_core::amount::Amount;

use crate::assign::{Assignment, Mode, Oracle, Outlook, Plan};
use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{FlavorId, Name, PoolId, QueueId, ResourceId, WorkloadId};

/// What a workload would get.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssignmentView {
    /// The worst of its pod sets.
    pub mode: Mode,
    /// How far up the tree quota would be borrowed from; 0 when it would not.
    pub borrowing: u32,
    /// In the order of the workload's pod sets, up to the first that can have nothing.
    pub pod_sets: Vec<PodSetAssignmentView>,
    /// What it would use: flavor, resource, amount.
    pub usage: Vec<(Name, Name, Amount)>,
    /// Why nothing fits, in one word.
    pub obstacle: Option<&'static str>,
}

/// What a pod set would get.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodSetAssignmentView {
    /// The pod set.
    pub name: Name,
    /// How many pods.
    pub count: i32,
    /// What they need together.
    pub requests: Vec<(Name, i64)>,
    /// By resource name.
    pub flavors: Vec<FlavorView>,
    /// What speaks against a start right now, sorted.
    pub reasons: Vec<String>,
    /// Every flavor that was looked at, by name.
    pub attempts: Vec<AttemptView>,
    /// Why its pods can have no place, whatever room there is.
    pub error: Option<String>,
}

/// The flavor of one resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlavorView {
    /// The resource.
    pub resource: Name,
    /// The flavor.
    pub flavor: Name,
    /// What has to happen first.
    pub mode: Mode,
    /// Where the scan of flavors stopped; -1 when it reached the end.
    pub tried: i32,
}

/// One flavor that was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttemptView {
    /// The flavor.
    pub flavor: Name,
    /// What would have to happen first.
    pub mode: Mode,
    /// What preemption could do, where it is the question.
    pub preemption: Option<Outlook>,
    /// How far up the tree quota would be borrowed from.
    pub borrow: u32,
    /// What spoke against it, sorted.
    pub reasons: Vec<String>,
    /// The same in one word, where nothing fits.
    pub obstacle: Option<&'static str>,
}

impl Engine {
    /// Which flavors a workload would get in a ClusterQueue if all its pods started and nobody else was looked at.
    pub fn would_assign(&mut self, workload: &Key, queue: &str, oracle: Oracle<'_>) -> Option<AssignmentView> {
        self.would_assign_of(workload, queue, oracle, None)
    }

    /// The same where an earlier look in the same cycle chose the flavors: no others are tried.
    pub fn would_assign_again(
        &mut self,
        workload: &Key,
        queue: &str,
        oracle: Oracle<'_>,
        first: &AssignmentView,
    ) -> Option<AssignmentView> {
        let names = &mut self.names;
        let mut pin = |chosen: &FlavorView| (names.resource_id(&chosen.resource), names.flavor_id(&chosen.flavor));
        let pins: Vec<Vec<_>> =
            first.pod_sets.iter().map(|pod_set| pod_set.flavors.iter().map(&mut pin).collect()).collect();
        self.would_assign_of(workload, queue, oracle, Some(&pins))
    }

    fn would_assign_of(
        &mut self,
        workload: &Key,
        queue: &str,
        oracle: Oracle<'_>,
        pins: Option<&[Vec<(ResourceId, FlavorId)>]>,
    ) -> Option<AssignmentView> {
        let (id, queue) = self.find(workload, queue)?;
        let totals = self.workloads[id].totals(self.settings.gates);
        let assignment = self.with_plan(id, queue, pins, oracle, |engine, plan| engine.assign(plan, &totals));
        Some(self.assignment_view(id, &assignment))
    }

    /// Looks at a workload as its first attempt in a cycle does.
    pub(super) fn with_plan<R>(
        &mut self,
        workload: WorkloadId,
        queue: QueueId,
        pins: Option<&[Vec<(ResourceId, FlavorId)>]>,
        oracle: Oracle<'_>,
        look: impl FnOnce(&mut Self, &Plan<'_>) -> R,
    ) -> R {
        let rules = self.queues[queue].rules.clone();
        let replaced = self.replaced_slice(workload, queue);
        let node = self.queues[queue].node;
        let replaced = replaced.as_ref();
        look(self, &Plan { workload, queue, node, rules: &rules, progress: None, pins, replaced, oracle })
    }

    pub(super) fn find(&self, workload: &Key, queue: &str) -> Option<(WorkloadId, QueueId)> {
        Some((*self.workload_ids.get(workload)?, *self.queue_ids.get(queue)?))
    }

    fn assignment_view(&self, id: WorkloadId, assignment: &Assignment) -> AssignmentView {
        let named = |(pool, amount): &(PoolId, Amount)| {
            let (flavor, resource) = self.names.pool(*pool);
            (flavor.clone(), resource.clone(), *amount)
        };
        let name = |index: usize| &self.workloads[id].pod_sets[index].spec.name;
        AssignmentView {
            mode: assignment.mode,
            borrowing: assignment.borrowing,
            pod_sets: assignment.pod_sets.iter().map(|set| set.view(name(set.index), &self.names)).collect(),
            usage: assignment.usage.iter().map(named).collect(),
            obstacle: assignment.obstacle,
        }
    }
}
