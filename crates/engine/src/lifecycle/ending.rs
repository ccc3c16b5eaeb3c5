//! The end of a workload: orphans, jobs that want nothing for now, and what is deleted after a while.

use kueue_core::gates::Gate;
use kueue_core::time::Time;

use super::Step;
use crate::change::{Hold, Owner};
use crate::effect::{Decision, Effect};
use crate::engine::Engine;
use crate::id::WorkloadId;
use crate::status::{ConditionKind, Verdict};
use crate::text;

impl Engine {
    /// A workload whose owner is gone ends, and nothing keeps it from being deleted.
    pub(super) fn step_orphaned(&mut self, id: WorkloadId, now: Time) -> Option<Step> {
        let finishes = self.settings.gates.enabled(Gate::FinishOrphanedWorkloads);
        let workload = &self.workloads[id];
        let had_job = workload.job_uid.as_ref().is_some_and(|uid| !uid.is_empty());
        if workload.owner != Owner::Nobody || !(workload.is_deleting || (finishes && had_job)) {
            return None;
        }
        let is_deleting = workload.is_deleting;
        if finishes && !is_deleting {
            let before = self.before(id);
            let stamp = self.stamp(id, now);
            let message = text::OWNER_IS_GONE.into();
            if self.workloads[id].status.finish(text::OWNER_NOT_FOUND, message, stamp) {
                self.write(id, &before, Decision::LifeCycle, now);
                return Some(Step::Taken);
            }
        }
        let workload = &mut self.workloads[id];
        if std::mem::take(&mut workload.is_guarded) {
            self.effects.push(Effect::Unguard(workload.key.clone()));
        }
        (is_deleting || !finishes).then_some(Step::Rest(None))
    }

    /// A finished workload is kept for a while.
    pub(super) fn step_finished(&mut self, id: WorkloadId, now: Time) -> Step {
        let workload = &mut self.workloads[id];
        let finished = workload.status.condition(ConditionKind::Finished).map(|finished| finished.since);
        let (Some(finished), Some(keep)) = (finished, self.settings.retention.finished) else {
            return Step::Rest(None);
        };
        let end = finished + keep;
        if end > now {
            return Step::Rest(Some(end));
        }
        let is_guarded = std::mem::take(&mut workload.is_guarded);
        let key = workload.key.clone();
        if std::mem::replace(&mut workload.is_deleting, true) {
            // Somebody else deleted it; slices, for one, end without a job that would let them go.
            self.effects.extend(is_guarded.then_some(Effect::Unguard(key)));
        } else {
            self.effects.push(Effect::Delete(key));
            self.emit_event(id, false, text::DELETED, text::DELETED_FINISHED.to_owned());
        }
        Step::Rest(None)
    }

    /// The job of a workload that was switched off by a limit is kept for a while; until when, if that lies ahead.
    pub(super) fn job_deletion(&mut self, id: WorkloadId, now: Time) -> Option<Time> {
        let keep = self.settings.retention.deactivated?;
        let workload = &mut self.workloads[id];
        let evicted = workload
            .status
            .condition(ConditionKind::Evicted)
            .filter(|evicted| evicted.verdict == Verdict::True && evicted.reason.starts_with(text::DEACTIVATED_DUE_TO));
        let Some(evicted) = evicted.filter(|_| !workload.is_active) else {
            workload.is_job_leaving = false;
            return None;
        };
        let end = evicted.since + keep;
        if end > now {
            return Some(end);
        }
        if !std::mem::replace(&mut workload.is_job_leaving, true) {
            self.effects.push(Effect::DeleteJob(workload.key.clone()));
        }
        None
    }

    /// The job wants no quota for now, or does again.
    pub(super) fn step_hold(&mut self, id: WorkloadId, hold: Option<Hold>, now: Time) -> Step {
        let status = &self.workloads[id].status;
        let pending = self.granular(text::PENDING_EVALUATION, text::PENDING);
        let (reason, message) = match hold {
            Some(hold) if status.has_reservation() => (text::ON_HOLD, text::on_hold(hold)),
            None if status.is_on_hold() => (pending, text::NO_LONGER_ON_HOLD),
            _ => return Step::Rest(None),
        };
        self.change_status(id, now, |status, stamp| status.unreserve(reason, message.into(), stamp))
    }
}
