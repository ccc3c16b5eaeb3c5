//! An embedded API server with a manager on it, and a hand that plays users and the job controller.

#![allow(clippy::unwrap_used, reason = "a bed that cannot be made fails its test")]

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Frame;
use kube::client::Body;
use kueue_api::config::{DEFAULT_NAMESPACE, load};
use kueue_apiserver::auth::StaticUser;
use kueue_apiserver::faults::Faults;
use kueue_apiserver::{ApiServer, Image, Settings, dial};
use kueue_core::gates::Gates;
use kueue_manager::{Manager, Observer, Visibility};
use kueue_runtime::clock::Clock;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tower::{Layer as _, ServiceExt as _};

pub(crate) const START: &str = "2026-01-01T00:00:00Z";
const KUEUE: &str = "/apis/kueue.x-k8s.io/v1beta2";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
/// One manager alone, which nobody has to elect.
const CONFIG: &str =
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nleaderElection: {leaderElect: false}\n";

/// The token of a user who has no rights from the start.
pub(crate) const STRANGER: &str = "the-token-of-a-stranger";

fn settings() -> Settings {
    let stranger = StaticUser { name: "stranger".to_owned(), groups: Vec::new(), token: STRANGER.to_owned() };
    let settings = Settings::new(kueue_apiserver::clock::Clock::starting_at(START.parse().unwrap()), [7; 32]);
    Settings { users: vec![stranger], ..settings }
}

/// A body that comes in pieces.
struct Pieces(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// Speaks to whichever server there is as its administrator. When it is another one, or none, all answers break off.
pub(crate) fn client_of_current(servers: watch::Receiver<Option<ApiServer>>) -> kube::Client {
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let mut servers = servers.clone();
        async move {
            let current = servers.borrow_and_update().clone();
            let server = current.ok_or_else(|| io::Error::other("connection refused"))?;
            let token: HeaderValue = format!("Bearer {}", server.admin_token()).parse().unwrap();
            request.headers_mut().insert("authorization", token);
            let (parts, mut body) = server.handle(request).await.into_parts();
            let (sender, pieces) = mpsc::channel(1);
            tokio::spawn(async move {
                loop {
                    tokio::select! {
                        biased;
                        _ = servers.changed() => return,
                        frame = body.frame() => {
                            let Some(Ok(frame)) = frame else { return };
                            if sender.send(frame.into_data().unwrap_or_default()).await.is_err() {
                                return;
                            }
                        }
                    }
                }
            });
            Ok::<_, io::Error>(Response::from_parts(parts, Pieces(pieces)))
        }
    });
    kube::Client::new(service, "default")
}

/// A server with all of our definitions. To read them takes seconds, so it happens once for all tests.
pub(crate) fn image() -> Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    let beside = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(prepare())
    };
    // A test that waits here is in a runtime already, hence the thread.
    IMAGE.get_or_init(|| std::thread::spawn(beside).join().unwrap()).clone()
}

async fn prepare() -> Image {
    let server = ApiServer::start(settings());
    for kind in kueue_manifests::crds::kinds() {
        install(&server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &kind.to_crd()).await;
    }
    server.image()
}

async fn install(server: &ApiServer, path: &str, object: &Value) {
    let request = Request::post(path)
        .header("authorization", format!("Bearer {}", server.admin_token()))
        .header("content-type", "application/json");
    let answer = server.handle(request.body(object.to_string()).unwrap()).await;
    assert_eq!(answer.status(), 201, "{object}");
}

const WEBHOOKS: &str = "kueue-system/kueue-webhook-service:443";

/// What the shipped manifests say about whom the API server has to ask.
async fn install_configurations(server: &ApiServer) {
    for object in kueue_manifests::install::objects(&kueue_manifests::install::Options::default()) {
        let path = match object["kind"].as_str().unwrap_or_default() {
            "Namespace" => "/api/v1/namespaces",
            "Service" => "/api/v1/namespaces/kueue-system/services",
            "MutatingWebhookConfiguration" => "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
            "ValidatingWebhookConfiguration" => "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            _ => continue,
        };
        install(server, path, &object).await;
    }
}

/// Lets the API server ask a manager, as the shipped configurations say, over HTTPS at a port of this machine.
pub(crate) async fn install_webhooks_at(server: &ApiServer, port: u16) {
    install_configurations(server).await;
    server.server().dialer.route_to_port(WEBHOOKS, port);
}

