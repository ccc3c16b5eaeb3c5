//! Workloads come, change and go: where they stand in queues, and the quota they hold.

use std::cmp::Reverse;
use std::sync::Arc;

use kueue_core::amount::Amount;
use kueue_core::gates::Gate;
use kueue_core::time::Time;

use crate::change::{PriorityClass, QueueingStrategy, WorkloadSpec};
use crate::class::Likeness;
use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{ClassId, LocalQueueId, Name, PoolId, QueueId, WorkloadId};
use crate::status::{Condition, ConditionKind, Stage};
use crate::workload::{Claim, Place, PodSet, Rank, Seat, Ticket, Workload};

/// What a workload was like before something changed it, as far as the change's consequences depend on it.
#[derive(Debug)]
pub(crate) struct Before {
    stage: Stage,
    priority: i64,
    priority_class: Option<PriorityClass>,
    reclaimable: Vec<(Name, i32)>,
    evicted: Option<Condition>,
    requeued: Option<Condition>,
    is_spec_changed: bool,
}

impl Engine {
    pub(crate) fn on_workload(&mut self, mut spec: WorkloadSpec, now: Time) {
        if !self.settings.gates.enabled(Gate::AdmissionGatedBy) {
            spec.gated_by = None;
        }
        let key = Key { namespace: spec.namespace.clone(), name: spec.name.clone() };
        match self.workload_ids.get(&key) {
            // The same name with another identity: the old one was deleted unseen.
            Some(id) if self.workloads[*id].uid != spec.uid => {
                self.on_workload_gone(&key);
                self.add_workload(key, spec, now);
            }
            Some(id) => self.change_workload(*id, spec, now),
            None => self.add_workload(key, spec, now),
        }
    }

    fn add_workload(&mut self, key: Key, spec: WorkloadSpec, now: Time) {
        let pod_sets = self.pod_sets_of(&spec);
        let namespace = self.names.namespace_id(&spec.namespace);
        let local_queue = self.names.local_queue_id(namespace, &spec.local_queue);
        let priority = self.effective_priority(&spec);
        let mut workload = Workload {
            key: key.clone(),
            namespace,
            uid: spec.uid,
            job_uid: spec.job_uid,
            created: spec.created,
            generation: spec.generation,
            local_queue,
            base_priority: spec.priority,
            priority,
            priority_class: spec.priority_class,
            is_active: spec.is_active,
            gated_by: spec.gated_by,
            max_execution_s: spec.max_execution_s,
            pod_sets,
            invalid: spec.invalid,
            status: spec.status,
            assigned: None,
            place: Place::Nowhere,
            class: None,
            has_stopped: false,
            claim: None,
            evaluated_generation: 0,
            progress: None,
        };
        let class = self.join_class(&mut workload);
        workload.class = Some(class);
        let id = self.workloads.insert(workload);
        self.workload_ids.insert(key.clone(), id);
        self.local_queues.entry(local_queue).or_default().workloads.insert(id);
        let workload = &self.workloads[id];
        if workload.is_admissible() {
            self.queue_up(id, true, now);
        } else {
            self.sync_claim(id);
        }
        self.unsettled.insert(key, id);
    }

    fn change_workload(&mut self, id: WorkloadId, spec: WorkloadSpec, now: Time) {
        let pod_sets = self.pod_sets_of(&spec);
        let local_queue = self.names.local_queue_id(self.workloads[id].namespace, &spec.local_queue);
        let priority = self.effective_priority(&spec);
        let mut before = self.before(id);
        let workload = &mut self.workloads[id];
        let is_same_spec = workload.pod_sets == pod_sets
            && workload.local_queue == local_queue
            && workload.base_priority == spec.priority
            && workload.priority == priority
            && workload.priority_class == spec.priority_class
            && workload.is_active == spec.is_active
            && workload.max_execution_s == spec.max_execution_s
            && workload.invalid == spec.invalid;
        if is_same_spec
            && workload.status == spec.status
            && workload.generation == spec.generation
            && workload.gated_by == spec.gated_by
        {
            // What the engine decided comes back as it was written: nothing new.
            return;
        }
        before.is_spec_changed = !is_same_spec;
        let old_local_queue = std::mem::replace(&mut workload.local_queue, local_queue);
        workload.generation = spec.generation;
        workload.job_uid = spec.job_uid;
        workload.base_priority = spec.priority;
        workload.priority = priority;
        workload.priority_class = spec.priority_class;
        workload.is_active = spec.is_active;
        workload.gated_by = spec.gated_by;
        workload.max_execution_s = spec.max_execution_s;
        workload.invalid = spec.invalid;
        workload.status = spec.status;
        if workload.pod_sets != pod_sets {
            workload.pod_sets = pod_sets;
        }
        self.refresh_class(id);
        if old_local_queue != local_queue {
            self.move_local_queue(id, old_local_queue);
        }
        self.on_workload_changed(id, &before, now);
    }

