//! One workload as the engine keeps it: what was said about it, where it is, what it holds.

use std::cmp::Reverse;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::sync::Arc;

use kueue_core::amount::Amount;
use kueue_core::gates::{Gate, Gates};
use kueue_core::time::Time;

use crate::change::{Hold, Owner, PodSetSpec, PriorityClass, VariantSpec};
use crate::class::Likeness;
use crate::effect::Key;
use crate::few::Few;
use crate::id::{
    ClassId, FlavorId, LabelsId, LocalQueueId, Name, NamespaceId, PoolId, QueueId, ResourceId, WorkloadId,
};
use crate::settings::Settings;
use crate::status::history::OrderTime;
use crate::status::{ConditionKind, PodSetAdmission, SharedStatus};
use crate::topology::Occupied;
use crate::trace::Trace;
use crate::unadmitted::Standing;

/// A pod set with its names turned into ids. Shared by all workloads of the same shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PodSet {
    pub(crate) spec: PodSetSpec,
    /// What one pod needs, in the order in which resources are looked at.
    pub(crate) requests: Vec<(ResourceId, i64)>,
    /// What one pod takes of a node, itself included, by resource name.
    pub(crate) room: Vec<(ResourceId, i64)>,
}

impl Hash for PodSet {
    /// Numbers tell shapes apart well enough; names are compared, not hashed.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.requests, self.spec.count, self.spec.fingerprint).hash(state);
    }
}

/// A workload. The engine's own decisions are in `status` as soon as they are taken.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) key: Key,
    pub(crate) namespace: NamespaceId,
    pub(crate) uid: Name,
    pub(crate) job_uid: Option<Name>,
    pub(crate) created: Time,
    pub(crate) generation: i64,
    pub(crate) local_queue: LocalQueueId,
    pub(crate) labels: LabelsId,
    pub(crate) base_priority: i32,
    /// With the boost.
    pub(crate) priority: i64,
    pub(crate) priority_class: Option<PriorityClass>,
    pub(crate) is_active: bool,
    /// It is to be switched off, and the API server does not say so yet: whoever decides next would count its quota.
    pub(crate) is_going_off: bool,
    pub(crate) gated_by: Option<Name>,
    /// The slice whose place it takes.
    pub(crate) replaces: Option<Key>,
    pub(crate) variant: Option<Box<VariantSpec>>,
    pub(crate) max_execution_s: Option<i32>,
    pub(crate) preemption_gates: Vec<Name>,
    pub(crate) owner: Owner,
    pub(crate) is_deleting: bool,
    pub(crate) is_guarded: bool,
    /// Its job may grow and shrink.
    pub(crate) is_elastic: bool,
    /// It was decided that its job is to be deleted.
    pub(crate) is_job_leaving: bool,
    pub(crate) pod_sets: Arc<[PodSet]>,
    pub(crate) invalid: Option<Name>,
    pub(crate) status: SharedStatus,
    /// The LocalQueue that it was last queued through; its quota is offered to others of that queue when it goes.
    pub(crate) assigned: Option<LocalQueueId>,
    pub(crate) place: Place,
    /// Set from the moment it is known.
    pub(crate) class: Option<ClassId>,
    /// What its job said last about wanting quota, until that has been acted upon.
    pub(crate) hold: Option<Option<Hold>>,
    /// Its job has stopped since it was evicted.
    pub(crate) has_stopped: bool,
    /// The quota it holds; none while pending.
    pub(crate) claim: Option<Box<Claim>>,
    /// The generation that was last looked at by a cycle; 0 before the first.
    pub(crate) evaluated_generation: i64,
    pub(crate) progress: Option<Box<Progress>>,
    /// The last look at it; what was found about all of its class is kept with the class.
    pub(crate) trace: Option<Arc<Trace>>,
    /// Under what it is counted while it is not admitted.
    pub(crate) standing: Option<Box<Standing>>,
    /// When its life cycle is to be looked at again, if only time can move it.
    pub(crate) timer: Option<Time>,
}

/// Where a workload stands in its queue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Place {
    #[default]
    Nowhere,
    /// In a group of its queue, awake or asleep.
    Queued(Seat),
    /// Parked until its backoff is over.
    Held(Seat),
    /// Taken out by the cycle that is under way.
    InFlight(QueueId),
}

