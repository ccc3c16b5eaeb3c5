//! How much is asked of the API server at once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// Requests per second on the average, and how many may come at once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rate {
    pub per_second: f64,
    pub burst: u32,
}

/// At most so many requests at a time and, if wanted, at most so many a second. Watches do not count.
#[derive(Clone, Debug)]
pub struct Limits {
    at_once: Arc<Semaphore>,
    bucket: Option<Arc<Bucket>>,
}

impl Limits {
    /// At least one request at a time is always possible; a rate that is not positive is none.
    pub fn new(at_once: usize, rate: Option<Rate>) -> Self {
        let rate = rate.filter(|rate| rate.per_second.is_finite() && rate.per_second > 0.0);
        Self { at_once: Arc::new(Semaphore::new(at_once.max(1))), bucket: rate.map(|rate| Arc::new(Bucket::new(rate))) }
    }

    /// Waits until another request may be sent. It counts until the permit is dropped.
    pub(super) async fn permit(&self) -> SemaphorePermit<'_> {
        let permit = self.at_once.acquire().await.expect("the semaphore is never closed");
        if let Some(bucket) = &self.bucket {
            tokio::time::sleep_until(bucket.next()).await;
        }
        permit
    }
}

/// A token bucket, kept as the instant at which it would be empty again.
#[derive(Debug)]
struct Bucket {
    interval: Duration,
    slack: Duration,
    due: Mutex<Instant>,
}

impl Bucket {
    fn new(rate: Rate) -> Self {
        let interval = Duration::from_secs_f64(1.0 / rate.per_second);
        Self { interval, slack: interval * rate.burst.saturating_sub(1), due: Mutex::new(Instant::now()) }
    }

    /// When the next request may be sent.
    fn next(&self) -> Instant {
        let mut due = self.due.lock().expect("no one panics while counting");
        let at = (*due).max(Instant::now());
        *due = at + self.interval;
        at.checked_sub(self.slack).unwrap_or(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_a_burst_requests_come_at_the_rate() {
        let limits = Limits::new(8, Some(Rate { per_second: 10.0, burst: 3 }));
        let begin = Instant::now();
        let mut waited = Vec::new();
        for _ in 0..6 {
            drop(limits.permit().await);
            waited.push(begin.elapsed().as_millis() / 100 * 100);
        }
        assert_eq!(waited, [0, 0, 0, 100, 200, 300]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_than_so_many_at_once() {
        let limits = Limits::new(0, Some(Rate { per_second: 0.0, burst: 0 }));
        let first = limits.permit().await;
        assert!(tokio::time::timeout(Duration::from_secs(1), limits.permit()).await.is_err());
        drop(first);
        drop(limits.permit().await);
    }
}
