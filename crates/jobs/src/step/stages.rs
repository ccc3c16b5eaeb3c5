//! What a job with a Workload needs, one stage after the other.

use std::sync::Arc;

use kueue_api::kueue::names::{condition, event, reason};
use kueue_api::kueue::v1beta2::{CheckState, ReclaimablePod, Workload};
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_api::pod_sets;
use kueue_core::gates::Gate;

use super::{Action, Outcome, Surroundings, is_true, release};
use crate::job::{Job, Stop, StopReason, Write};
use crate::report::Report;
use crate::start::{self, NotGiven};
use crate::workload::queue_name;

pub(super) fn with_workload<J: Job>(job: &J, workload: &Arc<Workload>, around: &Surroundings<'_>) -> Outcome<J> {
    let finished = |workload: &Workload| {
        let message =
            format!("Workload '{}/{}' is declared finished", workload.metadata.namespace, workload.metadata.name);
        Action::event(event::job::FINISHED_WORKLOAD, message)
    };
    if is_true(workload, condition::FINISHED) {
        // Told again only while there is something left to do: the finalizer.
        let mut actions = release(job);
        if !workload.metadata.finalizers.is_empty() {
            actions.extend([finished(workload), Action::Unguard(Arc::clone(workload))]);
        }
        return actions.into();
    }
    if workload.metadata.deletion_timestamp.is_some() {
        let why = Stop { reason: StopReason::WorkloadDeleted, message: "Workload is deleted" };
        let mut actions = stop(job, Some(workload), &why);
        actions.push(Action::Unguard(Arc::clone(workload)));
        return actions.into();
    }
    if let Some(end) = job.finished() {
        let reason = if end.is_success { reason::finished::SUCCEEDED } else { reason::finished::FAILED };
        let report = Report::Finished { reason, message: end.message };
        let mut actions = vec![Action::Report(Arc::clone(workload), report)];
        actions.extend(release(job));
        return actions.into();
    }
    let report = reclaimable(|| job.reclaimable_pods(), workload, around);
    if let Some(report) = report.or_else(|| pods_ready(|| job.pods_ready(), workload, around)) {
        return vec![Action::Report(Arc::clone(workload), report)].into();
    }
    if is_true(workload, condition::EVICTED) {
        return evicted(job, workload);
    }
    match job.is_suspended() {
        true => waiting(job, workload, around),
        false if is_true(workload, condition::ADMITTED) => Outcome::default(),
        false => {
            let why = Stop { reason: StopReason::NotAdmitted, message: "Not admitted by cluster queue" };
            stop(job, Some(workload), &why).into()
        }
    }
}

/// Pods that are done, where that is not known yet.
pub(crate) fn reclaimable(
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
pub(crate) fn pods_ready(
    are_ready: impl FnOnce() -> bool,
    workload: &Workload,
    around: &Surroundings<'_>,
) -> Option<Report> {
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

/// An evicted job stops; when nothing of it runs any more, its quota is free.
fn evicted<J: Job>(job: &J, workload: &Arc<Workload>) -> Outcome<J> {
    let mut actions = stop(job, Some(workload), &eviction(workload));
    if is_true(workload, condition::QUOTA_RESERVED) && !job.is_active() {
        actions.push(Action::Report(Arc::clone(workload), Report::Stopped));
    }
    actions.into()
}

/// Why an evicted job is stopped.
pub(crate) fn eviction(workload: &Workload) -> Stop<'_> {
    let evicted = condition_of(workload, condition::EVICTED);
    let cause = evicted.map(|evicted| evicted.reason.clone()).unwrap_or_default();
    let message = evicted.map_or("", |evicted| evicted.message.as_str());
    Stop { reason: StopReason::WorkloadEvicted(cause), message }
}

/// A suspended job starts when it may, and follows its queue while it may not.
fn waiting<J: Job>(job: &J, workload: &Arc<Workload>, around: &Surroundings<'_>) -> Outcome<J> {
    if is_true(workload, condition::ADMITTED) {
        return start_job(job, workload, around);
    }
    let mut actions = Vec::new();
    if is_true(workload, condition::QUOTA_RESERVED) {
        let pending = workload.status.admission_checks.iter();
        let pending = pending.filter(|check| check.state == CheckState::Pending && !check.message.is_empty());
        let messages: Vec<String> = pending.map(|check| format!("{}: {}", check.name, check.message)).collect();
        if !messages.is_empty() {
            actions.push(Action::event(event::job::UPDATED_ADMISSION_CHECK, messages.join("; ")));
        }
    }
    let queue = queue_name(job.metadata());
    if workload.spec.queue_name != queue {
        let mut moved = (**workload).clone();
        queue.clone_into(&mut moved.spec.queue_name);
        actions.push(Action::UpdateWorkload { old: Arc::clone(workload), new: Box::new(moved) });
    }
    actions.into()
}

fn start_job<J: Job>(job: &J, workload: &Arc<Workload>, around: &Surroundings<'_>) -> Outcome<J> {
    let Some(admission) = &workload.status.admission else {
        return Outcome::default();
    };
    let gates = around.settings.gates;
    let failed = |message: String| {
        let report = Report::Finished { reason: reason::finished::FAILED_TO_START, message };
        vec![Action::Report(Arc::clone(workload), report)].into()
    };
    let given = match start::given(workload, admission, gates, around.flavor) {
        Ok(given) => given,
        Err(error @ NotGiven::Checks { .. }) => return failed(error.to_string()),
        Err(error @ NotGiven::Flavor(_)) => return Outcome::failed(Vec::new(), error),
    };
    let mut started = job.clone();
    match started.run(&given, gates) {
        Err(error) => failed(error.to_string()),
        Ok(()) => {
            let message = format!("Admitted by clusterQueue {}", admission.cluster_queue);
            let write = Action::Write(Write::Spec(started));
            vec![write, Action::event(event::job::STARTED, message)].into()
        }
    }
}

/// The requests that stop a job, and the event that says why; nothing when it is stopped.
pub(super) fn stop<J: Job>(job: &J, workload: Option<&Workload>, why: &Stop<'_>) -> Vec<Action<J>> {
    let original = workload.map(start::original);
    let writes = job.stop(why, original.as_deref());
    let ends = writes.iter().any(|write| matches!(write, Write::Terminate { .. }));
    let is_stopped_now = ends || (!writes.is_empty() && !job.is_suspended());
    let mut actions: Vec<Action<J>> = writes.into_iter().map(Action::Write).collect();
    if is_stopped_now {
        actions.push(Action::event(event::job::STOPPED, why.message));
    }
    actions
}

fn condition_of<'w>(workload: &'w Workload, kind: &str) -> Option<&'w Condition> {
    workload.status.conditions.iter().find(|condition| condition.r#type == kind)
}
