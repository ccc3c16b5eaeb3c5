//! One kind of object, kept up to date: a list, then a watch that goes on where it broke off.
//!
//! Whoever listens is told old and new of every object, in order, after the store shows the new one. A list happens at
//! the start and when the server forgot the version that was seen last, never because a connection broke.

mod pace;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kueue_api::meta::{Object, ObjectMeta};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::client::{Client, Failure, Page, WatchEvent};
use crate::key::Key;
use pace::Pace;

pub use store::{Index, Store, Stored};

/// How long one watch lasts. The server ends it then, and the next begins where it ended.
const WATCH_LASTS: Duration = Duration::from_secs(300);
/// A watch that ends sooner without having said anything counts as a failure.
const WATCH_LASTS_AT_LEAST: Duration = Duration::from_secs(1);
const PAGE: u32 = 500;

/// What happened to one object. Both sides are of the same identity; at least one is there.
#[derive(Debug)]
pub struct Delta<P> {
    pub key: Key,
    pub old: Option<Stored<P>>,
    pub new: Option<Stored<P>>,
}

impl<P> Delta<P> {
    /// What was there before and what is there now.
    pub fn sides(&self) -> (Option<&P>, Option<&P>) {
        (self.old.as_ref().map(|old| &*old.object), self.new.as_ref().map(|new| &*new.object))
    }
}

/// An object without the record of who owns which of its fields: as long as the rest, and nobody here reads it.
pub fn without_managed_fields<T: Object>(mut object: T) -> T {
    object.metadata_mut().rest.remove("managedFields");
    object
}

type Listener<P> = Box<dyn FnMut(&Delta<P>) + Send>;

/// Keeps a projection `P` of every object of kind `T`.
pub struct Informer<T, P = T> {
    project: fn(T) -> P,
    store: Arc<Store<P>>,
    listeners: Vec<Listener<P>>,
    synced: watch::Sender<bool>,
    /// Where the next watch begins; a list is needed where it is missing.
    version: Option<String>,
    has_listed: bool,
}

impl<T, P> std::fmt::Debug for Informer<T, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Informer").field("version", &self.version).finish_non_exhaustive()
    }
}

impl<T: Object + Send + 'static, P: Send + Sync + 'static> Informer<T, P> {
    /// Keeps what `project` leaves of an object.
    pub fn new(project: fn(T) -> P) -> Self {
        Self {
            project,
            store: Arc::new(Store::default()),
            listeners: Vec::new(),
            synced: watch::Sender::new(false),
            version: None,
            has_listed: false,
        }
    }

    /// Tells `listener` whatever happens from now on; it must not wait for anything.
    pub fn listen(&mut self, listener: impl FnMut(&Delta<P>) + Send + 'static) {
        self.listeners.push(Box::new(listener));
    }

    pub fn store(&self) -> Arc<Store<P>> {
        Arc::clone(&self.store)
    }

    /// Becomes true when everything that existed at the start was told.
    pub fn synced(&self) -> watch::Receiver<bool> {
        self.synced.subscribe()
    }

    /// Runs until it is dropped. Failures are said once each and tried again.
    pub async fn run(mut self, client: Client) {
        let mut pace = Pace::default();
        let mut trouble = None;
        loop {
            let began = tokio::time::Instant::now();
            let before = self.version.clone();
            let outcome = self.follow(&client).await;
            let got_anywhere =
                self.version.is_some() && (self.version != before || began.elapsed() >= WATCH_LASTS_AT_LEAST);
            if got_anywhere {
                pace.reset();
                if trouble.take().is_some() {
                    info!(kind = T::KIND, "watching again");
                }
            }
            let failure = match outcome {
                Ok(()) if got_anywhere => continue,
                Ok(()) => None,
                Err(failure) => Some(failure),
            };
            if let Some(failure) = &failure {
                if failure.is_gone() {
                    info!(kind = T::KIND, "the API server forgot what was seen last, listing everything again");
                    self.version = None;
                }
                let text = failure.to_string();
                if !failure.is_gone() && trouble.as_ref() != Some(&text) {
                    match failure.is_not_found() && self.version.is_none() {
                        // Many clusters have only some of the kinds that could be there.
                        true => info!(kind = T::KIND, hint = hint(failure), "not served here, watching when it is"),
                        false => {
                            warn!(kind = T::KIND, error = %text, hint = hint(failure), "cannot watch, trying again until it works");
                        }
                    }
                    trouble = Some(text);
                }
            }
            let told = failure.as_ref().and_then(Failure::retry_after).unwrap_or_default();
            tokio::time::sleep(pace.next().max(told)).await;
        }
    }

