//! What it costs to read, print and convert a Workload of 100 pod sets. Prints nanoseconds per operation.
//!
//! `cargo bench -p kueue-api --bench workload`

use std::hint::black_box;
use std::time::Instant;

use kueue_api::kueue::conversion::convert;
use kueue_api::kueue::v1beta2::Workload;
use kueue_core::gates::Gates;
use serde_json::{Value, json};

const POD_SETS: usize = 100;
const ROUNDS: u32 = 500;

fn main() {
    let text = serde_json::to_vec(&workload()).expect("a JSON value prints");
    let value: Value = serde_json::from_slice(&text).expect("printed JSON reads");
    let typed: Workload = serde_json::from_slice(&text).expect("the sample is a Workload");
    let old = to(value.clone(), "kueue.x-k8s.io/v1beta1");
    println!("{} pod sets, {} bytes", POD_SETS, text.len());

    let decode = measure("decode into the type", || serde_json::from_slice::<Workload>(&text).expect("as before"));
    measure("encode from the type", || serde_json::to_vec(&typed).expect("as before"));
    measure("decode into JSON values", || serde_json::from_slice::<Value>(&text).expect("as before"));
    let clone = measure("copy JSON values", || value.clone());
    let down = measure("copy and convert to v1beta1", || to(value.clone(), "kueue.x-k8s.io/v1beta1"));
    let up = measure("copy and convert to v1beta2", || to(old.clone(), "kueue.x-k8s.io/v1beta2"));
    println!("decode and convert both ways: {} ns", decode + down + up - 2 * clone.min(down.min(up)));
}

fn to(value: Value, version: &str) -> Value {
    convert(value, version, Gates::default()).expect("the sample converts")
}

/// Runs it often and prints the mean.
fn measure<T>(what: &str, mut run: impl FnMut() -> T) -> u128 {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        black_box(run());
    }
    let mean = start.elapsed().as_nanos() / u128::from(ROUNDS);
    println!("{what:<30} {mean:>9} ns");
    mean
}

/// An admitted workload with two containers per template and a topology assignment of eight nodes per pod set.
fn workload() -> Value {
    let pod_sets: Vec<Value> = (0..POD_SETS).map(pod_set).collect();
    let assignments: Vec<Value> = (0..POD_SETS).map(assignment).collect();
    json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "large", "namespace": "team-a", "creationTimestamp": "2026-01-02T03:04:05Z"},
        "spec": {
            "queueName": "gpu",
            "priority": 5,
            "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "research"},
            "podSets": pod_sets,
        },
        "status": {"admission": {"clusterQueue": "research", "podSetAssignments": assignments}},
    })
}

fn pod_set(index: usize) -> Value {
    let container = |name: &str| {
        json!({
            "name": name,
            "image": "example.com/train:1",
            "command": ["train", "--shard", index.to_string()],
            "env": [{"name": "SHARD", "value": index.to_string()}],
            "resources": {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"memory": "2Gi"}},
        })
    };
    json!({
        "name": format!("set-{index}"),
        "count": 8,
        "topologyRequest": {"required": "example.com/rack"},
        "template": {
            "metadata": {"labels": {"app": "train"}},
            "spec": {"restartPolicy": "Never", "containers": [container("main"), container("side")]},
        },
    })
}

fn assignment(index: usize) -> Value {
    let roots: Vec<String> = (0..8).map(|node| node.to_string()).collect();
    json!({
        "name": format!("set-{index}"),
        "count": 8,
        "flavors": {"cpu": "on-demand", "memory": "on-demand"},
        "resourceUsage": {"cpu": "8", "memory": "32Gi"},
        "topologyAssignment": {
            "levels": ["example.com/rack", "kubernetes.io/hostname"],
            "slices": [{
                "domainCount": 8,
                "valuesPerLevel": [
                    {"universal": format!("rack-{index}")},
                    {"individual": {"prefix": format!("rack-{index}-node-"), "roots": roots}},
                ],
                "podCounts": {"universal": 1},
            }],
        },
    })
}
