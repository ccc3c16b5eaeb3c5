//! Keys that somebody has to look at.
//!
//! A key waits at most once however often it is added, is never handed out twice at a time, and comes back later, and
//! ever later, when looking at it failed. Of keys with the same priority the one that waits longest is next, so that one
//! that is added all the time does not keep others from their turn.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::meters::{Meter, Reading};

/// The wait after the first failure; it doubles with every further one.
const FIRST_RETRY: Duration = Duration::from_millis(5);

/// Who goes first; the usual priority is zero.
pub type Priority = i8;

/// A queue of keys.
#[derive(Debug)]
pub struct WorkQueue<K> {
    state: Mutex<State<K>>,
    changed: Notify,
    /// Who counts, if anybody does.
    meter: OnceLock<Meter>,
}

#[derive(Debug)]
struct State<K> {
    /// Who waits and where: the priority, higher first, then the order of arrival.
    waiting: HashMap<K, (i16, u64)>,
    /// With the moment since when.
    line: BTreeMap<(i16, u64), (K, Instant)>,
    /// Who is being looked at since when, and the priority with which it was added meanwhile.
    handed_out: HashMap<K, (Instant, Option<Priority>)>,
    delayed: BTreeSet<(Instant, u64)>,
    /// When a delayed key is due; each has one place in `delayed`.
    due: HashMap<K, (Instant, u64)>,
    delayed_keys: HashMap<u64, (K, Priority)>,
    failures: HashMap<K, u32>,
    arrivals: u64,
}

impl<K: Clone + Eq + Hash> Default for WorkQueue<K> {
    fn default() -> Self {
        let state = State {
            waiting: HashMap::new(),
            line: BTreeMap::new(),
            handed_out: HashMap::new(),
            delayed: BTreeSet::new(),
            due: HashMap::new(),
            delayed_keys: HashMap::new(),
            failures: HashMap::new(),
            arrivals: 0,
        };
        Self { state: Mutex::new(state), changed: Notify::new(), meter: OnceLock::new() }
    }
}

impl<K: Clone + Eq + Hash> WorkQueue<K> {
    /// Asks for a look at the key.
    pub fn add(&self, key: K) {
        self.add_with(key, 0);
    }

    /// The same, before those of lower priority. A key that waits already keeps the higher of both.
    pub fn add_with(&self, key: K, priority: Priority) {
        let is_new = self.state().add(key, priority);
        self.count_added(usize::from(is_new));
        self.changed.notify_one();
    }

    /// Asks for a look in some time. Of several times the first counts.
    pub fn add_after(&self, key: K, wait: Duration) {
        if wait.is_zero() {
            return self.add(key);
        }
        self.state().add_at(key, 0, Instant::now() + wait);
        self.changed.notify_one();
    }

    /// Asks for another look after one that failed, within these waits.
    pub fn retry(&self, key: K, waits: RangeInclusive<Duration>) {
        let mut state = self.state();
        let failures = state.failures.entry(key.clone()).or_default();
        let wait = FIRST_RETRY.saturating_mul(1_u32.checked_shl(*failures).unwrap_or(u32::MAX));
        *failures += 1;
        state.add_at(key, 0, Instant::now() + wait.min(*waits.end()).max(*waits.start()));
        drop(state);
        if let Some(meter) = self.meter() {
            meter.retried();
        }
        self.changed.notify_one();
    }

    /// Looking at the key worked: the next failure is the first one again.
    pub fn forget(&self, key: &K) {
        self.state().failures.remove(key);
    }

    /// How often in a row looking at the key failed.
    pub fn failures(&self, key: &K) -> u32 {
        self.state().failures.get(key).copied().unwrap_or(0)
    }

