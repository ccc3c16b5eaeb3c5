//! What a status tells about the past: when something happened, why, and how long it took.

use kueue_core::duration::Duration;
use kueue_core::gates::Gate;
use kueue_core::time::Time;

use super::admitted::{Stamp, condition};
use super::{CheckProgress, Condition, ConditionKind, Reason, Stage, Status, Verdict};
use crate::id::Name;
use crate::settings::{RequeueOrder, Settings};
use crate::text;

/// Quota that an evicted workload gave back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Release {
    /// The ClusterQueue that has it again.
    pub queue: Name,
    /// Why the workload was evicted.
    pub reason: Reason,
    /// How long its job took to stop.
    pub took: Duration,
}

/// A second, and whether it counts as a moment later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OrderTime {
    /// The second.
    pub second: Time,
    /// Whether others of the same second go first.
    pub is_after: bool,
}

impl Status {
    /// The eviction that is under way or just over, if it has exactly this reason.
    pub fn evicted_because(&self, reason: &str) -> Option<&Condition> {
        let evicted = self.condition(ConditionKind::Evicted)?;
        (evicted.verdict == Verdict::True && evicted.reason == reason).then_some(evicted)
    }

    /// Whether it was evicted because it was switched off, by whomever.
    pub fn is_evicted_by_deactivation(&self) -> bool {
        let evicted = self.condition(ConditionKind::Evicted).filter(|evicted| evicted.verdict == Verdict::True);
        evicted.is_some_and(|evicted| evicted.reason.starts_with(text::DEACTIVATED))
    }

    /// When all checks that want another attempt have waited long enough.
    pub fn retry_at(&self) -> Option<Time> {
        self.checks
            .iter()
            .filter(|check| check.progress == CheckProgress::Retry && !check.since.is_zero())
            .filter_map(|check| Some(check.since + Duration::from_seconds(i64::from(check.requeue_after_s?))))
            .max()
    }

    /// The time that counts in the order of a queue.
    pub fn order_time(&self, created: Time, settings: &Settings) -> OrderTime {
        let at = |second| OrderTime { second, is_after: false };
        if settings.requeue_order == RequeueOrder::Eviction
            && let Some(evicted) = self.evicted_because(text::PODS_READY_TIMEOUT)
        {
            return at(evicted.since);
        }
        if let Some(evicted) = self.evicted_because(text::ADMISSION_CHECK) {
            return at(evicted.since);
        }
        if !settings.gates.enabled(Gate::PrioritySortingWithinCohort)
            && let Some(preempted) = self.condition(ConditionKind::Preempted)
            && preempted.verdict == Verdict::True
            && preempted.reason == text::IN_COHORT_RECLAIM_WHILE_BORROWING
        {
            // A moment later than the preemptor, which would otherwise tie with its victim.
            return OrderTime { second: preempted.since, is_after: true };
        }
        at(created)
    }

    /// The job is over; says whether that is news.
    pub fn finish(&mut self, reason: impl Into<Reason>, message: Name, stamp: Stamp) -> bool {
        !self.is_true(ConditionKind::Finished)
            && self.set(condition(ConditionKind::Finished, Verdict::True, reason, message, stamp))
    }

    /// How long the job of a finished workload ran, over all admissions.
    pub fn execution_time(&self) -> Option<Duration> {
        let since = |kind| self.condition(kind).filter(|c| c.verdict == Verdict::True).map(|c| c.since);
        let (admitted, finished) = (since(ConditionKind::Admitted)?, since(ConditionKind::Finished)?);
        let past_s = i64::from(self.past_execution_s.unwrap_or(0));
        Some(Duration::from_seconds(past_s.saturating_add(text::seconds_between(admitted, finished))))
    }

    /// The stage that the conditions tell, even where they contradict each other: who is said to run has quota to lose.
    fn said_stage(&self) -> Stage {
        if self.stage() == Stage::Pending && self.is_true(ConditionKind::Admitted) {
            Stage::Admitted
        } else {
            self.stage()
        }
    }

    /// What was given back when this status followed that one.
    pub fn release_since(&self, before: &Self, now: Time) -> Option<Release> {
        if !before.said_stage().loses_quota_as(self.said_stage()) {
            return None;
        }
        let evicted = self.condition(ConditionKind::Evicted).filter(|evicted| evicted.verdict == Verdict::True)?;
        let queue = before.admission.as_ref().map(|admission| admission.queue.clone())?;
        let took = Duration::from_seconds(text::seconds_between(evicted.since, now));
        (!queue.is_empty()).then(|| Release { queue, reason: evicted.reason.clone(), took })
    }
}
