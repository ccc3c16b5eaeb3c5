//! Pods of elastic jobs, let run as their slices are admitted.

use std::sync::Arc;

use kueue_core::gates::{Gate, Gates};
use kueue_jobs::opened::OnOpened;
use kueue_jobs::ungater::controller::{Ungater, pod_slice_values, queue_pod, queue_slice, slice_values};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use kueue_runtime::reconciler::starter;
use tokio::task::JoinSet;

use crate::informers::Informers;
use crate::{Shared, at_once};

/// Watches pods and slices; returns what begins to look at them. Without the gate nobody does.
pub(crate) fn connect(
    shared: &Shared,
    informers: &mut Informers,
    gates: Gates,
    on_opened: OnOpened,
) -> impl Fn(&mut JoinSet<()>) + use<> {
    let connected = gates.enabled(Gate::ElasticJobsViaWorkloadSlices).then(|| {
        let queue: Arc<WorkQueue<Key>> = Arc::default();
        let pods = informers.pods();
        pods.listen({
            let queue = Arc::clone(&queue);
            move |delta| queue_pod(delta, &queue)
        });
        let store = pods.store();
        informers.workloads.listen({
            let queue = Arc::clone(&queue);
            move |delta| queue_slice(delta, gates, &queue)
        });
        let workloads = informers.workloads.store();
        let ungater = Ungater {
            client: shared.client.clone(),
            clock: shared.clock,
            gates,
            by_slice: workloads.index(slice_values),
            workloads,
            pods_by_slice: store.index(pod_slice_values),
            pods: store,
            on_opened,
        };
        starter(queue, ungater, at_once(&shared.config, "Workload.kueue.x-k8s.io"), &shared.meters)
    });
    move |tasks| connected.iter().for_each(|start| start(tasks))
}
