//! The controllers of queues and of what queues refer to, connected to what they depend on.

use std::sync::Arc;
use std::time::Duration;

use kueue_api::kueue::v1beta2::{AdmissionCheck, ClusterQueue, Cohort, ResourceFlavor, Topology};
use kueue_api::meta::{Object, ObjectMeta};
use kueue_controllers::cluster_queue::ClusterQueues;
use kueue_controllers::cohort::{Cohorts, has_new_spec};
use kueue_controllers::guard::{Guarded, Guards, has_other_references, references};
use kueue_controllers::local_queue::LocalQueues;
use kueue_controllers::owner::Touched;
use kueue_controllers::priority_class::{PriorityClasses, has_new_value};
use kueue_runtime::informer::{Delta, Informer, Store};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use kueue_runtime::reconciler::starter;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use crate::informers::Informers;
use crate::{Shared, at_once};

/// Statuses of queues follow what happens in them after so long, so that a burst is one write.
const BATCH: Duration = Duration::from_secs(1);
/// More cohorts above each other than anybody has; a cycle ends here.
const MOST_ANCESTORS: usize = 100;

type Line = Arc<WorkQueue<Key>>;

/// Whom to look at.
#[derive(Clone, Default)]
struct Lines {
    cluster_queues: Line,
    local_queues: Line,
    cohorts: Line,
    flavors: Line,
    checks: Line,
    topologies: Line,
    priority_classes: Line,
}

/// Listens to whatever concerns queues, from now on; returns what begins to look at them.
pub(crate) fn connect(
    shared: &Shared,
    informers: &mut Informers,
    touched: UnboundedReceiver<Touched>,
    tasks: &mut JoinSet<()>,
) -> impl Fn(&mut JoinSet<()>) + use<> {
    let lines = Lines::default();
    listen(informers, &lines);
    let (client, clock, engine) = (shared.client.clone(), shared.clock, shared.engine.clone());
    let shares_fairly = shared.config.fair_sharing.is_some();
    let flavors = informers.flavors.store();
    let cluster_queues = ClusterQueues {
        client: client.clone(),
        clock,
        engine: engine.clone(),
        objects: informers.cluster_queues.store(),
        shares_fairly,
    };
    let local_queues = LocalQueues {
        client: client.clone(),
        clock,
        engine: engine.clone(),
        objects: informers.local_queues.store(),
        cluster_queues: informers.cluster_queues.store(),
    };
    let cohorts =
        Cohorts { client: client.clone(), engine: engine.clone(), objects: informers.cohorts.store(), shares_fairly };
    let priority_classes = PriorityClasses {
        client: client.clone(),
        classes: informers.workload_priority_classes.store(),
        workloads: informers.workloads.store(),
        by_class: informers.by_class,
    };
    let guard_flavors = guards(shared, &informers.flavors, &flavors);
    let guard_checks = guards(shared, &informers.checks, &flavors);
    let guard_topologies = guards(shared, &informers.topologies, &flavors);
    let queues_and_cohorts = (informers.cluster_queues.store(), informers.cohorts.store());
    tasks.spawn(forward(touched, lines.clone(), queues_and_cohorts, shares_fairly));
    let at_once = |kind: &str| at_once(&shared.config, &format!("{kind}.kueue.x-k8s.io"));
    let (of_cluster_queues, of_local_queues) = (at_once("ClusterQueue"), at_once("LocalQueue"));
    let cluster_queues = starter(lines.cluster_queues, cluster_queues, of_cluster_queues, &shared.meters);
    let local_queues = starter(lines.local_queues, local_queues, of_local_queues, &shared.meters);
    let cohorts = starter(lines.cohorts, cohorts, 1, &shared.meters);
    let priority_classes = starter(lines.priority_classes, priority_classes, 1, &shared.meters);
    let flavors = starter(lines.flavors, guard_flavors, 1, &shared.meters);
    let checks = starter(lines.checks, guard_checks, 1, &shared.meters);
    let topologies = starter(lines.topologies, guard_topologies, 1, &shared.meters);
    move |tasks| {
        cluster_queues(tasks);
        local_queues(tasks);
        cohorts(tasks);
        priority_classes(tasks);
        flavors(tasks);
        checks(tasks);
        topologies(tasks);
    }
}

fn guards<T: Guarded>(shared: &Shared, informer: &Informer<T>, flavors: &Arc<Store<ResourceFlavor>>) -> Guards<T> {
    let (client, engine) = (shared.client.clone(), shared.engine.clone());
    Guards { client, engine, objects: informer.store(), flavors: Arc::clone(flavors) }
}