/// A place in a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seat {
    pub(crate) queue: QueueId,
    pub(crate) class: ClassId,
    pub(crate) origin: Origin,
    pub(crate) ticket: Ticket,
    /// What it asked for when it sat down, to be counted out again when it leaves.
    pub(crate) requests: Arc<[(ResourceId, i64)]>,
}

/// Where a workload came from, as far as those that wait are told apart and counted by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Origin {
    pub(crate) local_queue: LocalQueueId,
    pub(crate) labels: LabelsId,
}

impl Origin {
    /// Every origin in a LocalQueue.
    pub(crate) fn all_of(local_queue: LocalQueueId) -> RangeInclusive<Self> {
        let with = |labels| Self { local_queue, labels };
        with(LabelsId::FIRST)..=with(LabelsId::LAST)
    }
}

/// The order in a queue: higher priority, earlier time, lower uid.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Ticket {
    pub(crate) priority: Reverse<i64>,
    pub(crate) since: OrderTime,
    pub(crate) uid: Name,
    pub(crate) id: WorkloadId,
}

/// The order in which the workloads of one ClusterQueue would be preempted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Rank {
    /// Those that go anyway come first.
    pub(crate) is_staying: bool,
    pub(crate) priority: i64,
    pub(crate) reserved: Reverse<Time>,
    pub(crate) uid: Name,
    pub(crate) id: WorkloadId,
    /// In whose line it stands where LocalQueues are ordered by usage.
    pub(crate) local_queue: LocalQueueId,
}

/// Quota that is held.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) queue: QueueId,
    pub(crate) usage: Few<(PoolId, Amount)>,
    /// Present where its pods were given places.
    pub(crate) placed: Option<Box<Placed>>,
    pub(crate) rank: Rank,
    /// Whether all its pods run.
    pub(crate) is_ready: bool,
    /// The LocalQueue that its usage is counted for, once it is admitted.
    pub(crate) admitted_through: Option<LocalQueueId>,
}

/// Where the pods of a claim are.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    /// What they take there.
    pub(crate) places: Vec<Occupied>,
    /// The nodes, where each is a domain of its own.
    pub(crate) nodes: Vec<Name>,
}

impl Claim {
    /// What its pods take of nodes.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Occupied> {
        self.placed.iter().flat_map(|placed| &placed.places)
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Name> {
        self.placed.iter().flat_map(|placed| &placed.nodes)
    }
}

/// What one pod set holds, without the pods that are done.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) pod_set: Name,
    pub(crate) count: i32,
    pub(crate) resources: Vec<(ResourceId, FlavorId, i64)>,
}

/// How far a scan of flavors came, to go on from there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Progress {
    /// Per pod set and resource the index of the last flavor tried; -1 when the scan reached the end.
    pub(crate) tried: Few<Few<(ResourceId, i32)>>,
    pub(crate) generation: u64,
    pub(crate) cycle: u64,
}

/// What all pods of a pod set need together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Total {
    pub(crate) count: i32,
    /// In the order in which resources are looked at.
    pub(crate) requests: Few<(ResourceId, i64)>,
}

/// Pods that a pod set was given quota for, and those that are not done yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LivingShare {
    given: i32,
    living: i32,
}

impl Workload {
    pub(crate) fn is_admissible(&self) -> bool {
        self.gated_by.is_none()
            && !self.is_parent()
            && !self.status.is_true(ConditionKind::Finished)
            && self.is_active
            && !self.status.has_reservation()
            && !self.status.is_on_hold()
            && !self.status.is_true(ConditionKind::WaitingForReplacementPods)
    }

    /// Whether a gate keeps it from preempting others. One that nobody has spoken about yet is closed.
    pub(crate) fn has_closed_gate(&self) -> bool {
        self.preemption_gates.iter().any(|name| {
            let states = &self.status.preemption_gates;
            states.iter().find(|state| state.name == *name).is_none_or(|state| !state.is_open)
        })
    }

    /// Whether its quota counts.
    pub(crate) fn holds_quota(&self) -> bool {
        self.status.has_reservation()
            && self.status.admission.is_some()
            && (self.is_active || self.is_going_off)
            && !self.status.is_true(ConditionKind::Finished)
    }

    /// Whether it may be looked at already.
    pub(crate) fn is_backoff_over(&self, now: Time) -> bool {
        !self.status.is_false(ConditionKind::Requeued) && self.status.requeue_at().is_none_or(|at| now >= at)
    }

