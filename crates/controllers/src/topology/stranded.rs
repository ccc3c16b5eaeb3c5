//! Pods that were sent to a node which takes no pods any more: they would wait for ever, so they are ended, and their
//! job makes new ones.

use std::sync::Arc;

use kueue_api::core_v1::{Node, Pod};
use kueue_api::kueue::names::FIELD_MANAGER_KUEUE;
use kueue_api::meta::Object;
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::informer::{Index, Store};
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{Next, Reconciler};
use serde_json::{Value, json};

use super::pods::{is_gated, workload_of};
use crate::owner::Handle;

const MESSAGE: &str = "Pod terminated by Kueue NodeController due to node taint";

/// The pods that wait for a node, with the Workloads they belong to.
pub fn waiting_pods<'p>(pods: impl IntoIterator<Item = &'p Pod>) -> Vec<(&'p Pod, Key)> {
    let waits = |pod: &&Pod| pod.spec.node_name.is_empty() && pod.status.phase == "Pending" && !is_gated(pod);
    pods.into_iter().filter(waits).filter_map(|pod| Some((pod, workload_of(pod)?))).collect()
}

/// What ends a pod, to be applied: other conditions of the pod stay as they are.
pub fn ended(pod: &Pod, now: kueue_core::time::Time) -> Value {
    let meta = &pod.metadata;
    json!({
        "apiVersion": Pod::api_version(),
        "kind": Pod::KIND,
        "metadata": {"namespace": meta.namespace, "name": meta.name, "uid": meta.uid},
        "status": {"phase": "Failed", "conditions": [{
            "type": "TerminatedByKueue",
            "status": "True",
            "reason": "UnschedulableOnAssignedNode",
            "message": MESSAGE,
            "lastTransitionTime": now,
        }]},
    })
}

/// Ends pods, one node at a time.
#[derive(Debug)]
pub struct Stranded {
    pub client: Client,
    pub clock: Clock,
    pub recorder: Recorder,
    pub engine: Handle,
    pub nodes: Arc<Store<Node>>,
    pub pods: Arc<Store<Pod>>,
    /// Pods by [`hostname_values`](super::hostname_values).
    pub by_hostname: Index,
}

impl Reconciler<Key> for Stranded {
    fn name(&self) -> &'static str {
        "tas_node_controller"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        // Where the node is gone, the Workload is placed anew and its job ends the pods.
        if self.nodes.get(key).is_none() {
            return Ok(Next::Done);
        }
        let pods: Vec<Arc<Pod>> =
            self.pods.find(self.by_hostname, &key.name).into_iter().map(|(_, stored)| stored.object).collect();
        for (pod, workload) in waiting_pods(pods.iter().map(|pod| &**pod)) {
            let node = Arc::clone(&key.name);
            let workload = kueue_engine::Key { namespace: workload.namespace, name: workload.name };
            let is_stranded = self.engine.ask(move |engine| engine.strands_pods(&workload, &node)).await;
            if is_stranded != Some(true) {
                continue;
            }
            let patch = Patch::apply(ended(pod, self.clock.time()), FIELD_MANAGER_KUEUE).of_status();
            match self.client.patch::<Pod>(&Key::of(pod), &patch).await {
                Ok(_) => self.recorder.record(Event {
                    regarding: Regarding::of(pod),
                    is_warning: false,
                    reason: "PodTerminatedByKueue".to_owned(),
                    note: MESSAGE.to_owned(),
                }),
                Err(failure) if failure.is_not_found() => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(Next::Done)
    }
}
