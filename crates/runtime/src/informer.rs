//! One kind of object, kept up to date: everything once, then a watch that goes on where it broke off.
//!
//! Whoever listens is told old and new of every object, in order, after the store shows the new one. Everything is asked
//! for at the start and when the server forgot the version that was seen last, never because a connection broke; it comes
//! as the beginning of a watch, or as a list from a server that cannot do that.

mod pace;
mod store;
#[cfg(test)]
mod tests;
mod unseen;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::watch;
use kueue_api::meta::{Object, ObjectMeta};
use tracing::{info, warn};

use crate::client::{Client, Failure, Page, Watch, WatchEvent, lean};
use crate::key::Key;
use pace::Pace;

pub use store::{Index, Store, Stored};
pub use unseen::Unseen;

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

/// Whether one version came after the other. Kubernetes promises since 1.35 that versions of a kind are numbers that
/// grow; where they are not, what is different counts as new.
pub fn is_newer(version: &str, than: &str) -> bool {
    match (version.parse::<u64>(), than.parse::<u64>()) {
        (Ok(version), Ok(than)) => version > than,
        _ => version != than,
    }
}

type Listener<P> = Box<dyn FnMut(&Delta<P>) + Send>;
/// Makes what is kept of an object, which may share parts with what is kept of its last version.
type Project<T, P> = Box<dyn FnMut(T, Option<&P>) -> P + Send>;

/// Keeps a projection `P` of every object of kind `T`.
pub struct Informer<T, P = T> {
    project: Project<T, P>,
    store: Arc<Store<P>>,
    listeners: Vec<Listener<P>>,
    synced: watch::Sender<bool>,
    /// Where the next watch begins; where it is missing, everything has to be asked for.
    version: Option<String>,
    has_listed: bool,
    /// Whether the server can begin a watch with everything.
    streams: bool,
    /// Whether nothing is wrong when the server does not know the kind.
    is_optional: bool,
}

impl<T, P> std::fmt::Debug for Informer<T, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Informer").field("version", &self.version).finish_non_exhaustive()
    }
}

impl<T: Object + Send + Sync + 'static> Informer<T> {
    /// Keeps objects as they are read.
    pub fn whole() -> Self {
        Self::new(|object| object)
    }
}

impl<T: Object + Send + 'static, P: Send + Sync + 'static> Informer<T, P> {
    /// Keeps what `project` leaves of an object.
    pub fn new(project: fn(T) -> P) -> Self {
        Self::sharing(move |object, _| project(object))
    }

    /// The same, given also what is kept of the last version of the object: both can share what they have in common.
    pub fn sharing(project: impl FnMut(T, Option<&P>) -> P + Send + 'static) -> Self {
        Self {
            project: Box::new(project),
            store: Arc::new(Store::default()),
            listeners: Vec::new(),
            synced: watch::Sender::new(false),
            version: None,
            has_listed: false,
            streams: true,
            is_optional: false,
        }
    }

    /// The same for a kind that many clusters do not have: nothing is wrong when it is not served.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { is_optional: true, ..self }
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
                    match self.is_optional && failure.is_not_found() && self.version.is_none() {
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
        let mut events = match &self.version {
            Some(version) => client.watch::<T>(version, WATCH_LASTS).await?,
            None => self.begin(client).await?,
        };
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
                WatchEvent::Bookmark { version, .. } => self.version = Some(version),
                WatchEvent::Unreadable(error) => left_out::<T>(&error),
            }
        }
        Ok(())
    }

    /// Takes over everything that exists; what is known and does not exist is gone. Returns what happens from then on.
    async fn begin(&mut self, client: &Client) -> Result<Watch<T>, Failure> {
        if self.streams {
            match self.stream(client).await {
                Err(failure) if matches!(failure.code(), Some(400 | 422)) => {
                    info!(kind = T::KIND, "the API server begins no watch with everything, so that is listed");
                    self.streams = false;
                }
                streamed => return streamed,
            }
        }
        let version = self.list(client).await?;
        client.watch::<T>(&version, WATCH_LASTS).await
    }

    /// The oldest version that will do: at the start whatever the server has at hand; after a version was forgotten only
    /// the newest is safe.
    fn oldest(&self) -> &'static str {
        if self.has_listed { "" } else { "0" }
    }

    /// Each object is taken over as it comes, so that nobody has to keep them all twice.
    async fn stream(&mut self, client: &Client) -> Result<Watch<T>, Failure> {
        let mut events = client.stream::<T>(self.oldest(), WATCH_LASTS).await?;
        let mut existing = BTreeSet::new();
        loop {
            match events.next().await? {
                Some(WatchEvent::Applied(object)) => {
                    existing.insert(Key::of(&object));
                    self.apply(object);
                }
                Some(WatchEvent::Deleted(object)) => drop(existing.remove(&Key::of(&object))),
                Some(WatchEvent::Bookmark { version, is_complete: true }) => {
                    self.is_all(&existing, version);
                    return Ok(events);
                }
                Some(WatchEvent::Bookmark { .. }) => {}
                Some(WatchEvent::Unreadable(error)) => left_out::<T>(&error),
                None => return Err(Failure::Unreachable("a watch ended before it told everything".to_owned())),
            }
        }
    }

    /// The same in pages. Returns the version that was listed.
    async fn list(&mut self, client: &Client) -> Result<String, Failure> {
        let mut page = Page { version: self.oldest(), limit: Some(PAGE), resume: String::new() };
        let mut existing = BTreeSet::new();
        loop {
            let listed = match client.list::<T>(&page).await {
                // The list changed too much while it was read in pages: once more, in one piece.
                Err(failure) if failure.is_gone() && !page.resume.is_empty() => {
                    existing.clear();
                    page = Page { limit: None, ..Page::default() };
                    continue;
                }
                listed => listed?,
            };
            for item in listed.items.unwrap_or_default() {
                match lean::read(item.get().as_bytes()) {
                    Ok(object) => {
                        existing.insert(Key::of(&object));
                        self.apply(object);
                    }
                    Err(error) => left_out::<T>(&error.to_string()),
                }
            }
            if listed.metadata.r#continue.is_empty() {
                let version = listed.metadata.resource_version;
                self.is_all(&existing, version.clone());
                return Ok(version);
            }
            page = Page { resume: listed.metadata.r#continue, version: "", ..page };
        }
    }

    /// These exist at that version, and no others.
    fn is_all(&mut self, existing: &BTreeSet<Key>, version: String) {
        for key in self.store.keys().into_iter().filter(|key| !existing.contains(key)) {
            self.remove(&key, None);
        }
        self.has_listed = true;
        self.version = Some(version);
        self.synced.send_replace(true);
    }

    fn apply(&mut self, object: T) {
        let ObjectMeta { uid, resource_version, .. } = object.metadata();
        let key = Key::of(&object);
        let (key, mut known) = self.store.entry(&key).map_or((key, None), |(key, known)| (key, Some(known)));
        // The same name with another identity: the old one went unseen.
        if known.take_if(|known| *known.uid != **uid).is_some() {
            self.remove(&key, None);
        }
        if known.as_ref().is_some_and(|known| *known.version == **resource_version) {
            return;
        }
        let version = resource_version.as_str().into();
        let uid = known.as_ref().map_or_else(|| uid.as_str().into(), |known| Arc::clone(&known.uid));
        let kept = (self.project)(object, known.as_ref().map(|known| &*known.object));
        let new = Stored { uid, version, object: Arc::new(kept) };
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

fn left_out<T: Object>(error: &str) {
    warn!(kind = T::KIND, error, "left out an object that cannot be read");
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
