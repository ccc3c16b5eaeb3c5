//! Pods, groups of pods, and what runs as pods. The test plays the webhooks: it sets the gates, labels and annotations
//! that they would.

use serde_json::{Value, json};

use crate::bed::Bed;

const PODS: &str = "/api/v1/namespaces/default/pods";
const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const WORKLOADS: &str = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
const FRAMEWORKS: &str = "integrations: {frameworks: [batch/job, pod, deployment, statefulset]}\n";

async fn bed(cpu: &str) -> Bed {
    Bed::configured(cpu, FRAMEWORKS).await
}

fn pod(name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations, "finalizers": ["kueue.x-k8s.io/managed"],
            "labels": {"kueue.x-k8s.io/managed": "true", "kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}, {"name": "example.com/other"}],
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}})
}

/// Creates a pod of a group of so many, and lets the manager look at it.
async fn join(bed: &Bed, name: &str, group: &str, total: &str) {
    let annotations = json!({"kueue.x-k8s.io/pod-group-name": group, "kueue.x-k8s.io/pod-group-total-count": total, "kueue.x-k8s.io/role-hash": "role"});
    bed.create(PODS, &pod(name, &annotations)).await;
    bed.pass(2).await;
}

async fn get(bed: &Bed, name: &str) -> Value {
    bed.get(&format!("{PODS}/{name}")).await
}

