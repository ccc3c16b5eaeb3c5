//! The whole sandbox under virtual time, without a socket.

#![allow(clippy::unwrap_used, reason = "a sandbox that cannot be made fails its test")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use http::{Method, Request};
use kube::client::Body;
use kueue_sandbox::{Defaults, NODES, Options, Sandbox};
use serde_json::{Value, json};

const KUEUE: &str = "/apis/kueue.x-k8s.io/v1beta2";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const MANAGER: &str = "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager";
const CONFIG: &str = "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config";

/// A sandbox and a user.
struct Bed {
    client: kube::Client,
    sandbox: Sandbox,
}

fn options(seed: u8, state: Option<PathBuf>) -> Options {
    Options {
        start: "2026-01-01T00:00:00Z".parse().unwrap(),
        speed: 1.0,
        seed: [seed; 32],
        pods: Defaults { seed: seed.into(), ..Defaults::default() },
        nodes: kueue_world::fleet::nodes(NODES).unwrap(),
        has_demo: false,
        state,
    }
}

impl Bed {
    async fn new(seed: u8) -> Self {
        Self::kept_in(seed, None).await
    }

    async fn kept_in(seed: u8, state: Option<PathBuf>) -> Self {
        let mut sandbox = Sandbox::start(options(seed, state)).await.unwrap();
        sandbox.ready().await;
        let bed = Self { client: sandbox.client().unwrap(), sandbox };
        bed.pass(5).await;
        bed
    }

    async fn with_queue(seed: u8, cpu: u32) -> Self {
        let bed = Self::new(seed).await;
        bed.create_queue(cpu).await;
        bed
    }

