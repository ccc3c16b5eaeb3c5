use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kueue_apiserver::{ApiServer, Settings};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use crate::client::{Dependents, Limits};

fn clock_start() -> jiff::Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn server() -> ApiServer {
    ApiServer::start(Settings::new(kueue_apiserver::clock::Clock::starting_at(clock_start()), [1; 32]))
}

/// A client whose connection can be cut.
fn client(server: &ApiServer, is_cut: &Arc<AtomicBool>) -> Client {
    let (server, is_cut) = (server.clone(), Arc::clone(is_cut));
    let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
        let (server, is_cut) = (server.clone(), Arc::clone(&is_cut));
        async move {
            if is_cut.load(Ordering::Relaxed) {
                return Err(std::io::Error::other("connection refused"));
            }
            let token = format!("Bearer {}", server.admin_token());
            request.headers_mut().insert("authorization", token.parse().unwrap());
            Ok(server.handle(request).await)
        }
    });
    Client::new(kube::Client::new(service, "default"), Limits::new(8, None))
}

/// One who wants to lead, from outside.
struct Replica {
    leads: watch::Receiver<bool>,
    is_cut: Arc<AtomicBool>,
    end: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
}

impl Replica {
    fn start(server: &ApiServer, identity: &str) -> Self {
        let (is_cut, sender) = (Arc::default(), watch::Sender::new(false));
        let client = client(server, &is_cut);
        let (clock, terms) = (Clock::starting_at(clock_start()), Terms::default());
        let candidate = Candidate::new(client, clock, terms, key(), identity.to_owned(), "test");
        let (end, ended) = oneshot::channel();
        let leads = sender.subscribe();
        let running = tokio::spawn(async move { candidate.run(&sender, async { drop(ended.await) }).await });
        Self { leads, is_cut, end: Some(end), running }
    }

    fn leads(&self) -> bool {
        *self.leads.borrow()
    }

    async fn stop(mut self) {
        assert_eq!(self.end.take().map(|end| end.send(())), Some(Ok(())));
        self.running.await.unwrap();
    }
}

fn key() -> Key {
    Key::new("default", "lock")
}

async fn pass(seconds: f64) {
    sleep(Duration::from_secs_f64(seconds)).await;
}

async fn lease(server: &ApiServer) -> LeaseSpec {
    client(server, &Arc::default()).get::<Lease>(&key()).await.unwrap().spec
}

#[tokio::test(start_paused = true)]
async fn one_leads_and_the_other_waits_until_it_is_let() {
    let server = server();
    let first = Replica::start(&server, "a");
    pass(0.1).await;
    let second = Replica::start(&server, "b");
    pass(100.0).await;
    assert_eq!((first.leads(), second.leads()), (true, false));
    first.stop().await;
    pass(0.5).await;
    assert!(second.leads(), "a lease that was given back is taken at once");
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_dead_one_is_taken_when_it_ran_out() {
    let server = server();
    let first = Replica::start(&server, "a");
    pass(0.1).await;
    let second = Replica::start(&server, "b");
    pass(30.5).await;
    first.running.abort();
    pass(13.0).await;
    assert!(!second.leads(), "it was renewed less than fifteen seconds ago");
    pass(3.0).await;
    assert!(second.leads());
}

#[tokio::test(start_paused = true)]
async fn who_cannot_renew_gives_up_before_anybody_else_takes_over() {
    let server = server();
    let first = Replica::start(&server, "a");
    pass(0.1).await;
    let second = Replica::start(&server, "b");
    pass(30.0).await;
    first.is_cut.store(true, Ordering::Relaxed);
    let mut history = Vec::new();
    for _ in 0..200 {
        pass(0.1).await;
        let now = (first.leads(), second.leads());
        if history.last() != Some(&now) {
            history.push(now);
        }
    }
    assert_eq!(history, [(true, false), (false, false), (false, true)]);
    first.is_cut.store(false, Ordering::Relaxed);
    pass(60.0).await;
    assert_eq!((first.leads(), second.leads()), (false, true));
}

#[tokio::test(start_paused = true)]
async fn the_lease_says_what_client_go_would() {
    let server = server();
    let first = Replica::start(&server, "a");
    pass(5.0).await;
    let expected = json!({
        "holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0,
        "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:04.000000Z"});
    assert_eq!(serde_json::to_value(lease(&server).await).unwrap(), expected);
    first.stop().await;
    let spec = lease(&server).await;
    assert_eq!((spec.holder_identity.as_str(), spec.lease_duration_seconds, spec.lease_transitions), ("", 1, 0));
    let second = Replica::start(&server, "b");
    pass(1.0).await;
    let spec = lease(&server).await;
    assert_eq!((spec.holder_identity.as_str(), spec.lease_duration_seconds, spec.lease_transitions), ("b", 15, 1));
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_took_or_deleted_is_noticed() {
    let server = server();
    let replica = Replica::start(&server, "a");
    pass(5.0).await;
    let client = client(&server, &Arc::default());
    let stolen = json!({"spec": {"holderIdentity": "thief", "renewTime": "1970-01-01T00:00:00.000000Z"}});
    client.patch::<Lease>(&key(), &Patch::merge(stolen, "thief")).await.unwrap();
    pass(2.5).await;
    assert!(!replica.leads());
    pass(12.0).await;
    assert!(
        !replica.leads(),
        "what the other one says of its age does not count, only since when it is seen like that"
    );
    pass(3.0).await;
    assert!(replica.leads());
    client.delete::<Lease>(&key(), "", Dependents::Background).await.unwrap();
    pass(2.5).await;
    assert!(replica.leads());
    assert_eq!(lease(&server).await.holder_identity, "a");
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_server_is_tried_again() {
    let server = server();
    let replica = Replica::start(&server, "a");
    replica.is_cut.store(true, Ordering::Relaxed);
    pass(60.0).await;
    assert!(!replica.leads());
    replica.is_cut.store(false, Ordering::Relaxed);
    pass(2.1).await;
    assert!(replica.leads());
}