    /// The time that counts in the order of its queue.
    pub(crate) fn order_time(&self, settings: &Settings) -> OrderTime {
        self.status.order_time(self.created, settings)
    }

    /// How many pods of a pod set still need something.
    pub(crate) fn count_after_reclaim(&self, pod_set: &PodSet, gates: Gates) -> i32 {
        let count = pod_set.spec.count;
        if !gates.enabled(Gate::ReclaimablePods) {
            return count;
        }
        let done =
            self.status.reclaimable.iter().find(|(name, _)| *name == pod_set.spec.name).map_or(0, |(_, done)| *done);
        count - done.clamp(0, count)
    }

    /// How much of what a pod set was given is still needed.
    pub(crate) fn living_share(&self, assigned: &PodSetAdmission, gates: Gates) -> LivingShare {
        let pod_set = self.pod_sets.iter().find(|pod_set| pod_set.spec.name == assigned.name);
        LivingShare {
            given: assigned.count.unwrap_or_else(|| pod_set.map_or(0, |pod_set| pod_set.spec.count)),
            living: pod_set.map_or(0, |pod_set| self.count_after_reclaim(pod_set, gates)),
        }
    }

    /// What a pod set still uses of each resource, and in which flavor.
    pub(crate) fn living_usage<'a>(
        &self,
        assigned: &'a PodSetAdmission,
        gates: Gates,
    ) -> impl Iterator<Item = (&'a Name, &'a Name, i64)> + use<'a> {
        let share = self.living_share(assigned, gates);
        assigned.flavors.iter().map(move |(resource, flavor)| {
            let total = assigned.usage.iter().find(|(known, _)| known == resource).map_or(0, |(_, sum)| *sum);
            // Somebody who claims less than nothing must not make room for others.
            (resource, flavor, share.of(total.max(0)))
        })
    }

    /// What it asks for, per pod set.
    pub(crate) fn totals(&self, gates: Gates) -> Vec<Total> {
        self.pod_sets.iter().map(|pod_set| pod_set.total(self.count_after_reclaim(pod_set, gates))).collect()
    }

    /// What it has in common with others of its class.
    pub(crate) fn likeness(&self, gates: Gates) -> Likeness {
        Likeness {
            pod_sets: self.pod_sets.clone(),
            counts: self.pod_sets.iter().map(|pod_set| self.count_after_reclaim(pod_set, gates)).collect(),
            priority: self.priority,
            allowed_flavors: self.variant.as_ref().and_then(|variant| variant.allowed_flavors.clone()),
        }
    }

    /// Whether variants wait on its behalf.
    pub(crate) fn is_parent(&self) -> bool {
        self.variant.as_ref().is_some_and(|variant| variant.is_parent)
    }

    pub(crate) fn is_variant(&self) -> bool {
        self.variant.as_ref().is_some_and(|variant| variant.variant_of.is_some())
    }

    pub(crate) fn can_start_with_fewer(&self) -> bool {
        self.pod_sets.iter().any(|pod_set| pod_set.spec.min_count.is_some_and(|min| pod_set.spec.count > min))
    }
}

impl LivingShare {
    /// Pods that count. With fewer given than are left (it was admitted in part), those that were given.
    pub(crate) fn count(&self) -> i32 {
        self.living.min(self.given)
    }

    /// The part of a total that the living pods need.
    pub(crate) fn of(&self, total: i64) -> i64 {
        if self.living < self.given && self.given != 0 {
            (total / i64::from(self.given)).saturating_mul(i64::from(self.living))
        } else {
            total
        }
    }
}

impl PodSet {
    pub(crate) fn total(&self, count: i32) -> Total {
        let requests =
            self.requests.iter().map(|(resource, one)| (*resource, one.saturating_mul(i64::from(count)))).collect();
        Total { count, requests }
    }
}

impl Total {
    pub(crate) fn asks_for(&self, resource: ResourceId) -> bool {
        self.requests.iter().any(|(known, _)| *known == resource)
    }

    /// The same for another number of pods: what one needs, rounded down, times the number.
    pub(crate) fn scaled_to(&self, count: i32) -> Self {
        if self.count == 0 || self.count == count {
            return self.clone();
        }
        let scale = |sum: i64| (sum / i64::from(self.count)).saturating_mul(i64::from(count));
        Self { count, requests: self.requests.iter().map(|(resource, sum)| (*resource, scale(*sum))).collect() }
    }
}