    async fn create_queue(&self, cpu: u32) {
        let bed = self;
        let flavor =
            json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"}});
        bed.send(Method::POST, &format!("{KUEUE}/resourceflavors"), &flavor).await;
        let queue = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "cq"},
            "spec": {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
                {"name": "f", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]}]}});
        bed.send(Method::POST, &format!("{KUEUE}/clusterqueues"), &queue).await;
        let queue = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "lq"},
            "spec": {"clusterQueue": "cq"}});
        bed.send(Method::POST, &format!("{KUEUE}/namespaces/default/localqueues"), &queue).await;
    }

    async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> Value {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder().method(method).uri(path).header("content-type", kind);
        let answer = self.client.send(request.body(Body::from(body)).unwrap()).await.unwrap();
        let is_fine = answer.status().is_success();
        let answer: Value = serde_json::from_slice(&answer.into_body().collect_bytes().await.unwrap()).unwrap();
        assert!(is_fine, "{path}: {answer}");
        answer
    }

    async fn get(&self, path: &str) -> Value {
        self.send(Method::GET, path, &Value::Null).await
    }

    async fn submit(&self, name: &str, pods: u32, seconds: u32) {
        let job = json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
            "spec": {"parallelism": pods, "completions": pods, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "i",
                    "command": ["sleep", seconds.to_string()], "resources": {"requests": {"cpu": "1"}}}]}}}});
        self.send(Method::POST, JOBS, &job).await;
    }

    async fn finished(&self) -> usize {
        let jobs = self.get(JOBS).await;
        let is_done = |job: &&Value| job["status"]["succeeded"] == job["spec"]["completions"];
        jobs["items"].as_array().unwrap().iter().filter(is_done).count()
    }

    /// Changes the manager's configuration and restarts it as `kubectl rollout restart` does.
    async fn reconfigure(&self, text: &str, stamp: &str) {
        self.send(Method::PATCH, CONFIG, &json!({"data": {"controller_manager_config.yaml": text}})).await;
        let annotations = json!({"kubectl.kubernetes.io/restartedAt": stamp});
        let restart = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
        self.send(Method::PATCH, MANAGER, &restart).await;
        self.pass(60).await;
    }

    async fn manager_pods(&self) -> Vec<Value> {
        self.get("/api/v1/namespaces/kueue-system/pods").await["items"].as_array().unwrap().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_wait_for_quota_run_and_end() {
    let bed = Bed::with_queue(1, 3).await;
    bed.submit("first", 2, 60).await;
    bed.submit("second", 2, 60).await;
    bed.pass(30).await;
    let pods = bed.get("/api/v1/namespaces/default/pods").await;
    let phases: Vec<&Value> = pods["items"].as_array().unwrap().iter().map(|pod| &pod["status"]["phase"]).collect();
    assert_eq!(phases, ["Running", "Running"], "the second job waits");
    bed.pass(50).await;
    assert_eq!(bed.finished().await, 1);
    bed.pass(70).await;
    assert_eq!(bed.finished().await, 2);
}

#[tokio::test(start_paused = true)]
async fn who_wrote_what_is_told_as_on_a_cluster() {
    let bed = Bed::with_queue(8, 3).await;
    bed.submit("job", 1, 5).await;
    bed.pass(30).await;
    for (kind, wanted) in [
        ("api/v1/namespaces/default/pods", ["kube-controller-manager", "kubelet"].as_slice()),
        (
            "api/v1/namespaces/default/events",
            ["kube-controller-manager", "kube-scheduler", "kubelet", "kueue"].as_slice(),
        ),
    ] {
        let found = bed.get(&format!("/{kind}")).await;
        let entries = found["items"].as_array().unwrap().iter().map(|item| &item["metadata"]["managedFields"]);
        let entries = entries.flat_map(|entries| entries.as_array().unwrap());
        let managers: BTreeSet<&str> = entries.map(|entry| entry["manager"].as_str().unwrap()).collect();
        assert_eq!(Vec::from_iter(managers), wanted, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_can_be_asked_through_the_api_server() {
    const VISIBILITY: &str = "/apis/visibility.kueue.x-k8s.io/v1beta2";
    let bed = Bed::with_queue(1, 2).await;
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    for version in ["v1beta1", "v1beta2"] {
        let service = bed.get(&format!("{services}/{version}.visibility.kueue.x-k8s.io")).await;
        assert_eq!(service["status"]["conditions"][0]["status"], "True", "{service}");
    }
    for name in ["runs", "first", "second", "third"] {
        bed.submit(name, 2, 60).await;
        bed.pass(5).await;
    }
    let waiting = |page: Value| -> Vec<(String, i64, i64)> {
        let items = page["items"].as_array().unwrap().iter();
        let shown = items.map(|item| {
            let owner = item["metadata"]["ownerReferences"][0]["name"].as_str().unwrap().to_owned();
            (owner, item["positionInClusterQueue"].as_i64().unwrap(), item["positionInLocalQueue"].as_i64().unwrap())
        });
        shown.collect()
    };
    let all = bed.get(&format!("{VISIBILITY}/clusterqueues/cq/pendingworkloads")).await;
    assert_eq!((&all["kind"], &all["items"][0]["localQueueName"]), (&json!("PendingWorkloadsSummary"), &json!("lq")));
    let place = |name: &str, place: i64| (name.to_owned(), place, place);
    assert_eq!(waiting(all), [place("first", 0), place("second", 1), place("third", 2)]);
    let local = format!("{VISIBILITY}/namespaces/default/localqueues/lq/pendingworkloads");
    assert_eq!(waiting(bed.get(&format!("{local}?limit=1&offset=1")).await), [place("second", 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_restart_brings_the_new_configuration_and_a_broken_one_is_refused() {
    let bed = Bed::with_queue(2, 3).await;
    let before = bed.manager_pods().await;
    assert_eq!(before.len(), 1);
    let old = bed.get(CONFIG).await["data"]["controller_manager_config.yaml"].as_str().unwrap().to_owned();

    bed.reconfigure("manageJobsWithoutQueueName: maybe\n", "1").await;
    let pods = bed.manager_pods().await;
    assert_eq!(pods.len(), 2, "the running one stays");
    let new = pods.iter().find(|pod| pod["metadata"]["uid"] != before[0]["metadata"]["uid"]).unwrap();
    let status = &new["status"]["containerStatuses"][0];
    assert_eq!(status["state"]["waiting"]["reason"], "CrashLoopBackOff");
    let words = status["lastState"]["terminated"]["message"].as_str().unwrap();
    assert!(words.contains("manageJobsWithoutQueueName"), "{words}");
    bed.submit("meanwhile", 1, 5).await;
    bed.pass(20).await;
    assert_eq!(bed.finished().await, 1, "the old manager still works");

    bed.reconfigure(&format!("{old}\nmanageJobsWithoutQueueName: true\n"), "2").await;
    let pods = bed.manager_pods().await;
    assert_eq!(pods.len(), 1, "{pods:?}");
    assert_ne!(pods[0]["metadata"]["uid"], before[0]["metadata"]["uid"]);
    let status = bed.get(MANAGER).await["status"].clone();
    assert_eq!((&status["updatedReplicas"], &status["availableReplicas"]), (&json!(1), &json!(1)));
    bed.submit("afterwards", 1, 5).await;
    bed.pass(60).await;
    assert_eq!(bed.finished().await, 2, "the new manager works");
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_in_a_file_goes_on_after_a_restart() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kept.state");
    let _ = std::fs::remove_file(&file);
    let bed = Bed::kept_in(4, Some(file.clone())).await;
    bed.create_queue(3).await;
    bed.submit("runs", 2, 120).await;
    bed.submit("waits", 2, 5).await;
    bed.pass(20).await;
    let before = bed.get(&format!("{JOBS}/runs")).await;
    let version = |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    bed.sandbox.end().await.unwrap();

    let bed = Bed::kept_in(5, Some(file.clone())).await;
    bed.pass(30).await;
    let after = bed.get(&format!("{JOBS}/runs")).await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!((&after["status"]["active"], &after["spec"]["suspend"]), (&json!(2), &json!(false)), "it still runs");
    assert!(version(&after) >= version(&before));
    assert_eq!(bed.manager_pods().await.len(), 1, "the manager's pod is the old one, and it runs");
    assert_eq!(bed.get(&format!("{JOBS}/waits")).await["spec"]["suspend"], true, "its quota is still taken");
    bed.pass(150).await;
    assert_eq!(bed.finished().await, 2, "the manager goes on");
}

#[tokio::test(start_paused = true)]
async fn a_file_is_kept_by_one_sandbox_only_and_must_be_writable() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("one.state");
    let _ = std::fs::remove_file(&file);
    let first = Sandbox::start(options(7, Some(file.clone()))).await.unwrap();
    let told = |problem: anyhow::Error| format!("{problem:#}");
    let second = told(Sandbox::start(options(7, Some(file.clone()))).await.unwrap_err());
    assert!(second.contains("another sandbox keeps itself in"), "{second}");
    first.end().await.unwrap();
    drop(Sandbox::start(options(7, Some(file))).await.unwrap());
    let nowhere = told(Sandbox::start(options(7, Some(folder.join("nowhere/a.state")))).await.unwrap_err());
    assert!(nowhere.starts_with("cannot write") && nowhere.contains("No such file"), "{nowhere}");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_holds_no_sandbox_is_refused() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no.state");
    std::fs::write(&file, "apiVersion: v1\n").unwrap();
    let problem = Sandbox::start(options(6, Some(file.clone()))).await.unwrap_err();
    let told = format!("{problem:#}");
    assert!(told.contains("no.state holds no sandbox; name another file: its first line"), "{told}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "apiVersion: v1\n", "it is left alone");
}