/// The same without a socket: whichever manager `answering` names, if any does.
pub(crate) async fn install_webhooks(server: &ApiServer, answering: watch::Receiver<Option<Observer>>) {
    install_configurations(server).await;
    let service = tower::service_fn(move |request: dial::Request| {
        let observer = answering.borrow().clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            let answer = match observer {
                Some(observer) => observer.review(parts.uri.path(), &body).await,
                None => None,
            };
            let nobody = || Response::builder().status(503).body(Full::default()).unwrap();
            Ok::<_, Infallible>(answer.unwrap_or_else(nobody))
        }
    });
    server.server().dialer.route_to_service(WEBHOOKS, service);
}

/// Lets the API server hand requests for queues on to whichever manager `answering` names, if any does.
pub(crate) async fn install_visibility(server: &ApiServer, answering: watch::Receiver<Option<Observer>>) {
    let client = faulty_client(server, &Faults::new(0, []));
    let service = tower::service_fn(move |request: dial::Request| {
        let (observer, client) = (answering.borrow().clone(), client.clone());
        async move {
            let Some(observer) = observer else {
                return Ok(Response::builder().status(503).body(Full::default()).unwrap());
            };
            let visibility = Visibility::new(&observer, client, Clock::starting_at(START.parse().unwrap()));
            Ok::<_, Infallible>(visibility.answer_near(request.method(), request.uri(), request.headers()).await)
        }
    });
    server.server().dialer.route_to_service("kueue-system/kueue-visibility-server:443", service);
    for object in kueue_manifests::install::objects(&kueue_manifests::install::Options::default()) {
        if object["kind"] == "APIService" {
            install(server, "/apis/apiregistration.k8s.io/v1/apiservices", &object).await;
        }
    }
}

/// Shows the log of tests that fail; KUEUE_TEST_LOG says how much.
pub(crate) fn show_log() {
    let level = std::env::var("KUEUE_TEST_LOG").ok().and_then(|level| level.parse().ok());
    let level = level.unwrap_or(tracing_subscriber::filter::LevelFilter::WARN);
    drop(tracing_subscriber::fmt().with_test_writer().without_time().with_max_level(level).try_init());
}

/// Speaks to the server as its administrator, over a connection that is as reliable as the faults say.
pub(crate) fn faulty_client(server: &ApiServer, faults: &Faults) -> kube::Client {
    client_of(server, server.admin_token(), faults)
}

/// The same as somebody else.
pub(crate) fn client_of(server: &ApiServer, token: &str, faults: &Faults) -> kube::Client {
    let token: HeaderValue = format!("Bearer {token}").parse().unwrap();
    let faulty = faults.layer(server.clone());
    let service = tower::service_fn(move |mut request: Request<Body>| {
        request.headers_mut().insert("authorization", token.clone());
        faulty.clone().oneshot(request)
    });
    kube::Client::new(service, "default")
}

/// Speaks to the server as its administrator. Requests that change something are counted.
fn client(server: &ApiServer, writes: &Arc<AtomicUsize>) -> kube::Client {
    let token: HeaderValue = format!("Bearer {}", server.admin_token()).parse().unwrap();
    let (server, writes) = (server.clone(), Arc::clone(writes));
    let service = tower::service_fn(move |mut request: Request<Body>| {
        request.headers_mut().insert("authorization", token.clone());
        if request.method() != Method::GET {
            writes.fetch_add(1, Ordering::Relaxed);
        }
        let server = server.clone();
        async move { Ok::<_, Infallible>(server.handle(request).await) }
    });
    kube::Client::new(service, "default")
}

pub(crate) struct Bed {
    client: kube::Client,
    pub(crate) server: ApiServer,
    clock: Clock,
    /// Requests that change something.
    writes: Arc<AtomicUsize>,
    manager: Option<tokio::task::JoinHandle<()>>,
    pub(crate) observer: Observer,
}

impl Bed {
    /// A manager, and a queue `lq` with so much cpu of the flavor `blue`.
    pub(crate) async fn with_queue(cpu: &str) -> Self {
        Self::configured(cpu, "").await
    }

