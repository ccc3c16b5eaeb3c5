//! Carries out what a cycle decided: statuses, events, places in queues.

use std::collections::BTreeSet;
use std::sync::Arc;

use kueue_core::gates::Gate;
use kueue_core::time::Time;
use rustc_hash::FxHashMap;

use super::entry::{Entry, Outcome, Refused, RequeueReason};
use crate::apply::Before;
use crate::change::QueueingStrategy;
use crate::effect::{Decision, Effect, Event, Key};
use crate::engine::Engine;
use crate::id::{FlavorId, Name, NodeId, WorkloadId};
use crate::pending::{NoFit, Preemptor};
use crate::preempt::Target;
use crate::status::eviction::Eviction;
use crate::status::{Admission, ConditionKind, PodSetAdmission, PodSetRequests, Reason, Verdict};
use crate::text::{self, PreemptionParty};
use crate::trace::Trace;
use crate::workload::Progress;

/// What every changed workload was like, in the order of the decisions, for the consequences that are drawn at the end.
#[derive(Default)]
pub(super) struct Touched {
    all: Vec<Option<(WorkloadId, Before)>>,
    slots: FxHashMap<WorkloadId, usize>,
}

impl Touched {
    /// Whether the workload was on its way out before the cycle; nothing about one that was left alone.
    fn was_evicted(&self, id: WorkloadId) -> Option<bool> {
        let (_, before) = self.all[*self.slots.get(&id)?].as_ref()?;
        Some(before.was_evicted())
    }

    fn forget(&mut self, id: WorkloadId) {
        if let Some(slot) = self.slots.remove(&id) {
            self.all[slot] = None;
        }
    }
}

impl Engine {
    pub(super) fn commit(&mut self, entries: Vec<Entry>, order: &[usize], refused: Vec<Refused>, now: Time) {
        let mut touched = Touched::default();
        let victims: BTreeSet<WorkloadId> = entries
            .iter()
            .filter(|entry| entry.outcome == Outcome::Preempting)
            .flat_map(|entry| entry.targets.iter().map(|target| target.workload))
            .collect();
        // A status and two events for most.
        self.effects.reserve(3 * entries.len());
        for index in order {
            let entry = &entries[*index];
            match entry.outcome {
                // Who has to go in the same cycle needs no other place.
                Outcome::Admitted if victims.contains(&entry.workload) => {}
                Outcome::Admitted => self.admit(entry, &mut touched, now),
                Outcome::Preempting => self.preempt(entry, &mut touched, now),
                Outcome::Migrating(sibling) => self.evict_sibling(entry, sibling, &mut touched, now),
                Outcome::Evicted => self.evict_unplaced(entry, &mut touched, now),
                Outcome::Waiting | Outcome::Skipped | Outcome::Gated | Outcome::Blocked | Outcome::Postponed => {}
            }
        }
        let is_processed = |index: &usize| order.contains(index);
        let unprocessed: Vec<usize> = if order.len() == entries.len() {
            Vec::new()
        } else {
            (0..entries.len()).filter(|index| !is_processed(index)).collect()
        };
        let takers = self.takers(&entries, order);
        let mut entries: Vec<Option<Entry>> = entries.into_iter().map(Some).collect();
        for index in order.iter().chain(&unprocessed) {
            let entry = entries[*index].take().expect("every entry is handled once");
            if !matches!(entry.outcome, Outcome::Admitted | Outcome::Evicted) {
                let taken_by = takers.get(index).cloned();
                self.send_back(entry, taken_by, &mut touched, now);
            }
        }
        for refused in refused {
            if let Some(attempt) = refused.returns {
                self.return_later(refused.workload, attempt, refused.message, now);
                continue;
            }
            self.workloads[refused.workload].trace = None;
            self.requeue(refused.workload, refused.requeue, refused.reason, None, now);
            self.say_why(refused.workload, refused.reason, refused.message, &mut touched, now);
        }
        self.draw_consequences(touched, now);
    }

    pub(super) fn draw_consequences(&mut self, touched: Touched, now: Time) {
        for (id, before) in touched.all.into_iter().flatten() {
            self.on_workload_changed(id, &before, now);
        }
    }

    fn touch(&self, id: WorkloadId, touched: &mut Touched) {
        touched.slots.entry(id).or_insert_with(|| {
            touched.all.push(Some((id, self.before(id))));
            touched.all.len() - 1
        });
    }

