//! A workload's steps outside scheduling: activity, backoff, gates, checks, stopped queues, time limits.
//!
//! One step looks at a workload as it is and does the first thing that is due. Steps are taken until nothing is due
//! any more; what only time can change is left to a timer.

#[cfg(feature = "by-hand")]
mod by_hand;
mod ending;
mod limits;
mod nodes;
mod pending;
mod reserved;

use kueue_core::gates::Gate;
use kueue_core::time::Time;

use crate::apply::Before;
use crate::effect::{Decision, Effect};
use crate::engine::Engine;
use crate::id::WorkloadId;
use crate::status::admitted::Stamp;
use crate::status::eviction::Eviction;
use crate::status::{CheckProgress, ConditionKind, PreemptionGate, Reason, Stage, Verdict};
use crate::text;

/// More steps than any workload takes at one moment.
const MOST_STEPS: usize = 64;

/// What a step came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Something changed: look again.
    Taken,
    /// Nothing is due, unless a time is reached.
    Rest(Option<Time>),
}

impl Engine {
    pub(crate) fn run_life_cycles(&mut self, now: Time) {
        self.ready_second_passes(now);
        self.check_nodes(now);
        while let Some((at, key)) = self.timers.first().cloned()
            && at <= now
        {
            self.timers.pop_first();
            if let Some(id) = self.workload_ids.get(&key).copied() {
                self.workloads[id].timer = None;
                self.unsettled.insert(id);
            }
        }
        let mut steps = 0usize;
        let mut bound = MOST_STEPS;
        while let Some(id) = self.unsettled.pop() {
            steps += 1;
            bound += if steps == 1 { self.unsettled.len() * MOST_STEPS } else { 0 };
            let workload = &self.workloads[id];
            assert!(steps <= bound, "workloads come to rest; {} does not: {:?}", workload.key, workload.status);
            match self.step(id, now) {
                Step::Taken => {
                    self.unsettled.put_back(id);
                }
                Step::Rest(at) => self.set_timer(id, at),
            }
        }
    }

    /// A workload has one timer at most: the one that its last step asked for.
    fn set_timer(&mut self, id: WorkloadId, at: Option<Time>) {
        let workload = &mut self.workloads[id];
        let old = std::mem::replace(&mut workload.timer, at);
        if old == at {
            return;
        }
        let key = workload.key.clone();
        if let Some(old) = old {
            self.timers.remove(&(old, key.clone()));
        }
        if let Some(at) = at {
            self.timers.insert((at, key));
        }
    }

    fn step(&mut self, id: WorkloadId, now: Time) -> Step {
        self.keep_ledger(id, now);
        if let Some(step) = self.step_orphaned(id, now) {
            return step;
        }
        if self.settings.gates.enabled(Gate::MultiKueueOrchestratedPreemption) {
            self.sync_preemption_gates(id, now);
        }
        if self.workloads[id].status.stage() == Stage::Finished {
            return self.step_finished(id, now);
        }
        if self.is_unmarked_parent(id) {
            let workload = &mut self.workloads[id];
            workload.variant.get_or_insert_default().is_parent = true;
            self.effects.push(Effect::MarkParent(workload.key.clone()));
            self.leave_queue(id);
            return Step::Taken;
        }
        if std::mem::take(&mut self.workloads[id].has_stopped)
            && let Some(step) = self.step_stopped(id, now)
        {
            return step;
        }
        if let Some(hold) = self.workloads[id].hold.take()
            && self.step_hold(id, hold, now) == Step::Taken
        {
            return Step::Taken;
        }
        if let Some(at) = self.retry_time(id, now) {
            return self.change_status(id, now, |status, _| status.back_off(at, false));
        }
        let taken = if self.workloads[id].is_active { self.step_active(id, now) } else { self.step_inactive(id, now) };
        match taken.unwrap_or_else(|| self.step_in_queue(id, now)) {
            Step::Taken => Step::Taken,
            Step::Rest(at) => Step::Rest(at.into_iter().chain(self.job_deletion(id, now)).min()),
        }
    }

    /// Gates that the spec names have a state, closed at first; others have none.
    fn sync_preemption_gates(&mut self, id: WorkloadId, now: Time) {
        let wanted = self.workloads[id].preemption_gates.clone();
        self.change_status(id, now, |status, stamp| {
            let known = status.preemption_gates.len();
            status.preemption_gates.retain(|gate| wanted.contains(&gate.name));
            let mut is_changed = status.preemption_gates.len() < known;
            for name in wanted {
                if !status.preemption_gates.iter().any(|gate| gate.name == name) {
                    status.preemption_gates.push(PreemptionGate { name, is_open: false, since: stamp.now });
                    is_changed = true;
                }
            }
            is_changed
        });
    }

    /// When the checks want another attempt, if that lies ahead and was not noted yet.
    fn retry_time(&self, id: WorkloadId, now: Time) -> Option<Time> {
        let status = &self.workloads[id].status;
        let at = status.retry_at()?;
        // One that is switched off has no turn to wait for; its backoff would be forgotten again at once.
        let is_noted = status.requeue_at().is_some_and(|noted| noted >= at);
        (at > now && !is_noted && self.workloads[id].is_active).then_some(at)
    }

