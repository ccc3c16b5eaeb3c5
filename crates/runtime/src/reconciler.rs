//! Whoever looks at keys, one look per key at a time, several keys at once.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tracing::{debug, warn};

use crate::client::{Failure, LONGEST_WAIT};
use crate::meters::{Ended, Meters};
use crate::queue::WorkQueue;

/// How a look ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nothing is left to do until something changes.
    Done,
    /// Look again then, whether or not something changes.
    After(Duration),
}

/// Makes the world as it should be, one key at a time.
pub trait Reconciler<K>: Send + Sync + 'static {
    /// Its name in logs.
    fn name(&self) -> &'static str;

    /// Reads what is so, and does what is missing. Called again, later and later, after a failure.
    fn reconcile(&self, key: &K) -> impl Future<Output = Result<Next, Failure>> + Send;
}

/// Runs until it is dropped, with at most so many looks at once. A panic is a failure of that key alone. Run again, it
/// goes on with what was being looked at; a queue has one who runs it at a time.
pub async fn run<K, R>(queue: Arc<WorkQueue<K>>, reconciler: Arc<R>, at_once: usize)
where
    K: Clone + Eq + Hash + std::fmt::Display + Send + Sync + 'static,
    R: Reconciler<K>,
{
    queue.take_back();
    let told = Arc::new(Told::default());
    let mut looks = JoinSet::new();
    loop {
        while looks.len() >= at_once.max(1) {
            looks.join_next().await;
        }
        let key = queue.next().await;
        // What ended meanwhile is swept up here; its outcome was handled inside.
        while looks.try_join_next().is_some() {}
        let (queue, reconciler, told) = (Arc::clone(&queue), Arc::clone(&reconciler), Arc::clone(&told));
        looks.spawn(async move {
            let look = {
                let (reconciler, key) = (Arc::clone(&reconciler), key.clone());
                // In a task of its own, so that a panic ends this look and nothing else.
                AbortOnDrop(tokio::spawn(async move { reconciler.reconcile(&key).await }))
            };
            finish(&queue, &key, reconciler.name(), &told, look.await);
        });
    }
}

/// What begins to run, as often as it is called, and is counted.
pub fn starter<K, R>(
    queue: Arc<WorkQueue<K>>,
    reconciler: R,
    at_once: usize,
    meters: &Meters,
) -> impl Fn(&mut JoinSet<()>) + use<K, R>
where
    K: Clone + Eq + Hash + std::fmt::Display + Send + Sync + 'static,
    R: Reconciler<K>,
{
    meters.follow(&queue, reconciler.name(), at_once);
    let reconciler = Arc::new(reconciler);
    move |tasks| drop(tasks.spawn(run(Arc::clone(&queue), Arc::clone(&reconciler), at_once)))
}

/// What was said of keys that fail again and again: the same is said once.
struct Told<K>(Mutex<HashMap<K, String>>);

impl<K> Default for Told<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash> Told<K> {
    fn is_news(&self, key: &K, error: &str) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(key.clone(), error.to_owned()).is_none_or(|before| before != error)
    }

    fn forget(&self, key: &K) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

type Looked = Result<Result<Next, Failure>, tokio::task::JoinError>;

fn finish<K>(queue: &WorkQueue<K>, key: &K, name: &str, told: &Told<K>, outcome: Looked)
where
    K: Clone + Eq + Hash + std::fmt::Display,
{
    let ended = |how| {
        if let Some(meter) = queue.meter() {
            meter.ended(how);
        }
    };
    match outcome {
        Ok(Ok(next)) => {
            queue.forget(key);
            told.forget(key);
            match next {
                Next::After(wait) => {
                    ended(Ended::ToLookAgain);
                    queue.add_after(key.clone(), wait);
                }
                Next::Done => ended(Ended::Well),
            }
        }
        Ok(Err(failure)) => {
            // What was read may be older than what is there; who fails a second time has another reason.
            let is_stale = failure.is_not_found() || failure.code() == Some(422);
            let is_usual = failure.is_conflict() || is_stale && queue.failures(key) == 0;
            let text = failure.to_string();
            match is_usual {
                true => debug!(controller = name, %key, error = text, "somebody was faster"),
                false if told.is_news(key, &text) => {
                    warn!(controller = name, %key, error = text, "cannot reconcile, trying again until it works");
                }
                false => debug!(controller = name, %key, error = text, "still cannot reconcile"),
            }
            ended(Ended::Badly);
            queue.retry(key.clone(), failure.waits());
        }
        Err(panic) => {
            warn!(controller = name, %key, error = %panic, "reconciling ended in a panic");
            ended(Ended::InPanic);
            queue.retry(key.clone(), Duration::ZERO..=LONGEST_WAIT);
        }
    }
    queue.done(key);
}

/// A task that ends with whoever waits for it.
struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Future for AbortOnDrop<T> {
    type Output = Result<T, tokio::task::JoinError>;

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