/// The gates of a pod, shortened; `gone` when there is no such pod.
async fn gates(bed: &Bed, name: &str) -> String {
    let pod = get(bed, name).await;
    if pod["kind"] == "Status" {
        return "gone".to_owned();
    }
    let gates = pod["spec"]["schedulingGates"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = gates.iter().filter_map(|gate| gate["name"].as_str()).collect();
    names.join(" ").replace("kueue.x-k8s.io/", "").replace("example.com/", "")
}

const WAITS: &str = "admission other";
const RUNS: &str = "other";

async fn phase(bed: &Bed, name: &str, phase: &str) {
    bed.merge(&format!("{PODS}/{name}/status"), &json!({"status": {"phase": phase}})).await;
}

async fn condition(bed: &Bed, workload: &str, kind: &str) -> String {
    let workload = bed.get(&format!("{WORKLOADS}/{workload}")).await;
    let conditions = workload["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == kind);
    found.map_or_else(String::new, |found| {
        format!("{} {}", found["status"].as_str().unwrap_or_default(), found["reason"].as_str().unwrap_or_default())
    })
}

#[tokio::test(start_paused = true)]
async fn a_single_pod_waits_runs_and_is_let_go() {
    let bed = bed("1").await;
    bed.create(PODS, &pod("first", &json!({}))).await;
    bed.create(PODS, &pod("second", &json!({}))).await;
    bed.pass(2).await;
    assert_eq!((gates(&bed, "first").await.as_str(), gates(&bed, "second").await.as_str()), (RUNS, WAITS));
    assert_eq!(get(&bed, "first").await["spec"]["nodeSelector"], json!({"pool": "blue"}));
    phase(&bed, "first", "Succeeded").await;
    bed.pass(2).await;
    assert_eq!(get(&bed, "first").await["metadata"]["finalizers"], json!(null));
    assert_eq!(gates(&bed, "second").await, RUNS);
}

#[tokio::test(start_paused = true)]
async fn a_gang_starts_as_a_whole_or_not_at_all() {
    let bed = bed("3").await;
    join(&bed, "a1", "a", "2").await;
    assert_eq!(bed.get(&format!("{WORKLOADS}/a")).await["code"], 404, "half of it is nothing");
    join(&bed, "a2", "a", "2").await;
    assert_eq!((gates(&bed, "a1").await.as_str(), gates(&bed, "a2").await.as_str()), (RUNS, RUNS));
    join(&bed, "b1", "b", "2").await;
    join(&bed, "b2", "b", "2").await;
    assert_eq!((gates(&bed, "b1").await.as_str(), gates(&bed, "b2").await.as_str()), (WAITS, WAITS));
    phase(&bed, "a1", "Succeeded").await;
    phase(&bed, "a2", "Succeeded").await;
    bed.pass(2).await;
    assert_eq!(condition(&bed, "a", "Finished").await, "True Succeeded");
    assert_eq!((gates(&bed, "b1").await.as_str(), gates(&bed, "b2").await.as_str()), (RUNS, RUNS));
}

#[tokio::test(start_paused = true)]
async fn a_member_that_dies_is_replaced() {
    let bed = bed("2").await;
    join(&bed, "a1", "a", "2").await;
    join(&bed, "a2", "a", "2").await;
    phase(&bed, "a1", "Running").await;
    phase(&bed, "a2", "Failed").await;
    assert_eq!(condition(&bed, "a", "WaitingForReplacementPods").await, "True PodsFailed");
    join(&bed, "a3", "a", "2").await;
    bed.pass(2).await;
    assert_eq!(gates(&bed, "a3").await, RUNS);
    assert_eq!(condition(&bed, "a", "WaitingForReplacementPods").await, "False PodsReady");
    assert_eq!(get(&bed, "a2").await["metadata"]["finalizers"], json!(null), "who was replaced is let go");
}

#[tokio::test(start_paused = true)]
async fn a_member_that_a_user_deletes_stays_until_it_is_replaced() {
    let bed = bed("2").await;
    join(&bed, "a1", "a", "2").await;
    join(&bed, "a2", "a", "2").await;
    bed.delete(&format!("{PODS}/a2")).await;
    bed.pass(2).await;
    assert_eq!(condition(&bed, "a", "WaitingForReplacementPods").await, "True PodsFailed");
    join(&bed, "a3", "a", "2").await;
    bed.pass(2).await;
    assert_eq!((gates(&bed, "a2").await.as_str(), gates(&bed, "a3").await.as_str()), ("gone", RUNS));
}

#[tokio::test(start_paused = true)]
async fn one_pod_too_many_is_removed() {
    let bed = bed("5").await;
    join(&bed, "a1", "a", "2").await;
    join(&bed, "a2", "a", "2").await;
    join(&bed, "a3", "a", "2").await;
    assert_eq!(gates(&bed, "a3").await, "gone");
    assert_eq!((gates(&bed, "a1").await.as_str(), gates(&bed, "a2").await.as_str()), (RUNS, RUNS));
}

#[tokio::test(start_paused = true)]
async fn pods_that_disagree_about_their_group_wait() {
    let bed = bed("5").await;
    join(&bed, "a1", "a", "2").await;
    join(&bed, "a2", "a", "3").await;
    assert_eq!(bed.get(&format!("{WORKLOADS}/a")).await["code"], 404);
    bed.merge(
        &format!("{PODS}/a2"),
        &json!({"metadata": {"annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"}}}),
    )
    .await;
    assert_eq!((gates(&bed, "a1").await.as_str(), gates(&bed, "a2").await.as_str()), (RUNS, RUNS));
}

#[tokio::test(start_paused = true)]
async fn pods_of_an_evicted_group_are_told_why_and_deleted() {
    let bed = bed("2").await;
    join(&bed, "a1", "a", "1").await;
    let queue = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq";
    bed.merge(queue, &json!({"spec": {"stopPolicy": "HoldAndDrain"}})).await;
    let pod = get(&bed, "a1").await;
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    let target = conditions.iter().find(|condition| condition["type"] == "TerminationTarget").unwrap();
    assert_eq!(target["reason"], "WorkloadEvictedDueToClusterQueueStopped");
    assert_ne!(pod["metadata"]["deletionTimestamp"], json!(null));
}

#[tokio::test(start_paused = true)]
async fn each_pod_of_a_deployment_waits_for_itself() {
    let bed = bed("1").await;
    for name in ["d-1", "d-2"] {
        let mut pod = pod(name, &json!({"kueue.x-k8s.io/pod-suspending-parent": "deployment"}));
        pod["metadata"]["finalizers"] = json!([]);
        bed.create(PODS, &pod).await;
    }
    bed.pass(2).await;
    assert_eq!((gates(&bed, "d-1").await.as_str(), gates(&bed, "d-2").await.as_str()), (RUNS, WAITS));
    bed.delete(&format!("{PODS}/d-1")).await;
    bed.pass(2).await;
    assert_eq!(gates(&bed, "d-2").await, RUNS);
}

/// Creates a StatefulSet with so many replicas and, as its controller does, its pods.
async fn statefulset(bed: &Bed, name: &str, replicas: usize) {
    let parent = json!({"kueue.x-k8s.io/pod-suspending-parent": "statefulset"});
    let spec = pod("", &json!({}))["spec"].clone();
    let mut template = json!({"metadata": {"labels": {"app": name}, "annotations": parent}, "spec": spec});
    template["spec"]["restartPolicy"] = json!("Always");
    template["spec"]["schedulingGates"] = json!([]);
    let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"replicas": replicas, "serviceName": name, "selector": {"matchLabels": {"app": name}}, "template": template}});
    let set = bed.create(SETS, &set).await;
    for index in 0..replicas {
        let mut pod = pod(&format!("{name}-{index}"), &parent);
        pod["metadata"]["labels"] = json!({"app": name});
        pod["metadata"]["finalizers"] = json!([]);
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name,
            "uid": set["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}]);
        bed.create(PODS, &pod).await;
    }
    bed.pass(3).await;
}

#[tokio::test(start_paused = true)]
async fn a_statefulset_has_one_workload_and_gives_its_quota_back_at_zero() {
    let bed = bed("2").await;
    statefulset(&bed, "s", 2).await;
    let all = bed.get(WORKLOADS).await;
    let names: Vec<&str> =
        all["items"].as_array().unwrap().iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
    let [name] = names[..] else { panic!("{names:?}") };
    assert!(name.starts_with("statefulset-s-"), "{name}");
    assert_eq!(condition(&bed, name, "Admitted").await, "True Admitted");
    assert_eq!((gates(&bed, "s-0").await.as_str(), gates(&bed, "s-1").await.as_str()), (RUNS, RUNS));
    bed.merge(&format!("{SETS}/s"), &json!({"spec": {"replicas": 0}})).await;
    for name in ["s-0", "s-1"] {
        bed.delete(&format!("{PODS}/{name}")).await;
    }
    bed.pass(3).await;
    assert_eq!(condition(&bed, name, "QuotaReserved").await, "False OnHold");
    bed.merge(&format!("{SETS}/s"), &json!({"spec": {"replicas": 2}})).await;
    bed.pass(3).await;
    assert_eq!(condition(&bed, name, "QuotaReserved").await, "True QuotaReserved");
}
