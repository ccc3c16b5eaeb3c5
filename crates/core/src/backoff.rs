//! How long to wait before trying again.
//!
//! No randomness: Kueue stretches some waits by up to a ten-thousandth, which is lost when the time is written down in
//! whole seconds.

use serde::{Deserialize, Serialize};

use crate::duration::Duration;

/// Waits that grow by a factor up to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backoff {
    initial: Duration,
    factor: f64,
    limit: Duration,
}

impl Backoff {
    /// A limit of zero is none but the range of durations.
    pub fn new(initial: Duration, factor: f64, limit: Duration) -> Self {
        let unlimited = Duration::from_nanos((i64::MAX as f64 / factor.ceil()) as i64);
        Self { initial, factor, limit: if limit == Duration::ZERO { unlimited } else { limit } }
    }

    /// The wait before the given attempt, counted from one; none before attempts that do not count. The first wait is
    /// taken as it is, even beyond the limit.
    pub fn wait(&self, attempt: i64) -> Duration {
        if attempt < 1 {
            return Duration::ZERO;
        }
        let mut wait = self.initial;
        for _ in 1..attempt {
            let next = Duration::from_nanos((wait.nanos() as f64 * self.factor) as i64).min(self.limit);
            // From here on it would stay the same, however many attempts there are.
            if next == wait {
                break;
            }
            wait = next;
        }
        wait
    }
}

/// The rhythm of a loop that goes round at once while that gets anything done, and slower and slower while it does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    backoff: Backoff,
    idle_rounds: i64,
}

impl Pace {
    /// The scheduling loop: a millisecond at first, ten at most, so that an idle queue costs little and a freed place is
    /// seen at once.
    pub fn scheduling() -> Self {
        let backoff = Backoff::new(Duration::from_millis(1), 2.0, Duration::from_millis(10));
        Self { backoff, idle_rounds: 0 }
    }

    /// Takes note of a round and returns the wait before the next.
    pub fn after(&mut self, made_progress: bool) -> Duration {
        self.idle_rounds = if made_progress { 0 } else { self.idle_rounds.saturating_add(1) };
        self.backoff.wait(self.idle_rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(initial: i64, factor: f64, limit: i64) -> Backoff {
        Backoff::new(Duration::from_seconds(initial), factor, Duration::from_seconds(limit))
    }

    #[test]
    fn waits_grow_to_the_limit_and_stay() {
        let waits: Vec<String> =
            [-1, 0, 1, 2, 3, 4, 5, i64::MAX].map(|attempt| seconds(60, 2.0, 300).wait(attempt).to_string()).to_vec();
        assert_eq!(waits, ["0s", "0s", "1m0s", "2m0s", "4m0s", "5m0s", "5m0s", "5m0s"]);
    }

    #[test]
    fn the_first_wait_may_exceed_the_limit() {
        let backoff = seconds(10, 2.0, 5);
        assert_eq!([1, 2, 3].map(|attempt| backoff.wait(attempt).to_string()), ["10s", "5s", "5s"]);
    }

    #[test]
    fn without_a_limit_waits_stay_in_range() {
        assert_eq!(seconds(1, 3.0, 0).wait(i64::MAX).to_string(), "854015h55m45.618258432s");
        assert_eq!(seconds(1, 1.0, 0).wait(i64::MAX).to_string(), "1s");
        assert_eq!(seconds(0, 2.0, 0).wait(i64::MAX).to_string(), "0s");
        assert_eq!(seconds(1, 0.0, 0).wait(2).to_string(), "0s");
    }

    #[test]
    fn progress_ends_the_waiting() {
        let mut pace = Pace::scheduling();
        let rounds = [true, false, false, false, false, false, false, true, false];
        let waits = rounds.map(|made_progress| pace.after(made_progress).to_string());
        assert_eq!(waits, ["0s", "1ms", "2ms", "4ms", "8ms", "10ms", "10ms", "0s", "1ms"]);
    }
}
