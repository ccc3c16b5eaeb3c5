//! Where objects live: one revision for all, one ordered map per collection, and what happened lately.
//!
//! Objects are immutable and shared: a write makes one new object and touches nothing else. The history of a collection
//! holds the last changes with what stood there before, so that watches go on where they stopped and lists can show an
//! older revision. What is older is forgotten, and asking for it is answered with 410 by the caller.

use std::collections::{BTreeMap, VecDeque};
use std::iter;
use std::ops::{Bound, RangeBounds as _};
use std::sync::{Arc, Mutex, MutexGuard};

use rustc_hash::FxHashMap;
use tokio::sync::mpsc;

use crate::json::Value;

mod file;
mod object;
mod signal;

pub use object::{Content, Object};
pub use signal::Listener;
use signal::Signal;

/// How many changes of a collection are remembered.
pub const HISTORY_MAX: usize = 10_000;

/// Name of an object in its collection; the namespace is empty when the kind has none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub namespace: String,
    pub name: String,
}

/// What happened to one object.
#[derive(Debug, Clone)]
pub struct Change {
    pub revision: u64,
    pub key: Key,
    /// What was written before.
    pub stood: Option<Arc<Object>>,
    /// The same, but of a deletion the final state, with the deletion's revision: what watchers are shown.
    pub old: Option<Arc<Object>>,
    /// Nothing when it was deleted.
    pub new: Option<Arc<Object>>,
}

/// A change, told to who follows everything.
#[derive(Debug, Clone)]
pub struct News {
    pub collection: Arc<str>,
    pub change: Change,
}

/// Why something was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is an object of this name.
    Exists,
    /// The object is not, or no longer, at the revision that was given.
    Changed,
}

/// A revision that is no longer remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forgotten {
    /// The oldest revision that is.
    pub oldest: u64,
}

/// All objects of a server.
#[derive(Debug)]
pub struct Store {
    state: Mutex<State>,
    history_max: usize,
}

#[derive(Debug)]
struct State {
    revision: u64,
    collections: FxHashMap<Arc<str>, Collection>,
    /// Those who are told of every change.
    followers: Vec<mpsc::UnboundedSender<News>>,
}

#[derive(Debug)]
struct Collection {
    name: Arc<str>,
    objects: BTreeMap<Key, Arc<Object>>,
    history: VecDeque<Change>,
    /// Changes up to and including this revision are forgotten.
    forgotten: u64,
    /// Tells watchers that something happened.
    signal: Arc<Signal>,
}

/// Everything in a store at one moment, without what led there. Objects are shared, so a copy costs next to nothing.
#[derive(Debug, Clone)]
pub struct Image {
    revision: u64,
    collections: Vec<ImageOfCollection>,
}

#[derive(Debug, Clone)]
struct ImageOfCollection {
    name: Arc<str>,
    objects: BTreeMap<Key, Arc<Object>>,
    changed_at: u64,
}

/// Which part of a list is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// All of them when it is empty.
    pub namespace: &'a str,
    pub after: Option<&'a Key>,
    pub max: usize,
}

/// Objects of a collection at one revision.
#[derive(Debug)]
pub struct Snapshot {
    pub revision: u64,
    pub objects: Vec<(Key, Arc<Object>)>,
    /// How many more are wanted, behind these.
    pub remaining: usize,
}

impl Key {
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl Default for Store {
    fn default() -> Self {
        Self::with_history(HISTORY_MAX)
    }
}

impl Store {
    /// A store that remembers this many changes per collection.
    pub fn with_history(history_max: usize) -> Self {
        let state = State { revision: 1, collections: FxHashMap::default(), followers: Vec::new() };
        Self { state: Mutex::new(state), history_max }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing inside the store panics")
    }

    /// The revision of the latest write.
    pub fn revision(&self) -> u64 {
        self.state().revision
    }

    pub fn get(&self, collection: &str, key: &Key) -> Option<Arc<Object>> {
        self.state().collections.get(collection)?.objects.get(key).cloned()
    }

    /// Writes a new object.
    pub fn create(&self, collection: &str, key: Key, new: impl Into<Content>) -> Result<Arc<Object>, Refusal> {
        let mut state = self.state();
        if state.collection(collection).objects.contains_key(&key) {
            return Err(Refusal::Exists);
        }
        let Content { value, managed } = new.into();
        let mut object = Object::new(value, managed.unwrap_or_default(), 0);
        object.is_new = true;
        Ok(state.write(self.history_max, collection, key, object))
    }

