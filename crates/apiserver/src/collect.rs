//! The collector: removes what nobody owns any more, and what lives in a namespace that ends.
//!
//! It is a client of the server in the same process: it follows the store's changes, keeps one index from owners to
//! dependents, and writes through the front door, so that admission and every other rule hold for it too. What it does
//! follows from single changes; it never looks through the store. `Settings::collects` starts it.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::time::Instant;

use crate::ApiServer;
use crate::rest::service::Server;
use crate::store::{Key, News};

mod client;
mod namespaces;
mod owners;

use client::Client;
use owners::Owners;

/// How long to wait before something that failed is tried again: doubled each time, up to the second one.
const RETRY_FIRST: Duration = Duration::from_millis(5);
const RETRY_MAX: Duration = Duration::from_secs(60);

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Place {
    collection: Arc<str>,
    key: Key,
}

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Task {
    /// An object that may have to go, or whose dependents may.
    Object(Place),
    /// A namespace that ends.
    Namespace(String),
}

/// What was tried did not work; it is tried again later.
#[derive(Debug)]
struct Failed;

/// All that the collector remembers.
#[derive(Debug, Default)]
struct Collector {
    owners: Owners,
    /// Namespaces that end.
    ending: HashSet<String>,
    queue: Queue,
}

/// What is to be done now and what later; nothing is in it twice.
#[derive(Debug, Default)]
struct Queue {
    due: VecDeque<Task>,
    known: HashSet<Task>,
    later: BTreeMap<(Instant, Task), ()>,
    failures: BTreeMap<Task, u32>,
}

impl Queue {
    fn add(&mut self, task: Task) {
        if self.known.insert(task.clone()) {
            self.due.push_back(task);
        }
    }

    fn take(&mut self) -> Option<Task> {
        let now = Instant::now();
        while let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((_, task), ()) = entry.remove_entry();
            self.add(task);
        }
        let task = self.due.pop_front()?;
        self.known.remove(&task);
        Some(task)
    }

    fn succeeded(&mut self, task: &Task) {
        self.failures.remove(task);
    }

    fn failed(&mut self, task: Task) {
        let failures = self.failures.entry(task.clone()).or_default();
        let wait = RETRY_FIRST.saturating_mul(1 << (*failures).min(16)).min(RETRY_MAX);
        *failures += 1;
        self.later.insert((Instant::now() + wait, task), ());
    }

    fn next_retry(&self) -> Option<Instant> {
        self.later.first_key_value().map(|((when, _), ())| *when)
    }
}

/// Starts the collector of a server. It ends with the server.
pub fn start(server: &Arc<Server>) {
    let news = server.store.follow();
    tokio::spawn(run(Arc::downgrade(server), news));
}

async fn run(server: Weak<Server>, mut news: UnboundedReceiver<News>) {
    let mut collector = Collector::default();
    loop {
        // First all that has happened, then one thing that follows from it.
        loop {
            match news.try_recv() {
                Ok(told) => collector.note(&told),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        if let Some(task) = collector.queue.take() {
            let Some(server) = server.upgrade() else { return };
            collector.work(ApiServer::of(server), task).await;
            continue;
        }
        let retry = collector.queue.next_retry();
        let wait = async {
            match retry {
                Some(when) => tokio::time::sleep_until(when).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            told = news.recv() => match told {
                Some(told) => collector.note(&told),
                None => return,
            },
            () = wait => {}
        }
    }
}

impl Collector {
    /// What a change makes necessary to look at.
    fn note(&mut self, News { collection, change }: &News) {
        let place = Place { collection: Arc::clone(collection), key: change.key.clone() };
        if &**collection == "namespaces" {
            self.note_namespace(
                &change.key.name,
                change.new.as_ref().is_some_and(|new| namespaces::is_ending(&new.value)),
            );
        } else if self.ending.contains(&change.key.namespace) {
            self.queue.add(Task::Namespace(change.key.namespace.clone()));
        }
        let (old, new) = (change.old.as_ref().map(|old| &old.value), change.new.as_ref().map(|new| &new.value));
        let queue = &mut self.queue;
        self.owners.note(place, old, new, |place| queue.add(Task::Object(place)));
    }

    fn note_namespace(&mut self, name: &str, is_ending: bool) {
        if is_ending {
            self.ending.insert(name.to_owned());
            self.queue.add(Task::Namespace(name.to_owned()));
        } else {
            self.ending.remove(name);
        }
    }

    async fn work(&mut self, server: ApiServer, task: Task) {
        let done = match &task {
            Task::Object(place) => {
                let client = Client::garbage_collector(server);
                let queue = &mut self.queue;
                self.owners.look_at(&client, place, |place| queue.add(Task::Object(place))).await
            }
            Task::Namespace(name) => namespaces::end(&Client::namespace_controller(server), name).await,
        };
        match done {
            Ok(()) => self.queue.succeeded(&task),
            Err(Failed) => self.queue.failed(task),
        }
    }
}
