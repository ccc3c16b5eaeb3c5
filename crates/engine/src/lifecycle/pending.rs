//! Steps that depend on the queues: stop policies, gates, checks, and why a workload is not admitted yet.

use kueue_core::gates::Gate;
use kueue_core::time::Time;

use super::Step;
use crate::change::StopPolicy;
use crate::engine::Engine;
use crate::id::{FlavorId, Name, QueueId, WorkloadId};
use crate::status::admitted::condition;
use crate::status::{CheckProgress, CheckState, ConditionKind, Reason, Stage, Verdict};
use crate::text;
use crate::workload::Place;

impl Engine {
    pub(super) fn step_in_queue(&mut self, id: WorkloadId, now: Time) -> Step {
        if let Some(step) = self.step_restarted(id, now) {
            return step;
        }
        if self.settings.gates.enabled(Gate::AdmissionGatedBy)
            && let Some(step) = self.step_gate(id, now)
        {
            return step;
        }
        let queue = self.queue_of(self.workloads[id].local_queue);
        if let Some(queue) = queue {
            let is_stopped = self.queues[queue].spec.stop != StopPolicy::None;
            if !is_stopped && self.is_not_requeued_because(id, text::CLUSTER_QUEUE_STOPPED) {
                return self.change_status(id, now, |status, stamp| {
                    let message = text::CLUSTER_QUEUE_WAS_RESTARTED;
                    status.set_requeued(Verdict::True, text::CLUSTER_QUEUE_RESTARTED, message, stamp)
                });
            }
            if !self.workloads[id].is_parent() && self.sync_checks(id, queue, now) == Step::Taken {
                return Step::Taken;
            }
        }
        let is_admitted = self.workloads[id].status.stage() == Stage::Admitted;
        let synced = if is_admitted { Step::Rest(None) } else { self.sync_conditions(id, queue, now) };
        // What holds quota is looked at further at once: a step that takes it away says more than the conditions.
        if self.workloads[id].status.has_reservation() { self.step_reserved(id, queue, now) } else { synced }
    }

    fn is_not_requeued_because(&self, id: WorkloadId, reason: &str) -> bool {
        let requeued = self.workloads[id].status.condition(ConditionKind::Requeued);
        requeued.is_some_and(|requeued| requeued.verdict == Verdict::False && requeued.reason == reason)
    }

    fn step_restarted(&mut self, id: WorkloadId, now: Time) -> Option<Step> {
        let lq = self.local_queues.get(&self.workloads[id].local_queue);
        let is_running = lq.is_some_and(|lq| lq.target().is_some());
        (is_running && self.is_not_requeued_because(id, text::LOCAL_QUEUE_STOPPED)).then(|| {
            self.change_status(id, now, |status, stamp| {
                let message = text::LOCAL_QUEUE_WAS_RESTARTED;
                status.set_requeued(Verdict::True, text::LOCAL_QUEUE_RESTARTED, message, stamp)
            })
        })
    }

    fn step_gate(&mut self, id: WorkloadId, now: Time) -> Option<Step> {
        let workload = &self.workloads[id];
        let gate = workload.gated_by.clone();
        let is_noted = workload
            .status
            .condition(ConditionKind::QuotaReserved)
            .is_some_and(|reserved| reserved.reason == text::ADMISSION_GATED);
        match (gate, is_noted) {
            // That it is switched off says more; the two would take turns for ever.
            (Some(_), _) if !workload.is_active => None,
            (Some(gate), false) => {
                let message = text::gated(&gate);
                self.change_status(id, now, |status, stamp| status.unreserve(text::ADMISSION_GATED, message, stamp));
                self.emit_event(id, false, text::ADMISSION_GATED, text::gated_event(&gate));
                Some(Step::Taken)
            }
            (None, true) => {
                let reason = self.granular(text::PENDING_EVALUATION, text::PENDING);
                self.change_status(id, now, |status, stamp| status.unreserve(reason, text::GATE_CLEARED.into(), stamp));
                self.emit_event(id, false, text::ADMISSION_GATE_CLEARED, text::GATE_CLEARED_EVENT.to_owned());
                Some(Step::Taken)
            }
            _ => None,
        }
    }