    fn admit(&mut self, entry: &Entry, touched: &mut Touched, now: Time) {
        let id = entry.workload;
        self.touch(id, touched);
        let queue = self.queues[entry.queue].name.clone();
        let considered = entry.assignment.considered(&self.workloads[id].pod_sets, &self.names);
        let admission = Arc::new(Admission { queue: queue.clone(), pod_sets: self.pod_set_admissions(entry) });
        let flavors: Vec<FlavorId> = entry
            .assignment
            .pod_sets
            .iter()
            .flat_map(|pod_set| &pod_set.flavors)
            .map(|(_, choice)| choice.flavor)
            .collect();
        let rules = self.queues[entry.queue].rules.clone();
        let stamp = self.stamp(id, now);
        // The job goes on where it runs.
        let cluster = entry.replaces.and_then(|old| self.workloads[old].status.cluster.clone());
        let status = &mut self.workloads[id].status;
        let had_reservation = status.has_reservation();
        let is_repaired = !std::mem::take(&mut status.unhealthy_nodes).is_empty();
        if entry.replaces.is_some() {
            status.cluster = cluster;
        }
        status.reserve(admission, stamp);
        let has_all_checks =
            rules.checks_for(&flavors).all(|name| status.checks.iter().any(|check| check.name == *name));
        if has_all_checks {
            status.sync_admitted(stamp);
        }
        let is_admitted = status.is_true(ConditionKind::Admitted);
        // The quota is given out at this moment; that the status comes back says so once more.
        self.quotas.bump_generation(entry.node);
        self.workloads[id].trace = None;
        self.emit_status(id, if had_reservation { Decision::Placed } else { Decision::Reserved });
        if !had_reservation {
            self.charge_entry(id, entry.queue);
            let message = text::quota_reserved_event(&queue, self.waited_s(id, now), &considered);
            self.emit_event(id, false, text::QUOTA_RESERVED, message);
        }
        if is_admitted && !is_repaired {
            self.emit_event(id, false, text::ADMITTED, text::admitted_event(&queue, 0));
        }
        if let Some(old) = entry.replaces {
            self.finish_replaced(old, id, touched, now);
        }
    }

    /// Ends a slice because a larger one has taken its place.
    fn finish_replaced(&mut self, old: WorkloadId, new: WorkloadId, touched: &mut Touched, now: Time) {
        self.touch(old, touched);
        let by = &self.workloads[new];
        let message = text::slice_replaced(&by.uid, by.job_uid.as_deref().unwrap_or_default());
        let decision = Decision::Replaced { by: by.key.clone() };
        let stamp = self.stamp(old, now);
        self.workloads[old].status.finish(text::WORKLOAD_SLICE_REPLACED, message.clone(), stamp);
        self.emit_status(old, decision);
        self.emit_event(old, false, text::WORKLOAD_SLICE_REPLACED, message.to_string());
    }

    fn waited_s(&self, id: WorkloadId, now: Time) -> i64 {
        let workload = &self.workloads[id];
        let since =
            workload.status.condition(ConditionKind::Requeued).map_or(workload.created, |requeued| requeued.since);
        text::seconds_between(since, now)
    }

    fn pod_set_admissions(&self, entry: &Entry) -> Vec<PodSetAdmission> {
        let pod_sets = &self.workloads[entry.workload].pod_sets;
        let resource = |id| self.names.resource(id).clone();
        let assigned = entry.assignment.pod_sets.iter();
        assigned
            .map(|pod_set| PodSetAdmission {
                name: pod_sets[pod_set.index].spec.name.clone(),
                count: Some(pod_set.count),
                flavors: pod_set
                    .flavors
                    .iter()
                    .map(|(id, choice)| (resource(*id), self.names.flavor(choice.flavor).clone()))
                    .collect(),
                usage: pod_set
                    .flavors
                    .iter()
                    .map(|(id, _)| {
                        let amount = pod_set.requests.iter().find(|(known, _)| known == id);
                        // Who asks for nothing and goes where its group goes uses nothing there.
                        (resource(*id), amount.map_or(0, |(_, amount)| *amount))
                    })
                    .collect(),
                topology: pod_set.place.clone().map(Arc::new),
                unreadable: None,
                delayed: pod_set.delayed,
            })
            .collect()
    }