    /// The same with more lines of configuration.
    pub(crate) async fn configured(cpu: &str, more: &str) -> Self {
        let mut bed = Self::empty().await;
        bed.start_configured(more);
        bed.create_queue(cpu).await;
        bed
    }

    async fn create_queue(&self, cpu: &str) {
        let bed = self;
        bed.create(
            &format!("{KUEUE}/resourceflavors"),
            &json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor",
            "metadata": {"name": "blue"}, "spec": {"nodeLabels": {"pool": "blue"}}}),
        )
        .await;
        bed.create(
            &format!("{KUEUE}/clusterqueues"),
            &json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "cq"},
            "spec": {"namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
                {"name": "blue", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]}]}}),
        )
        .await;
        bed.create(
            &format!("{KUEUE}/namespaces/default/localqueues"),
            &json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
            "metadata": {"name": "lq"}, "spec": {"clusterQueue": "cq"}}),
        )
        .await;
        bed.pass(2).await;
    }

    async fn empty() -> Self {
        show_log();
        let server = ApiServer::start(Settings { image: Some(image()), ..settings() });
        let (writes, clock) = (Arc::default(), Clock::starting_at(START.parse().unwrap()));
        let (client, observer) = (client(&server, &writes), Observer::default());
        Self { client, server, clock, writes, manager: None, observer }
    }

    /// Another server with what this one has stored; of what happened before it knows nothing.
    pub(crate) fn replace_server(&mut self) {
        let clock = self.server.server().clock;
        let image = Some(self.server.image());
        // What it invents must be new.
        let seed = [8; 32];
        self.server = ApiServer::start(Settings { image, clock, seed, ..settings() });
        self.client = client(&self.server, &self.writes);
    }

    pub(crate) fn server(&self) -> &ApiServer {
        &self.server
    }

    pub(crate) fn start_manager(&mut self) {
        self.start_configured("");
    }

    fn start_configured(&mut self, more: &str) {
        let manager = self.manager(&format!("{CONFIG}{more}"), "test", &self.writes);
        self.run(manager);
    }

    /// A manager with a connection of its own.
    pub(crate) fn start_manager_over(&mut self, client: kube::Client) {
        let config = load(CONFIG, DEFAULT_NAMESPACE).unwrap();
        self.run(Manager::new(config, Gates::default(), client, self.clock, "test".to_owned()));
    }

    fn run(&mut self, manager: Manager) {
        self.observer = manager.observer();
        self.manager = Some(tokio::spawn(manager.run()));
    }

    /// A manager that does not run yet, and whose writes are counted.
    pub(crate) fn manager(&self, config: &str, name: &str, writes: &Arc<AtomicUsize>) -> Manager {
        self.manager_over(config, name, client(&self.server, writes))
    }

    /// A manager that does not run yet, with a connection of its own.
    pub(crate) fn manager_over(&self, config: &str, name: &str, client: kube::Client) -> Manager {
        let config = load(config, DEFAULT_NAMESPACE).unwrap();
        Manager::new(config, Gates::default(), client, self.clock, name.to_owned())
    }

    /// A manager with other gates than usual, on a bed without queues.
    pub(crate) async fn with_gates(gates: Gates) -> Self {
        let mut bed = Self::empty().await;
        let config = load(CONFIG, DEFAULT_NAMESPACE).unwrap();
        let manager = Manager::new(config, gates, client(&bed.server, &bed.writes), bed.clock, "test".to_owned());
        bed.manager = Some(tokio::spawn(manager.run()));
        bed.pass(2).await;
        bed
    }

    /// A bed without a manager, with the queue of [`with_queue`](Self::with_queue).
    pub(crate) async fn unmanaged(cpu: &str) -> Self {
        let bed = Self::empty().await;
        bed.create_queue(cpu).await;
        bed
    }

    pub(crate) fn stop_manager(&mut self) {
        if let Some(manager) = self.manager.take() {
            manager.abort();
        }
    }

    /// Lets so many seconds go by.
    pub(crate) async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    async fn send(&self, method: Method, path: &str, kind: &str, body: &Value) -> Value {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder().method(method).uri(path).header("content-type", kind);
        let answer = self.client.send(request.body(Body::from(body)).unwrap()).await.unwrap();
        let bytes = answer.into_body().collect_bytes().await.unwrap();
        serde_json::from_slice(&bytes).unwrap_or(Value::Null)
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.send(Method::GET, path, "application/json", &Value::Null).await
    }

    /// What is answered to a new object, whatever that is.
    pub(crate) async fn post(&self, path: &str, object: &Value) -> Value {
        self.send(Method::POST, path, "application/json", object).await
    }

    pub(crate) async fn create(&self, path: &str, object: &Value) -> Value {
        let created = self.post(path, object).await;
        assert_ne!(created["kind"], "Status", "{created}");
        created
    }

    pub(crate) async fn change(&self, path: &str, patch: &Value) {
        let changed = self.send(Method::PATCH, path, "application/merge-patch+json", patch).await;
        assert_ne!(changed["kind"], "Status", "{changed}");
    }

    /// Changes an object, and lets everybody react.
    pub(crate) async fn merge(&self, path: &str, patch: &Value) {
        self.change(path, patch).await;
        self.pass(2).await;
    }

    pub(crate) async fn delete(&self, path: &str) {
        self.send(Method::DELETE, path, "application/json", &json!({"propagationPolicy": "Background"})).await;
    }

    /// Submits a job with so many pods of so much cpu, and lets the manager look at it.
    pub(crate) async fn submit(&self, name: &str, pods: i32, cpu: &str) {
        self.submit_labelled(name, pods, cpu, json!({})).await;
    }

    pub(crate) async fn submit_labelled(&self, name: &str, pods: i32, cpu: &str, labels: Value) {
        self.post_job(name, pods, cpu, labels).await;
        self.pass(2).await;
    }

    pub(crate) async fn post_job(&self, name: &str, pods: i32, cpu: &str, labels: Value) {
        let mut job = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "labels": labels},
            "spec": {"parallelism": pods, "completions": pods, "suspend": true, "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}}}});
        job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = json!("lq");
        self.create(JOBS, &job).await;
    }

    pub(crate) async fn job(&self, name: &str) -> Value {
        self.get(&format!("{JOBS}/{name}")).await
    }

    /// As the job controller reports how many pods run.
    pub(crate) async fn run_pods(&self, name: &str, pods: i32) {
        let mut status = json!({"active": pods, "ready": pods});
        if pods > 0 {
            status["startTime"] = json!(START);
        }
        self.merge(&format!("{JOBS}/{name}/status"), &json!({"status": status})).await;
    }

    /// As the job controller reports the end of a job.
    pub(crate) async fn end(&self, name: &str, kind: &str) {
        let condition = |kind: &str| {
            json!({"type": kind, "status": "True", "reason": "Done", "message": "Job finished",
            "lastTransitionTime": START, "lastProbeTime": START})
        };
        let target = if kind == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
        let pods = self.job(name).await["spec"]["completions"].clone();
        let status = json!({"active": 0, "ready": 0, "succeeded": pods, "startTime": START, "completionTime": START,
            "conditions": [condition(target), condition(kind)]});
        self.merge(&format!("{JOBS}/{name}/status"), &json!({"status": status})).await;
    }

    /// Deletes a job as a user does, and what it owned as the garbage collector does.
    pub(crate) async fn delete_job(&self, name: &str) {
        let workload = self.workload_of(name).await;
        self.delete(&format!("{JOBS}/{name}")).await;
        self.delete(&format!(
            "{KUEUE}/namespaces/default/workloads/{}",
            workload["metadata"]["name"].as_str().unwrap()
        ))
        .await;
        self.pass(2).await;
    }

    /// The Workload of a job.
    pub(crate) async fn workload_of(&self, job: &str) -> Value {
        let all = self.get(&format!("{KUEUE}/namespaces/default/workloads")).await;
        let all = all["items"].as_array().unwrap();
        let is_owned = |workload: &&Value| workload["metadata"]["ownerReferences"][0]["name"] == job;
        all.iter().find(is_owned).cloned().unwrap_or_else(|| panic!("{job} has no workload in {all:?}"))
    }

    /// A condition of the Workload of a job, as `status reason: message`.
    pub(crate) async fn condition(&self, job: &str, kind: &str) -> String {
        let workload = self.workload_of(job).await;
        let conditions = workload["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let Some(found) = conditions.iter().find(|condition| condition["type"] == kind) else {
            return format!("no {kind} in {conditions:?}");
        };
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        format!("{} {}: {}", text("status"), text("reason"), text("message"))
    }
}
