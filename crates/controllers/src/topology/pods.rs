//! What pods mean for placement: room that they take, and nodes on which a Workload is at work.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kueue_api::core_v1::Pod;
use kueue_api::kueue::names::{HOSTNAME_LABEL, SCHEDULING_GATE_TOPOLOGY, annotation};
use kueue_engine::Change;
use kueue_runtime::informer::Informer;
use kueue_runtime::key::Key;
use tokio::sync::mpsc::UnboundedSender;

use crate::owner::{Input, Source};

/// Annotations that only pods have which ask for a place.
const ASKS_FOR_PLACE: [&str; 5] = [
    annotation::REQUIRED_TOPOLOGY,
    annotation::PREFERRED_TOPOLOGY,
    annotation::UNCONSTRAINED_TOPOLOGY,
    annotation::SLICE_REQUIRED_TOPOLOGY,
    annotation::SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS,
];

/// Whether the pod asks for a place, so that what it needs is counted with its Workload.
pub fn asks_for_place(pod: &Pod) -> bool {
    ASKS_FOR_PLACE.iter().any(|key| pod.metadata.annotations.contains_key(*key))
}

/// Whether the pod is over.
pub fn is_over(pod: &Pod) -> bool {
    ["Succeeded", "Failed"].contains(&pod.status.phase.as_str())
}

/// Whether the pod is on a node and not over.
pub fn is_on_node(pod: &Pod) -> bool {
    !pod.spec.node_name.is_empty() && !is_over(pod)
}

/// Whether the pod takes room of its node beside all Workloads that were placed.
pub fn takes_room(pod: &Pod) -> bool {
    is_on_node(pod) && !asks_for_place(pod)
}

/// Whether the pod waits for its node to be chosen.
pub fn is_gated(pod: &Pod) -> bool {
    pod.spec.scheduling_gates.iter().any(|gate| gate.name == SCHEDULING_GATE_TOPOLOGY)
}

/// The Workload that the pod belongs to.
pub fn workload_of(pod: &Pod) -> Option<Key> {
    let name = pod.metadata.annotations.get(annotation::WORKLOAD)?;
    Some(Key::new(pod.metadata.namespace.as_str(), name.as_str()))
}

/// The chain of Workloads that the pod belongs to, for an index: the name of the first of them.
pub fn slice_values(pod: &Pod) -> Vec<String> {
    let annotations = &pod.metadata.annotations;
    let name = annotations.get(annotation::WORKLOAD_SLICE_NAME).or_else(|| annotations.get(annotation::WORKLOAD));
    name.map(|name| format!("{}/{name}", pod.metadata.namespace)).into_iter().collect()
}

/// The node that the pod waits for, for an index.
pub fn hostname_values(pod: &Pod) -> Vec<String> {
    pod.spec.node_selector.get(HOSTNAME_LABEL).cloned().into_iter().collect()
}

/// Whether anything became of a pod that the engine may have to know.
pub fn is_news(old: Option<&Pod>, new: Option<&Pod>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => {
            let is_other_use = || {
                let is_resized = || old.metadata.generation != new.metadata.generation;
                takes_room(old)
                    && takes_room(new)
                    && (old.spec.node_name != new.spec.node_name
                        || is_resized() && old.spec.requests() != new.spec.requests())
            };
            is_on_node(old) != is_on_node(new)
                || takes_room(old) != takes_room(new)
                || is_at_work(old) != is_at_work(new)
                || is_other_use()
        }
        (Some(old), None) => !old.spec.node_name.is_empty(),
        (None, Some(new)) => is_on_node(new),
        (None, None) => false,
    }
}

/// Whether the pod gets on with its work where it is.
fn is_at_work(pod: &Pod) -> bool {
    is_on_node(pod) && pod.metadata.deletion_timestamp.is_none()
}

/// On which nodes each Workload is at work, while pods come and go.
#[derive(Debug, Default)]
pub struct AtWork {
    /// Pods per node. Slices of one chain share their pods, which are known by the name of the first.
    pods: HashMap<Key, BTreeMap<Arc<str>, usize>>,
}

impl AtWork {
    /// What the engine has to know after something happened to a pod.
    pub fn changes(&mut self, old: Option<&Pod>, new: Option<&Pod>) -> Vec<Change> {
        if !is_news(old, new) {
            return Vec::new();
        }
        let mut changes = Vec::new();
        match new.filter(|pod| takes_room(pod)) {
            Some(pod) => changes.push(kueue_translate::plain_pod(pod)),
            None => changes.extend(old.filter(|pod| takes_room(pod)).map(|pod| Change::PlainPodGone {
                namespace: pod.metadata.namespace.as_str().into(),
                name: pod.metadata.name.as_str().into(),
            })),
        }
        let mut moved: Vec<Key> = Vec::new();
        for (pod, came) in old.map(|pod| (pod, false)).into_iter().chain(new.map(|pod| (pod, true))) {
            moved.extend(names_of(pod).into_iter().filter(|key| is_at_work(pod) && self.count(key, pod, came)));
        }
        moved.sort();
        moved.dedup();
        changes.extend(moved.into_iter().map(|key| self.nodes_of(key)));
        changes
    }

    /// Says whether a node came or went.
    fn count(&mut self, key: &Key, pod: &Pod, came: bool) -> bool {
        let nodes = self.pods.entry(key.clone()).or_default();
        let count = nodes.entry(pod.spec.node_name.as_str().into()).or_default();
        *count = if came { *count + 1 } else { count.saturating_sub(1) };
        match *count {
            0 => nodes.remove(pod.spec.node_name.as_str()).is_some(),
            1 => came,
            _ => false,
        }
    }

    fn nodes_of(&mut self, key: Key) -> Change {
        let nodes: Vec<Arc<str>> = self.pods.get(&key).map(|nodes| nodes.keys().cloned().collect()).unwrap_or_default();
        if nodes.is_empty() {
            self.pods.remove(&key);
        }
        Change::PodsOnNodes { namespace: key.namespace, name: key.name, nodes }
    }
}

/// The Workloads by whose names the pod may be looked for.
fn names_of(pod: &Pod) -> Vec<Key> {
    let annotations = &pod.metadata.annotations;
    let mut names: Vec<&String> = [annotation::WORKLOAD, annotation::WORKLOAD_SLICE_NAME]
        .iter()
        .filter_map(|key| annotations.get(*key))
        .collect();
    names.dedup();
    names.into_iter().map(|name| Key::new(pod.metadata.namespace.as_str(), name.as_str())).collect()
}

/// Tells the engine's owner about pods.
pub fn feed_pods(informer: &mut Informer<Pod>, inputs: UnboundedSender<Input>) {
    let store = informer.store();
    let all = move || {
        let mut at_work = AtWork::default();
        store.all().iter().flat_map(|pod| at_work.changes(None, Some(pod))).collect()
    };
    // The owner is gone only while everything ends.
    drop(inputs.send(Input::Source(Source::new(all))));
    let mut at_work = AtWork::default();
    informer.listen(move |delta| {
        let (old, new) = (delta.old.as_ref(), delta.new.as_ref());
        let changes = at_work.changes(old.map(|old| &*old.object), new.map(|new| &*new.object));
        for change in changes {
            // The owner is gone only while everything ends.
            drop(inputs.send(Input::Changed(change)));
        }
    });
}
