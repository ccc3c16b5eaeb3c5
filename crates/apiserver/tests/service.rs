//! The server as its clients see it, in process and under virtual time: requests in, answers out.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use kueue_apiserver::clock::Clock;
use kueue_apiserver::{ApiServer, Settings};
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A server that shows the first second of 2026 and always invents the same.
fn server() -> ApiServer {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    ApiServer::start(Settings::new(Clock::starting_at(start), [1; 32]))
}

fn request(server: &ApiServer, line: &str, kind: &str, body: &str) -> http::Request<Full<Bytes>> {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let token = server.admin_token();
    let request = http::Request::builder().method(method).uri(path).header("Authorization", format!("Bearer {token}"));
    let request = request.header("User-Agent", "test/1").header("Content-Type", kind);
    request.body(Full::from(body.to_owned())).expect("a request that can be sent")
}

/// Asks as administrator: code and body of the answer.
async fn ask(server: &ApiServer, line: &str, body: Value) -> (u16, Value) {
    let kind = match line.split(' ').next() {
        Some("PATCH") => "application/merge-patch+json",
        _ => "application/json",
    };
    let text = if body.is_null() { String::new() } else { body.to_string() };
    send(server, request(server, line, kind, &text)).await
}

async fn apply(server: &ApiServer, path: &str, body: Value) -> (u16, Value) {
    let kind = "application/apply-patch+yaml";
    send(server, request(server, &format!("PATCH {path}"), kind, &body.to_string())).await
}