    /// Replaces an object that is still the one that was read.
    pub fn update(
        &self,
        collection: &str,
        key: Key,
        read: &Arc<Object>,
        new: impl Into<Content>,
    ) -> Result<Arc<Object>, Refusal> {
        let mut state = self.state();
        state.expect(collection, &key, read)?;
        let Content { value, managed } = new.into();
        let managed = managed.unwrap_or_else(|| read.managed.clone());
        Ok(state.write(self.history_max, collection, key, Object::new(value, managed, 0)))
    }

    /// Removes an object that is still the one that was read. `last` is its final state, which watchers see.
    pub fn delete(&self, collection: &str, key: Key, read: &Arc<Object>, last: Value) -> Result<Arc<Object>, Refusal> {
        let mut state = self.state();
        state.expect(collection, &key, read)?;
        let revision = state.next_revision();
        let last = Arc::new(Object::new(last, read.managed.clone(), 0).stamped(revision));
        state.collection(collection).objects.remove(&key);
        let (stood, old) = (Some(Arc::clone(read)), Some(Arc::clone(&last)));
        state.tell(self.history_max, collection, Change { revision, key, stood, old, new: None });
        Ok(last)
    }

    /// Every object, or those of one namespace, at the present revision or at an older one.
    pub fn list(&self, collection: &str, namespace: &str, at: Option<u64>) -> Result<Snapshot, Forgotten> {
        self.page(collection, at, Part { namespace, after: None, max: usize::MAX }, |_, _| true)
    }

    /// A part of a list. It costs what it holds and what changed since its revision, and a look at what is behind it.
    pub fn page(
        &self,
        collection: &str,
        at: Option<u64>,
        part: Part<'_>,
        is_wanted: impl Fn(&Key, &Object) -> bool,
    ) -> Result<Snapshot, Forgotten> {
        let Part { namespace, after, max } = part;
        let mut state = self.state();
        let present = state.revision;
        let stored = state.collection(collection);
        let revision = at.filter(|at| *at < present).unwrap_or(present);
        if revision < stored.forgotten && revision < present {
            return Err(Forgotten { oldest: stored.forgotten });
        }
        let is_there = |key: &Key| namespace.is_empty() || key.namespace == namespace;
        let start = match after {
            Some(after) if is_there(after) || after.namespace.as_str() > namespace => Bound::Excluded(after.clone()),
            _ => Bound::Included(Key::new(namespace, "")),
        };
        let past = stored.past(&start, revision);
        let mut past = past.iter().peekable();
        let mut now = stored.objects.range((start, Bound::Unbounded)).peekable();
        let standing = iter::from_fn(|| {
            loop {
                let (first, other) = (now.peek().map(|(key, _)| *key), past.peek().map(|(key, _)| *key));
                if other.is_none() || first.is_some_and(|first| Some(first) < other) {
                    return now.next();
                }
                if first == other {
                    now.next();
                }
                let (key, stood) = past.next()?;
                if let Some(stood) = stood {
                    return Some((key, stood));
                }
            }
        });
        let standing = standing.take_while(|(key, _)| is_there(key));
        let mut wanted = standing.filter(|(key, object)| is_wanted(key, object));
        let objects = wanted.by_ref().take(max).map(|(key, object)| (key.clone(), Arc::clone(object))).collect();
        Ok(Snapshot { revision, objects, remaining: wanted.count() })
    }

    /// What happened after a revision, in order.
    pub fn changes_after(&self, collection: &str, revision: u64) -> Result<Vec<Change>, Forgotten> {
        let mut state = self.state();
        let stored = state.collection(collection);
        if revision < stored.forgotten {
            return Err(Forgotten { oldest: stored.forgotten });
        }
        let start = stored.history.partition_point(|change| change.revision <= revision);
        Ok(stored.history.range(start..).cloned().collect())
    }

    /// The revision of the last change of a collection; 0 when there was none.
    pub fn changed_at(&self, collection: &str) -> u64 {
        self.state().collections.get(collection).map_or(0, |stored| stored.signal.latest())
    }

    /// The revision of the last change of any collection but that one.
    pub fn changed_beside(&self, collection: &str) -> u64 {
        let state = self.state();
        let others = state.collections.values().filter(|stored| &*stored.name != collection);
        others.map(|stored| stored.signal.latest()).max().unwrap_or(0)
    }

    /// Makes sure that a collection exists. What happened before that is not its history.
    pub fn open(&self, collection: &str) {
        self.state().collection(collection);
    }

    /// Wakes when the collection changes.
    pub fn signal(&self, collection: &str) -> Listener {
        Listener::of(&self.state().collection(collection).signal)
    }

