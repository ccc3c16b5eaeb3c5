//! Why a workload waits: the question that users ask, answered from what the last cycle found.

mod spared;

use std::sync::Arc;

use kueue_core::amount::Amount;
use kueue_core::time::Time;

use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{Name, WorkloadId};
use crate::status::{ConditionKind, Reason};
use crate::topology::TopologyAssignment;
use crate::trace::Trace;
use crate::workload::Place;

pub use spared::Spared;

/// Everything known about why a workload does or does not run. Its text is made in one place, by `Display`.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// The workload.
    pub workload: Key,
    /// The ClusterQueue that its LocalQueue leads to.
    pub queue: Option<Name>,
    /// Where it stands.
    pub standing: Standing,
    /// What its status says, in one word; empty when nothing was said yet.
    pub reason: Reason,
    /// The same in a sentence.
    pub message: Name,
    /// Where its pods are, as far as they were placed.
    pub places: Vec<PlacedLook>,
    /// The last look at it, if a cycle has looked since something changed.
    pub look: Option<Look>,
}

/// Where a workload stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It holds quota.
    Running,
    /// It is in line.
    InLine {
        /// How many are looked at before it.
        ahead: usize,
        /// The first of them.
        first: Option<Key>,
    },
    /// It is not looked at before something changes.
    Parked,
    /// It waits for a time.
    Held {
        /// Until then.
        until: Option<Time>,
    },
    /// It is in no queue.
    Out,
}

/// What a cycle found out.
#[derive(Clone, PartialEq, Debug)]
pub struct Look {
    /// When.
    pub at: Time,
    /// Whether it was an equal workload that was looked at, on behalf of all like it.
    pub is_of_equal: bool,
    /// What was tried for each pod set.
    pub pod_sets: Vec<PodSetLook>,
    /// Who has to leave first, and by which rule.
    pub victims: Vec<(Key, &'static str)>,
    /// How many others hold what it would need, as things are now, and why they may stay.
    pub spared: Vec<(Spared, usize)>,
    /// Who got in its way in the same cycle.
    pub taken_by: Option<Key>,
}

/// What was tried for one pod set.
#[derive(Clone, PartialEq, Debug)]
pub struct PodSetLook {
    /// The pod set.
    pub name: Name,
    /// The flavors, by name.
    pub flavors: Vec<FlavorLook>,
    /// What spoke against it whatever the flavor.
    pub refusals: Vec<String>,
    /// How far the search for places came, where room for the pods was found nowhere.
    pub place: Option<PlaceLook>,
}

/// How far a search for places came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlaceLook {
    /// The level at which it gave up.
    pub level: Name,
    /// The domain with the most room, by its values from the top; empty where several would have been taken together.
    pub domain: Vec<Name>,
    /// How many pods, or slices, fit.
    pub fitting: i32,
    /// How many were asked for.
    pub wanted: i32,
    /// How many lowest domains there are: nodes, mostly.
    pub domains: usize,
    /// How many of those were out of the question, and why.
    pub excluded: Vec<(String, u32)>,
}

/// Where the pods of a pod set are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacedLook {
    /// The pod set.
    pub name: Name,
    /// Its places.
    pub place: Arc<TopologyAssignment>,
}

/// What came of trying one flavor.
#[derive(Clone, PartialEq, Debug)]
pub struct FlavorLook {
    /// The flavor.
    pub flavor: Name,
    /// How good it is: `Fit`, `NoFit`, or what preemption could do.
    pub state: &'static str,
    /// How far up the tree quota would be borrowed from; 0 when it would not.
    pub borrowing_level: u32,
    /// By how much quota is too small.
    pub shortages: Vec<Shortage>,
    /// What else spoke against it, in words.
    pub refusals: Vec<String>,
}

/// A limit that failed, and by how much.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// The resource.
    pub resource: Name,
    /// How much more would be needed.
    pub missing: Amount,
    /// Whether it would not be there even if nothing ran.
    pub is_for_ever: bool,
}

impl Engine {
    /// Why the workload does or does not run. Costs nothing until it is asked.
    pub fn explain(&self, workload: &Key) -> Option<Explanation> {
        let id = *self.workload_ids.get(workload)?;
        let status = &self.workloads[id].status;
        let reserved = status.condition(ConditionKind::QuotaReserved);
        let queue = self.queue_of(self.workloads[id].local_queue);
        Some(Explanation {
            workload: workload.clone(),
            queue: queue.map(|queue| self.queues[queue].name.clone()),
            standing: self.standing(id),
            reason: reserved.map(|reserved| reserved.reason.clone()).unwrap_or_default(),
            message: reserved.map(|reserved| reserved.message.clone()).unwrap_or_default(),
            places: self.placed(id),
            look: self.look(id),
        })
    }

    fn placed(&self, id: WorkloadId) -> Vec<PlacedLook> {
        let assigned = self.workloads[id].status.admission.iter().flat_map(|admission| &admission.pod_sets);
        let placed = assigned
            .filter_map(|assigned| Some(PlacedLook { name: assigned.name.clone(), place: assigned.topology.clone()? }));
        placed.collect()
    }

    fn standing(&self, id: WorkloadId) -> Standing {
        let workload = &self.workloads[id];
        match &workload.place {
            _ if workload.holds_quota() => Standing::Running,
            Place::Queued(seat) if self.queues[seat.queue].pending.is_awake(seat) => {
                let line = self.pending(&self.queues[seat.queue].name).active;
                let ahead = line.iter().position(|other| *other == workload.key).unwrap_or(line.len());
                Standing::InLine { ahead, first: line.into_iter().next().filter(|_| ahead > 0) }
            }
            Place::Queued(_) => Standing::Parked,
            Place::Held(_) => Standing::Held { until: workload.status.requeue_at() },
            Place::Nowhere | Place::InFlight(_) => Standing::Out,
        }
    }

    /// The last look at the workload itself, or at its class.
    fn look(&self, id: WorkloadId) -> Option<Look> {
        let workload = &self.workloads[id];
        if let Some(trace) = &workload.trace {
            return Some(self.tell(id, trace, false));
        }
        let (Place::Queued(seat) | Place::Held(seat)) = &workload.place else { return None };
        let found = self.queues[seat.queue].pending.no_fit.get(&seat.class)?;
        Some(self.tell(id, &found.trace, found.looked_at != id))
    }

    fn tell(&self, id: WorkloadId, trace: &Arc<Trace>, is_of_equal: bool) -> Look {
        let names = self.workloads[id].pod_sets.iter().map(|pod_set| pod_set.spec.name.clone());
        let queue = self.queue_of(self.workloads[id].local_queue);
        let pod_sets = names.zip(&trace.pod_sets).map(|(name, pod_set)| PodSetLook {
            name,
            flavors: pod_set.attempts.iter().map(|attempt| attempt.tell(&self.names)).collect(),
            refusals: pod_set.refusals.iter().map(|refusal| refusal.render(&self.names)).collect(),
            place: pod_set.refusals.iter().find_map(|refusal| refusal.place(&self.names)),
        });
        Look {
            at: trace.at,
            is_of_equal,
            pod_sets: pod_sets.collect(),
            victims: trace.victims.clone(),
            spared: queue.map(|queue| self.spared(id, queue, trace)).unwrap_or_default(),
            taken_by: trace.taken_by.clone(),
        }
    }
}
