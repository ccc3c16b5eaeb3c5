//! A kube-rs reflector beside writers and behind faults: it ends with what the server has, whatever happened between.
//!
//! `REFLECTED_OBJECTS=100000 cargo test --release -p kueue-apiserver --test reflector` does it with many.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt as _, watcher};
use kueue_apiserver::clock::Clock;
use kueue_apiserver::faults::{Fault, Faults, Rule};
use kueue_apiserver::{ApiServer, Settings};
use serde_json::{Value, json};
use tower::{Layer as _, ServiceExt as _};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// How many objects there are in the end, about.
fn count() -> usize {
    std::env::var("REFLECTED_OBJECTS").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

fn start(history_max: usize) -> ApiServer {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    ApiServer::start(Settings { history_max, ..Settings::new(Clock::starting_at(start), [1; 32]) })
}

async fn ask(server: &ApiServer, line: &str, body: Value) -> (u16, Value) {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", kind);
    let request = request.header("Authorization", format!("Bearer {}", server.admin_token()));
    let answer = server.handle(request.body(Full::<Bytes>::from(text)).expect("a request that can be sent")).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("answers do not fail").to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// A client of kube-rs that only reaches the server through the faults.
fn client(server: &ApiServer, faults: &Faults) -> kube::Client {
    let (token, faulty) = (format!("Bearer {}", server.admin_token()), faults.layer(server.clone()));
    let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
        request.headers_mut().insert("authorization", token.parse().expect("a header"));
        faulty.clone().oneshot(request)
    });
    kube::Client::new(service, "default")
}

/// Follows all ConfigMaps as controllers do, from a task of its own.
fn follow(client: kube::Client, config: watcher::Config) -> Store<ConfigMap> {
    let (reader, writer) = reflector::store();
    let stream = watcher(Api::<ConfigMap>::default_namespaced(client), config).default_backoff();
    let events = reflector::reflector(writer, stream);
    tokio::spawn(async move { events.for_each(async |_| {}).await });
    reader
}

/// Creates, changes and deletes, with time between, so that the reflector is at work meanwhile.
async fn scramble(server: &ApiServer, count: usize) {
    for number in 0..count {
        let object = json!({"metadata": {"name": format!("c{number}")}, "data": {"a": "0"}});
        assert_eq!(ask(server, &format!("POST {CONFIG_MAPS}"), object).await.0, 201);
        let older = number / 2;
        match number % 8 {
            1 => drop(ask(server, &format!("DELETE {CONFIG_MAPS}/c{older}"), Value::Null).await),
            2 | 5 => drop(ask(server, &format!("PATCH {CONFIG_MAPS}/c{older}"), json!({"data": {"a": "1"}})).await),
            _ => {}
        }
        if number.is_multiple_of(10) {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// Names and versions, as the server lists them.
async fn truth(server: &ApiServer) -> BTreeMap<String, String> {
    let (_, list) = ask(server, &format!("GET {CONFIG_MAPS}"), Value::Null).await;
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let of = |item: &Value| (text(&item["metadata"]["name"]), text(&item["metadata"]["resourceVersion"]));
    list["items"].as_array().expect("a list").iter().map(of).collect()
}

fn seen(store: &Store<ConfigMap>) -> BTreeMap<String, String> {
    let of = |object: &ConfigMap| (object.metadata.name.clone(), object.metadata.resource_version.clone());
    let found = store.state().into_iter().map(|object| of(&object));
    found.map(|(name, version)| (name.expect("a name"), version.expect("a version"))).collect()
}

/// Faults while there are writes, then none: the view becomes the truth. Tells which faults were met.
async fn converges(seed: u64, config: watcher::Config) -> BTreeSet<Fault> {
    let count = count();
    let server = start(count / 4);
    let mut rules = Rule::all(0.15);
    // Most watches end early, so that there are many requests to strike.
    rules.push(Rule::new(Fault::WatchCut, 0.8));
    let faults = Faults::new(seed, rules);
    let store = follow(client(&server, &faults), config);
    scramble(&server, count).await;
    faults.stop();
    let wanted = truth(&server).await;
    for _ in 0..100 {
        // Longer than a client waits after an error.
        tokio::time::sleep(Duration::from_secs(60)).await;
        if seen(&store) == wanted {
            return faults.played().into_keys().collect();
        }
    }
    let seen = seen(&store);
    let differ = |one: &BTreeMap<String, String>, other: &BTreeMap<String, String>| {
        one.iter().filter(|(name, version)| other.get(*name) != Some(*version)).count()
    };
    panic!(
        "seed {seed}: {} of {} are wrong, {} too many",
        differ(&wanted, &seen),
        wanted.len(),
        differ(&seen, &wanted)
    );
}

async fn converge_all(config: watcher::Config) {
    let mut met = BTreeSet::new();
    for seed in 0..4 {
        met.extend(converges(seed, config.clone()).await);
    }
    for fault in [Fault::WatchCut, Fault::Expired, Fault::TooManyRequests, Fault::Internal, Fault::LostBefore] {
        assert!(met.contains(&fault), "{fault:?} was not met: {met:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reflector_that_lists_pages_and_watches_converges() {
    converge_all(watcher::Config::default().page_size(50)).await;
}

#[tokio::test(start_paused = true)]
async fn a_reflector_that_streams_its_list_converges() {
    converge_all(watcher::Config::default().streaming_lists()).await;
}