fn listen(informers: &mut Informers, lines: &Lines) {
    let line = Arc::clone(&lines.cluster_queues);
    informers.cluster_queues.listen(move |delta| look_at(&line, delta));
    let (flavors, checks) = (Arc::clone(&lines.flavors), Arc::clone(&lines.checks));
    informers.cluster_queues.listen(move |delta| queue_references(delta, &flavors, &checks));
    // What jobs are told about a LocalQueue depends on the ClusterQueue behind it.
    let (line, store, index) =
        (Arc::clone(&lines.local_queues), informers.local_queues.store(), informers.by_cluster_queue);
    informers.cluster_queues.listen(move |delta| {
        let (old, new) = delta.sides();
        if old.map(|queue| &queue.status.conditions) == new.map(|queue| &queue.status.conditions) {
            return;
        }
        for (key, _) in store.find(index, &delta.key.name) {
            line.add(key);
        }
    });
    let line = Arc::clone(&lines.local_queues);
    informers.local_queues.listen(move |delta| look_at(&line, delta));
    let line = Arc::clone(&lines.cohorts);
    informers.cohorts.listen(move |delta| {
        let (old, new) = delta.sides();
        if has_new_spec(old, new) {
            line.add(delta.key.clone());
        }
    });
    let line = Arc::clone(&lines.flavors);
    informers.flavors.listen(move |delta: &Delta<ResourceFlavor>| line.add(delta.key.clone()));
    let line = Arc::clone(&lines.topologies);
    informers.flavors.listen(move |delta: &Delta<ResourceFlavor>| {
        for flavor in delta.old.iter().chain(&delta.new) {
            if let Some(topology) = &flavor.object.spec.topology_name {
                line.add(Key::cluster(topology.as_str()));
            }
        }
    });
    let line = Arc::clone(&lines.checks);
    informers.checks.listen(move |delta: &Delta<AdmissionCheck>| line.add(delta.key.clone()));
    let line = Arc::clone(&lines.topologies);
    informers.topologies.listen(move |delta: &Delta<Topology>| line.add(delta.key.clone()));
    let line = Arc::clone(&lines.priority_classes);
    informers.workload_priority_classes.listen(move |delta| {
        let (old, new) = delta.sides();
        if has_new_value(old, new) {
            line.add(delta.key.clone());
        }
    });
}

/// A queue changed. Where that is only its status, it most likely shows what we wrote: the next one is not due before
/// its time.
fn look_at<T: Object>(line: &Line, delta: &Delta<T>) {
    let wanted = |queue: &T| {
        let ObjectMeta { generation, deletion_timestamp, finalizers, .. } = queue.metadata();
        (*generation, *deletion_timestamp, finalizers.clone())
    };
    let (old, new) = delta.sides();
    let is_status = old.is_some() && old.map(wanted) == new.map(wanted);
    line.add_after(delta.key.clone(), if is_status { BATCH } else { Duration::ZERO });
}

/// What a ClusterQueue refers to, or did, may be free to go.
fn queue_references(delta: &Delta<ClusterQueue>, flavors: &Line, checks: &Line) {
    let (old, new) = delta.sides();
    if !has_other_references(old, new) {
        return;
    }
    for queue in old.into_iter().chain(new) {
        let (of_flavors, of_checks) = references(queue);
        of_flavors.into_iter().for_each(|flavor| flavors.add_after(Key::cluster(flavor), BATCH));
        of_checks.into_iter().for_each(|check| checks.add_after(Key::cluster(check), BATCH));
    }
}

/// Passes on which queues the engine's owner touched.
async fn forward(
    mut touched: UnboundedReceiver<Touched>,
    lines: Lines,
    (cluster_queues, cohorts): (Arc<Store<ClusterQueue>>, Arc<Store<Cohort>>),
    shares_fairly: bool,
) {
    while let Some(touched) = touched.recv().await {
        match touched {
            Touched::LocalQueue(key) => lines.local_queues.add_after(key, BATCH),
            Touched::ClusterQueue(name) => {
                if shares_fairly && let Some(queue) = cluster_queues.named(&name) {
                    let mut above = queue.spec.cohort_name.clone();
                    for _ in 0..MOST_ANCESTORS {
                        let Some(cohort) = cohorts.named(&above) else { break };
                        lines.cohorts.add_after(Key::cluster(above.as_str()), BATCH);
                        above.clone_from(&cohort.spec.parent_name);
                    }
                }
                lines.cluster_queues.add_after(Key::cluster(name), BATCH);
            }
        }
    }
}