    fn preempt(&mut self, entry: &Entry, touched: &mut Touched, now: Time) {
        for target in &entry.targets {
            // One that found no place in this cycle goes for the preemptor as well.
            let was_leaving = touched.was_evicted(target.workload);
            if !was_leaving.unwrap_or_else(|| self.workloads[target.workload].status.is_evicted()) {
                self.preempt_one(entry, *target, touched, now);
            }
        }
    }

    fn preempt_one(&mut self, entry: &Entry, target: Target, touched: &mut Touched, now: Time) {
        self.touch(target.workload, touched);
        let message = self.preemption_message(entry.workload, entry.node, target);
        let preemptor = self.party(entry.workload, entry.node);
        let victim = self.party(target.workload, self.victim_node(target).unwrap_or(entry.node));
        let preempted_event = format!("{message}{}", text::priorities(&preemptor, &victim));
        let preemptor_event = text::preempted_workload(&preemptor, &victim);
        let preemptor_key = self.workloads[entry.workload].key.clone();
        let eviction = Eviction::new(text::PREEMPTED, message.into());
        let stamp = self.stamp(target.workload, now);
        let status = &mut self.workloads[target.workload].status;
        let had_admission = status.admission.is_some();
        status.set_preempted(target.reason, eviction.message.clone(), stamp);
        status.evict(&eviction, stamp);
        self.emit_status(
            target.workload,
            Decision::Preempted { reason: Reason::Borrowed(target.reason), preemptor: preemptor_key },
        );
        if had_admission {
            self.emit_event(target.workload, false, eviction.event_reason(), eviction.message.to_string());
        }
        self.emit_event(target.workload, false, text::PREEMPTED, preempted_event);
        self.emit_event(entry.workload, false, text::PREEMPTED_WORKLOAD, preemptor_event);
    }

    /// Asks a less favourable variant of the same job to make way.
    fn evict_sibling(&mut self, entry: &Entry, sibling: WorkloadId, touched: &mut Touched, now: Time) {
        self.touch(sibling, touched);
        let message = text::migrated(&self.workloads[entry.workload].uid);
        let eviction = Eviction::new(text::FLAVOR_MIGRATION, message);
        let stamp = self.stamp(sibling, now);
        let status = &mut self.workloads[sibling].status;
        let is_said = status.condition(ConditionKind::Evicted).is_some_and(|evicted| {
            evicted.verdict == Verdict::True && evicted.reason == eviction.reason && evicted.message == eviction.message
        });
        if is_said {
            touched.forget(sibling);
        } else {
            status.evict(&eviction, stamp);
            self.emit_status(sibling, Decision::Evicted(Reason::Borrowed(eviction.reason)));
        }
        self.emit_event(sibling, false, eviction.event_reason(), eviction.message.to_string());
    }

    /// No node was found for the pods of one that failed: the job has to begin anew.
    fn evict_unplaced(&mut self, entry: &Entry, touched: &mut Touched, now: Time) {
        let id = entry.workload;
        self.touch(id, touched);
        let message = text::no_replacement(&self.workloads[id].status.unhealthy_nodes);
        let eviction = Eviction::new(text::NODE_FAILURES, message.into());
        let stamp = self.stamp(id, now);
        self.workloads[id].status.evict(&eviction, stamp);
        self.emit_status(id, Decision::Evicted(Reason::Borrowed(eviction.reason)));
        let why = self.message_of(entry);
        let event = self.event(id, false, eviction.event_reason(), eviction.message.to_string());
        // Where that is refused, it keeps what it has and comes again.
        let otherwise = Some(Box::new(self.event(id, true, text::SECOND_PASS_FAILED, why)));
        self.effects.push(Effect::Event(Event { otherwise, ..event }));
    }

    /// Why an entry got nothing.
    fn message_of(&self, entry: &Entry) -> String {
        match entry.message {
            Some(message) => message.to_owned(),
            None => entry.assignment.message(&self.workloads[entry.workload].pod_sets, &self.names),
        }
    }

    fn victim_node(&self, target: Target) -> Option<NodeId> {
        self.workloads[target.workload].claim.as_ref().map(|claim| self.queues[claim.queue].node)
    }