    fn move_local_queue(&mut self, id: WorkloadId, old: LocalQueueId) {
        if let Some(lq) = self.local_queues.get_mut(&old) {
            lq.workloads.remove(&id);
        }
        let new = self.workloads[id].local_queue;
        self.local_queues.entry(new).or_default().workloads.insert(id);
    }

    pub(crate) fn on_job_stopped(&mut self, key: Key) {
        if let Some(id) = self.workload_ids.get(&key).copied() {
            self.workloads[id].has_stopped = true;
            self.unsettled.insert(key, id);
        }
    }

    pub(crate) fn on_workload_gone(&mut self, key: &Key) {
        let Some(id) = self.workload_ids.remove(key) else { return };
        self.drop_claim(id);
        self.notify_associated(id);
        self.leave_queue(id);
        let workload = self.workloads.remove(id);
        if let Some(lq) = self.local_queues.get_mut(&workload.local_queue) {
            lq.workloads.remove(&id);
        }
        if let Some(admission) = &workload.status.admission
            && let Some(strays) = self.strays.get_mut(&admission.queue)
        {
            strays.remove(&id);
        }
        if let Some(class) = workload.class {
            self.classes.leave(class);
        }
        self.unsettled.remove(key);
        self.timers.retain(|(_, timed)| timed != key);
    }

    pub(crate) fn before(&self, id: WorkloadId) -> Before {
        let workload = &self.workloads[id];
        Before {
            stage: workload.status.stage(),
            priority: workload.priority,
            priority_class: workload.priority_class.clone(),
            reclaimable: workload.status.reclaimable.clone(),
            evicted: workload.status.condition(ConditionKind::Evicted).cloned(),
            requeued: workload.status.condition(ConditionKind::Requeued).cloned(),
            is_spec_changed: false,
        }
    }

    /// Moves the workload to where it now belongs, and offers what it gave up to others.
    pub(crate) fn on_workload_changed(&mut self, id: WorkloadId, before: &Before, now: Time) {
        let workload = &self.workloads[id];
        let stage = workload.status.stage();
        let had_quota = matches!(before.stage, Stage::Reserved | Stage::Admitted);
        if stage == Stage::Finished || !workload.is_active {
            self.leave_queue(id);
            self.drop_claim(id);
            self.notify_associated(id);
        } else if before.stage == Stage::Pending && stage == Stage::Pending {
            if workload.status.is_on_hold() {
                self.leave_queue(id);
            } else {
                let must_move = self.must_leave_park(id, before);
                self.queue_up(id, must_move, now);
            }
        } else if before.stage == Stage::Pending {
            self.leave_queue(id);
            self.sync_claim(id);
        } else if had_quota && stage == Stage::Pending {
            self.drop_claim(id);
            if !workload_waits(&self.workloads[id], now) && !self.workloads[id].status.is_on_hold() {
                self.queue_up(id, true, now);
            }
            self.notify_associated(id);
        } else {
            let frees_room = (before.stage == Stage::Admitted
                && stage == Stage::Admitted
                && before.reclaimable != workload.status.reclaimable)
                || priority_follows_class(workload, before);
            self.sync_claim(id);
            if frees_room {
                self.notify_associated(id);
            }
        }
        self.unsettled.insert(self.workloads[id].key.clone(), id);
    }

    /// Whether a parked workload changed so much that it deserves another look.
    fn must_leave_park(&self, id: WorkloadId, before: &Before) -> bool {
        let workload = &self.workloads[id];
        let is_newer = workload.evaluated_generation != 0 && workload.evaluated_generation != workload.generation;
        is_newer
            || before.is_spec_changed
            || before.reclaimable != workload.status.reclaimable
            || before.evicted.as_ref() != workload.status.condition(ConditionKind::Evicted)
            || before.requeued.as_ref() != workload.status.condition(ConditionKind::Requeued)
    }

