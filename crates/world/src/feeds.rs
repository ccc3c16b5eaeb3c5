//! One informer per kind, shared by all who care for it, and a way to wait until one's own writes have been seen.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kueue_api::autoscaling::ProvisioningRequest;
use kueue_api::core_v1::PodTemplate;
use kueue_api::meta::Object;
use kueue_runtime::client::Client;
use kueue_runtime::informer::{Delta, Index, Informer, Store};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use kueue_runtime::watch;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::claim::PersistentVolumeClaim;
use crate::kinds::{
    CronJob, DaemonSet, Deployment, EndpointSlice, Endpoints, Job, Namespace, Node, Pod, RayCluster, RayJob,
    RayService, ReplicaSet, Service, ServiceAccount, StatefulSet, controller_of,
};

/// How long one's own write may take to come back before nobody waits for it any longer.
const SEEN_WITHIN: Duration = Duration::from_secs(5);

/// Who has to be looked at.
pub(crate) type Line = Arc<WorkQueue<Key>>;

/// The newest version of a kind that was seen. Not a `watch` channel: that one wakes those who wait in random order.
#[derive(Debug, Default)]
struct Newest {
    version: AtomicU64,
    changed: Notify,
}

impl Newest {
    fn see(&self, version: u64) {
        self.version.fetch_max(version, Ordering::Release);
        self.changed.notify_waiters();
    }

    async fn reaches(&self, version: u64) {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Whoever looks before listening may miss the last change.
            changed.as_mut().enable();
            if self.version.load(Ordering::Acquire) >= version {
                return;
            }
            changed.await;
        }
    }
}

/// An informer that does not run yet.
pub(crate) struct Feed<T> {
    informer: Informer<T>,
    newest: Arc<Newest>,
}

impl<T: Object + Send + Sync + 'static> Feed<T> {
    fn new() -> Self {
        let mut informer: Informer<T> = Informer::whole().optional();
        let newest = Arc::new(Newest::default());
        let told = Arc::clone(&newest);
        informer.listen(move |delta| {
            if let Some(version) = delta.new.as_ref().and_then(|new| new.version.parse().ok()) {
                told.see(version);
            }
        });
        Self { informer, newest }
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
        self.line_up_owners_after::<O>(line, Duration::ZERO);
    }

    /// The same some time later, once for all that change meanwhile.
    pub(crate) fn line_up_owners_after<O: Object>(&mut self, line: &Line, wait: Duration) {
        let line = Arc::clone(line);
        self.listen(move |delta| {
            for side in delta.old.iter().chain(&delta.new) {
                if let Some(owner) = controller_of(&*side.object).filter(|owner| owner.kind == O::KIND) {
                    line.add_after(Key::new(Arc::clone(&delta.key.namespace), owner.name.as_str()), wait);
                }
            }
        });
    }

    pub(crate) fn view(&self) -> View<T> {
        View { store: self.informer.store(), newest: Arc::clone(&self.newest) }
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
    newest: Arc<Newest>,
}

impl<T: Object> View<T> {
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<T>> {
        self.store.get(key).map(|stored| stored.object)
    }

    /// Waits until what was just written is seen here, so that the next look does not take it for missing.
    pub(crate) async fn until_seen(&self, version: &str) {
        let Ok(version) = version.parse::<u64>() else { return };
        // An informer that is gone, or had to list again, may never tell.
        let _ = tokio::time::timeout(SEEN_WITHIN, self.newest.reaches(version)).await;
    }
}

/// Objects that can be found by who manages them.
#[derive(Debug)]
pub(crate) struct Owned<T> {
    pub(crate) view: View<T>,
    index: Index,
}

impl<T: Object> Owned<T> {
    /// Those of the owner of that kind and name, whichever identity it has, in order of their names.
    pub(crate) fn named(&self, kind: &str, key: &Key) -> Vec<Arc<T>> {
        let found = self.view.store.find(self.index, &format!("{kind}/{key}"));
        found.into_iter().map(|(_, stored)| stored.object).collect()
    }
}

fn owner_values<T: Object>(object: &T) -> Vec<String> {
    let owner = controller_of(object);
    let namespace = &object.metadata().namespace;
    owner.map(|owner| format!("{}/{namespace}/{}", owner.kind, owner.name)).into_iter().collect()
}

