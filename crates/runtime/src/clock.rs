//! The one clock of a process: a start instant and the time tokio has counted since, at some speed.
//!
//! Under tokio's paused clock everything lives in virtual time. The wall clock is read here, once, and nowhere else.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kueue_core::time::{MicroTime, Time};

/// Tells what time it is. Copies show the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Timestamp,
    began: tokio::time::Instant,
    speed: f64,
}

impl Clock {
    /// A clock that shows `start` now and runs as fast as tokio's. Must be called inside a tokio runtime.
    pub fn starting_at(start: Timestamp) -> Self {
        Self { start, began: tokio::time::Instant::now(), speed: 1.0 }
    }

    /// A clock that shows the time of the machine.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
    pub fn of_the_machine() -> Self {
        Self::starting_at(Timestamp::try_from(std::time::SystemTime::now()).unwrap_or(Timestamp::MAX))
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

    /// The present second, as objects carry it.
    pub fn time(&self) -> Time {
        Time::new(self.now())
    }

    /// The present microsecond, as events carry it.
    pub fn micro_time(&self) -> MicroTime {
        MicroTime::new(self.now())
    }

    /// How long tokio has to wait for so much of this clock's time.
    pub fn wait(&self, shown: Duration) -> Duration {
        Duration::try_from_secs_f64(shown.as_secs_f64() / self.speed).unwrap_or(Duration::MAX)
    }

    /// How long tokio has to wait until this clock shows that time.
    pub fn until(&self, time: Time) -> Duration {
        let left = time.timestamp().duration_since(self.now());
        self.wait(Duration::try_from(left).unwrap_or(Duration::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Clock {
        Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn time_passes_as_tokio_says() {
        let clock = clock();
        tokio::time::sleep(Duration::from_millis(90_500)).await;
        assert_eq!(clock.time().to_string(), "2026-01-01T00:01:30Z");
        assert_eq!(clock.micro_time().to_string(), "2026-01-01T00:01:30.500000Z");
        assert_eq!(clock.until("2026-01-01T00:02:00Z".parse().unwrap()), Duration::from_millis(29_500));
        assert_eq!(clock.until("2025-01-01T00:00:00Z".parse().unwrap()), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_fast_clock_shows_more_and_waits_less() {
        let clock = clock().at_speed(10.0).at_speed(f64::NAN).at_speed(0.0);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(clock.time().to_string(), "2026-01-01T00:00:30Z");
        assert_eq!(clock.wait(Duration::from_secs(5)), Duration::from_millis(500));
    }
}