    /// Puts a workload that may be admitted into its queue, or brings its place there up to date.
    pub(crate) fn queue_up(&mut self, id: WorkloadId, must_move: bool, now: Time) {
        let workload = &self.workloads[id];
        if !workload.is_admissible() {
            self.leave_queue(id);
            return;
        }
        let lq = workload.local_queue;
        if workload.assigned.is_some_and(|assigned| assigned != lq) {
            self.leave_queue(id);
            self.workloads[id].assigned = None;
        }
        if self.local_queues.get(&lq).is_none_or(|lq| lq.target().is_none()) {
            return;
        }
        self.workloads[id].assigned = Some(lq);
        let Some(queue) = self.queue_of(lq) else { return };
        if matches!(self.workloads[id].place, Place::InFlight(_)) {
            return;
        }
        self.forget_evaluation(id);
        let place = std::mem::take(&mut self.workloads[id].place);
        let (was_awake, was_parked) = match &place {
            Place::Queued(seat) => {
                let is_awake = self.queues[seat.queue].pending.is_awake(seat);
                (is_awake, !is_awake)
            }
            Place::Held(_) => (false, true),
            Place::Nowhere | Place::InFlight(_) => (false, false),
        };
        self.workloads[id].place = place;
        self.vacate(id);
        let seat = self.seat(id, queue);
        let pending = &self.queues[queue].pending;
        let is_hopeless = self.queues[queue].rules.strategy == QueueingStrategy::BestEffortFifo
            && pending.no_fit.contains_key(&seat.class);
        if !was_awake && !self.workloads[id].is_backoff_over(now) {
            self.hold(id, seat);
        } else if (was_parked && !must_move) || (!was_awake && is_hopeless) {
            self.park(id, seat);
        } else {
            self.wake_up(id, seat);
        }
    }

    /// A new look starts from nothing, unless progress of a scan is worth keeping.
    fn forget_evaluation(&mut self, id: WorkloadId) {
        let keeps = self.settings.gates.enabled(Gate::FlavorFungibilityPreserveScanProgress);
        let workload = &mut self.workloads[id];
        workload.evaluated_generation = 0;
        if !keeps || workload.place == Place::Nowhere {
            workload.progress = None;
        }
    }

    pub(crate) fn push_awake(&mut self, id: WorkloadId, queue: QueueId) {
        let seat = self.seat(id, queue);
        self.wake_up(id, seat);
    }

    pub(crate) fn wake_up(&mut self, id: WorkloadId, seat: Seat) {
        self.queues[seat.queue].pending.push(&seat);
        self.ready.insert(seat.queue);
        self.workloads[id].place = Place::Queued(seat);
    }

    pub(crate) fn park(&mut self, id: WorkloadId, seat: Seat) {
        self.queues[seat.queue].pending.park(&seat);
        self.workloads[id].place = Place::Queued(seat);
    }

    pub(crate) fn hold(&mut self, id: WorkloadId, seat: Seat) {
        self.queues[seat.queue].pending.hold(&seat);
        self.workloads[id].place = Place::Held(seat);
    }

    pub(crate) fn seat(&self, id: WorkloadId, queue: QueueId) -> Seat {
        let workload = &self.workloads[id];
        let ticket = Ticket {
            priority: Reverse(workload.priority),
            since: workload.order_time(&self.settings),
            uid: workload.uid.clone(),
            id,
        };
        let class = workload.class.expect("every workload has a class");
        Seat { queue, class, namespace: workload.namespace, ticket }
    }

    /// Takes the workload out of its queue; it is not the queue's preemptor any more.
    pub(crate) fn leave_queue(&mut self, id: WorkloadId) {
        let queue = match &self.workloads[id].place {
            Place::Nowhere => self.workloads[id].assigned.and_then(|lq| self.queue_of(lq)),
            Place::Queued(seat) | Place::Held(seat) => Some(seat.queue),
            Place::InFlight(queue) => Some(*queue),
        };
        self.vacate(id);
        if let Some(queue) = queue {
            let pending = &mut self.queues[queue].pending;
            if pending.preemptor.is_some_and(|preemptor| preemptor.workload == id) {
                pending.preemptor = None;
            }
        }
    }

    /// Takes the workload out of its place only.
    pub(crate) fn vacate(&mut self, id: WorkloadId) {
        match std::mem::take(&mut self.workloads[id].place) {
            Place::Nowhere | Place::InFlight(_) => {}
            Place::Queued(seat) => {
                self.queues[seat.queue].pending.remove_queued(&seat);
                self.refresh_ready(seat.queue);
            }
            Place::Held(seat) => self.queues[seat.queue].pending.remove_held(&seat),
        }
    }

    /// Counts the quota that the workload holds, as its status says.
    pub(crate) fn sync_claim(&mut self, id: WorkloadId) {
        self.drop_claim(id);
        let workload = &self.workloads[id];
        if !workload.holds_quota() {
            return;
        }
        let admission = workload.status.admission.clone().expect("who holds quota has an admission");
        let Some(queue) = self.queue_ids.get(&admission.queue).copied() else {
            self.strays.entry(admission.queue.clone()).or_default().insert(id);
            return;
        };
        let usage = self.usage_of_admission(id);
        let workload = &self.workloads[id];
        let reserved = workload.status.condition(ConditionKind::QuotaReserved).map(|reserved| reserved.since);
        let rank = Rank {
            is_staying: !workload.status.is_evicted(),
            priority: workload.priority,
            reserved: Reverse(reserved.unwrap_or_default()),
            uid: workload.uid.clone(),
            id,
        };
        let node = self.queues[queue].node;
        for (pool, amount) in &usage {
            self.quotas.add_usage(node, *pool, *amount);
        }
        self.queues[queue].reserving.insert(rank.clone());
        self.workloads[id].claim = Some(Claim { queue, usage, rank });
    }

