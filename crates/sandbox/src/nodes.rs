//! The nodes of a sandbox whose user gave none.

use serde_json::{Value, json};

/// Four ordinary machines in two racks, and two with GPUs in a third.
pub fn default_nodes() -> Vec<Value> {
    let mut nodes = Vec::new();
    for number in 1..=4 {
        let rack = if number <= 2 { "rack-1" } else { "rack-2" };
        nodes.push(node(
            &format!("cpu-{number}"),
            "block-1",
            rack,
            "cpu",
            &json!({"cpu": "8", "memory": "32Gi", "pods": "110"}),
        ));
    }
    for number in 1..=2 {
        let capacity = json!({"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"});
        nodes.push(node(&format!("gpu-{number}"), "block-2", "rack-3", "gpu", &capacity));
    }
    nodes
}

fn node(name: &str, block: &str, rack: &str, pool: &str, capacity: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "pool": pool,
            "node.kubernetes.io/instance-type": pool,
            "cloud.provider.com/topology-block": block,
            "cloud.provider.com/topology-rack": rack,
        }},
        "status": {"capacity": capacity},
    })
}
