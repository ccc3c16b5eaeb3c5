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
use kueue_runtime::client::Client;
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
/// Where the API server is slow to answer, they follow later, but at the latest after so long: nobody decides by them, and
/// what they cost is taken from what was decided.
const BATCH_AT_MOST: Duration = Duration::from_secs(5);
/// So many answers of the API server fit between two statuses of a queue.
const ANSWERS_BETWEEN: u32 = 100;
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
    listen(informers, &lines, &shared.client);
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
    tasks.spawn(forward(touched, lines.clone(), queues_and_cohorts, shares_fairly, client.clone()));
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

fn listen(informers: &mut Informers, lines: &Lines, client: &Client) {
    let (line, asked) = (Arc::clone(&lines.cluster_queues), client.clone());
    informers.cluster_queues.listen(move |delta| look_at(&line, delta, batch(asked.latency())));
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
    let (line, asked) = (Arc::clone(&lines.local_queues), client.clone());
    informers.local_queues.listen(move |delta| look_at(&line, delta, batch(asked.latency())));
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

/// How long after something happened in a queue its status is written, with answers of the API server after so long.
fn batch(latency: Duration) -> Duration {
    (latency * ANSWERS_BETWEEN).clamp(BATCH, BATCH_AT_MOST)
}

/// A queue changed. Where that is only its status, it most likely shows what we wrote: the next one is not due before
/// its time.
fn look_at<T: Object>(line: &Line, delta: &Delta<T>, batch: Duration) {
    let wanted = |queue: &T| {
        let ObjectMeta { generation, deletion_timestamp, finalizers, .. } = queue.metadata();
        (*generation, *deletion_timestamp, finalizers.clone())
    };
    let (old, new) = delta.sides();
    let is_status = old.is_some() && old.map(wanted) == new.map(wanted);
    line.add_after(delta.key.clone(), if is_status { batch } else { Duration::ZERO });
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
    client: Client,
) {
    while let Some(touched) = touched.recv().await {
        let batch = batch(client.latency());
        match touched {
            Touched::LocalQueue(key) => lines.local_queues.add_after(key, batch),
            Touched::ClusterQueue(name) => {
                if shares_fairly && let Some(queue) = cluster_queues.named(&name) {
                    let mut above = queue.spec.cohort_name.clone();
                    for _ in 0..MOST_ANCESTORS {
                        let Some(cohort) = cohorts.named(&above) else { break };
                        lines.cohorts.add_after(Key::cluster(above.as_str()), batch);
                        above.clone_from(&cohort.spec.parent_name);
                    }
                }
                lines.cluster_queues.add_after(Key::cluster(name), batch);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_the_server_the_rarer_statuses_but_never_later_than_the_bound() {
        let waits = [0, 5, 10, 30, 50, 60_000].map(|latency| batch(Duration::from_millis(latency)).as_millis());
        assert_eq!(waits, [1000, 1000, 1000, 3000, 5000, 5000]);
    }
}
