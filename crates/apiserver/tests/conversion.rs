//! Custom resources whose versions a webhook converts, seen by their clients.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use kueue_apiserver::clock::Clock;
use kueue_apiserver::{ApiServer, Settings};
use serde_json::{Value, json};

/// A server with widgets that are stored as v2, where v1's `spec.old` is `spec.new`.
struct Bed {
    server: ApiServer,
    /// How many objects each call of the webhook had.
    calls: Arc<Mutex<Vec<usize>>>,
    /// What the webhook says instead of converting.
    failure: Arc<Mutex<Option<String>>>,
}

fn renamed(mut object: Value, version: &str) -> Value {
    let (from, to) = if version.ends_with("v2") { ("old", "new") } else { ("new", "old") };
    object["apiVersion"] = version.into();
    if let Some(spec) = object["spec"].as_object_mut()
        && let Some(value) = spec.remove(from)
    {
        spec.insert(to.into(), value);
    }
    object
}

impl Bed {
    async fn new() -> Self {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let server = ApiServer::start(Settings::new(Clock::starting_at(start), [1; 32]));
        let bed = Self { server, calls: Arc::default(), failure: Arc::default() };
        let (calls, failure) = (Arc::clone(&bed.calls), Arc::clone(&bed.failure));
        let webhook = tower::service_fn(move |request: http::Request<Full<Bytes>>| {
            let (calls, failure) = (Arc::clone(&calls), Arc::clone(&failure));
            async move {
                let body = request.into_body().collect().await.expect("a body").to_bytes();
                let mut review: Value = serde_json::from_slice(&body).expect("a review");
                let objects = review["request"]["objects"].as_array().cloned().unwrap_or_default();
                calls.lock().expect("no test panics with it").push(objects.len());
                let version = review["request"]["desiredAPIVersion"].as_str().unwrap_or_default();
                let converted: Vec<Value> = objects.into_iter().map(|object| renamed(object, version)).collect();
                let result = match failure.lock().expect("no test panics with it").as_ref() {
                    Some(why) => json!({"status": "Failure", "message": why}),
                    None => json!({"status": "Success"}),
                };
                review["response"] =
                    json!({"uid": review["request"]["uid"], "convertedObjects": converted, "result": result});
                Ok::<_, Infallible>(http::Response::new(Full::<Bytes>::from(review.to_string())))
            }
        });
        bed.server.server().dialer.route_to_service("convert.example.com:443", webhook);
        let version = |name: &str, storage: bool| {
            let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            let schema = json!({"type": "object", "properties": {"spec": spec}});
            json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
        };
        let webhook = json!({
            "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://convert.example.com/"},
        });
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [version("v2", true), version("v1", false)],
                "conversion": {"strategy": "Webhook", "webhook": webhook},
            },
        });
        let (code, told) = bed.ask("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
        assert_eq!(code, 201, "{told}");
        bed
    }

    async fn ask(&self, line: &str, body: Value) -> (u16, Value) {
        let (method, path) = line.split_once(' ').expect("a method and a path");
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let token = self.server.admin_token();
        let request = http::Request::builder().method(method).uri(path);
        let request = request.header("Authorization", format!("Bearer {token}")).header("Content-Type", kind);
        let answer = self.server.handle(request.body(Full::<Bytes>::from(text)).expect("a request")).await;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.expect("answers do not fail").to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    fn calls(&self) -> Vec<usize> {
        std::mem::take(&mut self.calls.lock().expect("no test panics with it"))
    }
}

fn path(version: &str) -> String {
    format!("/apis/example.com/{version}/namespaces/default/widgets")
}

fn widget(version: &str, name: &str, spec: Value) -> Value {
    let mut object =
        json!({"apiVersion": format!("example.com/{version}"), "kind": "Widget", "metadata": {"name": name}});
    object["spec"] = spec;
    object
}

#[tokio::test(start_paused = true)]
async fn every_version_shows_the_same_object_in_its_own_form() {
    let bed = Bed::new().await;
    let (code, made) = bed.ask(&format!("POST {}", path("v1")), widget("v1", "w", json!({"old": "a"}))).await;
    assert_eq!((code, &made["spec"], &made["apiVersion"]), (201, &json!({"old": "a"}), &json!("example.com/v1")));
    let (_, seen) = bed.ask(&format!("GET {}/w", path("v2")), Value::Null).await;
    assert_eq!((&seen["spec"], &seen["metadata"]["uid"]), (&json!({"new": "a"}), &made["metadata"]["uid"]));
    let (_, changed) = bed.ask(&format!("PATCH {}/w", path("v1")), json!({"spec": {"old": "b"}})).await;
    assert_eq!((&changed["spec"], &changed["metadata"]["generation"]), (&json!({"old": "b"}), &json!(2)));
    let (_, same) = bed.ask(&format!("PATCH {}/w", path("v1")), json!({"spec": {"old": "b"}})).await;
    assert_eq!(same["metadata"]["resourceVersion"], changed["metadata"]["resourceVersion"], "nothing was written");
}

#[tokio::test(start_paused = true)]
async fn a_list_is_converted_in_one_call() {
    let bed = Bed::new().await;
    for name in ["a", "b", "c"] {
        bed.ask(&format!("POST {}", path("v2")), widget("v2", name, json!({"new": name}))).await;
    }
    assert!(bed.calls().is_empty(), "the stored version needs no webhook");
    let (_, list) = bed.ask(&format!("GET {}", path("v1")), Value::Null).await;
    assert_eq!((list["items"].as_array().map(Vec::len), bed.calls()), (Some(3), vec![3]));
    assert_eq!(list["items"][2]["spec"], json!({"old": "c"}));
}

#[tokio::test(start_paused = true)]
async fn a_watch_shows_events_in_its_version() {
    let bed = Bed::new().await;
    bed.ask(&format!("POST {}", path("v2")), widget("v2", "w", json!({"new": "a"}))).await;
    let token = bed.server.admin_token();
    let request =
        http::Request::get(format!("{}?watch=1", path("v1"))).header("Authorization", format!("Bearer {token}"));
    let mut body = bed.server.handle(request.body(Full::<Bytes>::default()).unwrap()).await.into_body();
    let frame = body.frame().await.expect("an event").expect("streams do not fail").into_data().expect("a line");
    let event: Value = serde_json::from_slice(&frame).unwrap();
    assert_eq!((&event["type"], &event["object"]["spec"]), (&json!("ADDED"), &json!({"old": "a"})));
    assert_eq!(event["object"]["apiVersion"], "example.com/v1");
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_fails_is_told() {
    let bed = Bed::new().await;
    bed.ask(&format!("POST {}", path("v2")), widget("v2", "w", json!({}))).await;
    *bed.failure.lock().expect("no test panics with it") = Some("no way".to_owned());
    let told = "conversion webhook for example.com/v2, Kind=Widget failed: no way";
    for what in [format!("GET {}/w", path("v1")), format!("GET {}", path("v1"))] {
        let (code, status) = bed.ask(&what, Value::Null).await;
        assert_eq!((code, status["message"].as_str()), (500, Some(told)), "{what}");
    }
    let (code, status) = bed.ask(&format!("POST {}", path("v1")), widget("v1", "x", json!({}))).await;
    let told = "conversion webhook for example.com/v1, Kind=Widget failed: no way";
    assert_eq!((code, status["message"].as_str()), (500, Some(told)));
    assert_eq!(bed.ask(&format!("GET {}/w", path("v2")), Value::Null).await.0, 200);
}
