//! Several managers, of which one leads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kueue_manager::Observer;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::bed::{Bed, START};

const CONFIG: &str = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";

struct Replica {
    writes: Arc<AtomicUsize>,
    observer: Observer,
    end: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Replica {
    fn start(bed: &Bed, name: &str) -> Self {
        let writes = Arc::default();
        let manager = bed.manager(CONFIG, name, &writes);
        let (end, ended) = oneshot::channel();
        let observer = manager.observer();
        let running = tokio::spawn(manager.run_until(async { drop(ended.await) }));
        Self { writes, observer, end, running }
    }

    fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    async fn role(&self) -> String {
        let text = self.observer.metrics().await.unwrap_or_default();
        let role = text.split("replica_role=\"").nth(1).and_then(|rest| rest.split('"').next());
        role.unwrap_or_default().to_owned()
    }
}

async fn bed() -> Bed {
    let bed = Bed::unmanaged("2").await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}});
    bed.create("/api/v1/namespaces", &namespace).await;
    bed
}

#[tokio::test(start_paused = true)]
async fn a_follower_writes_nothing_and_takes_over_at_once_when_it_may() {
    let bed = bed().await;
    let first = Replica::start(&bed, "a");
    bed.pass(1).await;
    let second = Replica::start(&bed, "b");
    bed.submit("one", 2, "1").await;
    bed.submit("two", 2, "1").await;
    bed.pass(100).await;
    assert!(first.writes() > 0);
    assert_eq!((second.writes(), second.observer.is_ready()), (0, true), "it waits and knows everything");
    assert_eq!((first.role().await.as_str(), second.role().await.as_str()), ("leader", "follower"));
    first.end.send(()).unwrap_or_default();
    first.running.await.unwrap_or_default();
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(second.role().await, "leader", "in less than a second");
    bed.end("one", "Complete").await;
    assert_eq!(bed.job("two").await["spec"]["suspend"], false);
}

