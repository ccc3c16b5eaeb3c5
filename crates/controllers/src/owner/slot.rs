//! What is under way and what is wanted for one Workload.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use kueue_api::kueue::v1beta2::{ReclaimablePod, Workload};
use kueue_engine::Event;
use kueue_jobs::report::Fact;
use kueue_runtime::events::Recorder;
use tokio::time::Instant;

const FIRST_RETRY: Duration = Duration::from_millis(5);

/// Something to be done besides the status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Errand {
    Unguard,
    Delete,
    DeleteJob,
    Deactivate,
    MarkParent,
}

/// How soon a status is to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Urgency {
    AtOnce,
    /// It only tells why a Workload waits.
    HasTime,
}

/// A request that is under way, so that it can be sent again.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Sent {
    /// What was decided, and what jobs reported of it.
    Status(Vec<Fact>, Urgency),
    Reclaimable(Vec<ReclaimablePod>),
    Errand(Errand),
    /// Nothing is written: what is there is read.
    Read,
}

/// A Workload that something is to be written of. At most one request is under way; what is wanted meanwhile is noted
/// here and not sent.
#[derive(Debug)]
pub(super) struct Slot {
    /// Tells it from an earlier slot of the same name, whose answers mean nothing any more.
    pub(super) serial: u64,
    pub(super) under_way: Option<Sent>,
    /// The engine's status may differ from the object's.
    pub(super) is_dirty: bool,
    /// What jobs reported and no write has told yet: it is so whatever others write meanwhile.
    pub(super) facts: Vec<Fact>,
    /// Pods that are done, to be written.
    pub(super) reclaimable: Option<Vec<ReclaimablePod>>,
    pub(super) errands: VecDeque<Errand>,
    /// To be told when the status is written.
    pub(super) events: Vec<(Event, Recorder)>,
    /// So many of them are about what is under way.
    pub(super) announced: usize,
    /// The newest version that was seen while a request was under way.
    pub(super) held: Option<Arc<Workload>>,
    /// What is there is to be read: somebody else wrote.
    pub(super) must_read: bool,
    /// The server's word counts when the wait is over: what was wanted was refused.
    pub(super) must_yield: bool,
    failures: u32,
    /// Why the last request failed, so that the same is said once.
    trouble: Option<String>,
    pub(super) not_before: Option<Instant>,
}

impl Slot {
    pub(super) fn new(serial: u64) -> Self {
        Self {
            serial,
            under_way: None,
            is_dirty: false,
            facts: Vec::new(),
            reclaimable: None,
            errands: VecDeque::new(),
            events: Vec::new(),
            announced: 0,
            held: None,
            must_read: false,
            must_yield: false,
            failures: 0,
            trouble: None,
            not_before: None,
        }
    }

    /// Whether this is another trouble than the last one.
    pub(super) fn is_news(&mut self, trouble: &str) -> bool {
        self.trouble.replace(trouble.to_owned()).is_none_or(|before| before != trouble)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_none()
            && !self.is_dirty
            && !self.must_read
            && !self.must_yield
            && self.reclaimable.is_none()
            && self.errands.is_empty()
            && self.events.is_empty()
            && self.held.is_none()
    }

    /// Nothing is sent for a while, longer after each failure. Returns when it may be.
    pub(super) fn postpone(&mut self, waits: &RangeInclusive<Duration>) -> Instant {
        let wait = FIRST_RETRY.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1);
        let at = Instant::now() + wait.min(*waits.end()).max(*waits.start());
        self.not_before = Some(at);
        at
    }

    /// What was sent is wanted again.
    pub(super) fn want_again(&mut self, sent: Sent) {
        match sent {
            Sent::Status(facts, _) => {
                self.is_dirty = true;
                self.facts.splice(..0, facts);
            }
            // What was reported meanwhile is newer.
            Sent::Reclaimable(pods) => drop(self.reclaimable.get_or_insert(pods)),
            Sent::Errand(errand) => self.errands.push_front(errand),
            Sent::Read => self.must_read = true,
        }
    }

    pub(super) fn succeed(&mut self) {
        self.failures = 0;
        self.trouble = None;
        self.not_before = None;
    }
}

#[cfg(test)]
mod tests {
    use kueue_runtime::client::LONGEST_WAIT;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_double_and_end_with_success() {
        let mut slot = Slot::new(1);
        let wait = |slot: &mut Slot| (slot.postpone(&(Duration::ZERO..=LONGEST_WAIT)) - Instant::now()).as_millis();
        assert_eq!([wait(&mut slot), wait(&mut slot), wait(&mut slot)], [5, 10, 20]);
        slot.succeed();
        assert_eq!(wait(&mut slot), 5);
        assert_eq!((slot.postpone(&(Duration::from_secs(9)..=LONGEST_WAIT)) - Instant::now()).as_secs(), 9);
        for _ in 0..60 {
            slot.postpone(&(Duration::ZERO..=LONGEST_WAIT));
        }
        assert_eq!(wait(&mut slot), LONGEST_WAIT.as_millis());
    }
}