    async fn follow(&mut self, client: &Client) -> Result<(), Failure> {
        let version = match &self.version {
            Some(version) => version.clone(),
            None => self.list(client).await?,
        };
        let mut events = client.watch::<T>(&version, WATCH_LASTS).await?;
        while let Some(event) = events.next().await? {
            match event {
                WatchEvent::Applied(object) => {
                    self.version = Some(object.metadata().resource_version.clone());
                    self.apply(object);
                }
                WatchEvent::Deleted(object) => {
                    self.version = Some(object.metadata().resource_version.clone());
                    let key = Key::of(&object);
                    let meta = object.metadata();
                    self.remove(&key, Some(&meta.uid.clone()));
                }
                WatchEvent::Bookmark(version) => self.version = Some(version),
                WatchEvent::Unreadable(error) => warn!(kind = T::KIND, error, "left out an object that cannot be read"),
            }
        }
        Ok(())
    }

    /// Takes over all objects; those that are known and not listed are gone. Returns the version that was listed.
    async fn list(&mut self, client: &Client) -> Result<String, Failure> {
        // At the start what the server has at hand will do; after a version was forgotten only the newest is safe.
        let mut page =
            Page { version: if self.has_listed { "" } else { "0" }, limit: Some(PAGE), resume: String::new() };
        let mut objects: Vec<T> = Vec::new();
        let version = loop {
            let listed = match client.list::<T>(&page).await {
                // The list changed too much while it was read in pages: once more, in one piece.
                Err(failure) if failure.is_gone() && !page.resume.is_empty() => {
                    objects.clear();
                    page = Page { limit: None, ..Page::default() };
                    continue;
                }
                listed => listed?,
            };
            for item in listed.items.unwrap_or_default() {
                match serde_json::from_str(item.get()) {
                    Ok(object) => objects.push(object),
                    Err(error) => warn!(kind = T::KIND, %error, "left out an object that cannot be read"),
                }
            }
            if listed.metadata.r#continue.is_empty() {
                break listed.metadata.resource_version;
            }
            page = Page { resume: listed.metadata.r#continue, version: "", ..page };
        };
        let listed: BTreeSet<Key> = objects.iter().map(Key::of).collect();
        for key in self.store.keys().into_iter().filter(|key| !listed.contains(key)) {
            self.remove(&key, None);
        }
        for object in objects {
            self.apply(object);
        }
        self.has_listed = true;
        self.version = Some(version.clone());
        self.synced.send_replace(true);
        Ok(version)
    }

    fn apply(&mut self, object: T) {
        let ObjectMeta { uid, resource_version, .. } = object.metadata();
        let (uid, version) = (uid.as_str().into(), resource_version.as_str().into());
        let key = Key::of(&object);
        if let Some(known) = self.store.get(&key) {
            if known.version == version && known.uid == uid {
                return;
            }
            // The same name with another identity: the old one went unseen.
            if known.uid != uid {
                self.remove(&key, None);
            }
        }
        let new = Stored { uid, version, object: Arc::new((self.project)(object)) };
        let old = self.store.insert(key.clone(), new.clone());
        self.tell(&Delta { key, old, new: Some(new) });
    }

    /// Forgets an object, if it has that identity.
    fn remove(&mut self, key: &Key, uid: Option<&str>) {
        if uid.is_some_and(|uid| self.store.get(key).is_some_and(|known| *known.uid != *uid)) {
            return;
        }
        if let Some(old) = self.store.remove(key) {
            self.tell(&Delta { key: key.clone(), old: Some(old), new: None });
        }
    }

    fn tell(&mut self, delta: &Delta<P>) {
        for listener in &mut self.listeners {
            listener(delta);
        }
    }
}

/// What may help.
fn hint(failure: &Failure) -> &'static str {
    match failure.code() {
        Some(404) => "its CustomResourceDefinition may not be installed",
        Some(401) => "the credentials may have expired",
        Some(403) => "the role of this account may lack list and watch",
        Some(_) => "the API server says why",
        None => "the API server may be down, or the network between",
    }
}
