//! Pretend nodes: made at the start, kept ready, or failed on demand.
//!
//! A node is a pretend one when it carries the annotation `pretend: "true"` of the world's domain; all others are left
//! alone. Its capacity is what its manifest says in `status.capacity`.
//!
//! | node | becomes |
//! |---|---|
//! | new | `Ready`, with addresses, allocatable as large as its capacity, without the taint `not-ready` |
//! | annotation `failed: "true"` | `Ready` unknown, tainted `node.kubernetes.io/unreachable`; its pods stay as they are |
//! | annotation taken away | `Ready` again, without those taints |

use std::sync::Arc;

use kueue_api::core_v1::Taint;
use kueue_core::time::Time;
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::behaviour::Defaults;
use crate::feeds::{Feeds, Line, View};
use crate::kinds::{Condition, Node, NodeStatus, set_condition};
use crate::{AT_ONCE, Parts, Start};

const MANAGER: &str = "kubelet";
/// Who cannot be reached is not given pods, and loses those that do not put up with it.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// What the server puts on every new node.
const NOT_READY: &str = "node.kubernetes.io/not-ready";
const EFFECTS: [&str; 2] = ["NoSchedule", "NoExecute"];

fn says(node: &Node, name: &str, defaults: &Defaults) -> bool {
    node.metadata.annotations.get(&format!("{}/{name}", defaults.domain)).is_some_and(|value| value == "true")
}

/// Whether the node is played here.
pub(crate) fn is_pretend(node: &Node, defaults: &Defaults) -> bool {
    says(node, "pretend", defaults)
}

/// Whether a pretend node is to be out of order.
pub(crate) fn has_failed(node: &Node, defaults: &Defaults) -> bool {
    says(node, "failed", defaults)
}

pub(crate) fn internal_ip(node: &Node) -> &str {
    let is_internal = |address: &&Value| address["type"] == "InternalIP";
    node.status.addresses.iter().find(is_internal).and_then(|address| address["address"].as_str()).unwrap_or_default()
}

/// A node manifest, with what makes it a pretend one.
pub(crate) fn pretended(mut node: Value, defaults: &Defaults) -> Node {
    node["metadata"]["annotations"][format!("{}/pretend", defaults.domain)] = json!("true");
    let name = node["metadata"]["name"].clone();
    let labels = &mut node["metadata"]["labels"];
    for (label, value) in
        [("kubernetes.io/hostname", name), ("kubernetes.io/os", json!("linux")), ("kubernetes.io/arch", json!("amd64"))]
    {
        if labels[label].is_null() {
            labels[label] = value;
        }
    }
    serde_json::from_value(node).unwrap_or_default()
}

struct Nodes {
    client: Client,
    clock: Clock,
    defaults: Arc<Defaults>,
    nodes: View<Node>,
}

/// Listens to nodes; returns what begins to look after them.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.nodes.line_up(&line);
    let nodes = Nodes {
        client: parts.client.clone(),
        clock: parts.clock,
        defaults: Arc::clone(&parts.defaults),
        nodes: feeds.nodes.view(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(nodes), AT_ONCE))))
}

impl Reconciler<Key> for Nodes {
    fn name(&self) -> &'static str {
        "node"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(node) = self.nodes.get(key).filter(|node| is_pretend(node, &self.defaults)) else {
            return Ok(Next::Done);
        };
        let has_failed = has_failed(&node, &self.defaults);
        let mut wanted = (*node).clone();
        wanted.status = status(&node, has_failed, self.clock.time());
        if let Some(patch) = Patch::between(&*node, &wanted, MANAGER) {
            self.client.change::<Node>(key, &patch.of_status()).await?;
            return Ok(Next::Done);
        }
        wanted.spec.taints = taints(&node, has_failed, self.clock.time());
        if let Some(patch) = Patch::between(&*node, &wanted, MANAGER) {
            self.client.change::<Node>(key, &patch).await?;
        }
        Ok(Next::Done)
    }
}

