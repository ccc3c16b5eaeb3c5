//! Placement in topologies: nodes and pods are told to the engine, and pods follow what it decides.

use std::sync::Arc;
use std::time::Duration;

use kueue_api::core_v1::{Node, Pod};
use kueue_controllers::feed::feed;
use kueue_controllers::owner::Input;
use kueue_controllers::topology::pods::{asks_for_place, is_gated, workload_of};
use kueue_controllers::topology::ungater::{Expected, is_placed};
use kueue_controllers::topology::{Stranded, Ungater, feed_pods, hostname_values, slice_values};
use kueue_core::gates::{Gate, Gates};
use kueue_jobs::opened::OnOpened;
use kueue_runtime::informer::{Delta, Informer};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use kueue_runtime::reconciler::starter;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use crate::informers::{self, Informers};
use crate::{Shared, at_once};

/// Pods of one Workload come together; they are looked at after so long.
const BATCH_OF_PODS: Duration = Duration::from_secs(1);
/// The same for pods that wait for one node.
const BATCH_OF_NODE: Duration = Duration::from_millis(100);

type Line = Arc<WorkQueue<Key>>;

/// Watches nodes and pods, where topologies are of interest at all; returns what begins to look at them.
pub(crate) fn connect(
    shared: &Shared,
    gates: Gates,
    informers: &mut Informers,
    inputs: &UnboundedSender<Input>,
    on_opened: &OnOpened,
) -> impl Fn(&mut JoinSet<()>) + use<> {
    let is_on = gates.enabled(Gate::TopologyAwareScheduling);
    let start = is_on.then(|| watch(shared, gates, informers, inputs, on_opened));
    move |tasks| start.iter().for_each(|start| start(tasks))
}

fn watch(
    shared: &Shared,
    gates: Gates,
    informers: &mut Informers,
    inputs: &UnboundedSender<Input>,
    on_opened: &OnOpened,
) -> impl Fn(&mut JoinSet<()>) + use<> {
    let (mut nodes, node_store) = informers::new::<Node>();
    let (mut pods, pod_store) = informers::new::<Pod>();
    let (workloads, waiting) = (Line::default(), Line::default());
    feed(&mut nodes, inputs.clone());
    feed_pods(&mut pods, inputs.clone());
    listen(informers, &mut nodes, &mut pods, &workloads, &waiting);
    let (by_slice, by_hostname) = (pod_store.index(slice_values), pod_store.index(hostname_values));
    informers.add(nodes);
    informers.add(pods);
    let ungater = Ungater {
        client: shared.client.clone(),
        clock: shared.clock,
        gates,
        workloads: informers.workloads.store(),
        pods: Arc::clone(&pod_store),
        by_slice,
        expected: Expected::default(),
        on_opened: Arc::clone(on_opened),
    };
    let stranded = Stranded {
        client: shared.client.clone(),
        clock: shared.clock,
        recorder: shared.recorder.named("tas-node-controller"),
        engine: shared.engine.clone(),
        nodes: node_store,
        pods: pod_store,
        by_hostname,
    };
    let ungater = starter(workloads, ungater, at_once(&shared.config, "Workload.kueue.x-k8s.io"), &shared.meters);
    let stranded = starter(waiting, stranded, at_once(&shared.config, "Node"), &shared.meters);
    move |tasks| {
        ungater(tasks);
        stranded(tasks);
    }
}

fn listen(
    informers: &mut Informers,
    nodes: &mut Informer<Node>,
    pods: &mut Informer<Pod>,
    workloads: &Line,
    waiting: &Line,
) {
    let line = Arc::clone(workloads);
    informers.workloads.listen(move |delta| {
        if delta.new.as_ref().is_some_and(|new| is_placed(&new.object)) {
            line.add(delta.key.clone());
        }
    });
    let (of_workloads, of_nodes) = (Arc::clone(workloads), Arc::clone(waiting));
    pods.listen(move |delta: &Delta<Pod>| {
        let Some(pod) = delta.new.as_ref().or(delta.old.as_ref()).map(|stored| &*stored.object) else { return };
        if !asks_for_place(pod) {
            return;
        }
        if let Some(workload) = workload_of(pod) {
            of_workloads.add_after(workload, BATCH_OF_PODS);
        }
        if pod.spec.node_name.is_empty() && !is_gated(pod) {
            for node in hostname_values(pod) {
                of_nodes.add_after(Key::cluster(node.as_str()), BATCH_OF_NODE);
            }
        }
    });
    let line = Arc::clone(waiting);
    nodes.listen(move |delta: &Delta<Node>| {
        let state = |side: &Option<kueue_runtime::informer::Stored<Node>>| {
            let node = &side.as_ref()?.object;
            let ready = node.status.conditions.iter().find(|known| known.r#type == "Ready");
            Some((ready.map(|ready| ready.status.clone()), node.spec.taints.clone()))
        };
        if state(&delta.old) != state(&delta.new) {
            line.add(delta.key.clone());
        }
    });
}
