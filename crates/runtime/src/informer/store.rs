//! The objects of one kind as they were seen last, and who can be found by what.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::key::Key;

/// A projection of an object, with what identifies it.
#[derive(Debug)]
pub struct Stored<P> {
    pub uid: Arc<str>,
    pub version: Arc<str>,
    pub object: Arc<P>,
}

impl<P> Clone for Stored<P> {
    fn clone(&self) -> Self {
        Self { uid: Arc::clone(&self.uid), version: Arc::clone(&self.version), object: Arc::clone(&self.object) }
    }
}

/// A way to find objects; made by [`Store::index`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Index(usize);

type Values<P> = fn(&P) -> Vec<String>;
/// Who has which value.
type Found = BTreeMap<String, BTreeSet<Key>>;

/// All objects of a kind. Only the informer writes.
#[derive(Debug)]
pub struct Store<P> {
    state: RwLock<State<P>>,
}

#[derive(Debug)]
struct State<P> {
    objects: BTreeMap<Key, Stored<P>>,
    indexes: Vec<(Values<P>, Found)>,
}

impl<P> Default for Store<P> {
    fn default() -> Self {
        Self { state: RwLock::new(State { objects: BTreeMap::new(), indexes: Vec::new() }) }
    }
}

impl<P> Store<P> {
    /// Lets objects be found by the values that this function says about them.
    pub fn index(&self, values: Values<P>) -> Index {
        let mut state = self.write();
        let mut found = Found::new();
        for (key, stored) in &state.objects {
            for value in values(&stored.object) {
                found.entry(value).or_default().insert(key.clone());
            }
        }
        state.indexes.push((values, found));
        Index(state.indexes.len() - 1)
    }

    pub fn get(&self, key: &Key) -> Option<Stored<P>> {
        self.read().objects.get(key).cloned()
    }

    /// The same with the key as it is kept, so that whoever keeps it too can share it.
    pub(super) fn entry(&self, key: &Key) -> Option<(Key, Stored<P>)> {
        self.read().objects.get_key_value(key).map(|(key, stored)| (key.clone(), stored.clone()))
    }

    /// The object of that name, of a kind without namespaces.
    pub fn named(&self, name: &str) -> Option<Arc<P>> {
        self.get(&Key::cluster(name)).map(|stored| stored.object)
    }

    pub fn keys(&self) -> Vec<Key> {
        self.read().objects.keys().cloned().collect()
    }

    /// All objects, by key.
    pub fn all(&self) -> Vec<Arc<P>> {
        self.read().objects.values().map(|stored| Arc::clone(&stored.object)).collect()
    }

    /// Those that the index has that value for, by key.
    pub fn find(&self, index: Index, value: &str) -> Vec<(Key, Stored<P>)> {
        let state = self.read();
        let keys = state.indexes.get(index.0).and_then(|(_, found)| found.get(value));
        let keys = keys.into_iter().flatten();
        keys.filter_map(|key| Some((key.clone(), state.objects.get(key)?.clone()))).collect()
    }

    pub(super) fn insert(&self, key: Key, new: Stored<P>) -> Option<Stored<P>> {
        let mut state = self.write();
        state.unlist(&key);
        for (values, found) in &mut state.indexes {
            for value in values(&new.object) {
                found.entry(value).or_default().insert(key.clone());
            }
        }
        state.objects.insert(key, new)
    }

    pub(super) fn remove(&self, key: &Key) -> Option<Stored<P>> {
        let mut state = self.write();
        state.unlist(key);
        state.objects.remove(key)
    }

    fn read(&self) -> RwLockReadGuard<'_, State<P>> {
        self.state.read().expect("no one panics while holding the store")
    }

    fn write(&self) -> RwLockWriteGuard<'_, State<P>> {
        self.state.write().expect("no one panics while holding the store")
    }
}

impl<P> State<P> {
    /// Takes an object out of every index.
    fn unlist(&mut self, key: &Key) {
        let Some(old) = self.objects.get(key) else { return };
        for (values, found) in &mut self.indexes {
            for value in values(&old.object) {
                if let Some(keys) = found.get_mut(&value) {
                    keys.remove(key);
                    if keys.is_empty() {
                        found.remove(&value);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(words: &'static str) -> Stored<&'static str> {
        Stored { uid: "u".into(), version: "1".into(), object: Arc::new(words) }
    }

    #[test]
    fn an_index_follows_its_objects() {
        let store = Store::default();
        store.insert(Key::cluster("early"), stored("red"));
        let by_word = store.index(|words| words.split_whitespace().map(str::to_owned).collect());
        store.insert(Key::cluster("a"), stored("red green"));
        store.insert(Key::cluster("b"), stored("green"));
        let found = |word: &str| {
            let found = store.find(by_word, word);
            found.iter().map(|(key, _)| key.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!([found("red"), found("green"), found("blue")], ["a early", "a b", ""]);
        store.insert(Key::cluster("a"), stored("blue"));
        store.remove(&Key::cluster("b"));
        assert_eq!([found("red"), found("green"), found("blue")], ["early", "", "a"]);
    }
}
