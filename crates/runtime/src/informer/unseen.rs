//! What was written and is not shown yet.
//!
//! Whoever decides by what an informer shows must not do so before it shows what they did themselves: a job that was
//! started a moment ago is still shown as stopped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kueue_api::meta::{Object, ObjectMeta};

use super::{Delta, Store, is_newer};
use crate::client::{Client, Failure, Patch};
use crate::key::Key;

/// What was done to objects that an informer shows, and is not shown yet.
#[derive(Debug)]
pub struct Unseen<T> {
    store: Arc<Store<T>>,
    written: Mutex<HashMap<Key, Written>>,
}

#[derive(Clone, Debug)]
enum Written {
    /// It was sent, and nobody knows what became of it.
    Doubtful,
    Stored {
        uid: String,
        version: String,
    },
    /// There is no object of that identity any more.
    Gone {
        uid: String,
    },
}

impl<T: Object> Unseen<T> {
    /// Nothing was written yet to what is shown there.
    pub fn new(store: Arc<Store<T>>) -> Self {
        Self { store, written: Mutex::default() }
    }

    /// Changes an object that is shown.
    pub async fn patch(&self, client: &Client, key: &Key, patch: &Patch) -> Result<T, Failure> {
        // It stays in doubt when nobody waits for the answer any more.
        let before = self.written().insert(key.clone(), Written::Doubtful);
        let answer = client.patch::<T>(key, patch).await;
        match &answer {
            Ok(object) => self.note(key, object.metadata()),
            Err(failure) if failure.leaves_doubt() => {}
            Err(_) => match before {
                Some(before) => drop(self.written().insert(key.clone(), before)),
                None => self.forget(key),
            },
        }
        answer
    }

    /// Whether all that was written to an object is shown. If not, the event that shows it is still to come.
    pub async fn is_seen(&self, client: &Client, key: &Key) -> Result<bool, Failure> {
        let written = self.written().get(key).cloned();
        match written {
            None | Some(Written::Gone { .. }) => return Ok(true),
            Some(Written::Stored { uid, version }) => self.compare(key, uid, version),
            Some(Written::Doubtful) => match client.get::<T>(key).await {
                Ok(object) => self.note(key, object.metadata()),
                Err(failure) if failure.is_not_found() => {
                    self.forget(key);
                    return Ok(self.store.get(key).is_none());
                }
                Err(failure) => return Err(failure),
            },
        }
        Ok(!self.written().contains_key(key))
    }

    /// Whether an object that is not shown does not exist: it might be shown later. The server is asked once.
    pub async fn is_gone(&self, client: &Client, key: &Key, uid: &str) -> Result<bool, Failure> {
        if matches!(self.written().get(key), Some(Written::Gone { uid: known }) if known == uid) {
            return Ok(true);
        }
        match client.get::<T>(key).await {
            Ok(_) => return Ok(false),
            Err(failure) if failure.is_not_found() => {}
            Err(failure) => return Err(failure),
        }
        self.written().insert(key.clone(), Written::Gone { uid: uid.to_owned() });
        Ok(true)
    }

    /// Lets go of what was done to objects that are gone.
    pub fn on_delta(&self, delta: &Delta<T>) {
        if delta.new.is_none() {
            self.forget(&delta.key);
        }
    }

    /// Nothing that was done to an object matters any more.
    pub fn forget(&self, key: &Key) {
        self.written().remove(key);
    }

    fn note(&self, key: &Key, meta: &ObjectMeta) {
        self.compare(key, meta.uid.clone(), meta.resource_version.clone());
    }

    /// Remembers a version until it is shown, or the object is gone or another one.
    fn compare(&self, key: &Key, uid: String, version: String) {
        let mut written = self.written();
        let is_behind =
            self.store.get(key).is_some_and(|shown| *shown.uid == *uid && is_newer(&version, &shown.version));
        match is_behind {
            true => drop(written.insert(key.clone(), Written::Stored { uid, version })),
            false => drop(written.remove(key)),
        }
    }

    fn written(&self) -> MutexGuard<'_, HashMap<Key, Written>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use kueue_api::core_v1::Namespace;

    use super::super::Stored;
    use super::*;

    fn shown(uid: &str, version: &str) -> Stored<Namespace> {
        Stored { uid: uid.into(), version: version.into(), object: Arc::default() }
    }

    #[test]
    fn what_was_written_is_unseen_until_that_version_is_shown() {
        let unseen: Unseen<Namespace> = Unseen::new(Arc::default());
        let key = Key::cluster("a");
        let is_unseen = |shown: Option<Stored<Namespace>>| {
            unseen.store.remove(&key);
            shown.and_then(|shown| unseen.store.insert(key.clone(), shown));
            unseen.compare(&key, "one".to_owned(), "10".to_owned());
            unseen.written().contains_key(&key)
        };
        assert!(is_unseen(Some(shown("one", "9"))), "as a number");
        assert!(!is_unseen(Some(shown("one", "10"))));
        assert!(!is_unseen(Some(shown("one", "11"))), "others wrote since");
        assert!(!is_unseen(Some(shown("two", "9"))), "another one of that name");
        assert!(!is_unseen(None), "gone");
    }
}
