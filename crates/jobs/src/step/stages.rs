//! What a job with a Workload needs, one stage after the other.

use std::sync::Arc;

use kueue_api::kueue::names::{condition, event, reason};
use kueue_api::kueue::v1beta2::{CheckState, ReclaimablePod, Workload};
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_api::pod_sets;
use kueue_core::gates::Gate;

use super::{Action, Look, Over, Surroundings, is_true, key, release};
use crate::job::{Job, Stop, StopReason, Write};
use crate::report::{Hold, Report};
use crate::start::{self, NotGiven};
use crate::workload::{prebuilt_name, queue_name};

const NOT_ADMITTED: Stop<'_> = Stop { reason: StopReason::NotAdmitted, message: "Not admitted by cluster queue" };

impl<J: Job> Look<'_, J> {
    pub(super) fn stages(&mut self, workload: Option<Arc<Workload>>) -> Result<(), Over> {
        if let Some(workload) = &workload
            && self.is_left(workload)
        {
            return Ok(());
        }
        if self.job.is_on_hold() == Some(true) {
            if let Some(workload) = workload.filter(|workload| is_true(workload, condition::QUOTA_RESERVED)) {
                self.actions.push(Action::Report(workload, Report::OnHold(Some(Hold::Job))));
            }
            return Ok(());
        }
        if let Some(end) = self.job.finished() {
            if let Some(workload) = workload {
                let reason = if end.is_success { reason::finished::SUCCEEDED } else { reason::finished::FAILED };
                let told = finished_event(&workload);
                let report = Report::Finished { reason, message: end.message };
                self.actions.extend([Action::Report(workload, report), told]);
            }
            self.actions.extend(release(&self.job));
            return Ok(());
        }
        match workload {
            Some(workload) => self.with_workload(&workload),
            None => self.without_workload(),
        }
    }

    /// A Workload that is over or goes away is let go; says whether it is.
    fn is_left(&mut self, workload: &Arc<Workload>) -> bool {
        if is_true(workload, condition::FINISHED) {
            self.actions.extend(release(&self.job));
            // Told again only while there is something left to do: the finalizer.
            if !workload.metadata.finalizers.is_empty() {
                self.actions.extend([finished_event(workload), Action::Unguard(Arc::clone(workload))]);
            }
            return true;
        }
        let is_deleted = workload.metadata.deletion_timestamp.is_some();
        if is_deleted {
            self.stop(Some(workload), &Stop { reason: StopReason::WorkloadDeleted, message: "Workload is deleted" });
            self.actions.push(Action::Unguard(Arc::clone(workload)));
        }
        is_deleted
    }

    fn with_workload(&mut self, workload: &Arc<Workload>) -> Result<(), Over> {
        let report = reclaimable(|| self.job.reclaimable_pods(), workload, self.around);
        let report = report.or_else(|| pods_ready(|| self.job.pods_ready(), workload, self.around));
        if let Some(report) = report {
            self.actions.push(Action::Report(Arc::clone(workload), report));
            return Ok(());
        }
        if wants_quota_again(&self.job, workload) {
            // Whoever runs it does so again by now, and others may have its quota: it waits like everybody.
            if !self.job.is_suspended() {
                self.stop(Some(workload), &NOT_ADMITTED);
            }
            self.actions.push(Action::Report(Arc::clone(workload), Report::OnHold(None)));
            return Ok(());
        }
        if is_true(workload, condition::EVICTED) {
            self.stop(Some(workload), &eviction(workload));
            if is_true(workload, condition::QUOTA_RESERVED) && !self.job.is_active() {
                self.actions.push(Action::Report(Arc::clone(workload), Report::Stopped));
            }
            return Ok(());
        }
        match self.job.is_suspended() {
            true => self.waiting(workload),
            // Pods of an elastic job wait behind their gates, each for its slice.
            false if is_true(workload, condition::ADMITTED) || self.is_elastic() => Ok(()),
            false => {
                self.stop(Some(workload), &NOT_ADMITTED);
                Ok(())
            }
        }
    }

    fn without_workload(&mut self) -> Result<(), Over> {
        let is_prebuilt = prebuilt_name(self.job.metadata(), self.around.settings.gates).is_some();
        if is_prebuilt {
            self.stop(None, &Stop { reason: StopReason::NoMatchingWorkload, message: "missing workload" });
        }
        // Pods that still run use quota that a new Workload would be given a second time.
        if self.job.is_active() && !self.is_elastic() {
            return Ok(());
        }
        if is_prebuilt {
            return Err(Over::failed("prebuilt workload not found"));
        }
        let workload = self.new_workload()?;
        let message = format!("Created Workload: {}", key(&workload));
        self.actions.push(Action::CreateWorkload(Box::new(workload)));
        self.actions.push(Action::event(event::job::CREATED_WORKLOAD, message));
        Ok(())
    }

    /// A suspended job starts when it may, and follows its queue while it may not.
    fn waiting(&mut self, workload: &Arc<Workload>) -> Result<(), Over> {
        if is_true(workload, condition::ADMITTED) {
            return self.start(workload);
        }
        if is_true(workload, condition::QUOTA_RESERVED)
            && let Some(message) = pending_checks(workload)
        {
            self.actions.push(Action::event(event::job::UPDATED_ADMISSION_CHECK, message));
        }
        let queue = queue_name(self.job.metadata()).to_owned();
        if workload.spec.queue_name != queue {
            self.change(workload, |moved| moved.spec.queue_name = queue);
        }
        Ok(())
    }

    fn start(&mut self, workload: &Arc<Workload>) -> Result<(), Over> {
        let Some(admission) = &workload.status.admission else { return Ok(()) };
        let gates = self.around.settings.gates;
        let given = match start::given(workload, admission, gates, self.around.flavor) {
            Ok(given) => given,
            Err(error @ NotGiven::Checks { .. }) => return self.cannot_start(workload, error.to_string()),
            Err(error @ NotGiven::Flavor(_)) => return Err(Over::failed(error)),
        };
        let mut started = self.job.clone();
        if let Err(error) = started.run(&given, gates) {
            return self.cannot_start(workload, error.to_string());
        }
        let message = format!("Admitted by clusterQueue {}", admission.cluster_queue);
        self.actions.extend([Action::Write(Write::Spec(started)), Action::event(event::job::STARTED, message)]);
        Ok(())
    }

    /// Nothing mends a job that contradicts what it was given.
    fn cannot_start(&mut self, workload: &Arc<Workload>, message: String) -> Result<(), Over> {
        let report = Report::Finished { reason: reason::finished::FAILED_TO_START, message };
        self.actions.push(Action::Report(Arc::clone(workload), report));
        Ok(())
    }
}

