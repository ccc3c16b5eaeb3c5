//! How long the API server takes to answer of late.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A server that answers within this has time for more than what must be.
const PROMPT: Duration = Duration::from_millis(10);
/// One part in so many is what the last answer says.
const PARTS: u64 = 8;

/// A moving mean. Copies are of the same one.
#[derive(Clone, Debug, Default)]
pub(super) struct Latency(Arc<AtomicU64>);

impl Latency {
    /// An answer came after so long.
    pub(super) fn note(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / PARTS;
        let moved = |mean: u64| Some((mean - mean / PARTS).saturating_add(took));
        // The closure always has an answer.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, moved);
    }

    pub(super) fn mean(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    pub(super) fn is_prompt(&self) -> bool {
        self.mean() < PROMPT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_follows_the_answers() {
        let latency = Latency::default();
        let note = |count, ms| (0..count).for_each(|_| latency.note(Duration::from_millis(ms)));
        assert!(latency.is_prompt(), "nothing was asked yet");
        note(1, 40);
        assert!(latency.is_prompt(), "one slow answer says little");
        note(50, 40);
        assert_eq!(latency.mean().as_millis(), 39);
        note(20, 1);
        assert!(latency.is_prompt());
        note(3, u64::MAX);
        note(3, 0);
    }
}
