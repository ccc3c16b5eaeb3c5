//! One informer per kind, shared by all who care for it, and a way to wait until one's own writes have been seen.

use std::sync::Arc;
use std::time::Duration;

use kueue_api::meta::Object;
use kueue_runtime::client::Client;
use kueue_runtime::informer::{Delta, Index, Informer, Store, without_managed_fields};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::kinds::{Job, Node, Pod, controller_of};

/// How long one's own write may take to come back before nobody waits for it any longer.
const SEEN_WITHIN: Duration = Duration::from_secs(5);

/// Who has to be looked at.
pub(crate) type Line = Arc<WorkQueue<Key>>;

/// An informer that does not run yet.
pub(crate) struct Feed<T> {
    informer: Informer<T>,
    seen: watch::Receiver<u64>,
}

impl<T: Object + Send + Sync + 'static> Feed<T> {
    fn new() -> Self {
        let mut informer: Informer<T> = Informer::new(without_managed_fields);
        let (newest, seen) = watch::channel(0);
        informer.listen(move |delta| {
            let version = delta.new.as_ref().and_then(|new| new.version.parse().ok()).unwrap_or(0);
            newest.send_if_modified(|newest| {
                let is_newer = version > *newest;
                *newest = version.max(*newest);
                is_newer
            });
        });
        Self { informer, seen }
    }

    pub(crate) fn listen(&mut self, listener: impl FnMut(&Delta<T>) + Send + 'static) {
        self.informer.listen(listener);
    }

    /// Puts every object that changes on the line.
    pub(crate) fn line_up(&mut self, line: &Line) {
        let line = Arc::clone(line);
        self.listen(move |delta| line.add(delta.key.clone()));
    }

    /// Puts the object that manages a changed one on the line, if it is of that kind.
    pub(crate) fn line_up_owners<O: Object>(&mut self, line: &Line) {
        let line = Arc::clone(line);
        self.listen(move |delta| {
            for side in delta.old.iter().chain(&delta.new) {
                if let Some(owner) = controller_of(&*side.object).filter(|owner| owner.kind == O::KIND) {
                    line.add(Key::new(Arc::clone(&delta.key.namespace), owner.name.as_str()));
                }
            }
        });
    }

    pub(crate) fn view(&self) -> View<T> {
        View { store: self.informer.store(), seen: self.seen.clone() }
    }

    fn start(self, client: Client, tasks: &mut JoinSet<()>) -> watch::Receiver<bool> {
        let synced = self.informer.synced();
        tasks.spawn(self.informer.run(client));
        synced
    }
}

/// All objects of a kind, as they were seen last.
#[derive(Debug)]
pub(crate) struct View<T> {
    pub(crate) store: Arc<Store<T>>,
    seen: watch::Receiver<u64>,
}

impl<T: Object> View<T> {
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<T>> {
        self.store.get(key).map(|stored| stored.object)
    }

    /// Waits until what was just written is seen here, so that the next look does not take it for missing.
    pub(crate) async fn until_seen(&self, written: &T) {
        let Ok(version) = written.metadata().resource_version.parse::<u64>() else { return };
        let mut seen = self.seen.clone();
        // An informer that is gone, or had to list again, may never tell.
        drop(tokio::time::timeout(SEEN_WITHIN, seen.wait_for(|newest| *newest >= version)).await);
    }
}

/// The pods that an owner manages, in order of their names.
#[derive(Debug)]
pub(crate) struct OwnedPods {
    pub(crate) pods: View<Pod>,
    index: Index,
}

impl OwnedPods {
    /// Those of the owner of that kind and name, whichever identity it has.
    pub(crate) fn named(&self, kind: &str, key: &Key) -> Vec<Arc<Pod>> {
        let found = self.pods.store.find(self.index, &format!("{kind}/{key}"));
        found.into_iter().map(|(_, stored)| stored.object).collect()
    }
}

fn owner_values(pod: &Pod) -> Vec<String> {
    let owner = controller_of(pod);
    owner.map(|owner| format!("{}/{}/{}", owner.kind, pod.metadata.namespace, owner.name)).into_iter().collect()
}

/// All informers.
pub(crate) struct Feeds {
    pub(crate) nodes: Feed<Node>,
    pub(crate) pods: Feed<Pod>,
    pub(crate) jobs: Feed<Job>,
    pods_by_owner: Index,
}

impl Feeds {
    pub(crate) fn new() -> Self {
        let pods = Feed::new();
        let pods_by_owner = pods.view().store.index(owner_values);
        Self { nodes: Feed::new(), pods, jobs: Feed::new(), pods_by_owner }
    }

    pub(crate) fn owned_pods(&self) -> OwnedPods {
        OwnedPods { pods: self.pods.view(), index: self.pods_by_owner }
    }

    /// Starts all of them, and waits until everything that exists was told.
    pub(crate) async fn run(self, client: &Client, tasks: &mut JoinSet<()>) {
        let all = [
            self.nodes.start(client.clone(), tasks),
            self.pods.start(client.clone(), tasks),
            self.jobs.start(client.clone(), tasks),
        ];
        for mut synced in all {
            // An informer that is gone tells nothing more; then everything ends.
            drop(synced.wait_for(|synced| *synced).await);
        }
    }
}