/// What is told about a job whose Workload is over.
pub fn finished_event<J>(workload: &Workload) -> Action<J> {
    let message = format!("Workload '{}' is declared finished", key(workload));
    Action::event(event::job::FINISHED_WORKLOAD, message)
}

/// What the checks that are not done yet say.
pub fn pending_checks(workload: &Workload) -> Option<String> {
    let checks = workload.status.admission_checks.iter();
    let pending = checks.filter(|check| check.state == CheckState::Pending && !check.message.is_empty());
    let messages: Vec<String> = pending.map(|check| format!("{}: {}", check.name, check.message)).collect();
    (!messages.is_empty()).then(|| messages.join("; "))
}

/// A job that had put itself on hold and did so no longer.
fn wants_quota_again<J: Job>(job: &J, workload: &Workload) -> bool {
    let is_held =
        |reserved: &Condition| reserved.status == ConditionStatus::False && reserved.reason == reason::quota::ON_HOLD;
    condition_of(workload, condition::QUOTA_RESERVED).is_some_and(is_held) && job.is_on_hold() == Some(false)
}

/// Pods that are done, where that is not known yet.
pub fn reclaimable(
    pods: impl FnOnce() -> Option<Vec<ReclaimablePod>>,
    workload: &Workload,
    around: &Surroundings<'_>,
) -> Option<Report> {
    let mut pods = pods().filter(|_| around.settings.gates.enabled(Gate::ReclaimablePods))?;
    pod_sets::limit_reclaimable(&mut pods, &workload.spec.pod_sets);
    let sorted = |pods: &[ReclaimablePod]| {
        let mut counts: Vec<(String, i32)> = pods.iter().map(|pods| (pods.name.clone(), pods.count)).collect();
        counts.sort();
        counts
    };
    (sorted(&pods) != sorted(&workload.status.reclaimable_pods)).then_some(Report::Reclaimable(pods))
}

/// Whether all pods are ready, where that is news.
pub fn pods_ready(are_ready: impl FnOnce() -> bool, workload: &Workload, around: &Surroundings<'_>) -> Option<Report> {
    if !around.settings.waits_for_pods {
        return None;
    }
    let known = condition_of(workload, condition::PODS_READY);
    let known_reason = known.map_or("", |known| known.reason.as_str());
    let was_recovering = [reason::pods_ready::WAIT_FOR_RECOVERY, reason::pods_ready::RECOVERED].contains(&known_reason);
    let is_admitted = is_true(workload, condition::ADMITTED);
    let (status, reason, message) = if is_admitted && are_ready() {
        let reason = if was_recovering { reason::pods_ready::RECOVERED } else { reason::pods_ready::STARTED };
        (ConditionStatus::True, reason, "All pods reached readiness and the workload is running")
    } else if is_admitted
        && (known.is_some_and(|known| known.status == ConditionStatus::True)
            || known_reason == reason::pods_ready::WAIT_FOR_RECOVERY)
    {
        let message = "At least one pod has failed, waiting for recovery";
        (ConditionStatus::False, reason::pods_ready::WAIT_FOR_RECOVERY, message)
    } else {
        (ConditionStatus::False, reason::pods_ready::WAIT_FOR_START, "Not all pods are ready or succeeded")
    };
    let is_known = known.is_some_and(|known| known.status == status) && known_reason == reason;
    (!is_known).then_some(Report::PodsReady { status, reason, message })
}

/// Why an evicted job is stopped.
pub fn eviction(workload: &Workload) -> Stop<'_> {
    let evicted = condition_of(workload, condition::EVICTED);
    let cause = evicted.map(|evicted| evicted.reason.clone()).unwrap_or_default();
    let message = evicted.map_or("", |evicted| evicted.message.as_str());
    Stop { reason: StopReason::WorkloadEvicted(cause), message }
}

fn condition_of<'w>(workload: &'w Workload, kind: &str) -> Option<&'w Condition> {
    workload.status.conditions.iter().find(|condition| condition.r#type == kind)
}
