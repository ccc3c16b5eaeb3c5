//! The controller that forces pods off lost nodes, connected to what it depends on.

use std::sync::Arc;

use kueue_api::core_v1::{Node, Pod};
use kueue_api::kueue::names::EVENT_SOURCE_POD_TERMINATION;
use kueue_controllers::failure_recovery::{
    StuckPods, forceable_on, is_newly_forceable, is_newly_unreachable, node_values,
};
use kueue_core::gates::{Gate, Gates};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use kueue_runtime::reconciler::starter;
use tokio::task::JoinSet;

use crate::informers::{self, Informers};
use crate::{Shared, at_once};

/// Watches pods and nodes where that is asked for; returns what begins to look at them.
pub(crate) fn connect(shared: &Shared, gates: Gates, informers: &mut Informers) -> impl Fn(&mut JoinSet<()>) + use<> {
    let is_wanted = gates.enabled(Gate::FailureRecoveryPolicy);
    let start = is_wanted.then(|| {
        let line: Arc<WorkQueue<Key>> = Arc::default();
        let (mut pods, pod_store) = informers::new::<Pod>();
        let (mut nodes, node_store) = informers::new::<Node>();
        let by_node = pod_store.index(node_values);
        let queue = Arc::clone(&line);
        pods.listen(move |delta| {
            let (old, new) = delta.sides();
            if is_newly_forceable(old, new) {
                queue.add(delta.key.clone());
            }
        });
        let (queue, store) = (Arc::clone(&line), Arc::clone(&pod_store));
        nodes.listen(move |delta| {
            let (old, new) = delta.sides();
            if is_newly_unreachable(old, new) {
                forceable_on(&store, by_node, &delta.key).into_iter().for_each(|key| queue.add(key));
            }
        });
        informers.add(pods);
        informers.add(nodes);
        let reconciler = StuckPods {
            client: shared.client.clone(),
            clock: shared.clock,
            recorder: shared.recorder.named(EVENT_SOURCE_POD_TERMINATION),
            pods: pod_store,
            nodes: node_store,
        };
        starter(line, reconciler, at_once(&shared.config, "Pod"), &shared.meters)
    });
    move |tasks| start.iter().for_each(|start| start(tasks))
}
