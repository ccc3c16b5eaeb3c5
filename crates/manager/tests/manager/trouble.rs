//! What goes wrong around a manager: it says so once, goes on trying, and never ends.

use std::io;
use std::sync::{Arc, Mutex};

use kueue_apiserver::faults::{Fault, Faults, Rule};
use serde_json::{Value, json};
use tracing::subscriber::DefaultGuard;

use crate::bed::{Bed, STRANGER, client_of, faulty_client};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// What is logged in this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().map(|mut text| text.extend_from_slice(bytes)).unwrap_or_default();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn listen() -> (Self, DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let listener = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing::Level::WARN)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(listener))
    }

    /// The lines that have a text in them.
    fn lines(&self, part: &str) -> Vec<String> {
        let text = self.0.lock().map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
        text.lines().filter(|line| line.contains(part)).map(str::to_owned).collect()
    }
}

async fn is_running(bed: &Bed, job: &str) -> bool {
    bed.job(job).await["spec"]["suspend"] == false
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_installed_is_said_once_and_waited_for() {
    let (log, _listening) = Log::listen();
    let mut bed = Bed::unmanaged("2").await;
    let definition = format!("{CRDS}/topologies.kueue.x-k8s.io");
    let spec = bed.get(&definition).await["spec"].clone();
    bed.delete(&definition).await;
    bed.start_manager();
    bed.submit("job", 1, "1").await;
    bed.pass(3600).await;
    let told = log.lines("kind=\"Topology\"");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("its CustomResourceDefinition may not be installed"), "{told:?}");
    assert!(!is_running(&bed, "job").await);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "topologies.kueue.x-k8s.io"}, "spec": spec});
    bed.create(CRDS, &definition).await;
    bed.pass(60).await;
    assert!(is_running(&bed, "job").await);
}

#[tokio::test(start_paused = true)]
async fn a_right_that_is_missing_is_said_once_and_waited_for() {
    let (log, _listening) = Log::listen();
    let mut bed = Bed::unmanaged("2").await;
    let rule =
        |groups: &[&str], resources: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": ["*"]});
    let groups =
        ["kueue.x-k8s.io", "batch", "events.k8s.io", "scheduling.k8s.io", "node.k8s.io", "autoscaling.x-k8s.io"];
    let rules = json!([rule(&groups, &["*"]), rule(&[""], &["namespaces", "events", "pods", "nodes", "podtemplates"])]);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "m"}, "rules": rules});
    bed.create(&format!("{RBAC}/clusterroles"), &role).await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "m"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "m"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "stranger"}]});
    bed.create(&format!("{RBAC}/clusterrolebindings"), &binding).await;
    bed.start_manager_over(client_of(bed.server(), STRANGER, &Faults::new(0, [])));
    bed.submit("job", 1, "1").await;
    bed.pass(3600).await;
    let told = log.lines("kind=\"LimitRange\"");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("may lack list and watch"), "{told:?}");
    let mut more = rules.as_array().cloned().unwrap_or_default();
    more.push(rule(&[""], &["limitranges"]));
    bed.merge(&format!("{RBAC}/clusterroles/m"), &json!({"rules": more})).await;
    bed.pass(60).await;
    assert!(is_running(&bed, "job").await);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_cannot_be_reached_is_waited_for() {
    let (log, _listening) = Log::listen();
    let mut bed = Bed::unmanaged("3").await;
    let faults = Faults::new(1, [Rule::new(Fault::LostBefore, 1.0)]);
    bed.start_manager_over(faulty_client(bed.server(), &faults));
    bed.submit("early", 1, "1").await;
    bed.pass(3600).await;
    let told = log.lines("kind=\"Workload\"");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("the API server may be down"), "{told:?}");
    faults.stop();
    bed.pass(60).await;
    assert!(is_running(&bed, "early").await);
    // The same in the middle of its life.
    faults.resume();
    bed.submit("late", 1, "1").await;
    bed.pass(3600).await;
    assert!(!is_running(&bed, "late").await);
    faults.stop();
    bed.pass(60).await;
    assert!(is_running(&bed, "late").await);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_patience_gets_it() {
    let mut bed = Bed::unmanaged("3").await;
    let faults = Faults::new(1, [Rule::new(Fault::TooManyRequests, 0.5)]);
    bed.start_manager_over(faulty_client(bed.server(), &faults));
    for job in ["a", "b", "c"] {
        bed.submit(job, 1, "1").await;
    }
    bed.pass(120).await;
    for job in ["a", "b", "c"] {
        assert!(is_running(&bed, job).await, "{job}");
    }
    assert!(faults.played()[&Fault::TooManyRequests] > 3, "{:?}", faults.played());
}

#[tokio::test(start_paused = true)]
async fn whoever_takes_an_admission_away_gets_a_new_decision() {
    let bed = Bed::with_queue("2").await;
    bed.submit("job", 2, "1").await;
    let name = bed.workload_of("job").await["metadata"]["name"].as_str().map(str::to_owned).unwrap_or_default();
    let status = format!("/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/{name}/status");
    bed.merge(&status, &json!({"status": {"conditions": [], "admission": Value::Null}})).await;
    bed.pass(10).await;
    assert_eq!(bed.condition("job", "Admitted").await, "True Admitted: The workload is admitted");
    assert!(is_running(&bed, "job").await);
}