    pub(crate) fn drop_claim(&mut self, id: WorkloadId) {
        let Some(claim) = self.workloads[id].claim.take() else { return };
        let queue = &mut self.queues[claim.queue];
        queue.reserving.remove(&claim.rank);
        let node = queue.node;
        for (pool, amount) in &claim.usage {
            self.quotas.remove_usage(node, *pool, *amount);
        }
        self.quotas.bump_generation(node);
    }

    /// What the admission says, without the pods that are done.
    fn usage_of_admission(&mut self, id: WorkloadId) -> Vec<(PoolId, Amount)> {
        let Self { workloads, names, settings, .. } = self;
        let workload = &workloads[id];
        let admission = workload.status.admission.as_ref().expect("who holds quota has an admission");
        let mut sums: Vec<(PoolId, Amount)> = Vec::new();
        for assigned in &admission.pod_sets {
            let pod_set = workload.pod_sets.iter().find(|pod_set| pod_set.spec.name == assigned.name);
            let count = assigned.count.unwrap_or_else(|| pod_set.map_or(0, |pod_set| pod_set.spec.count));
            let living = pod_set.map_or(0, |pod_set| workload.count_after_reclaim(pod_set, settings.gates));
            for (resource, flavor) in &assigned.flavors {
                let total = assigned.usage.iter().find(|(known, _)| known == resource).map_or(0, |(_, total)| *total);
                let used =
                    if living < count { (total / i64::from(count)).saturating_mul(i64::from(living)) } else { total };
                let pool = {
                    let flavor = names.flavor_id(flavor);
                    let resource = names.resource_id(resource);
                    names.pool_id(flavor, resource)
                };
                match sums.iter_mut().find(|(known, _)| *known == pool) {
                    Some((_, sum)) => *sum = sum.plus(Amount::new(used)),
                    None => sums.push((pool, Amount::new(used))),
                }
            }
        }
        sums
    }

    fn effective_priority(&self, spec: &WorkloadSpec) -> i64 {
        let boost = if self.settings.gates.enabled(Gate::PriorityBoost) { spec.priority_boost } else { 0 };
        i64::from(spec.priority) + i64::from(boost)
    }

    fn pod_sets_of(&mut self, spec: &WorkloadSpec) -> Arc<[PodSet]> {
        let names = &mut self.names;
        spec.pod_sets
            .iter()
            .map(|pod_set| {
                let requests = pod_set.requests.iter().map(|(name, one)| (names.resource_id(name), (*one).max(0)));
                let mut requests: Vec<_> = requests.collect();
                names.sort_requests(&mut requests);
                PodSet { requests, spec: pod_set.clone() }
            })
            .collect()
    }

    fn join_class(&mut self, workload: &mut Workload) -> ClassId {
        let gates = self.settings.gates;
        let counts = workload.pod_sets.iter().map(|pod_set| workload.count_after_reclaim(pod_set, gates)).collect();
        let likeness = Likeness { pod_sets: workload.pod_sets.clone(), counts, priority: workload.priority };
        let class = self.classes.join(likeness);
        workload.pod_sets = self.classes.pod_sets(class).clone();
        class
    }

    /// The class follows what it is made of. A workload in a queue keeps its seat, which names the old class, until
    /// it is seated again.
    fn refresh_class(&mut self, id: WorkloadId) {
        let gates = self.settings.gates;
        let workload = &self.workloads[id];
        let counts: Vec<i32> =
            workload.pod_sets.iter().map(|pod_set| workload.count_after_reclaim(pod_set, gates)).collect();
        let likeness = Likeness { pod_sets: workload.pod_sets.clone(), counts, priority: workload.priority };
        let class = self.classes.join(likeness);
        let pod_sets = self.classes.pod_sets(class).clone();
        let workload = &mut self.workloads[id];
        workload.pod_sets = pod_sets;
        let old = workload.class.replace(class).expect("every workload has a class");
        if old != class && gates.enabled(Gate::SchedulingEquivalenceHashing) {
            workload.progress = None;
        }
        self.classes.leave(old);
    }
}

fn workload_waits(workload: &Workload, now: Time) -> bool {
    workload.status.requeue_at().is_some_and(|at| at > now)
}

/// Whether the priority of a class changed, or the class; a priority written by hand wakes nobody.
fn priority_follows_class(workload: &Workload, before: &Before) -> bool {
    let Some(PriorityClass::Workload(class)) = &workload.priority_class else { return false };
    match &before.priority_class {
        Some(PriorityClass::Pod(_)) => false,
        Some(PriorityClass::Workload(old)) if old != class => true,
        None if !class.is_empty() => true,
        _ => before.priority != workload.priority,
    }
}
