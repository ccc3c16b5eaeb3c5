//! The one clock of a server: a start instant and the time tokio has counted since.
//!
//! Under tokio's paused clock a server lives in virtual time; nothing in this crate reads the wall clock but the
//! program that starts a server.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kueue_core::time::Time;

/// Tells what time it is.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Timestamp,
    began: tokio::time::Instant,
    speed: f64,
}

impl Clock {
    /// A clock that shows `start` now. Must be called inside a tokio runtime.
    pub fn starting_at(start: Timestamp) -> Self {
        Self { start, began: tokio::time::Instant::now(), speed: 1.0 }
    }

    /// The same clock, so many times as fast. A speed that is not a positive number changes nothing.
    pub fn at_speed(self, speed: f64) -> Self {
        match speed.is_finite() && speed > 0.0 {
            true => Self { speed, ..self },
            false => self,
        }
    }

    pub fn now(&self) -> Timestamp {
        let elapsed = self.began.elapsed().as_secs_f64() * self.speed;
        let elapsed = SignedDuration::try_from_secs_f64(elapsed).unwrap_or(SignedDuration::MAX);
        self.start.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// How long somebody has to wait for so much time to pass on this clock.
    pub fn wait(&self, time: Duration) -> Duration {
        time.div_f64(self.speed)
    }

    /// The present second, as objects carry it.
    pub fn time(&self) -> Time {
        Time::new(self.now())
    }
}
