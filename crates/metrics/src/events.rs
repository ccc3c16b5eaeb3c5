//! What happened to a Workload, as the difference of two versions shows it.

use kueue_api::kueue::names::{condition, reason};
use kueue_api::kueue::v1beta2::{Workload, WorkloadStatus};
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_core::time::Time;

/// Something that is counted. All times are in seconds.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// It got quota.
    Reserved { queued_for: f64 },
    /// It may run; where it had admission checks, it waited for them.
    Admitted { queued_for: f64, checks_took: Option<f64> },
    /// All its pods are ready for the first time.
    Ready { queued_for: f64, admitted_for: f64 },
    /// It has to go.
    Evicted { reason: String, cause: String, is_first: bool, ready_for: Option<f64> },
    /// It went, and its quota is free.
    Released { queue: String, reason: String, took: f64 },
    /// It is done; how long it ran in all is known of those that were admitted to the end.
    Finished { ran_for: Option<f64> },
}

impl Event {
    /// What happened between two versions of a Workload, the newer of which was seen now.
    pub fn between(old: &Workload, new: &Workload, now: Time) -> Vec<Self> {
        let mut events = Vec::new();
        let became = |kind: &str| is_true(&new.status, kind) && !is_true(&old.status, kind);
        let since = |time: Time| seconds(time, now);
        let queued_for = || since(queued_at(new));
        if became(condition::QUOTA_RESERVED) {
            events.push(Self::Reserved { queued_for: queued_for() });
        }
        if became(condition::ADMITTED) {
            let reserved = find(&new.status, condition::QUOTA_RESERVED);
            let checks_took = reserved.map(|reserved| since(reserved.last_transition_time));
            let checks_took = checks_took.filter(|_| !new.status.admission_checks.is_empty());
            events.push(Self::Admitted { queued_for: queued_for(), checks_took });
        }
        // Ready again after trouble is not the first time.
        if became(condition::PODS_READY)
            && let Some(ready) = find(&new.status, condition::PODS_READY)
            && ready.reason == reason::pods_ready::STARTED
            && let Some(admitted) = find(&new.status, condition::ADMITTED)
        {
            let admitted_for = seconds(admitted.last_transition_time, ready.last_transition_time);
            events.push(Self::Ready { queued_for: queued_for(), admitted_for });
        }
        if old.status.admission.is_some() {
            events.extend(eviction(&old.status, &new.status));
        }
        events.extend(release(&old.status, &new.status, now));
        if became(condition::FINISHED) {
            events.push(Self::Finished { ran_for: ran_for(&new.status) });
        }
        events
    }
}

fn seconds(from: Time, to: Time) -> f64 {
    to.timestamp().duration_since(from.timestamp()).as_secs_f64()
}

fn find<'a>(status: &'a WorkloadStatus, kind: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|condition| condition.r#type == kind)
}

fn find_true<'a>(status: &'a WorkloadStatus, kind: &str) -> Option<&'a Condition> {
    find(status, kind).filter(|condition| condition.status == ConditionStatus::True)
}

fn is_true(status: &WorkloadStatus, kind: &str) -> bool {
    find_true(status, kind).is_some()
}

/// Since when it is in line.
fn queued_at(workload: &Workload) -> Time {
    let requeued = find(&workload.status, condition::REQUEUED);
    requeued.map_or(workload.metadata.creation_timestamp, |requeued| requeued.last_transition_time)
}

/// The count of evictions says more than the condition: reason and cause apart, and whether it is the first time.
fn eviction(old: &WorkloadStatus, new: &WorkloadStatus) -> Option<Event> {
    let counts = |status: &WorkloadStatus| status.scheduling_stats.clone().unwrap_or_default().evictions;
    let before = counts(old);
    let grown = counts(new).into_iter().find_map(|now| {
        let then =
            before.iter().find(|then| then.reason == now.reason && then.underlying_cause == now.underlying_cause);
        let then = then.map_or(0, |then| then.count);
        (now.count > then).then_some((now, then))
    });
    let (now, then) = grown?;
    let evicted = find_true(new, condition::EVICTED)?;
    // Readiness may be taken back by the write that evicts.
    let ready = find_true(old, condition::PODS_READY);
    let ready_for = ready.map(|ready| seconds(ready.last_transition_time, evicted.last_transition_time));
    Some(Event::Evicted { reason: now.reason, cause: now.underlying_cause, is_first: then == 0, ready_for })
}

fn release(old: &WorkloadStatus, new: &WorkloadStatus, now: Time) -> Option<Event> {
    let had_quota = is_true(old, condition::QUOTA_RESERVED);
    let is_waiting = !is_true(new, condition::QUOTA_RESERVED) && !is_true(new, condition::FINISHED);
    let evicted = find_true(new, condition::EVICTED).filter(|_| had_quota && is_waiting)?;
    let queue = old.admission.as_ref()?.cluster_queue.clone();
    let took = seconds(evicted.last_transition_time, now);
    Some(Event::Released { queue, reason: evicted.reason.clone(), took })
}

fn ran_for(status: &WorkloadStatus) -> Option<f64> {
    let (admitted, finished) = (find_true(status, condition::ADMITTED)?, find_true(status, condition::FINISHED)?);
    let before = f64::from(status.accumulated_past_execution_time_seconds.unwrap_or(0));
    Some(before + seconds(admitted.last_transition_time, finished.last_transition_time))
}

#[cfg(test)]
mod tests;