/// All informers.
pub(crate) struct Feeds {
    pub(crate) nodes: Feed<Node>,
    pub(crate) pods: Feed<Pod>,
    pub(crate) jobs: Feed<Job>,
    pub(crate) cron_jobs: Feed<CronJob>,
    pub(crate) replica_sets: Feed<ReplicaSet>,
    pub(crate) deployments: Feed<Deployment>,
    pub(crate) stateful_sets: Feed<StatefulSet>,
    pub(crate) daemon_sets: Feed<DaemonSet>,
    pub(crate) claims: Feed<PersistentVolumeClaim>,
    pub(crate) namespaces: Feed<Namespace>,
    pub(crate) service_accounts: Feed<ServiceAccount>,
    pub(crate) services: Feed<Service>,
    pub(crate) endpoints: Feed<Endpoints>,
    pub(crate) endpoint_slices: Feed<EndpointSlice>,
    pub(crate) pod_templates: Feed<PodTemplate>,
    // Nobody waits for these: their APIs may be installed later, or never.
    pub(crate) requests: Feed<ProvisioningRequest>,
    pub(crate) ray_clusters: Feed<RayCluster>,
    pub(crate) ray_jobs: Feed<RayJob>,
    pub(crate) ray_services: Feed<RayService>,
    pods_by_owner: Index,
    jobs_by_owner: Index,
    replica_sets_by_owner: Index,
}

impl Feeds {
    pub(crate) fn new() -> Self {
        let (pods, jobs, replica_sets) = (Feed::new(), Feed::new(), Feed::new());
        Self {
            pods_by_owner: pods.view().store.index(owner_values),
            jobs_by_owner: jobs.view().store.index(owner_values),
            replica_sets_by_owner: replica_sets.view().store.index(owner_values),
            nodes: Feed::new(),
            pods,
            jobs,
            cron_jobs: Feed::new(),
            replica_sets,
            deployments: Feed::new(),
            stateful_sets: Feed::new(),
            daemon_sets: Feed::new(),
            claims: Feed::new(),
            namespaces: Feed::new(),
            service_accounts: Feed::new(),
            services: Feed::new(),
            endpoints: Feed::new(),
            endpoint_slices: Feed::new(),
            pod_templates: Feed::new(),
            requests: Feed::new(),
            ray_clusters: Feed::new(),
            ray_jobs: Feed::new(),
            ray_services: Feed::new(),
        }
    }

    pub(crate) fn owned_pods(&self) -> Owned<Pod> {
        Owned { view: self.pods.view(), index: self.pods_by_owner }
    }

    pub(crate) fn owned_jobs(&self) -> Owned<Job> {
        Owned { view: self.jobs.view(), index: self.jobs_by_owner }
    }

    pub(crate) fn owned_replica_sets(&self) -> Owned<ReplicaSet> {
        Owned { view: self.replica_sets.view(), index: self.replica_sets_by_owner }
    }

    /// Starts all of them, and waits until everything that exists was told.
    pub(crate) async fn run(self, client: &Client, tasks: &mut JoinSet<()>) {
        let all = [
            self.nodes.start(client.clone(), tasks),
            self.pods.start(client.clone(), tasks),
            self.jobs.start(client.clone(), tasks),
            self.cron_jobs.start(client.clone(), tasks),
            self.replica_sets.start(client.clone(), tasks),
            self.deployments.start(client.clone(), tasks),
            self.stateful_sets.start(client.clone(), tasks),
            self.daemon_sets.start(client.clone(), tasks),
            self.claims.start(client.clone(), tasks),
            self.namespaces.start(client.clone(), tasks),
            self.service_accounts.start(client.clone(), tasks),
            self.services.start(client.clone(), tasks),
            self.endpoints.start(client.clone(), tasks),
            self.endpoint_slices.start(client.clone(), tasks),
            self.pod_templates.start(client.clone(), tasks),
        ];
        self.requests.start(client.clone(), tasks);
        self.ray_clusters.start(client.clone(), tasks);
        self.ray_jobs.start(client.clone(), tasks);
        self.ray_services.start(client.clone(), tasks);
        for mut synced in all {
            // An informer that is gone tells nothing more; then everything ends.
            drop(synced.wait_for(|synced| *synced).await);
        }
    }
}
