//! One informer per kind, shared by all who care for it.

use std::sync::Arc;

use kueue_api::core_v1::{LimitRange, Namespace, PriorityClass, RuntimeClass};
use kueue_api::kueue::v1beta2::{
    AdmissionCheck, ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Topology, Workload, WorkloadPriorityClass,
};
use kueue_api::meta::Object;
use kueue_controllers::feed::{feed, feed_limit_ranges, feed_runtime_classes, feed_workloads};
use kueue_controllers::local_queue::queue_values;
use kueue_controllers::owner::Input;
use kueue_controllers::priority_class::class_values;
use kueue_jobs::kinds::pod::{self, Pod};
use kueue_jobs::reconciler::{Stores, owner_values};
use kueue_runtime::client::Client;
use kueue_runtime::informer::{Index, Informer, Unseen};
use kueue_runtime::watch;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use crate::alike::Alike;

/// Starts an informer.
type Start = Box<dyn FnOnce(Client, &mut JoinSet<()>) + Send>;

/// Informers that do not run yet, so that everybody can still begin to listen.
pub(crate) struct Informers {
    pub(crate) namespaces: Informer<Namespace>,
    pub(crate) flavors: Informer<ResourceFlavor>,
    pub(crate) checks: Informer<AdmissionCheck>,
    pub(crate) topologies: Informer<Topology>,
    pub(crate) cohorts: Informer<Cohort>,
    pub(crate) cluster_queues: Informer<ClusterQueue>,
    pub(crate) local_queues: Informer<LocalQueue>,
    pub(crate) workloads: Informer<Workload>,
    pub(crate) limit_ranges: Informer<LimitRange>,
    pub(crate) runtime_classes: Informer<RuntimeClass>,
    pub(crate) workload_priority_classes: Informer<WorkloadPriorityClass>,
    pub(crate) priority_classes: Informer<PriorityClass>,
    /// What job reconcilers did to Workloads.
    unseen_workloads: Arc<Unseen<Workload>>,
    /// Workloads by their owners.
    by_owner: Index,
    /// Workloads by their WorkloadPriorityClass.
    pub(crate) by_class: Index,
    /// LocalQueues by their ClusterQueue.
    pub(crate) by_cluster_queue: Index,
    /// Pods as far as their admission goes; watched when somebody asks for them.
    pods: Option<Informer<Pod>>,
    /// Those of other kinds.
    others: Vec<(watch::Receiver<bool>, Start)>,
    /// Those of kinds that the API server may not know yet: nobody waits for all of them.
    late: Vec<Start>,
}

fn informer<T: Object + Send + Sync + 'static>() -> Informer<T> {
    Informer::whole()
}

impl Informers {
    /// All of them, telling the engine's owner what it needs.
    pub(crate) fn new(inputs: &UnboundedSender<Input>) -> Self {
        let mut alike = Alike::default();
        let workloads = Informer::sharing(move |object, last| alike.compact(&object, last));
        let by_owner = workloads.store().index(owner_values);
        let by_class = workloads.store().index(class_values);
        let local_queues = informer::<LocalQueue>();
        let by_cluster_queue = local_queues.store().index(queue_values);
        let mut all = Self {
            namespaces: informer(),
            flavors: informer(),
            checks: informer(),
            topologies: informer(),
            cohorts: informer(),
            cluster_queues: informer(),
            local_queues,
            unseen_workloads: Arc::new(Unseen::new(workloads.store())),
            workloads,
            limit_ranges: informer(),
            runtime_classes: informer(),
            workload_priority_classes: informer(),
            priority_classes: informer(),
            by_owner,
            by_class,
            by_cluster_queue,
            pods: None,
            others: Vec::new(),
            late: Vec::new(),
        };
        let unseen = Arc::clone(&all.unseen_workloads);
        all.workloads.listen(move |delta| unseen.on_delta(delta));
        feed(&mut all.namespaces, inputs.clone());
        feed(&mut all.flavors, inputs.clone());
        feed(&mut all.checks, inputs.clone());
        feed(&mut all.topologies, inputs.clone());
        feed(&mut all.cohorts, inputs.clone());
        feed(&mut all.cluster_queues, inputs.clone());
        feed(&mut all.local_queues, inputs.clone());
        feed_limit_ranges(&mut all.limit_ranges, inputs.clone());
        feed_runtime_classes(&mut all.runtime_classes, inputs.clone());
        feed_workloads(&mut all.workloads, inputs.clone());
        all
    }

    /// Pods, for whoever admits them or lets them run.
    pub(crate) fn pods(&mut self) -> &mut Informer<Pod> {
        self.pods.get_or_insert_with(|| Informer::new(pod::project))
    }

    /// What jobs of all kinds are looked at with.
    pub(crate) fn stores(&self) -> Stores {
        Stores {
            workloads: self.workloads.store(),
            unseen: Arc::clone(&self.unseen_workloads),
            by_owner: self.by_owner,
            namespaces: self.namespaces.store(),
            flavors: self.flavors.store(),
            workload_priority_classes: self.workload_priority_classes.store(),
            priority_classes: self.priority_classes.store(),
        }
    }

    /// Runs the informer of a kind whose API may come later. Who needs what it shows waits for it to be synced.
    pub(crate) fn add_late<T: Object + Send + Sync + 'static>(
        &mut self,
        informer: Informer<T>,
    ) -> watch::Receiver<bool> {
        let (synced, start) = prepare(informer.optional());
        self.late.push(start);
        synced
    }

    /// Runs the informer of another kind together with those that there always are.
    pub(crate) fn add<T: Object + Send + Sync + 'static>(&mut self, informer: Informer<T>) {
        self.others.push(prepare(informer));
    }

    /// Starts all of them. The future ends when everything that exists was told.
    pub(crate) fn run(self, client: &Client, tasks: &mut JoinSet<()>) -> impl Future<Output = ()> + use<> {
        let mut all = vec![
            prepare(self.namespaces),
            prepare(self.flavors),
            prepare(self.checks),
            prepare(self.topologies),
            prepare(self.cohorts),
            prepare(self.cluster_queues),
            prepare(self.local_queues),
            prepare(self.limit_ranges),
            prepare(self.runtime_classes),
            prepare(self.workload_priority_classes),
            prepare(self.priority_classes),
            prepare(self.workloads),
        ];
        all.extend(self.pods.map(prepare));
        all.extend(self.others);
        for start in self.late {
            start(client.clone(), tasks);
        }
        let mut synced = Vec::new();
        for (is_synced, start) in all {
            start(client.clone(), tasks);
            synced.push(is_synced);
        }
        async move {
            for mut is_synced in synced {
                // An informer that is gone tells nothing more; then everything ends.
                drop(is_synced.wait_for(|is_synced| *is_synced).await);
            }
        }
    }
}

fn prepare<T: Object + Send + Sync + 'static>(informer: Informer<T>) -> (watch::Receiver<bool>, Start) {
    let start =
        |informer: Informer<T>| -> Start { Box::new(move |client, tasks| drop(tasks.spawn(informer.run(client)))) };
    (informer.synced(), start(informer))
}

/// The informer of a kind that nobody else has.
pub(crate) fn new<T: Object + Send + Sync + 'static>() -> (Informer<T>, Arc<kueue_runtime::informer::Store<T>>) {
    let informer = informer();
    let store = informer.store();
    (informer, store)
}