    /// Why the target has to go, as it will say.
    pub(crate) fn preemption_message(&self, preemptor: WorkloadId, node: NodeId, target: Target) -> String {
        let job_uid = self.workloads[preemptor].job_uid.as_deref().unwrap_or_default();
        let victim = self.party(target.workload, self.victim_node(target).unwrap_or(node));
        let preemptor = self.party(preemptor, node);
        text::preempted_message(preemptor.uid, job_uid, target.reason, &preemptor.path, &victim.path)
    }

    fn party(&self, id: WorkloadId, node: NodeId) -> PreemptionParty<'_> {
        let workload = &self.workloads[id];
        let mut path: Vec<&str> = self.quotas.ancestors(node).map(|above| &*self.quotas.node(above).name).collect();
        path.reverse();
        let queue = &self.quotas.node(node).name;
        path.push(queue);
        PreemptionParty {
            key: workload.key.to_string(),
            uid: &workload.uid,
            queue,
            path: format!("/{}", path.join("/")),
            priority: workload.priority,
            base_priority: workload.base_priority,
        }
    }

    /// Who got in the way of each entry that was skipped: the last one before it in its tree that started or preempts.
    fn takers(&self, entries: &[Entry], order: &[usize]) -> FxHashMap<usize, Key> {
        let mut takers = FxHashMap::default();
        for (position, index) in order.iter().enumerate() {
            if entries[*index].outcome != Outcome::Skipped {
                continue;
            }
            let root = self.quotas.root(entries[*index].node);
            let taker = order[..position].iter().rev().map(|earlier| &entries[*earlier]).find(|earlier| {
                matches!(earlier.outcome, Outcome::Admitted | Outcome::Preempting)
                    && self.quotas.root(earlier.node) == root
            });
            if let Some(taker) = taker {
                takers.insert(*index, self.workloads[taker.workload].key.clone());
            }
        }
        takers
    }

    fn send_back(&mut self, entry: Entry, taken_by: Option<Key>, touched: &mut Touched, now: Time) {
        let mut message = self.message_of(&entry);
        if entry.outcome == Outcome::Preempting {
            message.push_str(&text::pending_preemption(entry.targets.len()));
        }
        if let Outcome::Migrating(_) = entry.outcome {
            message.push_str(text::PENDING_MIGRATION);
        }
        let victim = |target: &Target| (self.workloads[target.workload].key.clone(), target.reason);
        let victims = match entry.outcome {
            Outcome::Preempting => entry.targets.iter().map(victim).collect(),
            _ => Vec::new(),
        };
        let trace = Trace { at: now, pod_sets: entry.assignment.into_traces(), victims, taken_by };
        let (id, reason, outcome) = (entry.workload, entry.reason, entry.outcome);
        if let Some(attempt) = entry.returns {
            return self.return_later(id, attempt, message, now);
        }
        self.workloads[id].trace = Some(Arc::new(trace));
        self.requeue(id, entry.requeue, reason, entry.progress, now);
        match outcome {
            Outcome::Postponed => {}
            Outcome::Gated => self.explain_gated(id, message, touched, now),
            Outcome::Blocked => self.explain_blocked(id, message, touched, now),
            _ => self.say_why(id, reason, message, touched, now),
        }
    }

    /// It keeps its quota, and comes again for places.
    fn return_later(&mut self, id: WorkloadId, attempt: u32, message: String, now: Time) {
        self.queue_second_pass(id, attempt, now);
        self.emit_event(id, true, text::SECOND_PASS_FAILED, message);
    }

    /// Writes down why the workload waits, and says so.
    pub(super) fn say_why(
        &mut self,
        id: WorkloadId,
        reason: &'static str,
        message: String,
        touched: &mut Touched,
        now: Time,
    ) {
        self.touch(id, touched);
        let reason = self.granular(if reason.is_empty() { text::PENDING_EVALUATION } else { reason }, text::PENDING);
        let stamp = self.stamp(id, now);
        let requests = self.shown_requests(id);
        let status = &mut self.workloads[id].status;
        let mut is_changed = status.unreserve(reason, message.as_str().into(), stamp);
        is_changed |= status.set_requests(requests);
        if is_changed {
            self.emit_status(id, Decision::Waiting);
        } else {
            touched.forget(id);
        }
        self.emit_event(id, true, reason, message);
    }

    fn shown_requests(&self, id: WorkloadId) -> Vec<PodSetRequests> {
        let workload = &self.workloads[id];
        let totals = workload.totals(self.settings.gates);
        let shown = workload.pod_sets.iter().zip(totals).map(|(pod_set, total)| {
            let named = total.requests.iter().map(|(resource, sum)| (self.names.resource(*resource).clone(), *sum));
            let mut requests: Vec<(Name, i64)> = named.collect();
            requests.sort();
            PodSetRequests { name: pod_set.spec.name.clone(), requests }
        });
        shown.collect()
    }

    /// The same for a workload that waits for the pods of others; that is worth no event.
    fn explain_blocked(&mut self, id: WorkloadId, message: String, touched: &mut Touched, now: Time) {
        self.touch(id, touched);
        let reason = self.granular(text::WAITING_FOR_PODS_READY, text::WAITING);
        let stamp = self.stamp(id, now);
        if self.workloads[id].status.unreserve(reason, message.into(), stamp) {
            self.emit_status(id, Decision::Waiting);
        }
    }

    /// The same for a workload that may not preempt. As long as that was said before, nothing is written.
    pub(super) fn explain_gated(&mut self, id: WorkloadId, message: String, touched: &mut Touched, now: Time) {
        let reason = self.granular(text::ADMISSION_GATED, text::PENDING);
        let stamp = self.stamp(id, now);
        let mut status = self.workloads[id].status.clone();
        status.unreserve(reason, message.as_str().into(), stamp);
        status.set_requests(self.shown_requests(id));
        if status.set_blocked_on_gates(message.as_str().into(), stamp) {
            self.touch(id, touched);
            self.workloads[id].status = status;
            self.emit_status(id, Decision::Waiting);
        }
        self.emit_event(id, true, reason, message);
    }

    /// Gives a workload back to its queue: in line, or aside until something changes.
    pub(super) fn requeue(
        &mut self,
        id: WorkloadId,
        reason: RequeueReason,
        why: &'static str,
        progress: Option<Progress>,
        now: Time,
    ) {
        self.vacate(id);
        self.workloads[id].progress = progress.map(Box::new);
        let workload = &self.workloads[id];
        let queue = self.queue_of(workload.local_queue);
        let Some(queue) = queue.filter(|queue| workload.is_admissible() && !self.is_stand_in(id, *queue)) else {
            return;
        };
        let strategy = self.queues[queue].rules.strategy;
        if matches!(reason, RequeueReason::PendingPreemption | RequeueReason::PendingMigration) {
            self.queues[queue].pending.preemptor = Some(Preemptor {
                workload: id,
                generation: workload.evaluated_generation,
                is_sticky: strategy == QueueingStrategy::BestEffortFifo,
            });
        }
        let is_immediate = match strategy {
            QueueingStrategy::StrictFifo => {
                !matches!(reason, RequeueReason::NamespaceMismatch | RequeueReason::SiblingAdmitted)
            }
            QueueingStrategy::BestEffortFifo => matches!(
                reason,
                RequeueReason::FailedAfterNomination
                    | RequeueReason::PendingPreemption
                    | RequeueReason::PendingMigration
            ),
        };
        let seat = self.seat(id, queue);
        let has_more = self.workloads[id].progress.as_ref().is_some_and(|progress| progress.has_more());
        let pending = &self.queues[queue].pending;
        if !self.workloads[id].is_backoff_over(now) {
            return self.hold(id, seat);
        }
        if is_immediate || pending.wake_cycle >= pending.pop_cycle || has_more {
            return self.wake_up(id, seat);
        }
        let class = seat.class;
        self.park(id, seat);
        let is_for_all = matches!(reason, RequeueReason::NoFit | RequeueReason::NoCandidates);
        if is_for_all
            && strategy == QueueingStrategy::BestEffortFifo
            && self.settings.gates.enabled(Gate::SchedulingEquivalenceHashing)
        {
            let why = if why.is_empty() { text::PENDING_EVALUATION } else { why };
            let pending = &mut self.queues[queue].pending;
            if let Some(trace) = self.workloads[id].trace.take()
                && pending.no_fit.insert(class, NoFit { why, looked_at: id, trace }).is_none()
            {
                self.classes.keep(class);
            }
            pending.put_to_sleep(class);
            self.refresh_ready(queue);
        }
    }
}