/// A connection to a server that begins no watch of a kind with everything, and whose watches of it begin only after so
/// long, as if all that happens were told late.
fn late_client(bed: &Bed, collection: &'static str, wait: Duration) -> kube::Client {
    let server = bed.server().clone();
    let token: http::HeaderValue =
        format!("Bearer {}", server.admin_token()).parse().unwrap_or(http::HeaderValue::from_static(""));
    let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
        request.headers_mut().insert("authorization", token.clone());
        let server = server.clone();
        async move {
            let query = request.uri().query().unwrap_or_default();
            let is_watch = request.uri().path() == collection && query.contains("watch=1");
            if is_watch && query.contains("sendInitialEvents") {
                let wrong = format!("{collection}?limit=wrong").parse();
                *request.uri_mut() = wrong.unwrap_or_default();
            } else if is_watch {
                tokio::time::sleep(wait).await;
            }
            Ok::<_, std::convert::Infallible>(server.handle(request).await)
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn who_takes_over_sees_first_what_the_leader_before_wrote() {
    let bed = bed().await;
    let first = Replica::start(&bed, "a");
    bed.pass(1).await;
    let late = bed.manager_over(
        CONFIG,
        "late",
        late_client(&bed, "/apis/kueue.x-k8s.io/v1beta2/workloads", Duration::from_secs(30)),
    );
    let observer = late.observer();
    tokio::spawn(late.run());
    observer.ready().await;
    bed.submit("one", 2, "1").await;
    bed.submit("two", 2, "1").await;
    first.end.send(()).unwrap_or_default();
    first.running.await.unwrap_or_default();
    bed.pass(5).await;
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/c1f6bfd2.kueue.x-k8s.io";
    assert_eq!(bed.get(lease).await["spec"]["holderIdentity"], "late");
    assert_eq!(observer.role(), Some("follower"), "it has the Lease and has not seen what there is");
    bed.pass(30).await;
    assert_eq!(observer.role(), Some("leader"));
    assert_eq!(bed.job("two").await["spec"]["suspend"], true, "all quota is with the first job");
    bed.end("one", "Complete").await;
    assert_eq!(bed.job("two").await["spec"]["suspend"], false);
}

#[tokio::test(start_paused = true)]
async fn who_takes_over_takes_no_job_for_stopped_that_the_leader_before_started() {
    let bed = bed().await;
    let class = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass",
        "metadata": {"name": "high"}, "value": 10});
    bed.create("/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses", &class).await;
    let first = Replica::start(&bed, "a");
    bed.submit("one", 2, "1").await;
    bed.submit("two", 2, "1").await;
    let late = bed.manager_over(CONFIG, "late", late_client(&bed, "/apis/batch/v1/jobs", Duration::from_secs(30)));
    let observer = late.observer();
    tokio::spawn(late.run());
    bed.pass(10).await;
    bed.end("one", "Complete").await;
    bed.run_pods("two", 2).await;
    first.end.send(()).unwrap_or_default();
    first.running.await.unwrap_or_default();
    bed.submit_labelled("urgent", 2, "1", json!({"kueue.x-k8s.io/priority-class": "high"})).await;
    bed.pass(5).await;
    assert_eq!(observer.role(), Some("leader"));
    let is_stopped = async |name: &str| bed.job(name).await["spec"]["suspend"].clone();
    assert_eq!((is_stopped("two").await, is_stopped("urgent").await), (false.into(), true.into()), "not seen yet");
    bed.pass(30).await;
    assert_eq!((is_stopped("two").await, is_stopped("urgent").await), (true.into(), true.into()), "its pods run");
    bed.run_pods("two", 0).await;
    bed.pass(2).await;
    assert_eq!((is_stopped("two").await, is_stopped("urgent").await), (true.into(), false.into()));
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_leader_left_undone_is_done_by_the_next() {
    let bed = bed().await;
    let first = Replica::start(&bed, "a");
    bed.pass(1).await;
    let second = Replica::start(&bed, "b");
    bed.submit("one", 2, "1").await;
    first.running.abort();
    bed.submit("two", 2, "1").await;
    bed.end("one", "Complete").await;
    assert_eq!(second.writes(), 0);
    bed.pass(20).await;
    assert_eq!(bed.job("two").await["spec"]["suspend"], false);
    assert_eq!(bed.condition("one", "Finished").await, "True Succeeded: Job finished");
}

/// Adds a condition to the Workload of a job, or more of its status.
async fn write_status(bed: &Bed, job: &str, kinds: &[&str], admission: Value) {
    let workload = bed.workload_of(job).await;
    let mut conditions = workload["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.retain(|condition| !kinds.iter().any(|kind| condition["type"] == *kind));
    conditions.extend(kinds.iter().map(|kind| {
        json!({"type": kind, "status": "True", "reason": "Preempted", "message": "", "lastTransitionTime": START})
    }));
    let name = workload["metadata"]["name"].as_str().unwrap_or_default();
    let path = format!("/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/{name}/status");
    bed.change(&path, &json!({"status": {"conditions": conditions, "admission": admission}})).await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_died_between_an_admission_and_what_made_room_for_it_leaves_nothing_given_twice() {
    let bed = bed().await;
    let first = Replica::start(&bed, "a");
    for job in ["one", "two", "three"] {
        bed.submit(job, 2, "1").await;
    }
    first.running.abort();
    // The first job was stopped, the second admitted, and the first Workload does not say yet that it has nothing.
    let admission = bed.workload_of("one").await["status"]["admission"].clone();
    bed.change("/apis/batch/v1/namespaces/default/jobs/one", &json!({"spec": {"suspend": true}})).await;
    write_status(&bed, "one", &["Evicted"], admission.clone()).await;
    write_status(&bed, "two", &["QuotaReserved", "Admitted"], admission).await;
    let second = Replica::start(&bed, "b");
    bed.pass(20).await;
    assert_eq!(second.role().await, "leader");
    assert_eq!(bed.job("two").await["spec"]["suspend"], false);
    for waiting in ["one", "three"] {
        assert_eq!(bed.job(waiting).await["spec"]["suspend"], true, "{waiting}");
        let told = bed.condition(waiting, "QuotaReserved").await;
        assert!(told.starts_with("False"), "{waiting} {told}");
    }
}
