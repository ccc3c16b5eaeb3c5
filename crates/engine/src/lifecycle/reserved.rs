//! Steps of a workload that holds quota: checks that failed, queues that stopped.

use kueue_core::gates::Gate;
use kueue_core::time::Time;

use super::Step;
use crate::change::{Owner, StopPolicy};
use crate::effect::Decision;
use crate::engine::Engine;
use crate::id::{QueueId, WorkloadId};
use crate::status::admitted::condition;
use crate::status::eviction::Eviction;
use crate::status::{CheckProgress, ConditionKind, Verdict};
use crate::text;

impl Engine {
    pub(super) fn step_reserved(&mut self, id: WorkloadId, queue: Option<QueueId>, now: Time) -> Step {
        self.step_failed_check(id, now)
            .or_else(|| self.step_unreadable(id, now))
            .or_else(|| self.step_local_queue(id, now))
            .or_else(|| self.step_cluster_queue(id, queue, now))
            .unwrap_or_else(|| self.step_limits(id, now))
    }

    /// The job of an evicted workload has stopped: its quota is free, and it may be queued again.
    pub(super) fn step_stopped(&mut self, id: WorkloadId, now: Time) -> Option<Step> {
        let status = &self.workloads[id].status;
        let evicted =
            status.condition(ConditionKind::Evicted).filter(|evicted| evicted.verdict == Verdict::True)?.clone();
        if !status.has_reservation() {
            return None;
        }
        let is_queued_again = evicted.reason == text::PREEMPTED || evicted.reason == text::NODE_FAILURES;
        // A workload dies with the only pod that owns it: a new place would be for nobody.
        let is_pod_owned = self.settings.gates.enabled(Gate::SkipReassignmentForPodOwnedWorkloads)
            && self.workloads[id].owner == Owner::Pod;
        let verdict = if is_queued_again && !is_pod_owned { Verdict::True } else { Verdict::False };
        let waiting = self.granular(text::PENDING_EVALUATION, text::PENDING);
        let before = self.before(id);
        let stamp = self.stamp(id, now);
        let status = &mut self.workloads[id].status;
        let held = status.clone();
        let message = evicted.message.clone();
        status.set(condition(ConditionKind::Requeued, verdict, evicted.reason, message, stamp));
        status.unreserve(waiting, evicted.message, stamp);
        let decision = status.release_since(&held, now).map_or(Decision::LifeCycle, Decision::Released);
        self.write(id, &before, decision, now);
        Some(Step::Taken)
    }

    fn step_failed_check(&mut self, id: WorkloadId, now: Time) -> Option<Step> {
        let workload = &self.workloads[id];
        if workload.is_parent() || workload.status.is_evicted() || !self.has_failed_check(id) {
            return None;
        }
        let status = &self.workloads[id].status;
        if status.any_check(CheckProgress::Rejected) {
            let failed = text::failed_checks(&status.checks, CheckProgress::Rejected);
            let message = failed.as_str().into();
            self.step_toward_deactivation(id, text::ADMISSION_CHECK, message, now);
            self.emit_event(id, true, text::ADMISSION_CHECK_REJECTED, format!("Deactivated due to {failed}"));
        } else {
            let failed = text::failed_checks(&status.checks, CheckProgress::Retry);
            let message = format!("Evicted due to {failed}").into();
            self.evict(id, &Eviction::new(text::ADMISSION_CHECK, message), now);
        }
        Some(Step::Taken)
    }

    /// Nobody knows where its pods belong, or what they take there: they stop, and get other places.
    fn step_unreadable(&mut self, id: WorkloadId, now: Time) -> Option<Step> {
        let status = &self.workloads[id].status;
        let mut assigned = status.admission.iter().flat_map(|admission| &admission.pod_sets);
        let (pod_set, why) = assigned.find_map(|assigned| Some((&assigned.name, assigned.unreadable.as_ref()?)))?;
        if status.is_evicted() {
            return None;
        }
        let message = text::unreadable_places(pod_set, why).into();
        self.evict(id, &Eviction::new(text::NODE_FAILURES, message), now);
        Some(Step::Taken)
    }

    fn step_local_queue(&mut self, id: WorkloadId, now: Time) -> Option<Step> {
        let workload = &self.workloads[id];
        let name = self.names.local_queue(workload.local_queue);
        let object = self.local_queues.get(&workload.local_queue).and_then(|lq| lq.object.as_ref());
        let stop = object.map_or(StopPolicy::None, |object| object.stop);
        if workload.status.is_true(ConditionKind::Admitted) {
            return self.step_drained(id, stop, text::LOCAL_QUEUE_STOPPED, text::LOCAL_QUEUE_IS_STOPPED, now);
        }
        let (reason, message) = match (object.filter(|object| !object.is_terminating), stop) {
            (None, _) => (self.granular(text::MISCONFIGURED, text::INADMISSIBLE), text::local_queue_terminating(name)),
            (Some(_), StopPolicy::None) => return None,
            (Some(_), _) => (self.granular(text::SUSPENDED, text::INADMISSIBLE), text::local_queue_stopped(name)),
        };
        Some(self.change_status(id, now, |status, stamp| status.unreserve(reason, message, stamp)))
    }

    fn step_cluster_queue(&mut self, id: WorkloadId, queue: Option<QueueId>, now: Time) -> Option<Step> {
        let stop = queue.map_or(StopPolicy::None, |queue| self.queues[queue].spec.stop);
        if self.workloads[id].status.is_true(ConditionKind::Admitted) {
            return self.step_drained(id, stop, text::CLUSTER_QUEUE_STOPPED, text::CLUSTER_QUEUE_IS_STOPPED, now);
        }
        let (reason, message) = match (queue.filter(|queue| !self.queues[*queue].spec.is_terminating), stop) {
            (None, _) => {
                (self.granular(text::MISCONFIGURED, text::INADMISSIBLE), text::queue_terminating(&self.target_name(id)))
            }
            (Some(_), StopPolicy::None) => return None,
            (Some(queue), _) => {
                (self.granular(text::SUSPENDED, text::INADMISSIBLE), text::queue_stopped(&self.queues[queue].name))
            }
        };
        Some(self.change_status(id, now, |status, stamp| status.unreserve(reason, message, stamp)))
    }

    fn target_name(&self, id: WorkloadId) -> String {
        let lq = self.local_queues.get(&self.workloads[id].local_queue);
        lq.and_then(|lq| lq.target()).map(ToString::to_string).unwrap_or_default()
    }

    fn step_drained(
        &mut self,
        id: WorkloadId,
        stop: StopPolicy,
        reason: &'static str,
        message: &'static str,
        now: Time,
    ) -> Option<Step> {
        if stop != StopPolicy::HoldAndDrain || self.workloads[id].status.is_evicted() {
            return None;
        }
        self.evict(id, &Eviction::new(reason, message.into()), now);
        Some(Step::Taken)
    }
}
