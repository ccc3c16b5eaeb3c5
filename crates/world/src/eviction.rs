//! What becomes of pods whose node is no good any more.
//!
//! | pod | becomes |
//! |---|---|
//! | on a node with a `NoExecute` taint that it does not tolerate | deleted, with the condition `DisruptionTarget` |
//! | that tolerates the taint for some seconds | the same when these are over |
//! | on a node that is gone | `Failed`, and removed |
//!
//! A pod on a node that failed stays until the node is back or removed: nobody there can end it.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kueue_api::core_v1::Taint;
use kueue_core::time::Time;
use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::informer::Index;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::feeds::{Feeds, Line, View};
use crate::kinds::{Condition, Node, Pod, set_condition};
use crate::scheduler::tolerates;
use crate::{AT_ONCE, MANAGER, Parts, Start, gone_is_fine};

struct Evictions {
    client: Client,
    clock: Clock,
    pods: View<Pod>,
    nodes: View<Node>,
}

/// Listens to nodes and pods; returns what begins to look after them.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    let by_node: Index = feeds.pods.view().store.index(|pod: &Pod| vec![pod.spec.node_name.clone()]);
    let bound = Arc::clone(&line);
    feeds.pods.listen(move |delta| {
        let node = |side: &Option<kueue_runtime::informer::Stored<Pod>>| {
            side.as_ref().map(|side| side.object.spec.node_name.clone()).unwrap_or_default()
        };
        if node(&delta.old) != node(&delta.new) {
            bound.add(delta.key.clone());
        }
    });
    let (again, pods) = (Arc::clone(&line), feeds.pods.view());
    feeds.nodes.listen(move |delta| {
        let taints = |side: &Option<kueue_runtime::informer::Stored<Node>>| {
            side.as_ref().map(|side| side.object.spec.taints.clone())
        };
        if taints(&delta.old) != taints(&delta.new) {
            for (key, _) in pods.store.find(by_node, &delta.key.name) {
                again.add(key);
            }
        }
    });
    let (client, clock) = (parts.client.clone(), parts.clock);
    let evictions = Evictions { client, clock, pods: feeds.pods.view(), nodes: feeds.nodes.view() };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(evictions), AT_ONCE))))
}

/// When a pod has to leave a node with these taints; never without.
fn leaves_at(pod: &Pod, taints: &[Taint], now: Timestamp) -> Option<Timestamp> {
    let hard = taints.iter().filter(|taint| taint.effect == "NoExecute");
    let times = hard.filter_map(|taint| {
        let tolerations = pod.spec.tolerations.iter().filter(|toleration| tolerates(toleration, taint));
        let patience: Vec<Option<i64>> = tolerations.map(|toleration| toleration.toleration_seconds).collect();
        if patience.is_empty() {
            return Some(now);
        }
        // The shortest counts; who names no time stays for ever.
        let seconds = patience.into_iter().flatten().min()?;
        let since = taint.rest.get("timeAdded").and_then(Value::as_str).and_then(|text| text.parse::<Time>().ok());
        let since = since.map_or(now, Time::timestamp);
        since.saturating_add(SignedDuration::from_secs(seconds.max(0))).ok()
    });
    times.min()
}

impl Reconciler<Key> for Evictions {
    fn name(&self) -> &'static str {
        "eviction"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(pod) = self.pods.get(key).filter(|pod| !pod.spec.node_name.is_empty()) else { return Ok(Next::Done) };
        let Some(node) = self.nodes.get(&Key::cluster(pod.spec.node_name.as_str())) else {
            return self.remove(key, &pod).await;
        };
        if !pod.is_active() {
            return Ok(Next::Done);
        }
        let now = self.clock.now();
        match leaves_at(&pod, &node.spec.taints, now) {
            None => Ok(Next::Done),
            Some(at) if at > now => {
                let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
                Ok(Next::After(self.clock.wait(wait)))
            }
            Some(_) => {
                let why = "Taint manager: deleting due to NoExecute taint";
                self.mark(key, &pod, "DeletionByTaintManager", why, false).await?;
                let deleted = self.client.delete::<Pod>(key, &pod.metadata.uid, Dependents::Background).await;
                gone_is_fine(deleted).map(|()| Next::Done)
            }
        }
    }
}

impl Evictions {
    async fn remove(&self, key: &Key, pod: &Pod) -> Result<Next, Failure> {
        if !pod.is_terminal() {
            self.mark(key, pod, "DeletionByPodGC", "PodGC: node no longer exists", true).await?;
        }
        let removed = self.client.delete_now::<Pod>(key, &pod.metadata.uid).await;
        gone_is_fine(removed).map(|()| Next::Done)
    }

    /// Tells in the pod why it has to go.
    async fn mark(&self, key: &Key, pod: &Pod, reason: &str, why: &str, is_lost: bool) -> Result<(), Failure> {
        let mut marked = pod.clone();
        let condition = Condition::new("DisruptionTarget", true, reason, why, self.clock.time());
        set_condition(&mut marked.status.conditions, condition);
        if is_lost {
            marked.status.phase = "Failed".to_owned();
        }
        let Some(patch) = Patch::between(pod, &marked, MANAGER) else { return Ok(()) };
        match self.client.change::<Pod>(key, &patch.of_status()).await {
            Err(failure) if !failure.is_not_found() => Err(failure),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_leave_when_their_patience_is_over() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let added = Time::new(now).to_string();
        let taints: Vec<Taint> = serde_json::from_value(json!([
            {"key": "down", "effect": "NoExecute", "timeAdded": added}, {"key": "x", "effect": "NoSchedule"}]))
        .unwrap();
        let exists = |seconds: Value| json!({"key": "down", "operator": "Exists", "tolerationSeconds": seconds});
        for (tolerations, leaves) in [
            (json!([]), Some(0)),
            (json!([exists(Value::Null)]), None),
            (json!([exists(json!(300))]), Some(300)),
            (json!([exists(json!(300)), exists(json!(20))]), Some(20)),
            (json!([{"key": "other", "operator": "Exists"}]), Some(0)),
        ] {
            let mut pod = Pod::default();
            pod.spec.tolerations = serde_json::from_value(tolerations.clone()).unwrap();
            let at = leaves_at(&pod, &taints, now).map(|at| at.duration_since(now).as_secs());
            assert_eq!(at, leaves, "{tolerations}");
        }
    }
}