    /// Every change from now on, of all collections, in order. It is for parts of the server that keep up; watches are
    /// cursors into the history instead.
    pub fn follow(&self) -> mpsc::UnboundedReceiver<News> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.state().followers.push(sender);
        receiver
    }

    /// What is stored now.
    pub fn image(&self) -> Image {
        let state = self.state();
        let image = |stored: &Collection| ImageOfCollection {
            name: Arc::clone(&stored.name),
            objects: stored.objects.clone(),
            changed_at: stored.signal.latest(),
        };
        let mut collections: Vec<ImageOfCollection> = state.collections.values().map(image).collect();
        collections.sort_by(|a, b| a.name.cmp(&b.name));
        Image { revision: state.revision, collections }
    }

    /// Fills an empty store. Who follows it is told of every object; what happened before the image is forgotten.
    pub fn load(&self, image: &Image) {
        let mut state = self.state();
        state.revision = image.revision;
        for ImageOfCollection { name, objects, changed_at } in &image.collections {
            let stored = state.collection(name);
            stored.objects.clone_from(objects);
            stored.forgotten = image.revision;
            stored.signal.raise(*changed_at);
            for (key, object) in objects {
                let (revision, key, new) = (object.revision, key.clone(), Some(Arc::clone(object)));
                state.tell_followers(name, &Change { revision, key, stood: None, old: None, new });
            }
        }
    }

    /// Forgets all changes up to a revision, in every collection.
    pub fn compact(&self, revision: u64) {
        let mut state = self.state();
        for stored in state.collections.values_mut() {
            stored.forget_until(revision);
        }
    }
}

impl State {
    fn next_revision(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }

    fn collection(&mut self, name: &str) -> &mut Collection {
        if !self.collections.contains_key(name) {
            let name: Arc<str> = name.into();
            let collection = Collection {
                name: Arc::clone(&name),
                objects: BTreeMap::new(),
                history: VecDeque::new(),
                forgotten: self.revision,
                signal: Arc::default(),
            };
            self.collections.insert(name, collection);
        }
        self.collections.get_mut(name).expect("it was just made")
    }

    fn expect(&mut self, collection: &str, key: &Key, read: &Arc<Object>) -> Result<(), Refusal> {
        match self.collection(collection).objects.get(key) {
            Some(present) if present.revision == read.revision => Ok(()),
            _ => Err(Refusal::Changed),
        }
    }

    fn write(&mut self, history_max: usize, collection: &str, key: Key, object: Object) -> Arc<Object> {
        let revision = self.next_revision();
        let object = Arc::new(object.stamped(revision));
        let old = self.collection(collection).objects.insert(key.clone(), Arc::clone(&object));
        if let Some(old) = &old {
            object.encode_after(old);
        }
        self.tell(
            history_max,
            collection,
            Change { revision, key, stood: old.clone(), old, new: Some(Arc::clone(&object)) },
        );
        object
    }

    /// Remembers a change and tells who wants to know.
    fn tell(&mut self, history_max: usize, collection: &str, change: Change) {
        self.tell_followers(collection, &change);
        self.collection(collection).remember(history_max, change);
    }

    fn tell_followers(&mut self, collection: &str, change: &Change) {
        if self.followers.is_empty() {
            return;
        }
        let news = News { collection: Arc::clone(&self.collection(collection).name), change: change.clone() };
        // Who no longer listens follows no more.
        self.followers.retain(|follower| follower.send(news.clone()).is_ok());
    }
}

impl Collection {
    fn remember(&mut self, history_max: usize, change: Change) {
        let revision = change.revision;
        self.history.push_back(change);
        if self.history.len() > history_max {
            // Half of it at once, so that a client that is slow by a little is not cut off at every write.
            let until = self.history[self.history.len() / 2].revision;
            self.forget_until(until);
        }
        self.signal.raise(revision);
    }

    fn forget_until(&mut self, revision: u64) {
        while self.history.front().is_some_and(|change| change.revision <= revision) {
            self.history.pop_front();
        }
        self.forgotten = self.forgotten.max(revision);
    }

    /// What stood at a revision where something else stands now, from a place on.
    fn past(&self, start: &Bound<Key>, revision: u64) -> BTreeMap<Key, Option<Arc<Object>>> {
        let later = self.history.iter().rev().take_while(|change| change.revision > revision);
        let behind = later.filter(|change| (start.as_ref(), Bound::Unbounded).contains(&change.key));
        behind.map(|change| (change.key.clone(), change.stood.clone())).collect()
    }
}

#[cfg(test)]
mod tests;
