//! The latest value of something, for whoever wants to know when it changes: tokio's channel of the same name, but those
//! who wait are woken in the order in which they began to. Tokio wakes them at random, and then the same seed would not
//! lead to the same history.

use std::ops::Deref;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(value);
    let receiver = sender.subscribe();
    (sender, receiver)
}

/// Nobody is left who could change the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended;

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Notify,
}

#[derive(Debug)]
struct State<T> {
    value: T,
    /// How often it was told.
    version: u64,
    senders: usize,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until(&self, holds: impl Fn(&State<T>) -> bool) -> Result<MutexGuard<'_, State<T>>, Ended> {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Whoever looks before listening may miss the last change.
            changed.as_mut().enable();
            {
                let state = self.state();
                if holds(&state) {
                    return Ok(state);
                }
                if state.senders == 0 {
                    return Err(Ended);
                }
            }
            changed.await;
        }
    }
}

/// The value, which nobody can change while it is looked at.
#[derive(Debug)]
pub struct Ref<'a, T>(MutexGuard<'a, State<T>>);

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

#[derive(Debug)]
pub struct Sender<T>(Arc<Shared<T>>);

impl<T> Sender<T> {
    pub fn new(value: T) -> Self {
        let state = Mutex::new(State { value, version: 0, senders: 1 });
        Self(Arc::new(Shared { state, changed: Notify::new() }))
    }

    /// Somebody to whom the value of now is no news.
    pub fn subscribe(&self) -> Receiver<T> {
        let seen = self.0.state().version;
        Receiver { shared: Arc::clone(&self.0), seen }
    }

    pub fn borrow(&self) -> Ref<'_, T> {
        Ref(self.0.state())
    }

    /// Tells the value, also when it is the same again.
    pub fn send_replace(&self, value: T) {
        self.send_modify(|before| *before = value);
    }

    pub fn send_modify(&self, change: impl FnOnce(&mut T)) {
        self.send_if_modified(|value| {
            change(value);
            true
        });
    }

    /// Tells the value if `change` says that it changed, and says so too.
    pub fn send_if_modified(&self, change: impl FnOnce(&mut T) -> bool) -> bool {
        let mut state = self.0.state();
        let is_news = change(&mut state.value);
        if is_news {
            state.version += 1;
            drop(state);
            self.0.changed.notify_waiters();
        }
        is_news
    }
}

impl<T: Default> Default for Sender<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.state().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.state().senders -= 1;
        self.0.changed.notify_waiters();
    }
}

#[derive(Debug)]
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    seen: u64,
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), seen: self.seen }
    }
}

impl<T> Receiver<T> {
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref(self.shared.state())
    }

    /// The value, which is no news from now on.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let state = self.shared.state();
        self.seen = state.version;
        Ref(state)
    }

    /// Waits for a value that was not seen yet.
    pub async fn changed(&mut self) -> Result<(), Ended> {
        let seen = self.seen;
        self.seen = self.shared.until(|state| state.version != seen).await?.version;
        Ok(())
    }

    /// Waits for such a value; the one of now counts too.
    pub async fn wait_for(&mut self, is_wanted: impl Fn(&T) -> bool) -> Result<Ref<'_, T>, Ended> {
        let state = self.shared.until(|state| is_wanted(&state.value)).await?;
        self.seen = state.version;
        Ok(Ref(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn those_who_wait_are_woken_in_order() {
        for _ in 0..20 {
            let sender = Sender::new(0);
            let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
            for number in 0..10 {
                let (mut receiver, tell) = (sender.subscribe(), tell.clone());
                tokio::spawn(async move {
                    receiver.changed().await.unwrap();
                    tell.send(number).unwrap();
                });
            }
            tokio::task::yield_now().await;
            sender.send_replace(1);
            for number in 0..10 {
                assert_eq!(told.recv().await, Some(number));
            }
        }
    }

    #[tokio::test]
    async fn a_value_is_news_once() {
        let (sender, mut receiver) = channel(1);
        assert!(!sender.send_if_modified(|_| false));
        sender.send_modify(|value| *value += 1);
        receiver.changed().await.unwrap();
        assert_eq!(*receiver.borrow(), 2);
        sender.send_replace(3);
        assert_eq!(*receiver.borrow_and_update(), 3);
        let other = sender.clone();
        drop(sender);
        assert_eq!(*receiver.wait_for(|value| *value == 3).await.unwrap(), 3);
        drop(other);
        assert_eq!(receiver.changed().await, Err(Ended));
        assert!(receiver.wait_for(|value| *value == 3).await.is_ok(), "the last value stays");
        assert!(receiver.wait_for(|value| *value == 4).await.is_err(), "and no other comes");
    }
}
