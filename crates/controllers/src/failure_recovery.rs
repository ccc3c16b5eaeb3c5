//! Pods that cannot end because their node cannot be reached: those that allow it are forced out after a while, so that
//! their Workload need not wait for the node.

use std::sync::Arc;

use kueue_api::core_v1::{Node, Pod};
use kueue_api::kueue::names::{FIELD_MANAGER_KUEUE, annotation, event};
use kueue_api::meta::Object as _;
use kueue_core::duration::Duration;
use kueue_core::time::Time;
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::informer::{Index, Store};
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{Next, Reconciler};
use serde_json::{Value, json};

/// How long a pod may take to end by itself beyond its own grace.
const PATIENCE: Duration = Duration::from_seconds(60);
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// The condition that tells a pod's owner who ended it.
const CONDITION: &str = "KueueFailureRecovery";

/// Forces out pods whose nodes cannot be reached.
#[derive(Debug)]
pub struct StuckPods {
    pub client: Client,
    pub clock: Clock,
    pub recorder: Recorder,
    pub pods: Arc<Store<Pod>>,
    pub nodes: Arc<Store<Node>>,
}

/// What becomes of a pod.
#[derive(Clone, PartialEq, Debug)]
pub enum Fate {
    /// It is left alone.
    Spared,
    /// It has time until then.
    Until(Time),
    /// It is marked so, and goes at once.
    Ended {
        /// What its status is to say besides.
        status: Value,
        /// The same in a sentence, for the event.
        message: String,
    },
}

/// Whether the pod is on its way out and may be forced.
pub fn may_be_forced(pod: &Pod) -> bool {
    let allowed = pod.metadata.annotations.get(annotation::SAFE_TO_FORCEFULLY_DELETE);
    pod.metadata.deletion_timestamp.is_some() && allowed.is_some_and(|allowed| allowed == "true")
}

/// Whether a change of a pod makes it one that may be forced.
pub fn is_newly_forceable(old: Option<&Pod>, new: Option<&Pod>) -> bool {
    new.is_some_and(may_be_forced) && !old.is_some_and(may_be_forced)
}

/// Whether a change of a node is that it cannot be reached any more.
pub fn is_newly_unreachable(old: Option<&Node>, new: Option<&Node>) -> bool {
    new.is_some_and(is_unreachable) && !old.is_some_and(is_unreachable)
}

fn is_unreachable(node: &Node) -> bool {
    node.spec.taints.iter().any(|taint| taint.key == UNREACHABLE)
}

/// By what pods are found: the node they run on.
pub fn node_values(pod: &Pod) -> Vec<String> {
    Some(&pod.spec.node_name).filter(|node| !node.is_empty()).into_iter().cloned().collect()
}

/// What becomes of a pod beside its node.
pub fn fate(pod: &Pod, node: Option<&Node>, now: Time) -> Fate {
    let Some(deleted) = pod.metadata.deletion_timestamp.filter(|_| may_be_forced(pod)) else { return Fate::Spared };
    if now < deleted + PATIENCE {
        return Fate::Until(deleted + PATIENCE);
    }
    let Some(node) = node.filter(|node| is_unreachable(node)) else { return Fate::Spared };
    let message = format!(
        "Pod forcefully terminated after {PATIENCE} grace period due to unreachable node `{}` (triggered by `{}` annotation)",
        node.metadata.name,
        annotation::SAFE_TO_FORCEFULLY_DELETE
    );
    let told = json!({"type": CONDITION, "status": "True", "reason": event::pod::KUEUE_FORCEFULLY_DELETED, "message": message});
    let mut status = json!({"conditions": [told]});
    if !matches!(pod.status.phase.as_str(), "Succeeded" | "Failed") {
        status["phase"] = json!("Failed");
    }
    Fate::Ended { status, message }
}

/// The pods on a node that may be forced out.
pub fn forceable_on(pods: &Store<Pod>, by_node: Index, node: &Key) -> Vec<Key> {
    let found = pods.find(by_node, &node.name).into_iter();
    found.filter(|(_, pod)| may_be_forced(&pod.object)).map(|(key, _)| key).collect()
}

impl Reconciler<Key> for StuckPods {
    fn name(&self) -> &'static str {
        "pod_termination_controller"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(pod) = self.pods.get(key).map(|stored| stored.object) else { return Ok(Next::Done) };
        let node = self.nodes.named(&pod.spec.node_name);
        let (status, message) = match fate(&pod, node.as_deref(), self.clock.time()) {
            Fate::Spared => return Ok(Next::Done),
            Fate::Until(at) => return Ok(Next::After(self.clock.until(at))),
            Fate::Ended { status, message } => (status, message),
        };
        let meta = &pod.metadata;
        let identity = json!({"name": meta.name, "namespace": meta.namespace, "uid": meta.uid});
        let body = json!({"apiVersion": Pod::api_version(), "kind": Pod::KIND, "metadata": identity, "status": status});
        let mark = Patch::apply(body, FIELD_MANAGER_KUEUE).of_status();
        let written = self.client.patch::<Pod>(key, &mark).await;
        if written.as_ref().is_err_and(Failure::is_not_found) {
            return Ok(Next::Done);
        }
        written?;
        let reason = event::pod::KUEUE_FORCEFULLY_DELETED.to_owned();
        self.recorder.record(Event { regarding: Regarding::of(&*pod), is_warning: true, reason, note: message });
        let gone = self.client.delete_at_once::<Pod>(key, &meta.uid).await;
        gone.or_else(|failure| if failure.is_not_found() { Ok(()) } else { Err(failure) })?;
        Ok(Next::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(annotation: &str, phase: &str, deleted: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "p", "annotations": {annotation::SAFE_TO_FORCEFULLY_DELETE: annotation},
                         "deletionTimestamp": (!deleted.is_empty()).then_some(deleted)},
            "spec": {"nodeName": "n"}, "status": {"phase": phase},
        }))
        .unwrap()
    }

    fn node(taint: &str) -> Node {
        serde_json::from_value(
            json!({"metadata": {"name": "n"}, "spec": {"taints": [{"key": taint, "effect": "NoExecute"}]}}),
        )
        .unwrap()
    }

    #[test]
    fn only_who_allows_it_is_forced_and_only_off_a_lost_node_and_after_a_minute() {
        let (deleted, later) = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z".parse().unwrap());
        let lost = node(UNREACHABLE);
        let phase_of = |pod: &Pod, node: Option<&Node>| match fate(pod, node, later) {
            Fate::Ended { status, .. } => Some(status["phase"].clone()),
            _ => None,
        };
        assert_eq!(phase_of(&pod("true", "Running", deleted), Some(&lost)), Some(json!("Failed")));
        assert_eq!(phase_of(&pod("true", "Succeeded", deleted), Some(&lost)), Some(Value::Null));
        assert_eq!(phase_of(&pod("true", "Running", deleted), Some(&node("other"))), None);
        assert_eq!(phase_of(&pod("true", "Running", deleted), None), None);
        assert_eq!(phase_of(&pod("false", "Running", deleted), Some(&lost)), None);
        assert_eq!(phase_of(&pod("true", "Running", ""), Some(&lost)), None);
        let early = "2026-01-01T00:00:59Z".parse().unwrap();
        assert_eq!(fate(&pod("true", "Running", deleted), Some(&lost), early), Fate::Until(later));
    }
}
