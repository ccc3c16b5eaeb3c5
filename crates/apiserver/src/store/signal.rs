//! Tells that something changed. Not a `watch` channel: that one wakes those who wait in random order, and then the same
//! requests would not lead to the same history.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// The revision of the latest change.
#[derive(Debug, Default)]
pub(super) struct Signal {
    latest: AtomicU64,
    changed: Notify,
}

impl Signal {
    pub(super) fn latest(&self) -> u64 {
        self.latest.load(Ordering::Acquire)
    }

    pub(super) fn raise(&self, revision: u64) {
        self.latest.store(revision, Ordering::Release);
        self.changed.notify_waiters();
    }
}

/// Somebody who wants to know. Those who wait are woken in the order in which they began to.
#[derive(Debug)]
pub struct Listener {
    signal: Arc<Signal>,
    /// Nothing when it never looked.
    seen: Option<u64>,
}

impl Listener {
    pub(super) fn of(signal: &Arc<Signal>) -> Self {
        Self { signal: Arc::clone(signal), seen: Some(signal.latest()) }
    }

    /// The same, as if it had never looked: what is there already is news.
    #[must_use]
    pub fn from_the_start(self) -> Self {
        Self { seen: None, ..self }
    }

    /// Whether something changed since the last time that this was asked or waited for.
    pub fn has_changed(&mut self) -> bool {
        let latest = Some(self.signal.latest());
        std::mem::replace(&mut self.seen, latest) != latest
    }

    pub async fn changed(&mut self) {
        let signal = Arc::clone(&self.signal);
        loop {
            let mut changed = pin!(signal.changed.notified());
            // Whoever looks before listening may miss the last change.
            changed.as_mut().enable();
            if self.has_changed() {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn those_who_wait_are_woken_in_order() {
        for _ in 0..20 {
            let signal = Arc::new(Signal::default());
            let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
            for number in 0..10 {
                let (mut listener, tell) = (Listener::of(&signal), tell.clone());
                tokio::spawn(async move {
                    listener.changed().await;
                    tell.send(number).unwrap();
                });
            }
            tokio::task::yield_now().await;
            signal.raise(1);
            drop(tell);
            for number in 0..10 {
                assert_eq!(told.recv().await, Some(number));
            }
        }
    }

    #[test]
    fn a_change_is_news_once() {
        let signal = Arc::new(Signal::default());
        let mut listener = Listener::of(&signal);
        assert!(!listener.has_changed());
        signal.raise(1);
        assert!(listener.has_changed() && !listener.has_changed());
        assert!(Listener::of(&signal).from_the_start().has_changed());
    }
}
