//! Workloads come, change and go.

use std::sync::Arc;

use kueue_core::gates::Gate;
use kueue_core::time::Time;

use crate::change::{Hold, PodSetSpec, PriorityClass, WorkloadSpec};
use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{ClassId, LocalQueueId, Name, ResourceId, WorkloadId};
use crate::status::{Condition, ConditionKind, Stage, Verdict, is_same_reclaim};
use crate::workload::{Place, PodSet, Workload};

/// What a workload was like before something changed it, as far as the change's consequences depend on it.
#[derive(Debug)]
pub(crate) struct Before {
    stage: Stage,
    priority: i64,
    priority_class: Option<PriorityClass>,
    reclaimable: Vec<(Name, i32)>,
    evicted: Option<Condition>,
    requeued: Option<Condition>,
    has_closed_gate: bool,
    is_spec_changed: bool,
    /// Pods were taken from it, and none were added.
    is_scaled_down: bool,
}

impl Before {
    pub(crate) fn was_evicted(&self) -> bool {
        self.evicted.as_ref().is_some_and(|evicted| evicted.verdict == Verdict::True)
    }
}

impl Engine {
    pub(crate) fn on_workload(&mut self, mut spec: WorkloadSpec, now: Time) {
        if !self.settings.gates.enabled(Gate::AdmissionGatedBy) {
            spec.gated_by = None;
        }
        if !self.settings.gates.enabled(Gate::ElasticJobsViaWorkloadSlices) {
            spec.replaces = None;
        }
        if !self.settings.gates.enabled(Gate::ConcurrentAdmission) {
            spec.variant = None;
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

    fn add_workload(&mut self, mut key: Key, mut spec: WorkloadSpec, now: Time) {
        let pod_sets = self.pod_sets_of(std::mem::take(&mut spec.pod_sets));
        let namespace = self.names.namespace_id(&spec.namespace);
        // One copy of the name for all of the namespace.
        key.namespace = self.names.namespace(namespace).clone();
        let local_queue = self.names.local_queue_id(namespace, &spec.local_queue);
        let labels = self.names.labels_id(&spec.metric_labels);
        let priority = self.effective_priority(&spec);
        let status = if spec.status == *self.no_status { self.no_status.clone() } else { spec.status.into() };
        let mut workload = Workload {
            key: key.clone(),
            namespace,
            uid: spec.uid,
            job_uid: spec.job_uid,
            created: spec.created,
            generation: spec.generation,
            local_queue,
            labels,
            base_priority: spec.priority,
            priority,
            priority_class: spec.priority_class,
            is_active: spec.is_active,
            is_going_off: false,
            gated_by: spec.gated_by,
            replaces: spec.replaces,
            variant: spec.variant,
            max_execution_s: spec.max_execution_s,
            preemption_gates: spec.preemption_gates,
            owner: spec.owner,
            is_deleting: spec.is_deleting,
            is_guarded: spec.is_guarded,
            is_elastic: spec.is_elastic,
            is_job_leaving: false,
            hold: None,
            pod_sets,
            invalid: spec.invalid,
            status,
            assigned: None,
            place: Place::Nowhere,
            class: None,
            has_stopped: false,
            claim: None,
            evaluated_generation: 0,
            timer: None,
            progress: None,
            trace: None,
            standing: None,
        };
        let class = self.join_class(&mut workload);
        workload.class = Some(class);
        if workload.replaces.is_some() {
            self.classes.add_slice(class);
        }
        let id = self.workloads.insert(workload);
        self.workload_ids.insert(key, id);
        self.local_queues.entry(local_queue).or_default().workloads.insert(id);
        self.change_family(id, None);
        let workload = &self.workloads[id];
        if workload.is_admissible() {
            self.queue_up(id, true, now);
        } else {
            self.sync_claim(id);
            self.queue_second_pass(id, 0, now);
            self.doubt_unknown_nodes(id);
        }
        self.recount_unadmitted(id);
        self.unsettled.insert(id);
    }

    fn change_workload(&mut self, id: WorkloadId, spec: WorkloadSpec, now: Time) {
        let local_queue = self.names.local_queue_id(self.workloads[id].namespace, &spec.local_queue);
        let labels = self.names.labels_id(&spec.metric_labels);
        let priority = self.effective_priority(&spec);
        let workload = &self.workloads[id];
        let has_same_pods = workload.pod_sets.iter().map(|pod_set| &pod_set.spec).eq(&spec.pod_sets);
        let is_same_spec = has_same_pods
            && workload.local_queue == local_queue
            && workload.base_priority == spec.priority
            && workload.priority == priority
            && workload.priority_class == spec.priority_class
            && workload.is_active == spec.is_active
            && !workload.is_going_off
            && workload.max_execution_s == spec.max_execution_s
            && workload.preemption_gates == spec.preemption_gates
            && workload.invalid == spec.invalid;
        if is_same_spec
            && *workload.status == spec.status
            && workload.generation == spec.generation
            && workload.gated_by == spec.gated_by
            && (workload.owner, workload.is_deleting, workload.is_guarded)
                == (spec.owner, spec.is_deleting, spec.is_guarded)
            && workload.replaces == spec.replaces
            && workload.variant == spec.variant
            && workload.labels == labels
            && workload.created == spec.created
        {
            // What the engine decided comes back as it was written: nothing new.
            return;
        }
        // What was decided could not be written. Who was evicted had its quota, and still owes for it.
        let is_lost = workload.status.has_reservation() && !spec.status.has_reservation() && !spec.status.is_evicted();
        let is_sent_elsewhere = workload.status.admission != spec.status.admission;
        let pod_sets = if has_same_pods { workload.pod_sets.clone() } else { self.pod_sets_of(spec.pod_sets) };
        let mut before = self.before(id);
        let workload = &mut self.workloads[id];
        before.is_spec_changed = !is_same_spec;
        before.is_scaled_down = is_scaled_down(&workload.pod_sets, &pod_sets);
        let old_local_queue = std::mem::replace(&mut workload.local_queue, local_queue);
        workload.labels = labels;
        workload.created = spec.created;
        workload.generation = spec.generation;
        workload.job_uid = spec.job_uid;
        workload.base_priority = spec.priority;
        workload.priority = priority;
        workload.priority_class = spec.priority_class;
        workload.is_active = spec.is_active;
        workload.is_going_off = false;
        workload.gated_by = spec.gated_by;
        let was_slice = std::mem::replace(&mut workload.replaces, spec.replaces).is_some();
        let old_variant = std::mem::replace(&mut workload.variant, spec.variant);
        workload.max_execution_s = spec.max_execution_s;
        workload.preemption_gates = spec.preemption_gates;
        workload.owner = spec.owner;
        workload.is_deleting = spec.is_deleting;
        workload.is_guarded = spec.is_guarded;
        workload.is_elastic = spec.is_elastic;
        workload.invalid = spec.invalid;
        workload.status = spec.status.into();
        workload.pod_sets = pod_sets;
        if is_lost {
            self.waive_penalty(id, old_local_queue);
        }
        self.refresh_class(id, was_slice);
        self.change_family(id, old_variant.as_deref());
        if old_local_queue != local_queue {
            self.move_local_queue(id, old_local_queue);
        }
        self.on_workload_changed(id, &before, now);
        if is_sent_elsewhere {
            self.doubt_unknown_nodes(id);
        }
    }

    fn move_local_queue(&mut self, id: WorkloadId, old: LocalQueueId) {
        self.waive_penalty(id, old);
        if let Some(lq) = self.local_queues.get_mut(&old) {
            lq.workloads.remove(&id);
        }
        let new = self.workloads[id].local_queue;
        self.local_queues.entry(new).or_default().workloads.insert(id);
    }

    pub(crate) fn on_job_stopped(&mut self, key: &Key) {
        if let Some(id) = self.workload_ids.get(key).copied() {
            self.workloads[id].has_stopped = true;
            self.unsettled.insert(id);
        }
    }

    pub(crate) fn on_job_hold(&mut self, key: &Key, hold: Option<Hold>) {
        if let Some(id) = self.workload_ids.get(key).copied() {
            self.workloads[id].hold = Some(hold);
            self.unsettled.insert(id);
        }
    }

    pub(crate) fn on_workload_gone(&mut self, key: &Key) {
        let Some(id) = self.workload_ids.remove(key) else { return };
        self.forget_unadmitted(id);
        self.drop_claim(id);
        self.notify_associated(id);
        self.leave_queue(id);
        self.leave_family(id);
        self.waive_penalty(id, self.workloads[id].local_queue);
        self.second_pass.forget(key);
        self.pods_on_nodes.remove(key);
        let workload = self.workloads.remove(id);
        if let Some(lq) = self.local_queues.get_mut(&workload.local_queue) {
            lq.workloads.remove(&id);
        }
        if let Some(class) = workload.class {
            if workload.replaces.is_some() {
                self.classes.remove_slice(class);
            }
            self.classes.leave(class);
        }
        self.unsettled.remove(id);
        if let Some(at) = workload.timer {
            self.timers.remove(&(at, workload.key));
        }
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
            has_closed_gate: workload.has_closed_gate(),
            is_spec_changed: false,
            is_scaled_down: false,
        }
    }

    /// Moves the workload to where it now belongs, and offers what it gave up to others.
    pub(crate) fn on_workload_changed(&mut self, id: WorkloadId, before: &Before, now: Time) {
        self.recount_unadmitted(id);
        let workload = &self.workloads[id];
        let stage = workload.status.stage();
        if stage == Stage::Finished || !workload.is_active && !workload.holds_quota() {
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
        } else if stage == Stage::Pending {
            self.drop_claim(id);
            if !workload_waits(&self.workloads[id], now) && !self.workloads[id].status.is_on_hold() {
                self.queue_up(id, true, now);
            }
            self.notify_associated(id);
        } else {
            let frees_room = (before.stage == Stage::Admitted
                && stage == Stage::Admitted
                && !is_same_reclaim(&before.reclaimable, &workload.status.reclaimable))
                || (before.is_scaled_down && self.settings.gates.enabled(Gate::ElasticJobsViaWorkloadSlices))
                || priority_follows_class(workload, before);
            self.sync_claim(id);
            if frees_room {
                self.notify_associated(id);
            }
        }
        self.queue_second_pass(id, 0, now);
        self.unsettled.insert(id);
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
            || before.has_closed_gate != workload.has_closed_gate()
    }

    fn effective_priority(&self, spec: &WorkloadSpec) -> i64 {
        let boost = if self.settings.gates.enabled(Gate::PriorityBoost) { spec.priority_boost } else { 0 };
        i64::from(spec.priority) + i64::from(boost)
    }

    /// The pod sets with ids for names. Nobody asks for less than nothing, whatever the object says.
    pub(crate) fn pod_sets_of(&mut self, specs: Vec<PodSetSpec>) -> Arc<[PodSet]> {
        let names = &mut self.names;
        specs
            .into_iter()
            .map(|mut spec| {
                let mut requests: Vec<(ResourceId, i64)> = Vec::with_capacity(spec.requests.len());
                for (name, one) in &spec.requests {
                    let (resource, one) = (names.resource_id(name), (*one).max(0));
                    match requests.iter_mut().find(|(known, _)| *known == resource) {
                        Some((_, sum)) => *sum = sum.saturating_add(one),
                        None => requests.push((resource, one)),
                    }
                }
                names.sort_requests(&mut requests);
                spec.count = spec.count.max(0);
                spec.min_count = spec.min_count.map(|min| min.clamp(0, spec.count));
                let mut room: Vec<(ResourceId, i64)> = match &spec.room {
                    Some(room) => room.iter().map(|(name, one)| (names.resource_id(name), (*one).max(0))).collect(),
                    None => requests.clone(),
                };
                let pods = names.pods();
                match room.iter_mut().find(|(known, _)| *known == pods) {
                    Some((_, one)) => *one = one.saturating_add(1),
                    None => room.push((pods, 1)),
                }
                room.sort_by_key(|(resource, _)| names.resource(*resource));
                PodSet { requests, room, spec }
            })
            .collect()
    }

    fn join_class(&mut self, workload: &mut Workload) -> ClassId {
        let gates = self.settings.gates;
        let class = self.classes.join(workload.likeness(gates));
        workload.pod_sets = self.classes.pod_sets(class).clone();
        class
    }

    /// The class follows what it is made of. A workload in a queue keeps its seat, which names the old class, until
    /// it is seated again.
    fn refresh_class(&mut self, id: WorkloadId, was_slice: bool) {
        let gates = self.settings.gates;
        let class = self.classes.join(self.workloads[id].likeness(gates));
        let pod_sets = self.classes.pod_sets(class).clone();
        let workload = &mut self.workloads[id];
        workload.pod_sets = pod_sets;
        let old = workload.class.replace(class).expect("every workload has a class");
        if old != class && gates.enabled(Gate::SchedulingEquivalenceHashing) {
            workload.progress = None;
        }
        if workload.replaces.is_some() {
            self.classes.add_slice(class);
        }
        if was_slice {
            self.classes.remove_slice(old);
        }
        self.classes.leave(old);
    }
}

fn workload_waits(workload: &Workload, now: Time) -> bool {
    workload.status.requeue_at().is_some_and(|at| at > now)
}

/// Whether a pod set has fewer pods than before, and none has more.
fn is_scaled_down(old: &[PodSet], new: &[PodSet]) -> bool {
    let has_fewer = |some: &[PodSet], others: &[PodSet]| {
        let other = |name: &Name| others.iter().find(|pod_set| pod_set.spec.name == *name);
        some.iter().any(|pod_set| other(&pod_set.spec.name).is_some_and(|other| pod_set.spec.count < other.spec.count))
    };
    has_fewer(new, old) && !has_fewer(old, new)
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
