//! Eviction: the request that a job stops, and what it resets.

use kueue_core::time::Time;

use super::admitted::{Stamp, condition};
use super::{CheckProgress, CheckState, ConditionKind, EvictionCount, Reason, Status, Verdict};
use crate::effect::Key;
use crate::id::Name;
use crate::text;

/// Why a workload is evicted.
#[derive(Clone, Debug)]
pub struct Eviction {
    pub(crate) reason: &'static str,
    /// What is behind a deactivation or a timeout; empty when there is nothing to add.
    pub(crate) cause: Reason,
    /// In a sentence.
    pub message: Name,
}

impl Eviction {
    pub(crate) fn new(reason: &'static str, message: Name) -> Self {
        Self { reason, cause: Reason::Borrowed(""), message }
    }

    /// The pods did not all run in time: at the start, or after some of them failed.
    pub fn pods_not_ready(workload: &Key, is_recovery: bool) -> Self {
        let cause = if is_recovery { text::WAIT_FOR_RECOVERY } else { text::WAIT_FOR_START };
        let message = text::pods_ready_timeout(&workload.to_string());
        Self { cause: cause.into(), ..Self::new(text::PODS_READY_TIMEOUT, message) }
    }

    /// The reason of the condition: only a deactivation names its cause.
    pub(crate) fn condition_reason(&self) -> Reason {
        if self.reason == text::DEACTIVATED && !self.cause.is_empty() {
            text::with_cause(self.reason, &self.cause)
        } else {
            Reason::Borrowed(self.reason)
        }
    }

    /// The reason of the event.
    pub fn event_reason(&self) -> Reason {
        text::with_cause(text::EVICTED, &self.condition_reason())
    }
}

impl Status {
    /// Keeps the workload out of its queue until then, or longer if that was said before; says whether anything changed.
    pub fn back_off(&mut self, until: Time, is_another_attempt: bool) -> bool {
        let requeue = self.requeue.get_or_insert_default();
        let is_later = requeue.at.is_none_or(|at| at < until);
        if is_later {
            requeue.at = Some(until);
        }
        if is_another_attempt {
            requeue.count = Some(requeue.count.unwrap_or(0).saturating_add(1));
        }
        is_later || is_another_attempt
    }

    /// Asks the job to stop. The quota stays until it has stopped.
    pub fn evict(&mut self, eviction: &Eviction, stamp: Stamp) {
        let reason = eviction.condition_reason();
        self.set(condition(ConditionKind::Evicted, Verdict::True, reason.clone(), eviction.message.clone(), stamp));
        for check in &mut self.checks {
            reset_check(check, stamp);
        }
        if self.is_true(ConditionKind::BlockedOnPreemptionGates) {
            let message = eviction.message.clone();
            self.set(condition(ConditionKind::BlockedOnPreemptionGates, Verdict::False, reason, message, stamp));
        }
        self.cluster = None;
        self.nominated_clusters.clear();
        self.unhealthy_nodes.clear();
        for gate in &mut self.preemption_gates {
            gate.is_open = false;
            gate.since = stamp.now;
        }
        self.count_eviction(eviction);
    }

    pub(crate) fn set_preempted(&mut self, reason: &'static str, message: Name, stamp: Stamp) -> bool {
        // Kueue leaves the generation out of this one.
        let stamp = Stamp { generation: 0, ..stamp };
        self.set(condition(ConditionKind::Preempted, Verdict::True, reason, message, stamp))
    }

    /// It would preempt if its gates were open.
    pub(crate) fn set_blocked_on_gates(&mut self, message: Name, stamp: Stamp) -> bool {
        let kind = ConditionKind::BlockedOnPreemptionGates;
        self.set(condition(kind, Verdict::True, text::PREEMPTION_GATED, message, stamp))
    }

    pub(crate) fn set_requeued(&mut self, verdict: Verdict, reason: &'static str, message: &str, stamp: Stamp) -> bool {
        self.set(condition(ConditionKind::Requeued, verdict, reason, message.into(), stamp))
    }

    fn count_eviction(&mut self, eviction: &Eviction) {
        let known = self.evictions.iter_mut().find(|old| old.reason == eviction.reason && old.cause == eviction.cause);
        match known {
            Some(old) => old.count = old.count.saturating_add(1),
            None => self.evictions.push(EvictionCount {
                reason: Reason::Borrowed(eviction.reason),
                cause: eviction.cause.clone(),
                count: 1,
            }),
        }
    }
}

fn reset_check(check: &mut CheckState, stamp: Stamp) {
    if check.progress == CheckProgress::Pending {
        return;
    }
    let is_retry = check.progress == CheckProgress::Retry;
    check.retries = is_retry.then(|| check.retries.unwrap_or(0).saturating_add(1));
    check.message = text::check_reset(check.progress);
    check.progress = CheckProgress::Pending;
    check.since = stamp.now;
}
