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
const ROUNDS: usize = 500;

fn main() {
    let text = serde_json::to_vec(&workload()).expect("a JSON value prints");
    let value: Value = serde_json::from_slice(&text).expect("printed JSON reads");
    let typed: Workload = serde_json::from_slice(&text).expect("the sample is a Workload");
    let old = to(value.clone(), "kueue.x-k8s.io/v1beta1");
    println!("{} pod sets, {} bytes", POD_SETS, text.len());

    let decode = measure("decode into the type", || &text, |text| serde_json::from_slice::<Workload>(text));
    measure("encode from the type", || &typed, serde_json::to_vec);
    measure("decode into JSON values", || &text, |text| serde_json::from_slice::<Value>(text));
    let down = measure("convert to v1beta1", || value.clone(), |value| to(value, "kueue.x-k8s.io/v1beta1"));
    let up = measure("convert to v1beta2", || old.clone(), |value| to(value, "kueue.x-k8s.io/v1beta2"));
    println!("decode and convert both ways: {} ns", decode + down + up);
}

fn to(value: Value, version: &str) -> Value {
    convert(value, version, Gates::default()).expect("the sample converts")
}

/// Runs it often, each time on a fresh input, and prints the fastest time, which other work on the machine disturbs least,
/// and the mean. Making the input and freeing the result do not count.
fn measure<In, Out>(what: &str, input: impl Fn() -> In, run: impl Fn(In) -> Out) -> u128 {
    let once = || {
        let input = black_box(input());
        let start = Instant::now();
        let result = black_box(run(input));
        let time = start.elapsed().as_nanos();
        drop(result);
        time
    };
    let times: Vec<u128> = (0..ROUNDS).map(|_| once()).collect();
    let fastest = times.iter().copied().min().unwrap_or_default();
    let mean = times.iter().sum::<u128>() / times.len() as u128;
    println!("{what:<30} {fastest:>9} ns, mean {mean:>9} ns");
    fastest
}

/// An admitted workload: one container per template, every pod set on two nodes.
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
    json!({
        "name": format!("set-{index}"),
        "count": 8,
        "topologyRequest": {"required": "example.com/rack"},
        "template": {
            "metadata": {"labels": {"app": "train"}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{
                    "name": "main",
                    "image": "example.com/train:1",
                    "args": ["--shard", index.to_string()],
                    "resources": {"requests": {"cpu": "500m", "memory": "2Gi"}},
                }],
            },
        },
    })
}

fn assignment(index: usize) -> Value {
    json!({
        "name": format!("set-{index}"),
        "count": 8,
        "flavors": {"cpu": "on-demand", "memory": "on-demand"},
        "resourceUsage": {"cpu": "4", "memory": "16Gi"},
        "topologyAssignment": {
            "levels": ["example.com/rack", "kubernetes.io/hostname"],
            "slices": [{
                "domainCount": 2,
                "valuesPerLevel": [
                    {"universal": format!("rack-{index}")},
                    {"individual": {"prefix": format!("rack-{index}-node-"), "roots": ["1", "2"]}},
                ],
                "podCounts": {"universal": 4},
            }],
        },
    })
}
