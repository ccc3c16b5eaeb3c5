//! The DaemonSet controller: one pod on every node that suits.
//!
//! | daemon set | gets |
//! |---|---|
//! | a node that suits and has no pod of it | a pod that wants that node and no other |
//! | a pod on a node that suits no longer | the pod deleted |
//! | a pod that ended | another one |
//! | another template, `RollingUpdate` | its pods replaced, one at a time |
//! | whatever happens | its counts |

use std::sync::Arc;

use kueue_api::core_v1::{Taint, Toleration};
use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use serde_json::json;
use tokio::task::JoinSet;

use crate::deployment::hash;
use crate::feeds::{Feeds, Line, Owned, View};
use crate::kinds::{DaemonSet, DaemonSetStatus, Node, Pod, controller_of};
use crate::replica_set::pod_of;
use crate::scheduler::{is_selected, tolerates};
use crate::{AT_ONCE, MANAGER, Parts, Start, gone_is_fine};

const REVISION: &str = "controller-revision-hash";
/// What pods of a daemon set put up with, whatever their template says.
const TOLERATED: [(&str, &str); 7] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ("node.kubernetes.io/unreachable", "NoSchedule"),
];

struct DaemonSets {
    client: Client,
    sets: View<DaemonSet>,
    nodes: View<Node>,
    owned: Owned<Pod>,
}

/// Listens to daemon sets, their pods and nodes; returns what begins to look after them.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.daemon_sets.line_up(&line);
    feeds.pods.line_up_owners::<DaemonSet>(&line);
    let (all, sets) = (Arc::clone(&line), feeds.daemon_sets.view());
    feeds.nodes.listen(move |_| sets.store.keys().into_iter().for_each(|key| all.add(key)));
    let sets = DaemonSets {
        client: parts.client.clone(),
        sets: feeds.daemon_sets.view(),
        nodes: feeds.nodes.view(),
        owned: feeds.owned_pods(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(sets), AT_ONCE))))
}

/// The pod for one node; it finds its way there by affinity, as every other pod does.
fn pod(set: &DaemonSet, node: &str) -> Pod {
    let mut pod = pod_of(set, &set.spec.template);
    pod.metadata.labels.insert(REVISION.to_owned(), hash(&set.spec.template));
    let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
    let terms = json!({"nodeSelectorTerms": [{"matchFields": [field]}]});
    let mut affinity = pod.spec.affinity.take().unwrap_or_default();
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": terms});
    affinity.node_affinity = serde_json::from_value(required).ok();
    pod.spec.affinity = Some(affinity);
    pod.spec.tolerations.extend(TOLERATED.map(|(key, effect)| Toleration {
        key: key.to_owned(),
        operator: "Exists".to_owned(),
        effect: effect.to_owned(),
        ..Toleration::default()
    }));
    pod
}

/// The node that a pod is on, or is meant for.
fn node_of(pod: &Pod) -> Option<&str> {
    if !pod.spec.node_name.is_empty() {
        return Some(&pod.spec.node_name);
    }
    let affinity = pod.spec.affinity.as_ref()?.node_affinity.as_ref()?.required.as_ref()?;
    affinity.terms.first()?.match_fields.first()?.values.first().map(String::as_str)
}

fn suits(set: &DaemonSet, node: &Node) -> bool {
    let pod = pod_of(set, &set.spec.template);
    let is_fine = |taint: &Taint| {
        taint.effect == "PreferNoSchedule"
            || TOLERATED.contains(&(taint.key.as_str(), taint.effect.as_str()))
            || taint.key == "node.kubernetes.io/not-ready"
            || pod.spec.tolerations.iter().any(|toleration| tolerates(toleration, taint))
    };
    is_selected(&pod.spec, node) && node.spec.taints.iter().all(is_fine)
}