async fn send(server: &ApiServer, request: http::Request<Full<Bytes>>) -> (u16, Value) {
    let answer = server.handle(request).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("answers do not fail").to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// The first events of a watch, as `TYPE name`.
async fn watched(server: &ApiServer, path: &str, count: usize) -> Vec<String> {
    let answer = server.handle(request(server, &format!("GET {path}"), "application/json", "")).await;
    let mut body = answer.into_body();
    let mut events = Vec::new();
    while events.len() < count {
        let Some(frame) = body.frame().await else { break };
        let line = frame.expect("streams do not fail").into_data().expect("a line");
        let event: Value = serde_json::from_slice(&line).expect("an event is JSON");
        let name = event["object"]["metadata"]["name"].as_str().unwrap_or("-");
        events.push(format!("{} {name}", event["type"].as_str().unwrap_or_default()));
    }
    events
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

#[tokio::test(start_paused = true)]
async fn an_object_is_created_read_changed_and_deleted() {
    let server = server();
    let (code, created) = ask(&server, &format!("POST {CONFIG_MAPS}"), config_map("x")).await;
    assert_eq!((code, &created["metadata"]["creationTimestamp"]), (201, &json!("2026-01-01T00:00:00Z")));
    let one = format!("{CONFIG_MAPS}/x");
    assert_eq!(ask(&server, &format!("GET {one}"), Value::Null).await.1, created);
    let (_, changed) = ask(&server, &format!("PATCH {one}"), json!({"data": {"b": "2"}})).await;
    assert_eq!(changed["data"], json!({"a": "1", "b": "2"}));
    let (code, _) = ask(&server, &format!("PUT {one}"), created).await;
    assert_eq!(code, 409, "the version is stale");
    assert_eq!(ask(&server, &format!("DELETE {one}"), Value::Null).await.1["status"], "Success");
    assert_eq!(ask(&server, &format!("GET {one}"), Value::Null).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changes_nothing_is_no_write() {
    let server = server();
    let (_, created) = ask(&server, &format!("POST {CONFIG_MAPS}"), config_map("x")).await;
    let (code, same) = ask(&server, &format!("PATCH {CONFIG_MAPS}/x"), json!({"data": {"a": "1"}})).await;
    assert_eq!((code, &same["metadata"]["resourceVersion"]), (200, &created["metadata"]["resourceVersion"]));
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_where_a_list_ended() {
    let server = server();
    ask(&server, &format!("POST {CONFIG_MAPS}"), config_map("a")).await;
    let (_, list) = ask(&server, &format!("GET {CONFIG_MAPS}"), Value::Null).await;
    ask(&server, &format!("POST {CONFIG_MAPS}"), config_map("b")).await;
    ask(&server, &format!("PATCH {CONFIG_MAPS}/a"), json!({"data": {"a": "2"}})).await;
    ask(&server, &format!("DELETE {CONFIG_MAPS}/b"), Value::Null).await;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let events = watched(&server, &format!("{CONFIG_MAPS}?watch=1&resourceVersion={version}"), 3).await;
    assert_eq!(events, ["ADDED b", "MODIFIED a", "DELETED b"]);
    let all = watched(&server, &format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true"), 2).await;
    assert_eq!(all, ["ADDED a", "BOOKMARK -"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_after_its_timeout() {
    let server = server();
    let begin = tokio::time::Instant::now();
    let events = watched(&server, &format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=90"), 1).await;
    assert_eq!((events.len(), begin.elapsed().as_secs()), (0, 90));
}

#[tokio::test(start_paused = true)]
async fn pages_show_the_state_of_the_first_one() {
    let server = server();
    for name in ["a", "b", "c"] {
        ask(&server, &format!("POST {CONFIG_MAPS}"), config_map(name)).await;
    }
    let (_, first) = ask(&server, &format!("GET {CONFIG_MAPS}?limit=2"), Value::Null).await;
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    ask(&server, &format!("DELETE {CONFIG_MAPS}/c"), Value::Null).await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let (_, second) = ask(&server, &format!("GET {CONFIG_MAPS}?limit=2&continue={token}"), Value::Null).await;
    assert_eq!(second["items"][0]["metadata"]["name"], "c");
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_keeps_an_object_until_it_goes() {
    let server = server();
    let mut object = config_map("x");
    object["metadata"]["finalizers"] = json!(["example.com/f"]);
    ask(&server, &format!("POST {CONFIG_MAPS}"), object).await;
    let (_, kept) = ask(&server, &format!("DELETE {CONFIG_MAPS}/x"), Value::Null).await;
    assert_eq!(kept["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
    ask(&server, &format!("PATCH {CONFIG_MAPS}/x"), json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(ask(&server, &format!("GET {CONFIG_MAPS}/x"), Value::Null).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn custom_kinds_come_are_judged_and_go() {
    let server = server();
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "n": {"type": "integer", "maximum": 3, "default": 1}}}}});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                 "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]},
    });
    assert_eq!(ask(&server, &format!("POST {CRDS}"), crd).await.0, 201);
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let widget = |spec: Value| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec});
    let (_, refused) = ask(&server, &format!("POST {widgets}"), widget(json!({"n": 4}))).await;
    assert_eq!(refused["details"]["causes"][0]["field"], "spec.n");
    let (_, made) = ask(&server, &format!("POST {widgets}"), widget(json!({"unknown": 1}))).await;
    assert_eq!(made["spec"], json!({"n": 1}));
    ask(&server, &format!("DELETE {CRDS}/widgets.example.com"), Value::Null).await;
    assert_eq!(ask(&server, &format!("GET {widgets}"), Value::Null).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn an_applied_field_belongs_to_who_applied_it() {
    let server = server();
    let path = |manager: &str| format!("{CONFIG_MAPS}/x?fieldManager={manager}");
    assert_eq!(apply(&server, &path("one"), config_map("x")).await.0, 201);
    let mut other = config_map("x");
    other["data"]["a"] = "2".into();
    let (code, conflict) = apply(&server, &path("two"), other.clone()).await;
    assert_eq!((code, &conflict["details"]["causes"][0]["field"]), (409, &json!(".data.a")));
    assert_eq!(apply(&server, &format!("{}&force=true", path("two")), other).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn bad_input_is_refused_and_nothing_breaks() {
    let server = server();
    let cases = [
        ("POST", "application/json", "{", 400),
        ("POST", "application/json", "[]", 400),
        ("POST", "application/json", r#"{"metadata": "x"}"#, 400),
        ("POST", "application/json", r#"{"metadata": {"name": "UPPER"}}"#, 422),
        ("POST", "text/plain", "x", 415),
        ("PUT", "application/json", "{}", 405),
    ];
    for (method, kind, body, code) in cases {
        let (found, _) = send(&server, request(&server, &format!("{method} {CONFIG_MAPS}"), kind, body)).await;
        assert_eq!(found, code, "{method} {body}");
    }
    let huge = format!(r#"{{"data": {{"a": "{}"}}}}"#, "x".repeat(4 << 20));
    let (found, _) = send(&server, request(&server, &format!("POST {CONFIG_MAPS}"), "application/json", &huge)).await;
    assert_eq!(found, 413);
    let selector = format!("GET {CONFIG_MAPS}?labelSelector={}", "(".repeat(1000));
    assert_eq!(ask(&server, &selector, Value::Null).await.0, 400);
}

#[tokio::test(start_paused = true)]
async fn a_stranger_sees_health_and_no_objects() {
    let server = server();
    for (path, code) in [("/healthz", 200), ("/version", 200), (CONFIG_MAPS, 403)] {
        let request = http::Request::get(path).body(Full::<Bytes>::default()).unwrap();
        assert_eq!(send(&server, request).await.0, code, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn servers_started_from_an_image_go_their_own_ways() {
    let first = server();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object",
                    "properties": {"size": {"type": "integer", "default": 3}}}}}}}]}});
    assert_eq!(ask(&first, &format!("POST {CRDS}"), crd).await.0, 201);
    let (code, old) = ask(&first, &format!("POST {CONFIG_MAPS}"), json!({"metadata": {"name": "old"}})).await;
    assert_eq!(code, 201);
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    let settings = Settings { image: Some(first.image()), ..Settings::new(Clock::starting_at(start), [2; 32]) };
    let second = ApiServer::start(settings);
    let gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "one"}, "spec": {}});
    let gadgets = "/apis/example.com/v1/namespaces/default/gadgets";
    assert_eq!(ask(&second, &format!("POST {gadgets}"), gadget).await.1["spec"]["size"], 3);
    assert_eq!(ask(&first, &format!("GET {gadgets}"), Value::Null).await.1["items"], json!([]));
    assert_eq!(ask(&second, &format!("GET {CONFIG_MAPS}/old"), Value::Null).await.1, old);
    // What happened before the image is no longer known, what happens after it is.
    let version = old["metadata"]["resourceVersion"].as_str().expect("a version");
    let before = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", version.parse::<u64>().expect("a number") - 1);
    assert_eq!(watched(&second, &before, 1).await, ["ERROR -"]);
    let listed = ask(&second, &format!("GET {CONFIG_MAPS}"), Value::Null).await.1;
    assert_eq!(ask(&second, &format!("POST {CONFIG_MAPS}"), json!({"metadata": {"name": "new"}})).await.0, 201);
    let since = listed["metadata"]["resourceVersion"].as_str().expect("a version");
    assert_eq!(watched(&second, &format!("{CONFIG_MAPS}?watch=1&resourceVersion={since}"), 1).await, ["ADDED new"]);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_no_number_is_refused_before_it_is_compared() {
    let server = server();
    ask(&server, &format!("POST {CONFIG_MAPS}"), json!({"metadata": {"name": "a"}})).await;
    let cases = [
        ("x", 500, "strconv.ParseUint: parsing \"x\": invalid syntax"),
        ("+1", 500, "strconv.ParseUint: parsing \"+1\": invalid syntax"),
        ("99999999999999999999", 500, "strconv.ParseUint: parsing \"99999999999999999999\": value out of range"),
        (
            "007",
            409,
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again",
        ),
    ];
    for (version, code, message) in cases {
        let body = json!({"metadata": {"name": "a", "resourceVersion": version}});
        let (found, status) = ask(&server, &format!("PUT {CONFIG_MAPS}/a"), body.clone()).await;
        assert_eq!((found, status["message"].as_str()), (code, Some(message)));
        let (found, status) = ask(&server, &format!("PATCH {CONFIG_MAPS}/a"), body).await;
        assert_eq!((found, status["message"].as_str()), (code, Some(message)));
    }
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    let lease = |version: &str| json!({"metadata": {"name": "l", "resourceVersion": version}});
    assert_eq!(ask(&server, &format!("PUT {leases}"), lease("x")).await.0, 500);
    assert_eq!(ask(&server, &format!("PUT {leases}"), lease("5")).await.0, 201);
}

#[tokio::test(start_paused = true)]
async fn columns_of_built_in_kinds_say_what_they_are() {
    let server = server();
    let mut asked = request(&server, "GET /api/v1/pods", "application/json", "");
    asked.headers_mut().insert("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io".parse().unwrap());
    let (_, table) = send(&server, asked).await;
    let told = &table["columnDefinitions"][1];
    let expected = "The aggregate readiness state of this pod for accepting traffic.";
    assert_eq!((&told["name"], &told["description"]), (&json!("Ready"), &json!(expected)));
}