    fn step_active(&mut self, id: WorkloadId, now: Time) -> Option<Step> {
        let status = &self.workloads[id].status;
        if status.is_true(ConditionKind::DeactivationTarget) {
            let before = self.before(id);
            let key = self.workloads[id].key.clone();
            let workload = &mut self.workloads[id];
            (workload.is_active, workload.is_going_off) = (false, true);
            self.effects.push(Effect::Deactivate(key));
            self.on_workload_changed(id, &before, now);
            return Some(Step::Taken);
        }
        if let Some(at) = status.requeue_at() {
            if at > now {
                return Some(Step::Rest(Some(at)));
            }
            if status.stage() == Stage::Pending {
                self.change_status(id, now, |status, _| {
                    status.clear_requeue_at();
                    true
                });
                self.queue_up(id, false, now);
                return Some(Step::Taken);
            }
        }
        let requeued = self.workloads[id].status.condition(ConditionKind::Requeued)?;
        if requeued.verdict != Verdict::False {
            return None;
        }
        match &*requeued.reason {
            // Only without a cause: one that was switched off by a limit keeps out of its queue, as in Kueue.
            text::DEACTIVATED => Some(self.change_status(id, now, |status, stamp| {
                status.set_requeued(Verdict::True, text::REACTIVATED, text::WORKLOAD_REACTIVATED, stamp)
            })),
            text::PODS_READY_TIMEOUT | text::ADMISSION_CHECK => Some(self.change_status(id, now, |status, stamp| {
                status.clear_requeue_at();
                status.set_requeued(Verdict::True, text::BACKOFF_FINISHED, text::BACKOFF_OVER, stamp)
            })),
            _ => None,
        }
    }

    fn step_inactive(&mut self, id: WorkloadId, now: Time) -> Option<Step> {
        let status = &self.workloads[id].status;
        if status.is_evicted() {
            // Kueue forgets the target here; who is switched on again would be switched off at once.
            if status.requeue.is_none() && status.condition(ConditionKind::DeactivationTarget).is_none() {
                return None;
            }
            return Some(self.change_status(id, now, |status, _| {
                status.remove(ConditionKind::DeactivationTarget);
                status.requeue = None;
                true
            }));
        }
        let mut eviction = Eviction::new(text::DEACTIVATED, text::WORKLOAD_DEACTIVATED.into());
        if let Some(target) = status.condition(ConditionKind::DeactivationTarget) {
            eviction.cause = target.reason.clone();
            eviction.message = text::deactivated_due_to(&target.message);
        }
        let status = &mut self.workloads[id].status;
        status.remove(ConditionKind::DeactivationTarget);
        status.requeue = None;
        self.evict(id, &eviction, now);
        Some(Step::Taken)
    }

    /// Evicts for a reason outside scheduling.
    pub(crate) fn evict(&mut self, id: WorkloadId, eviction: &Eviction, now: Time) {
        let before = self.before(id);
        self.evict_changed(id, &before, eviction, now);
    }

    /// The same for a workload whose status was touched already.
    fn evict_changed(&mut self, id: WorkloadId, before: &Before, eviction: &Eviction, now: Time) {
        let stamp = self.stamp(id, now);
        let status = &mut self.workloads[id].status;
        let had_admission = status.admission.is_some();
        status.evict(eviction, stamp);
        self.write(id, before, Decision::Evicted(Reason::Borrowed(eviction.reason)), now);
        if had_admission {
            self.emit_event(id, false, eviction.event_reason(), eviction.message.to_string());
        }
    }

    pub(crate) fn stamp(&self, id: WorkloadId, now: Time) -> Stamp {
        Stamp { now, generation: self.workloads[id].generation, gates: self.settings.gates }
    }

    /// Changes the status by `edit`, which says whether there is anything to write.
    pub(crate) fn change_status(
        &mut self,
        id: WorkloadId,
        now: Time,
        edit: impl FnOnce(&mut crate::status::Status, Stamp) -> bool,
    ) -> Step {
        let before = self.before(id);
        let stamp = self.stamp(id, now);
        let old = self.workloads[id].status.clone();
        if edit(&mut self.workloads[id].status, stamp) {
            self.write(id, &before, Decision::LifeCycle, now);
            Step::Taken
        } else {
            self.workloads[id].status = old;
            Step::Rest(None)
        }
    }

    pub(crate) fn write(&mut self, id: WorkloadId, before: &Before, decision: Decision, now: Time) {
        self.emit_status(id, decision);
        self.on_workload_changed(id, before, now);
    }

    pub(crate) fn emit_status(&mut self, id: WorkloadId, decision: Decision) {
        let workload = &self.workloads[id];
        let status = workload.status.share();
        self.effects.push(Effect::Status { workload: workload.key.clone(), status, decision });
    }

    /// Whether a check asked for another attempt or said no for good.
    pub(crate) fn has_failed_check(&self, id: WorkloadId) -> bool {
        let status = &self.workloads[id].status;
        status.any_check(CheckProgress::Retry) || status.any_check(CheckProgress::Rejected)
    }
}