/// Nodes that need a pod, and pods that have to go.
fn plan(set: &DaemonSet, nodes: &[Arc<Node>], pods: &[Arc<Pod>]) -> (Vec<String>, Vec<Arc<Pod>>) {
    let suiting: Vec<&str> =
        nodes.iter().filter(|node| suits(set, node)).map(|node| node.metadata.name.as_str()).collect();
    let is_on = |node: &str, is_meant: &dyn Fn(&Pod) -> bool| {
        pods.iter().any(|pod| node_of(pod) == Some(node) && is_meant(pod))
    };
    let missing = suiting.iter().filter(|node| !is_on(node, &|_| true)).map(|node| (*node).to_owned()).collect();
    let is_lost = |pod: &&Arc<Pod>| pod.is_terminal() || !node_of(pod).is_some_and(|node| suiting.contains(&node));
    let mut gone: Vec<Arc<Pod>> = pods.iter().filter(|pod| !pod.is_going()).filter(is_lost).cloned().collect();
    let are_well = suiting.iter().all(|node| is_on(node, &|pod| pod.is_ready() && pod.is_active()));
    if gone.is_empty() && are_well && set.spec.update_strategy.r#type != "OnDelete" {
        let wanted = hash(&set.spec.template);
        gone.extend(pods.iter().find(|pod| pod.metadata.labels.get(REVISION) != Some(&wanted)).cloned());
    }
    (missing, gone)
}

fn status(set: &DaemonSet, nodes: &[Arc<Node>], pods: &[Arc<Pod>]) -> DaemonSetStatus {
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let suiting =
        |pod: &&Arc<Pod>| nodes.iter().any(|node| node_of(pod) == Some(&node.metadata.name) && suits(set, node));
    let desired = count(nodes.iter().filter(|node| suits(set, node)).count());
    let ready = count(pods.iter().filter(|pod| pod.is_active() && pod.is_ready()).count());
    let revision = hash(&set.spec.template);
    DaemonSetStatus {
        current_number_scheduled: count(pods.iter().filter(suiting).count()).min(desired),
        number_misscheduled: count(pods.iter().filter(|pod| !suiting(pod)).count()),
        desired_number_scheduled: desired,
        number_ready: ready,
        observed_generation: set.metadata.generation,
        updated_number_scheduled: count(
            pods.iter().filter(|pod| pod.metadata.labels.get(REVISION) == Some(&revision)).count(),
        ),
        number_available: ready,
        number_unavailable: desired - ready,
    }
}

impl Reconciler<Key> for DaemonSets {
    fn name(&self) -> &'static str {
        "daemonset"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(set) = self.sets.get(key).filter(|set| set.metadata.deletion_timestamp.is_none()) else {
            return Ok(Next::Done);
        };
        let mut pods = self.owned.named("DaemonSet", key);
        pods.retain(|pod| controller_of(&**pod).is_some_and(|owner| owner.uid == set.metadata.uid));
        let nodes = self.nodes.store.all();
        let (missing, gone) = plan(&set, &nodes, &pods);
        let mut last = None;
        for node in missing {
            last = Some(self.client.make(&pod(&set, &node)).await?);
        }
        if let Some(last) = last {
            self.owned.view.until_seen(&last.version).await;
        }
        for pod in gone {
            let deleted = self.client.delete::<Pod>(&Key::of(&*pod), &pod.metadata.uid, Dependents::Background).await;
            gone_is_fine(deleted)?;
        }
        let shown = DaemonSet { status: status(&set, &nodes, &pods), ..(*set).clone() };
        if let Some(patch) = Patch::between(&*set, &shown, MANAGER) {
            let written = self.client.change::<DaemonSet>(key, &patch.of_status()).await?;
            self.sets.until_seen(&written.version).await;
        }
        Ok(Next::Done)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn set(selector: &Value) -> DaemonSet {
        serde_json::from_value(json!({"metadata": {"name": "d", "namespace": "n"}, "spec": {"template": {"spec": {
            "nodeSelector": selector}}}}))
        .unwrap()
    }

    fn node(name: &str, taints: &Value) -> Arc<Node> {
        let node = json!({"metadata": {"name": name, "labels": {"name": name}}, "spec": {"taints": taints}});
        Arc::new(serde_json::from_value(node).unwrap())
    }

    #[test]
    fn every_node_that_suits_gets_one_pod() {
        let nodes = [
            node("a", &json!([])),
            node("b", &json!([{"key": "x", "effect": "NoSchedule"}])),
            node("c", &json!([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}])),
        ];
        let all = set(&json!({}));
        assert_eq!(plan(&all, &nodes, &[]).0, ["a", "c"]);
        let there = Arc::new(pod(&all, "a"));
        assert_eq!(plan(&all, &nodes, &[Arc::clone(&there)]).0, ["c"]);
        assert_eq!(plan(&set(&json!({"name": "a"})), &nodes, &[]).0, ["a"]);
        let (missing, gone) = plan(&set(&json!({"name": "c"})), &nodes, &[there]);
        assert_eq!((missing.as_slice(), gone.len()), (["c".to_owned()].as_slice(), 1), "it suits no longer");
    }
}
