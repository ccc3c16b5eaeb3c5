//! The one clock of a server: a start instant and the time tokio has counted since.
//!
//! Under tokio's paused clock a server lives in virtual time; nothing in this crate reads the wall clock but the
//! program that starts a server.

use jiff::{SignedDuration, Timestamp};
use kueue_core::time::Time;

/// Tells what time it is.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Timestamp,
    began: tokio::time::Instant,
}

impl Clock {
    /// A clock that shows `start` now. Must be called inside a tokio runtime.
    pub fn starting_at(start: Timestamp) -> Self {
        Self { start, began: tokio::time::Instant::now() }
    }

    pub fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.began.elapsed()).unwrap_or(SignedDuration::MAX);
        self.start.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// The present second, as objects carry it.
    pub fn time(&self) -> Time {
        Time::new(self.now())
    }
}
