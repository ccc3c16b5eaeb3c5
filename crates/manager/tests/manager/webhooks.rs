//! The webhooks as the API server calls them, in process.

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::bed::{Bed, install_webhooks};

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

/// A bed whose API server asks the manager, as the shipped configurations say.
async fn bed() -> Bed {
    let bed = Bed::with_queue("2").await;
    let (_, answering) = watch::channel(Some(bed.observer.clone()));
    install_webhooks(&bed.server, answering).await;
    bed
}

fn job(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}})
}

#[tokio::test(start_paused = true)]
async fn a_job_with_a_queue_never_runs_before_its_turn() {
    let bed = bed().await;
    let queued = bed.create(JOBS, &job("queued", &json!({"kueue.x-k8s.io/queue-name": "lq"}))).await;
    assert_eq!(queued["spec"]["suspend"], true);
    let free = bed.create(JOBS, &job("free", &json!({}))).await;
    assert_ne!(free["spec"]["suspend"], true);
    bed.pass(2).await;
    assert_eq!(bed.job("queued").await["spec"]["suspend"], false, "there is room for it");
}

#[tokio::test(start_paused = true)]
async fn mistakes_are_refused_before_anything_is_written() {
    let bed = bed().await;
    let refused = bed.post(JOBS, &job("wrong", &json!({"kueue.x-k8s.io/queue-name": "A_b"}))).await;
    let message = refused["message"].as_str().unwrap_or_default();
    let expected = r#"admission webhook "vjob.kb.io" denied the request: metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "A_b""#;
    assert!(message.starts_with(expected), "{message}");
    let queue = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"},
        "spec": {"nodeTaints": [{"key": "k", "effect": "Nonsense"}]}});
    let refused = bed.post("/apis/kueue.x-k8s.io/v1beta2/resourceflavors", &queue).await;
    assert_eq!(refused["kind"], "Status", "{refused}");
}

#[tokio::test(start_paused = true)]
async fn who_uses_no_queues_does_not_wait_for_a_manager_that_is_down() {
    let mut bed = bed().await;
    bed.stop_manager();
    bed.server.server().dialer.route_to_port("kueue-system/kueue-webhook-service:443", 1);
    let free = bed.create(JOBS, &job("free", &json!({}))).await;
    assert_ne!(free["spec"]["suspend"], true);
    let refused = bed.post(JOBS, &job("queued", &json!({"kueue.x-k8s.io/queue-name": "lq"}))).await;
    let message = refused["message"].as_str().unwrap_or_default();
    assert!(message.contains(r#"failed calling webhook "mjob.kb.io""#), "{message}");
}
