//! Placement in a topology: what the files of `testbed/manager` cannot show.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::bed::Bed;

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const HOSTNAME: &str = "kubernetes.io/hostname";

/// A queue over two racks: x1 with two cpu, x2 and x3 with one each in the first, x4 with one in the second.
async fn racks() -> Bed {
    let bed = Bed::with_queue("4").await;
    let topology = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": {"name": "tree"},
        "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": HOSTNAME}]}});
    bed.create("/apis/kueue.x-k8s.io/v1beta2/topologies", &topology).await;
    bed.merge("/apis/kueue.x-k8s.io/v1beta2/resourceflavors/blue", &json!({"spec": {"topologyName": "tree"}})).await;
    for (name, rack, cpu) in [("x1", "r1", "2"), ("x2", "r1", "1"), ("x3", "r1", "1"), ("x4", "r2", "1")] {
        let labels = json!({"pool": "blue", "rack": rack, HOSTNAME: name});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
        bed.create(NODES, &node).await;
        let status = json!({"allocatable": {"cpu": cpu, "pods": "10"}, "conditions": ready("True")});
        bed.merge(&format!("{NODES}/{name}/status"), &json!({"status": status})).await;
        // The server marks new nodes until somebody says that they are ready.
        bed.merge(&format!("{NODES}/{name}"), &json!({"spec": {"taints": null}})).await;
    }
    bed
}

fn ready(status: &str) -> Value {
    json!([{"type": "Ready", "status": status, "reason": "Kubelet", "message": "",
        "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}])
}

/// A job whose pods of one cpu belong into one rack.
async fn submit(bed: &Bed, name: &str, pods: i32) {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"parallelism": pods, "completions": pods, "suspend": true, "template": {
            "metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}},
            "spec": {"restartPolicy": "Never",
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}}});
    bed.create(JOBS, &job).await;
    bed.pass(3).await;
}

/// Makes pods of a job, as the job controller does.
async fn make_pods(bed: &Bed, job: &str, names: &[&str]) {
    let template = bed.job(job).await["spec"]["template"].clone();
    for name in names {
        let mut pod =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"]});
        pod["metadata"]["name"] = json!(name);
        pod["metadata"]["creationTimestamp"].take();
        bed.create(PODS, &pod).await;
    }
    bed.pass(3).await;
}

/// Where a pod was sent; nowhere while it is gated.
async fn node_of(bed: &Bed, pod: &str) -> String {
    let pod = bed.get(&format!("{PODS}/{pod}")).await;
    let gates = &pod["spec"]["schedulingGates"];
    assert_eq!(gates.is_null(), pod["spec"]["nodeSelector"][HOSTNAME].is_string(), "{pod}");
    pod["spec"]["nodeSelector"][HOSTNAME].as_str().unwrap_or("gated").to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_can_never_start_on_its_node_ends_and_the_next_one_is_sent_elsewhere() {
    let bed = racks().await;
    submit(&bed, "first", 3).await;
    make_pods(&bed, "first", &["a", "b", "c"]).await;
    assert_eq!(node_of(&bed, "c").await, "x2");
    // Nobody binds pods here, so it waits for its node when that fails.
    bed.merge(&format!("{NODES}/x2/status"), &json!({"status": {"conditions": ready("False")}})).await;
    bed.pass(5).await;
    let stranded = bed.get(&format!("{PODS}/c")).await;
    assert_eq!(stranded["status"]["phase"], "Failed", "{stranded}");
    make_pods(&bed, "first", &["d"]).await;
    assert_eq!(node_of(&bed, "d").await, "x3");
}

#[tokio::test(start_paused = true)]
async fn how_long_pods_waited_for_their_places_is_measured() {
    let bed = racks().await;
    submit(&bed, "first", 3).await;
    bed.pass(20).await;
    make_pods(&bed, "first", &["a", "b", "c"]).await;
    let text = bed.observer.metrics().await.unwrap_or_default();
    let told = |of: &str| {
        let name = format!("kueue_pod_scheduling_gate_removal_seconds_{of}{{");
        let line = text.lines().find(|line| line.starts_with(&name) && line.contains("\"kueue.x-k8s.io/topology\""));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).unwrap_or_default()
    };
    assert!((told("count") - 3.0).abs() < f64::EPSILON, "{text}");
    assert!(told("sum") >= 60.0, "each of them waited twenty seconds: {text}");
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_is_told_which_rack_came_closest_and_which_nodes_were_left_out() {
    let bed = racks().await;
    bed.merge(&format!("{NODES}/x3"), &json!({"spec": {"taints": [{"key": "sick", "effect": "NoSchedule"}]}})).await;
    submit(&bed, "first", 4).await;
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    bed.observer.dump().await;
    drop(guard);
    let told = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let line = told.lines().find(|line| line.contains("why a workload waits")).unwrap_or_default();
    let why = "room for 3 of 4 at level rack in r1; 4 lowest domains, excluded 1 by taint \\\"sick:NoSchedule\\\"";
    assert!(line.contains(why), "{told}");
}

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics while logging").write(text)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
