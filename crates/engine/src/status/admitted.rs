//! Reservation and admission: how the two conditions follow from quota and checks.

use std::sync::Arc;

use kueue_core::gates::{Gate, Gates};
use kueue_core::time::Time;

use super::{Admission, Condition, ConditionKind, PodSetAdmission, Reason, Status, Verdict};
use crate::id::Name;
use crate::text;

/// When a status is written, and about which generation of the object.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// When.
    pub now: Time,
    /// The generation that was looked at.
    pub generation: i64,
    /// Feature gates, on which some reasons depend.
    pub gates: Gates,
}

impl Status {
    /// Quota is reserved; what was said about an earlier eviction becomes history.
    pub fn reserve(&mut self, admission: Arc<Admission>, stamp: Stamp) {
        let message = text::quota_reserved(&admission.queue);
        self.admission = Some(admission);
        self.requests = Arc::default();
        self.set(condition(ConditionKind::QuotaReserved, Verdict::True, text::QUOTA_RESERVED, message, stamp));
        for kind in [ConditionKind::Evicted, ConditionKind::Preempted, ConditionKind::BlockedOnPreemptionGates] {
            if let Some(old) = self.condition(kind).filter(|old| old.verdict == Verdict::True) {
                let message = text::previously(&old.message);
                self.set(condition(kind, Verdict::False, text::QUOTA_RESERVED, message, stamp));
            }
        }
    }

    /// Quota is not reserved (any more), and that is why; says whether that changed anything.
    pub fn unreserve(&mut self, reason: impl Into<Reason>, message: Name, stamp: Stamp) -> bool {
        let mut is_changed = self.set(condition(ConditionKind::QuotaReserved, Verdict::False, reason, message, stamp));
        is_changed |= self.admission.take().is_some();
        is_changed | self.sync_admitted(stamp)
    }

    /// Makes the condition Admitted say what follows from reservation and checks; says whether that changed it.
    pub fn sync_admitted(&mut self, stamp: Stamp) -> bool {
        let Some(due) = self.due_admitted(stamp) else { return false };
        if self.is_true(ConditionKind::Admitted) && due.verdict == Verdict::False {
            self.add_execution_time(stamp.now);
        }
        self.set(due)
    }

    /// What the condition Admitted should say, if it does not.
    pub(crate) fn due_admitted(&self, stamp: Stamp) -> Option<Condition> {
        let has_reservation = self.has_reservation();
        let are_checks_ready = self.are_checks_ready();
        let is_placed = !self.is_placement_pending();
        let is_admitted = self.is_true(ConditionKind::Admitted);
        let is_granular = stamp.gates.enabled(Gate::UnadmittedWorkloadsObservability);
        if is_granular {
            let is_untouched = self.condition(ConditionKind::QuotaReserved).is_none()
                && self.condition(ConditionKind::Admitted).is_none();
            if is_untouched && !stamp.gates.enabled(Gate::UnadmittedWorkloadsExplicitStatus) {
                return None;
            }
        } else if is_admitted == (has_reservation && are_checks_ready && is_placed) {
            return None;
        }
        let (verdict, reason, message) = match (has_reservation, are_checks_ready, is_granular) {
            (false, false, false) => {
                (Verdict::False, text::NO_RESERVATION_UNSATISFIED_CHECKS, text::NO_RESERVATION_NOR_CHECKS)
            }
            (false, _, _) => (Verdict::False, text::NO_RESERVATION, text::HAS_NO_RESERVATION),
            (true, false, true) => (Verdict::False, text::UNSATISFIED_ADMISSION_CHECKS, text::NOT_ALL_CHECKS_READY),
            (true, false, false) => (Verdict::False, text::UNSATISFIED_CHECKS, text::NOT_ALL_CHECKS_READY),
            (true, true, _) if !is_placed => {
                (Verdict::False, text::PENDING_DELAYED_TOPOLOGY_REQUESTS, text::PLACEMENT_PENDING)
            }
            (true, true, _) => (Verdict::True, text::ADMITTED, text::IS_ADMITTED),
        };
        let is_said = self.condition(ConditionKind::Admitted).is_some_and(|old| {
            old.verdict == verdict
                && old.reason == reason
                && *old.message == *message
                && old.generation == stamp.generation
        });
        (!is_said).then(|| condition(ConditionKind::Admitted, verdict, reason, message.into(), stamp))
    }

    fn is_placement_pending(&self) -> bool {
        let admission = self.admission.as_ref();
        admission.is_some_and(|admission| admission.pod_sets.iter().any(PodSetAdmission::is_placement_pending))
    }

    fn add_execution_time(&mut self, now: Time) {
        if let Some(admitted) = self.condition(ConditionKind::Admitted) {
            let ran_s = i32::try_from(text::seconds_between(admitted.since, now)).unwrap_or(i32::MAX);
            self.past_execution_s = Some(self.past_execution_s.unwrap_or(0).saturating_add(ran_s));
        }
    }
}

pub(crate) fn condition(
    kind: ConditionKind,
    verdict: Verdict,
    reason: impl Into<Reason>,
    message: Name,
    stamp: Stamp,
) -> Condition {
    Condition { kind, verdict, reason: reason.into(), message, since: stamp.now, generation: stamp.generation }
}
