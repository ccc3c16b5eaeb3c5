//! What goes wrong around a manager: it says so once, goes on trying, and never ends.

#![allow(clippy::unwrap_used, reason = "a bed that cannot be made fails its test")]

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderValue, Request};
use kube::client::Body;
use kueue_apiserver::ApiServer;
use kueue_apiserver::faults::{Fault, Faults, Filter, Rule};
use serde_json::{Value, json};
use tokio::sync::watch;
use tracing::subscriber::DefaultGuard;

use crate::bed::{Bed, STRANGER, client_of, client_of_current, faulty_client};

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
async fn an_api_server_that_is_restarted_is_followed_again() {
    let (log, _listening) = Log::listen();
    let mut bed = Bed::unmanaged("2").await;
    let (current, servers) = watch::channel(Some(bed.server.clone()));
    bed.start_manager_over(client_of_current(servers));
    bed.submit("before", 2, "1").await;
    assert!(is_running(&bed, "before").await);
    // While nobody can reach it a job ends, another one comes, and the versions that were seen last are forgotten.
    current.send_replace(None);
    bed.pass(60).await;
    bed.replace_server();
    bed.end("before", "Complete").await;
    bed.submit("meanwhile", 2, "1").await;
    assert!(!is_running(&bed, "meanwhile").await);
    current.send_replace(Some(bed.server.clone()));
    bed.pass(60).await;
    assert_eq!(bed.condition("before", "Finished").await, "True Succeeded: Job finished");
    assert!(is_running(&bed, "meanwhile").await);
    // And again, in the middle of nothing.
    bed.replace_server();
    current.send_replace(Some(bed.server.clone()));
    bed.submit("after", 2, "1").await;
    bed.pass(60).await;
    assert!(bed.condition("after", "QuotaReserved").await.starts_with("False WaitingForQuota"));
    let told = log.lines("kind=\"Workload\"");
    assert!(told.len() <= 2, "{told:?}");
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

/// A connection on which somebody else notes something on a Workload just before a write of the manager arrives: the
/// first one of a status that this field manager makes.
fn overtaken_client(server: &ApiServer, manager: &'static str, note: &'static str) -> kube::Client {
    let (server, is_first) = (server.clone(), Arc::new(AtomicBool::new(true)));
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let (server, is_first) = (server.clone(), Arc::clone(&is_first));
        async move {
            let token = HeaderValue::from_str(&format!("Bearer {}", server.admin_token())).unwrap();
            let (path, query) = (request.uri().path().to_owned(), request.uri().query().unwrap_or_default());
            let object = path.strip_suffix("/status").filter(|path| path.contains("/workloads/"));
            if let Some(object) = object.filter(|_| query.contains(&format!("fieldManager={manager}")))
                && is_first.swap(false, Ordering::Relaxed)
            {
                let noted = json!({"metadata": {"annotations": {note: "mine"}}}).to_string();
                let other = Request::patch(object)
                    .header("authorization", token.clone())
                    .header("content-type", "application/merge-patch+json");
                server.handle(other.body(Body::from(noted.into_bytes())).unwrap()).await;
            }
            request.headers_mut().insert("authorization", token);
            Ok::<_, Infallible>(server.handle(request).await)
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn what_was_decided_survives_that_somebody_else_writes_at_the_same_moment() {
    let mut bed = Bed::unmanaged("1").await;
    bed.start_manager_over(overtaken_client(bed.server(), "kueue-admission", "example.com/note"));
    bed.submit("large", 2, "1").await;
    bed.pass(2).await;
    assert_eq!(bed.workload_of("large").await["metadata"]["annotations"]["example.com/note"], "mine");
    let told = bed.condition("large", "QuotaReserved").await;
    assert!(told.starts_with("False ExceedsMaxQuota: "), "{told}");
}

#[tokio::test(start_paused = true)]
async fn what_a_job_reported_survives_that_somebody_else_writes_at_the_same_moment() {
    let mut bed = Bed::unmanaged("2").await;
    // A note that decisions may rest on, for all that is known.
    let note = "kueue.x-k8s.io/note";
    bed.start_manager_over(overtaken_client(bed.server(), "kueue-job-controller-PodsReady", note));
    bed.submit("job", 2, "1").await;
    bed.run_pods("job", 2).await;
    bed.pass(2).await;
    assert_eq!(bed.workload_of("job").await["metadata"]["annotations"][note], "mine");
    let told = bed.condition("job", "PodsReady").await;
    assert!(told.starts_with("True Started: "), "{told}");
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

/// Looks often until something is so.
async fn until<F: Future<Output = bool>>(what: &str, is_so: impl Fn() -> F) {
    for _ in 0..10_000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("{what} in 10 s");
}

/// A manager sees late what it does to jobs, and what `more` says happens to the answers until it started one. Then the
/// queue is emptied. Says whether the job still ran when its quota was free.
async fn runs_when_freed(more: Option<Fault>) -> bool {
    let mut bed = Bed::unmanaged("2").await;
    let only = |path: &str| Filter { path: path.to_owned(), ..Filter::default() };
    let late = Rule { only: only("/apis/batch/v1/jobs"), ..Rule::new(Fault::WatchLag, 1.0) };
    let more = more.map(|fault| Rule { only: only("/jobs/job"), ..Rule::new(fault, 1.0) });
    let faults = Faults::new(1, more.into_iter().chain([late.clone()]).collect::<Vec<_>>());
    bed.start_manager_over(faulty_client(bed.server(), &faults));
    let bed = bed;
    bed.pass(1).await;
    bed.post_job("job", 2, "1", json!({})).await;
    until("no start", || is_running(&bed, "job")).await;
    faults.replace_rules([late]);
    bed.change("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", &json!({"spec": {"stopPolicy": "HoldAndDrain"}})).await;
    let is_freed = || async { bed.condition("job", "QuotaReserved").await.starts_with("False") };
    until("not freed", is_freed).await;
    is_running(&bed, "job").await
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_start_was_not_seen_yet_is_not_taken_for_stopped() {
    assert!(!runs_when_freed(None).await);
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_start_was_never_answered_is_not_taken_for_stopped() {
    assert!(!runs_when_freed(Some(Fault::LostAfter)).await);
}

/// A connection on which it is noted what was refused, but for kinds that are not there to be watched.
fn noting_client(server: &ApiServer, refused: &Arc<Mutex<Vec<String>>>) -> kube::Client {
    let (server, refused) = (server.clone(), Arc::clone(refused));
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let (server, refused) = (server.clone(), Arc::clone(&refused));
        async move {
            let token = HeaderValue::from_str(&format!("Bearer {}", server.admin_token())).unwrap();
            request.headers_mut().insert("authorization", token);
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch"));
            let what = format!("{} {}", request.method(), request.uri().path());
            let answer = server.handle(request).await;
            if !answer.status().is_success() && !is_watch {
                refused.lock().unwrap().push(format!("{what} {}", answer.status().as_u16()));
            }
            Ok::<_, Infallible>(answer)
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_deleted_job_takes_one_question_and_no_conflict() {
    let refused = Arc::default();
    let mut bed = Bed::unmanaged("2").await;
    bed.start_manager_over(noting_client(bed.server(), &refused));
    bed.submit("job", 2, "1").await;
    bed.submit("waiting", 2, "1").await;
    refused.lock().unwrap().clear();
    bed.delete("/apis/batch/v1/namespaces/default/jobs/job").await;
    bed.pass(2).await;
    assert!(is_running(&bed, "waiting").await);
    let finished = bed.condition("job", "Finished").await;
    assert!(finished.starts_with("True OwnerNotFound"), "{finished}");
    assert_eq!(bed.workload_of("job").await["metadata"]["finalizers"], Value::Null);
    assert_eq!(*refused.lock().unwrap(), ["GET /apis/batch/v1/namespaces/default/jobs/job 404"]);
}
