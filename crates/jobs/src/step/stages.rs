//! What a job with a Workload needs, one stage after the other.

use std::sync::Arc;

use kueue_api::kueue::names::{condition, event, reason};
use kueue_api::kueue::v1beta2::{CheckState, Workload};
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_api::pod_sets;
use kueue_core::gates::Gate;

use super::{Action, Outcome, Surroundings, is_true};
use crate::job::Job;
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
        return match workload.metadata.finalizers.is_empty() {
            true => Outcome::default(),
            false => vec![finished(workload), Action::Unguard(Arc::clone(workload))].into(),
        };
    }
    if workload.metadata.deletion_timestamp.is_some() {
        let mut actions = stop(job, Some(workload), "Workload is deleted");
        actions.push(Action::Unguard(Arc::clone(workload)));
        return actions.into();
    }
    if let Some(end) = job.finished() {
        let reason = if end.is_success { reason::finished::SUCCEEDED } else { reason::finished::FAILED };
        let report = Report::Finished { reason, message: end.message };
        return vec![Action::Report(Arc::clone(workload), report)].into();
    }
    if let Some(report) = reclaimable(job, workload, around).or_else(|| pods_ready(job, workload, around)) {
        return vec![Action::Report(Arc::clone(workload), report)].into();
    }
    if is_true(workload, condition::EVICTED) {
        return evicted(job, workload);
    }
    match job.is_suspended() {
        true => waiting(job, workload, around),
        false if is_true(workload, condition::ADMITTED) => Outcome::default(),
        false => stop(job, Some(workload), "Not admitted by cluster queue").into(),
    }
}

/// Pods that are done, where that is not known yet.
fn reclaimable<J: Job>(job: &J, workload: &Workload, around: &Surroundings<'_>) -> Option<Report> {
    let mut pods = job.reclaimable_pods().filter(|_| around.settings.gates.enabled(Gate::ReclaimablePods))?;
    pod_sets::limit_reclaimable(&mut pods, &workload.spec.pod_sets);
    let sorted = |pods: &[kueue_api::kueue::v1beta2::ReclaimablePod]| {
        let mut counts: Vec<(String, i32)> = pods.iter().map(|pods| (pods.name.clone(), pods.count)).collect();
        counts.sort();
        counts
    };
    (sorted(&pods) != sorted(&workload.status.reclaimable_pods)).then_some(Report::Reclaimable(pods))
}

/// Whether all pods are ready, where that is news.
fn pods_ready<J: Job>(job: &J, workload: &Workload, around: &Surroundings<'_>) -> Option<Report> {
    if !around.settings.waits_for_pods {
        return None;
    }
    let known = condition_of(workload, condition::PODS_READY);
    let known_reason = known.map_or("", |known| known.reason.as_str());
    let was_recovering = [reason::pods_ready::WAIT_FOR_RECOVERY, reason::pods_ready::RECOVERED].contains(&known_reason);
    let is_admitted = is_true(workload, condition::ADMITTED);
    let (status, reason, message) = if is_admitted && job.pods_ready() {
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
    let message = condition_of(workload, condition::EVICTED).map_or("", |evicted| evicted.message.as_str());
    let mut actions = stop(job, Some(workload), message);
    if is_true(workload, condition::QUOTA_RESERVED) && !job.is_active() {
        actions.push(Action::Report(Arc::clone(workload), Report::Stopped));
    }
    actions.into()
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
            let write = Action::Write(crate::job::Write::Spec(started));
            vec![write, Action::event(event::job::STARTED, message)].into()
        }
    }
}

/// The requests that stop a job, and the event that says why; nothing when it is stopped.
pub(super) fn stop<J: Job>(job: &J, workload: Option<&Workload>, message: &str) -> Vec<Action<J>> {
    let original = workload.map(start::original);
    let writes = job.stop(original.as_deref());
    let is_stopped_now = !writes.is_empty() && !job.is_suspended();
    let mut actions: Vec<Action<J>> = writes.into_iter().map(Action::Write).collect();
    if is_stopped_now {
        actions.push(Action::event(event::job::STOPPED, message));
    }
    actions
}

fn condition_of<'w>(workload: &'w Workload, kind: &str) -> Option<&'w Condition> {
    workload.status.conditions.iter().find(|condition| condition.r#type == kind)
}