fn taints(node: &Node, has_failed: bool, now: Time) -> Vec<Taint> {
    let is_about_health = |taint: &&Taint| [UNREACHABLE, NOT_READY].contains(&taint.key.as_str());
    let mut taints: Vec<Taint> = node.spec.taints.iter().filter(|taint| !is_about_health(taint)).cloned().collect();
    if has_failed {
        let added = serde_json::Map::from_iter([("timeAdded".to_owned(), now.to_string().into())]);
        let taint = |effect: &str| Taint {
            key: UNREACHABLE.to_owned(),
            effect: effect.to_owned(),
            rest: added.clone(),
            ..Taint::default()
        };
        let known = |effect: &&str| node.spec.taints.iter().find(|t| t.key == UNREACHABLE && t.effect == **effect);
        taints.extend(EFFECTS.iter().map(|effect| known(effect).cloned().unwrap_or_else(|| taint(effect))));
    }
    taints
}

fn status(node: &Node, has_failed: bool, now: Time) -> NodeStatus {
    let mut status = node.status.clone();
    let mut ready = match has_failed {
        false => Condition::new("Ready", true, "KubeletReady", "kubelet is posting ready status", now),
        true => Condition::new("Ready", false, "NodeStatusUnknown", "Kubelet stopped posting node status.", now),
    };
    if has_failed {
        ready.status = "Unknown".to_owned();
    }
    set_condition(&mut status.conditions, ready);
    if status.capacity.is_empty() {
        status.capacity.clone_from(&status.allocatable);
    }
    if status.allocatable.is_empty() {
        status.allocatable.clone_from(&status.capacity);
    }
    if status.addresses.is_empty() {
        status.addresses = vec![
            json!({"type": "InternalIP", "address": address(&node.metadata.name)}),
            json!({"type": "Hostname", "address": node.metadata.name}),
        ];
    }
    // The server fills in empty texts, so an object without a version was not written by a kubelet.
    if status.node_info.get("kubeletVersion").and_then(Value::as_str).unwrap_or_default().is_empty() {
        status.node_info = node_info();
    }
    status
}

/// An address that follows from the name, so that a restart does not change it.
fn address(name: &str) -> String {
    let sum = name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let [_, _, middle, low] = sum.to_be_bytes();
    format!("10.0.{middle}.{low}")
}

fn node_info() -> Map<String, Value> {
    let texts = [
        ("architecture", "amd64"),
        ("bootID", "pretend"),
        ("containerRuntimeVersion", "pretend://1"),
        ("kernelVersion", "pretend"),
        ("kubeProxyVersion", ""),
        ("kubeletVersion", "v1.36.0-pretend"),
        ("machineID", "pretend"),
        ("operatingSystem", "linux"),
        ("osImage", "pretend"),
        ("systemUUID", "pretend"),
    ];
    texts.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(annotations: &Value) -> Node {
        pretended(
            json!({"metadata": {"name": "a", "annotations": annotations}, "status": {"capacity": {"cpu": "4"}}}),
            &Defaults::default(),
        )
    }

    #[test]
    fn a_new_node_becomes_ready_with_all_it_has() {
        let node = node(&json!({}));
        assert!(is_pretend(&node, &Defaults::default()));
        let status = status(&node, false, Time::default());
        assert_eq!((status.conditions[0].status.as_str(), &status.allocatable), ("True", &node.status.capacity));
        assert!(internal_ip(&Node { status, ..node }).starts_with("10.0."));
    }

    #[test]
    fn a_failed_node_is_tainted_until_it_is_mended() {
        let mut node = node(&json!({"world.kueue.x-k8s.io/failed": "true"}));
        let taint = |key: &str| Taint { key: key.to_owned(), ..Taint::default() };
        node.spec.taints = vec![taint(NOT_READY), taint("gpu")];
        assert!(has_failed(&node, &Defaults::default()));
        assert_eq!(status(&node, true, Time::default()).conditions[0].status, "Unknown");
        node.spec.taints = taints(&node, true, Time::default());
        let keys = |node: &Node| node.spec.taints.iter().map(|taint| taint.key.clone()).collect::<Vec<_>>();
        assert_eq!(keys(&node), ["gpu", UNREACHABLE, UNREACHABLE]);
        assert_eq!(taints(&node, true, Time::default()), node.spec.taints);
        node.spec.taints = taints(&node, false, Time::default());
        assert_eq!(keys(&node), ["gpu"]);
    }
}
