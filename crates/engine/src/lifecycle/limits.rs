//! Time that ran out: pods that do not get ready, and jobs that run too long.

use kueue_core::duration::Duration;
use kueue_core::time::Time;

use super::Step;
use crate::engine::Engine;
use crate::id::{Name, WorkloadId};
use crate::settings::PodsReady;
use crate::status::admitted::condition;
use crate::status::eviction::Eviction;
use crate::status::{ConditionKind, Status, Verdict};
use crate::text;

impl Engine {
    /// The next moment at which one of the two limits is reached.
    pub(super) fn step_limits(&mut self, id: WorkloadId, now: Time) -> Step {
        let ready_by = match self.step_pods_ready(id, now) {
            Step::Taken => return Step::Taken,
            Step::Rest(at) => at,
        };
        match self.step_execution_time(id, now) {
            Step::Taken => Step::Taken,
            Step::Rest(end) => Step::Rest(ready_by.into_iter().chain(end).min()),
        }
    }

    fn step_pods_ready(&mut self, id: WorkloadId, now: Time) -> Step {
        let workload = &self.workloads[id];
        let Some(limits) = &self.settings.pods_ready else { return Step::Rest(None) };
        // The pods are those of the parent, whatever variant they run as.
        if !workload.is_active || workload.status.is_evicted() || workload.is_variant() {
            return Step::Rest(None);
        }
        let Some((deadline, is_recovery)) = workload.status.ready_by(limits) else { return Step::Rest(None) };
        if deadline > now {
            return Step::Rest(Some(deadline));
        }
        let attempts =
            workload.status.requeue.as_ref().and_then(|requeue| requeue.count).unwrap_or(0).saturating_add(1);
        if limits.most_attempts.is_some_and(|most| attempts > most) {
            return self.step_toward_deactivation(
                id,
                text::REQUEUING_LIMIT_EXCEEDED,
                text::TOO_MANY_ATTEMPTS.into(),
                now,
            );
        }
        let until = now + limits.backoff.wait(i64::from(attempts));
        let eviction = Eviction::pods_not_ready(&workload.key, is_recovery);
        let before = self.before(id);
        self.workloads[id].status.back_off(until, true);
        self.evict_changed(id, &before, &eviction, now);
        Step::Taken
    }

    fn step_execution_time(&mut self, id: WorkloadId, now: Time) -> Step {
        let workload = &self.workloads[id];
        let admitted = workload.status.condition(ConditionKind::Admitted).filter(|c| c.verdict == Verdict::True);
        let (Some(admitted), Some(limit_s)) = (admitted, workload.max_execution_s) else { return Step::Rest(None) };
        let left_s = i64::from(limit_s) - i64::from(workload.status.past_execution_s.unwrap_or(0));
        let end = admitted.since + Duration::from_seconds(left_s);
        if end > now {
            return Step::Rest(Some(end));
        }
        if workload.status.is_true(ConditionKind::DeactivationTarget) || !workload.is_active {
            return Step::Rest(None);
        }
        self.workloads[id].status.past_execution_s = None;
        let message = text::EXECUTION_TIME_EXCEEDED.into();
        let step = self.step_toward_deactivation(id, text::MAXIMUM_EXECUTION_TIME_EXCEEDED, message, now);
        self.emit_event(id, true, text::MAXIMUM_EXECUTION_TIME_EXCEEDED, text::execution_time_exceeded(limit_s));
        step
    }

    /// Notes that the workload is to be deactivated, and why.
    pub(super) fn step_toward_deactivation(
        &mut self,
        id: WorkloadId,
        reason: &'static str,
        message: Name,
        now: Time,
    ) -> Step {
        self.change_status(id, now, |status, stamp| {
            status.set(condition(ConditionKind::DeactivationTarget, Verdict::True, reason, message, stamp))
        })
    }
}

impl Status {
    /// Until when all pods have to run, if anybody waits for that, and whether they did before.
    pub fn ready_by(&self, limits: &PodsReady) -> Option<(Time, bool)> {
        let admitted = self.condition(ConditionKind::Admitted).filter(|admitted| admitted.verdict == Verdict::True)?;
        let Some(ready) = self.condition(ConditionKind::PodsReady) else {
            return Some((admitted.since + limits.timeout, false));
        };
        match &*ready.reason {
            _ if ready.verdict == Verdict::True => None,
            text::WAIT_FOR_START | text::PODS_READY => Some((admitted.since + limits.timeout, false)),
            text::WAIT_FOR_RECOVERY => Some((ready.since + limits.recovery_timeout?, true)),
            _ => None,
        }
    }
}
