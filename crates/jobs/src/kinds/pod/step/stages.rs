//! What a group with a Workload needs, one stage after the other.

use std::sync::Arc;

use kueue_api::kueue::names::{condition, event, reason};
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::{Condition, ConditionStatus};

use super::Look;
use crate::job::{CannotStart, Job as _, Stop, StopReason, Write};
use crate::report::Report;
use crate::start::{self, NotGiven};
use crate::step::{self, Action, is_true};
use crate::workload::queue_name;

impl Look<'_> {
    pub(super) fn with_workload(&mut self, workload: &Arc<Workload>) {
        if let Some(report) = self.replacements(workload) {
            return self.act(Action::Report(Arc::clone(workload), report));
        }
        if is_true(workload, condition::FINISHED) {
            // Told again only while there is something left to do.
            self.release();
            let is_guarded = !workload.metadata.finalizers.is_empty();
            if is_guarded || !self.outcome.acts.is_empty() {
                self.act(step::finished_event(workload));
            }
            if is_guarded {
                self.act(Action::Unguard(Arc::clone(workload)));
            }
            return;
        }
        if workload.metadata.deletion_timestamp.is_some() {
            self.stop(&Stop { reason: StopReason::WorkloadDeleted, message: "Workload is deleted" });
            return self.act(Action::Unguard(Arc::clone(workload)));
        }
        if let Some(end) = self.group.finished(&self.members) {
            let report = Report::Finished { reason: reason::finished::SUCCEEDED, message: end.message };
            self.act(Action::Report(Arc::clone(workload), report));
            self.act(step::finished_event(workload));
            return self.release();
        }
        let (group, members) = (self.group, &self.members);
        let report = step::reclaimable(|| Some(group.reclaimable_pods(members)), workload, self.around);
        let report = report.or_else(|| step::pods_ready(|| group.pods_ready(members), workload, self.around));
        if let Some(report) = report {
            return self.act(Action::Report(Arc::clone(workload), report));
        }
        if is_true(workload, condition::EVICTED) {
            self.stop(&step::eviction(workload));
            if is_true(workload, condition::QUOTA_RESERVED) && !self.is_active() {
                self.act(Action::Report(Arc::clone(workload), Report::Stopped));
            }
        } else if self.is_suspended() {
            self.wait_or_start(workload);
        } else if !is_true(workload, condition::ADMITTED) {
            self.stop(&Stop { reason: StopReason::NotAdmitted, message: "Not admitted by cluster queue" });
        }
    }

    /// Whether pods are missing, where that is news. While they are, the Workload waits for them and not for quota.
    fn replacements(&self, workload: &Workload) -> Option<Report> {
        let of = |kind: &str| workload.status.conditions.iter().find(|condition| condition.r#type == kind);
        let known = of(condition::WAITING_FOR_REPLACEMENT_PODS);
        let is_known_as = |status: ConditionStatus| known.is_some_and(|known| known.status == status);
        let is_missing = self.absent > 0;
        let (status, reason, message) = match of(condition::EVICTED).filter(|_| is_true(workload, condition::EVICTED)) {
            Some(Condition { reason, message, .. }) if is_missing => {
                if known.is_some_and(|known| (&known.reason, &known.message) == (reason, message))
                    && is_known_as(ConditionStatus::True)
                {
                    return None;
                }
                (ConditionStatus::True, reason.clone(), message.clone())
            }
            _ if is_missing && is_known_as(ConditionStatus::True) => return None,
            _ if is_missing => {
                let reason = reason::waiting_for_replacement_pods::PODS_FAILED.to_owned();
                (ConditionStatus::True, reason, "Some Failed pods need replacement".to_owned())
            }
            _ if known.is_none() || is_known_as(ConditionStatus::False) => return None,
            _ => {
                let reason = reason::waiting_for_replacement_pods::PODS_READY.to_owned();
                (ConditionStatus::False, reason, "No pods need replacement".to_owned())
            }
        };
        Some(Report::WaitingForReplacementPods { status, reason, message })
    }

    /// Waiting pods start when they may, and follow their queue while they may not.
    fn wait_or_start(&mut self, workload: &Arc<Workload>) {
        if is_true(workload, condition::ADMITTED) {
            return self.start(workload);
        }
        if is_true(workload, condition::QUOTA_RESERVED)
            && let Some(message) = step::pending_checks(workload)
        {
            for pod in self.members.clone() {
                self.tell(&pod, event::job::UPDATED_ADMISSION_CHECK, &message);
            }
        }
        let queue = queue_name(&self.group.first().metadata);
        // The queue of pods that serve is that of the job which made them.
        let follows = !self.group.first().is_serving() && !self.has_updated_workload;
        if follows && workload.spec.queue_name != queue {
            let mut moved = (**workload).clone();
            queue.clone_into(&mut moved.spec.queue_name);
            self.update(workload, moved);
        }
    }

    fn start(&mut self, workload: &Arc<Workload>) {
        let Some(admission) = &workload.status.admission else { return };
        let gates = self.around.settings.gates;
        let given = match start::given(workload, admission, gates, self.around.flavor) {
            Ok(given) => given,
            Err(error @ NotGiven::Checks { .. }) => return self.fail_to_start(workload, error.to_string()),
            Err(error @ NotGiven::Flavor(_)) => return self.outcome.failure = Some(error.to_string()),
        };
        let mut started = Vec::new();
        for pod in self.members.iter().filter(|pod| pod.is_gated()) {
            let role = pod.role();
            let Some(info) = given.iter().find(|info| info.name == role) else {
                return self.fail_to_start(workload, CannotStart::NoPodSet(role).to_string());
            };
            let mut new = (**pod).clone();
            match new.start(info, gates) {
                Ok(()) => started.push((Arc::clone(pod), new)),
                Err(conflict) => return self.fail_to_start(workload, conflict.to_string()),
            }
        }
        let message = format!("Admitted by clusterQueue {}", admission.cluster_queue);
        for (pod, new) in started {
            self.act_on(&pod, Action::Write(Write::Spec(new)));
            self.tell(&pod, event::job::STARTED, &message);
        }
    }

    fn fail_to_start(&mut self, workload: &Arc<Workload>, message: String) {
        let report = Report::Finished { reason: reason::finished::FAILED_TO_START, message };
        self.act(Action::Report(Arc::clone(workload), report));
    }

    pub(super) fn stop(&mut self, why: &Stop<'_>) {
        for pod in self.members.clone() {
            for write in pod.stop(why, None) {
                self.act_on(&pod, Action::Write(write));
                self.tell(&pod, event::job::STOPPED, why.message);
            }
        }
        if why.reason == StopReason::WorkloadDeleted {
            self.release();
        }
    }
}