    /// How many keys wait for their turn.
    pub fn len(&self) -> usize {
        self.state().waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next key, when there is one. [`done`](Self::done) must follow.
    pub async fn next(&self) -> K {
        loop {
            let changed = self.changed.notified();
            let due = {
                let mut state = self.state();
                let now = Instant::now();
                let released = state.release(now);
                self.count_added(released);
                if let Some((_, (key, since))) = state.line.pop_first() {
                    state.waiting.remove(&key);
                    state.handed_out.insert(key.clone(), (now, None));
                    if let Some(meter) = self.meter() {
                        meter.handed_out(now - since);
                    }
                    if !state.line.is_empty() {
                        // One notification may stand for several keys.
                        self.changed.notify_one();
                    }
                    return key;
                }
                state.delayed.first().map(|(at, _)| *at)
            };
            match due {
                None => changed.await,
                Some(at) => {
                    tokio::select! {
                        biased;
                        () = changed => {}
                        () = tokio::time::sleep_until(at) => {}
                    }
                }
            }
        }
    }

    /// The look is over. The key waits again if it was added meanwhile.
    pub fn done(&self, key: &K) {
        let mut state = self.state();
        let Some((since, again)) = state.handed_out.remove(key) else { return };
        if let Some(priority) = again {
            state.add(key.clone(), priority);
        }
        drop(state);
        if let Some(meter) = self.meter() {
            meter.done(since.elapsed());
        }
        if again.is_some() {
            self.changed.notify_one();
        }
    }

    /// Whoever had keys is gone without having said what came of them: they wait again.
    pub fn take_back(&self) {
        let mut state = self.state();
        for (key, (_, again)) in std::mem::take(&mut state.handed_out) {
            state.add(key, again.unwrap_or(0));
            if let Some(meter) = self.meter() {
                meter.taken_back();
            }
        }
        drop(state);
        self.changed.notify_one();
    }

    pub(crate) fn meter(&self) -> Option<&Meter> {
        self.meter.get()
    }

    /// The first who counts counts for ever.
    pub(crate) fn set_meter(&self, meter: Meter) {
        self.meter.get_or_init(|| meter);
    }

    pub(crate) fn reading(&self) -> Reading {
        let state = self.state();
        let looks = || state.handed_out.values().map(|(since, _)| since.elapsed());
        Reading { depth: state.waiting.len(), unfinished: looks().sum(), longest: looks().max().unwrap_or_default() }
    }

    fn count_added(&self, count: usize) {
        if let Some(meter) = self.meter() {
            meter.added(count);
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().expect("no one panics while holding the queue")
    }
}

impl<K: Clone + Eq + Hash> State<K> {
    /// Says whether nobody had asked for a look at the key.
    fn add(&mut self, key: K, priority: Priority) -> bool {
        if let Some((_, again)) = self.handed_out.get_mut(&key) {
            return again.replace(again.map_or(priority, |known| known.max(priority))).is_none();
        }
        let rank = -i16::from(priority);
        let mut since = None;
        if let Some(place) = self.waiting.get(&key).copied() {
            if place.0 <= rank {
                return false;
            }
            since = self.line.remove(&place).map(|(_, since)| since);
        }
        let place = (rank, self.arrival());
        self.waiting.insert(key.clone(), place);
        self.line.insert(place, (key, since.unwrap_or_else(Instant::now)));
        since.is_none()
    }

    fn add_at(&mut self, key: K, priority: Priority, at: Instant) {
        if let Some(known) = self.due.get(&key).copied() {
            if known.0 <= at {
                return;
            }
            self.delayed.remove(&known);
            self.delayed_keys.remove(&known.1);
        }
        let place = (at, self.arrival());
        self.delayed.insert(place);
        self.delayed_keys.insert(place.1, (key.clone(), priority));
        self.due.insert(key, place);
    }

    /// Lets in those whose time has come. Says how many of them nobody else had asked for.
    fn release(&mut self, now: Instant) -> usize {
        let mut new = 0;
        while let Some(place) = self.delayed.first().copied().filter(|(at, _)| *at <= now) {
            self.delayed.remove(&place);
            if let Some((key, priority)) = self.delayed_keys.remove(&place.1) {
                self.due.remove(&key);
                new += usize::from(self.add(key, priority));
            }
        }
        new
    }

    fn arrival(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }
}