    /// The reason as it is, or the one word that older versions had for all.
    pub(crate) fn granular(&self, reason: &'static str, before: &'static str) -> &'static str {
        if self.settings.gates.enabled(Gate::UnadmittedWorkloadsObservability) { reason } else { before }
    }

    /// Makes the list of checks the one that the ClusterQueue asks for.
    fn sync_checks(&mut self, id: WorkloadId, queue: QueueId, now: Time) -> Step {
        if self.queues[queue].rules.checks.is_empty() && self.workloads[id].status.checks.is_empty() {
            return Step::Rest(None);
        }
        let rules = self.queues[queue].rules.clone();
        let wanted: Vec<Name> = match self.assigned_flavors(id) {
            Some(flavors) => rules.checks_for(&flavors).cloned().collect(),
            None => rules.checks_for_all().cloned().collect(),
        };
        let has = &self.workloads[id].status.checks;
        let is_complete = wanted.iter().all(|name| has.iter().any(|check| check.name == *name));
        if is_complete && has.len() <= wanted.len() {
            return Step::Rest(None);
        }
        self.change_status(id, now, |status, stamp| {
            status.checks.retain(|check| wanted.contains(&check.name));
            for name in &wanted {
                if !status.checks.iter().any(|check| check.name == *name) {
                    status.checks.push(CheckState {
                        pod_set_updates: Vec::new(),
                        name: name.clone(),
                        progress: CheckProgress::Pending,
                        message: "".into(),
                        since: stamp.now,
                        requeue_after_s: None,
                        retries: None,
                    });
                }
            }
            status.checks.sort_by(|a, b| a.name.cmp(&b.name));
            true
        })
    }

    /// The flavors of the workload's admission, if it has one.
    pub(crate) fn assigned_flavors(&mut self, id: WorkloadId) -> Option<Vec<FlavorId>> {
        let Self { workloads, names, .. } = self;
        let admission = workloads[id].status.admission.as_ref()?;
        let flavors = admission.pod_sets.iter().flat_map(|pod_set| &pod_set.flavors);
        Some(flavors.map(|(_, flavor)| names.flavor_id(flavor)).collect())
    }

    fn sync_conditions(&mut self, id: WorkloadId, queue: Option<QueueId>, now: Time) -> Step {
        let stamp = self.stamp(id, now);
        let status = &self.workloads[id].status;
        let waiting = if status.has_reservation() { None } else { self.waiting_reason(id, queue) };
        let waiting = waiting
            .map(|(reason, message)| condition(ConditionKind::QuotaReserved, Verdict::False, reason, message, stamp));
        let waiting = waiting.filter(|waiting| !status.says(waiting));
        if waiting.is_none() && status.due_admitted(stamp).is_none() {
            return Step::Rest(None);
        }
        let step = self.change_status(id, now, |status, stamp| {
            let is_changed = waiting.is_some_and(|waiting| status.set(waiting));
            is_changed | status.sync_admitted(stamp)
        });
        let workload = &self.workloads[id];
        if step == Step::Taken && workload.status.is_true(ConditionKind::Admitted) {
            let reserved =
                workload.status.condition(ConditionKind::QuotaReserved).map_or(now, |reserved| reserved.since);
            let queue = workload.status.admission.as_ref().map(|admission| admission.queue.clone()).unwrap_or_default();
            let message = text::admitted_event(&queue, text::seconds_between(reserved, now));
            self.emit_event(id, false, text::ADMITTED, message);
        }
        step
    }

    /// Why the workload has no quota, as far as that is known outside a cycle.
    fn waiting_reason(&self, id: WorkloadId, queue: Option<QueueId>) -> Option<(Reason, Name)> {
        let is_granular = self.settings.gates.enabled(Gate::UnadmittedWorkloadsObservability);
        if !is_granular {
            // As below, a gate that is noted goes before what is wrong with the queues.
            if self.workloads[id].gated_by.is_some() && self.workloads[id].is_active {
                return None;
            }
            let (_, message) = self.queue_blocker(id, queue)?;
            return Some((text::INADMISSIBLE.into(), message));
        }
        let workload = &self.workloads[id];
        let current = workload.status.condition(ConditionKind::QuotaReserved);
        if !workload.is_active {
            return Some((text::DEACTIVATED.into(), text::WORKLOAD_DEACTIVATED.into()));
        }
        if let Some(current) = current.filter(|_| workload.status.is_on_hold()) {
            return Some((current.reason.clone(), current.message.clone()));
        }
        // A gate goes before what is wrong with the queues: else the two would take turns for ever.
        if let Some(gate) = &workload.gated_by {
            return Some((text::ADMISSION_GATED.into(), text::gated(gate)));
        }
        if let Some((reason, message)) = self.queue_blocker(id, queue) {
            return Some((reason.into(), message));
        }
        if let Some((_, message)) = queue.and_then(|queue| self.inadmissibility(id, queue)) {
            return Some((text::MISCONFIGURED.into(), message.into()));
        }
        let is_explicit = self.settings.gates.enabled(Gate::UnadmittedWorkloadsExplicitStatus);
        let may_be_bypassed = match current {
            None => is_explicit,
            Some(current) => {
                matches!(
                    &*current.reason,
                    "" | text::DEACTIVATED | text::PENDING_EVALUATION | text::SUSPENDED | text::PENDING
                )
            }
        };
        let reason_of_class = self.reason_of_class(id);
        if let Some(current) = current.filter(|current| reason_of_class.is_some_and(|reason| current.reason == reason))
        {
            return Some((current.reason.clone(), current.message.clone()));
        }
        if may_be_bypassed && let Some(reason) = reason_of_class {
            return Some((reason.into(), text::BYPASSED.into()));
        }
        match current {
            Some(current) if is_set_by_cycle(&current.reason) || text::is_unplaceable(&current.message) => {
                Some((current.reason.clone(), current.message.clone()))
            }
            None if !is_explicit => None,
            _ => Some((text::PENDING_EVALUATION.into(), text::IN_SCHEDULING_QUEUE.into())),
        }
    }

    /// Why an equivalent workload was put to sleep together with this one.
    pub(crate) fn reason_of_class(&self, id: WorkloadId) -> Option<&'static str> {
        if !self.settings.gates.enabled(Gate::SchedulingEquivalenceHashing) {
            return None;
        }
        let (Place::Queued(seat) | Place::Held(seat)) = &self.workloads[id].place else { return None };
        let pending = &self.queues[seat.queue].pending;
        if pending.is_awake(seat) { None } else { pending.no_fit.get(&seat.class).map(|found| found.why) }
    }

    fn queue_blocker(&self, id: WorkloadId, queue: Option<QueueId>) -> Option<(&'static str, Name)> {
        let lq_id = self.workloads[id].local_queue;
        let lq_name = self.names.local_queue(lq_id);
        let Some(lq) = self.local_queues.get(&lq_id).and_then(|lq| lq.object.as_ref()) else {
            return Some((text::MISCONFIGURED, text::local_queue_missing(lq_name)));
        };
        if lq.is_terminating {
            return Some((text::MISCONFIGURED, text::local_queue_terminating(lq_name)));
        }
        if lq.stop != StopPolicy::None {
            return Some((text::SUSPENDED, text::local_queue_inactive(lq_name)));
        }
        let Some(queue) = queue else {
            return Some((text::MISCONFIGURED, text::queue_missing(&lq.queue)));
        };
        let queue = &self.queues[queue];
        (!queue.is_active).then(|| (text::SUSPENDED, text::queue_inactive(&queue.name).into()))
    }

    /// What is wrong with the workload itself, seen from the ClusterQueue; whether it is the namespace, and the text.
    pub(crate) fn inadmissibility(&self, id: WorkloadId, queue: QueueId) -> Option<(bool, String)> {
        let workload = &self.workloads[id];
        if !self.namespaces.contains_key(&workload.namespace) {
            return Some((false, text::namespace_missing(self.names.namespace(workload.namespace))));
        }
        if !self.serves(queue, workload.namespace) {
            // A selector that cannot be evaluated selects nothing.
            let mistake = self.selector_mistake(queue);
            return Some((true, mistake.unwrap_or_else(|| text::NAMESPACE_MISMATCH.to_owned())));
        }
        workload.invalid.as_ref().map(|invalid| (false, invalid.to_string()))
    }
}

/// Whether the reason came from a cycle and stays until the next one.
fn is_set_by_cycle(reason: &str) -> bool {
    matches!(
        reason,
        text::WAITING_FOR_QUOTA
            | text::NO_MATCHING_FLAVOR
            | text::EXCEEDS_MAX_QUOTA
            | text::TOPOLOGY_PLACEMENT_FAILED
            | text::WAITING_FOR_PREEMPTED
            | text::WAITING_FOR_PODS_READY
            | text::PENDING_EVALUATION
    )
}
