//! The ReplicaSet controller.
//!
//! | replica set | gets |
//! |---|---|
//! | fewer pods than replicas | pods from its template |
//! | more pods than replicas | the least useful ones deleted: not bound, not ready, youngest |
//! | pods that ended | others in their place |
//! | whatever happens | its counts |

use std::cmp::Reverse;
use std::sync::Arc;

use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::feeds::{Feeds, Line, Owned, View};
use crate::kinds::{Pod, ReplicaSet, ReplicaSetStatus, controller_of, owned_by};
use crate::{AT_ONCE, MANAGER, Parts, Start, gone_is_fine};

/// How many pods are made or deleted in one go.
const AT_MOST: usize = 500;

struct ReplicaSets {
    client: Client,
    recorder: Recorder,
    sets: View<ReplicaSet>,
    owned: Owned<Pod>,
}

/// Listens to replica sets and their pods; returns what begins to look after them.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.replica_sets.line_up(&line);
    feeds.pods.line_up_owners::<ReplicaSet>(&line);
    let sets = ReplicaSets {
        client: parts.client.clone(),
        recorder: parts.recorder.named("replicaset-controller"),
        sets: feeds.replica_sets.view(),
        owned: feeds.owned_pods(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(sets), AT_ONCE))))
}

/// A pod of a template, for an owner that numbers its pods itself or lets the server name them.
pub(crate) fn pod_of<T: kueue_api::meta::Object>(owner: &T, template: &Value) -> Pod {
    let empty = Value::Object(Map::new());
    let meta = template.get("metadata").unwrap_or(&empty);
    let pod = json!({
        "metadata": {
            "generateName": format!("{}-", owner.metadata().name),
            "namespace": owner.metadata().namespace,
            "labels": meta.get("labels").unwrap_or(&empty),
            "annotations": meta.get("annotations").unwrap_or(&empty),
            "finalizers": meta.get("finalizers").cloned().unwrap_or_else(|| json!([])),
            "ownerReferences": [owned_by(owner)],
        },
        "spec": template.get("spec").unwrap_or(&empty),
    });
    // The template has passed the server's checks, so it is a pod.
    serde_json::from_value(pod).unwrap_or_default()
}

/// Those that can be missed, the least useful ones first.
fn spare(mut pods: Vec<Arc<Pod>>, count: usize) -> Vec<Arc<Pod>> {
    pods.sort_by_key(|pod| {
        let is_bound = !pod.spec.node_name.is_empty();
        (is_bound, pod.is_ready(), Reverse(pod.metadata.creation_timestamp))
    });
    pods.truncate(count.min(AT_MOST));
    pods
}

fn status(set: &ReplicaSet, pods: &[Arc<Pod>], change: i32) -> ReplicaSetStatus {
    let count = |is_meant: &dyn Fn(&Pod) -> bool| {
        i32::try_from(pods.iter().filter(|pod| is_meant(pod)).count()).unwrap_or(i32::MAX)
    };
    let labels = set.spec.template["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    let is_labelled = |pod: &Pod| {
        labels.iter().all(|(key, value)| pod.metadata.labels.get(key).map(String::as_str) == value.as_str())
    };
    let ready = count(&|pod| pod.is_active() && pod.is_ready());
    ReplicaSetStatus {
        replicas: count(&Pod::is_active) + change,
        fully_labeled_replicas: count(&|pod| pod.is_active() && is_labelled(pod)) + change,
        ready_replicas: ready,
        // Whoever is ready is available: nobody here fails within the first seconds.
        available_replicas: ready,
        terminating_replicas: Some(count(&|pod| pod.is_going() && !pod.is_terminal())),
        observed_generation: set.metadata.generation,
    }
}

impl Reconciler<Key> for ReplicaSets {
    fn name(&self) -> &'static str {
        "replicaset"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(set) = self.sets.get(key) else { return Ok(Next::Done) };
        let mut pods = self.owned.named("ReplicaSet", key);
        pods.retain(|pod| controller_of(&**pod).is_some_and(|owner| owner.uid == set.metadata.uid));
        let active: Vec<Arc<Pod>> = pods.iter().filter(|pod| pod.is_active()).cloned().collect();
        let wanted = usize::try_from(set.spec.replicas.unwrap_or(1)).unwrap_or(0);
        let mut created = 0;
        if set.metadata.deletion_timestamp.is_none() {
            created = self.create(&set, wanted.saturating_sub(active.len()).min(AT_MOST)).await?;
            let too_many = active.len().saturating_sub(wanted);
            for pod in spare(active, too_many) {
                let key = Key::of(&*pod);
                let deleted = self.client.delete::<Pod>(&key, &pod.metadata.uid, Dependents::Background).await;
                gone_is_fine(deleted)?;
                self.tell(&set, false, "SuccessfulDelete", format!("Deleted pod: {}", key.name));
            }
        }
        let shown = ReplicaSet { status: status(&set, &pods, created), ..(*set).clone() };
        if let Some(patch) = Patch::between(&*set, &shown, MANAGER) {
            let written = self.client.change::<ReplicaSet>(key, &patch.of_status()).await?;
            self.sets.until_seen(&written.version).await;
        }
        Ok(Next::Done)
    }
}

impl ReplicaSets {
    async fn create(&self, set: &ReplicaSet, count: usize) -> Result<i32, Failure> {
        let mut last = None;
        for _ in 0..count {
            match self.client.make(&pod_of(set, &set.spec.template)).await {
                Ok(pod) => {
                    self.tell(set, false, "SuccessfulCreate", format!("Created pod: {}", pod.name));
                    last = Some(pod);
                }
                Err(failure) => {
                    self.tell(set, true, "FailedCreate", format!("Error creating: {failure}"));
                    return Err(failure);
                }
            }
        }
        if let Some(last) = last {
            self.owned.view.until_seen(&last.version).await;
        }
        Ok(i32::try_from(count).unwrap_or(i32::MAX))
    }

    fn tell(&self, set: &ReplicaSet, is_warning: bool, reason: &str, note: String) {
        self.recorder.record(Event { regarding: Regarding::of(set), is_warning, reason: reason.to_owned(), note });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, node: &str, ready: &str, created: &str) -> Arc<Pod> {
        Arc::new(
            serde_json::from_value(json!({
                "metadata": {"name": name, "creationTimestamp": created, "labels": {"app": "x"}},
                "spec": {"nodeName": node}, "status": {"conditions": [{"type": "Ready", "status": ready}]}}))
            .unwrap(),
        )
    }

    #[test]
    fn the_least_useful_pods_go_first() {
        let (old, new) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        let pods = vec![
            pod("ready-old", "n", "True", old),
            pod("ready-new", "n", "True", new),
            pod("unready", "n", "False", old),
            pod("unbound", "", "False", old),
        ];
        let names: Vec<String> = spare(pods, 3).iter().map(|pod| pod.metadata.name.clone()).collect();
        assert_eq!(names, ["unbound", "unready", "ready-new"]);
    }

    #[test]
    fn counts_tell_ready_from_running() {
        let set: ReplicaSet = serde_json::from_value(json!({"metadata": {"generation": 3}, "spec": {
            "template": {"metadata": {"labels": {"app": "x"}}}}}))
        .unwrap();
        let pods = ["True", "False"].map(|ready| pod("p", "n", ready, "2026-01-01T00:00:00Z"));
        let status = status(&set, &pods, 1);
        assert_eq!((status.replicas, status.ready_replicas, status.fully_labeled_replicas), (3, 1, 3));
        assert_eq!(status.observed_generation, 3);
    }
}
