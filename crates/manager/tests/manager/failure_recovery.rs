//! Pods on nodes that cannot be reached.

use kueue_core::gates::{Gate, Gates};
use serde_json::json;

use crate::bed::Bed;

const PODS: &str = "/api/v1/namespaces/default/pods";

#[tokio::test(start_paused = true)]
async fn a_pod_that_allows_it_is_forced_off_a_lost_node_after_a_minute() {
    let bed = Bed::with_gates(Gates::default().with(Gate::FailureRecoveryPolicy, true)).await;
    let taint = json!([{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]);
    bed.create("/api/v1/nodes", &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "lost"}})).await;
    for (name, allows) in [("willing", "true"), ("stubborn", "false")] {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": {"kueue.x-k8s.io/safe-to-forcefully-delete": allows}},
            "spec": {"nodeName": "lost", "containers": [{"name": "c", "image": "i"}]},
        });
        bed.create(PODS, &pod).await;
        bed.delete(&format!("{PODS}/{name}")).await;
    }
    bed.pass(200).await;
    let phase = |pod: serde_json::Value| pod["status"]["phase"].clone();
    assert_eq!(phase(bed.get(&format!("{PODS}/willing")).await), "Pending", "its node may still answer");
    bed.merge("/api/v1/nodes/lost", &json!({"spec": {"taints": taint}})).await;
    bed.pass(5).await;
    assert_eq!(bed.get(&format!("{PODS}/willing")).await["reason"], "NotFound");
    assert_eq!(phase(bed.get(&format!("{PODS}/stubborn")).await), "Pending");
}
