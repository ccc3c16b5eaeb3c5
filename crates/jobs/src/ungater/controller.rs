//! Looks at the pods of one elastic job at a time.

use std::sync::Arc;
use std::time::Duration;

use kueue_api::kueue::names::{FIELD_MANAGER_KUEUE, SCHEDULING_GATE_ELASTIC_JOB};
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::slices;
use kueue_core::gates::Gates;
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::informer::{Delta, Index, Store};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use kueue_runtime::reconciler::{Next, Reconciler};

use super::{active, lets_run, slice_name, ungate};
use crate::kinds::pod::Pod;
use crate::opened::{OnOpened, Opened};

/// Pods come in bursts: a look waits for so long after one of them changed.
const BURST: Duration = Duration::from_secs(1);

/// By what the slices of an elastic job are found: the name of the first of them.
pub fn slice_values(workload: &Workload) -> Vec<String> {
    vec![format!("{}/{}", workload.metadata.namespace, slices::slice_name(workload))]
}

/// By what the pods of an elastic job are found: the same name.
pub fn pod_slice_values(pod: &Pod) -> Vec<String> {
    slice_name(pod).map(|name| format!("{}/{name}", pod.metadata.namespace)).into_iter().collect()
}

/// Asks for a look at the job whose slice may let pods run.
pub fn queue_slice(delta: &Delta<Workload>, gates: Gates, queue: &WorkQueue<Key>) {
    if let Some(workload) = delta.new.as_ref().filter(|workload| lets_run(&workload.object, gates)) {
        queue.add(Key::new(Arc::clone(&delta.key.namespace), slices::slice_name(&workload.object)));
    }
}

/// Asks for a look at the job whose pod something happened to.
pub fn queue_pod(delta: &Delta<Pod>, queue: &WorkQueue<Key>) {
    let pod = delta.new.as_ref().or(delta.old.as_ref());
    if let Some(name) = pod.and_then(|pod| slice_name(&pod.object)) {
        queue.add_after(Key::new(Arc::clone(&delta.key.namespace), name), BURST);
    }
}

/// Lets pods of elastic jobs run. Keys are names of first slices.
pub struct Ungater {
    pub client: Client,
    pub clock: Clock,
    pub gates: Gates,
    pub workloads: Arc<Store<Workload>>,
    /// Finds Workloads by [`slice_values`].
    pub by_slice: Index,
    pub pods: Arc<Store<Pod>>,
    /// Finds pods by [`pod_slice_values`].
    pub pods_by_slice: Index,
    pub on_opened: OnOpened,
}

impl std::fmt::Debug for Ungater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ungater").field("gates", &self.gates).finish_non_exhaustive()
    }
}

impl Reconciler<Key> for Ungater {
    fn name(&self) -> &'static str {
        "elastic_job_ungater"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let value = format!("{}/{}", key.namespace, key.name);
        let slices = self.workloads.find(self.by_slice, &value);
        let slices = slices.into_iter().map(|(_, slice)| (*slice.object).clone());
        let Some(active) = active(slices, self.gates) else { return Ok(Next::Done) };
        let pods = self.pods.find(self.pods_by_slice, &value);
        let pods: Vec<Arc<Pod>> = pods.into_iter().map(|(_, pod)| pod.object).collect();
        let free = ungate(&active, &pods).map_err(|contradiction| Failure::Missing(contradiction.to_string()))?;
        for (old, new) in free {
            // The version that was read goes along: a pod that was let go already, or is gone, is not touched twice.
            let Some(patch) = Patch::between(&*old, &new, FIELD_MANAGER_KUEUE) else { continue };
            match self.client.patch::<Pod>(&Key::of(&*old), &patch).await {
                Ok(_) => {
                    let opened = Opened::now(SCHEDULING_GATE_ELASTIC_JOB, false, &active, self.clock.time());
                    opened.iter().for_each(|opened| (self.on_opened)(opened));
                }
                Err(failure) if failure.is_not_found() => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(Next::Done)
    }
}
