//! Groups that another server answers for, in process: requests are handed on, discovery knows them.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use kueue_apiserver::clock::Clock;
use kueue_apiserver::{ApiServer, Settings};
use serde_json::{Value, json};

const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

fn start() -> ApiServer {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    ApiServer::start(Settings::new(Clock::starting_at(start), [1; 32]))
}

fn request(server: &ApiServer, line: &str, body: &Value) -> http::Request<Full<Bytes>> {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", "application/json");
    let request = request.header("Authorization", format!("Bearer {}", server.admin_token()));
    request.body(Full::from(text)).expect("a request")
}

async fn ask(server: &ApiServer, line: &str, body: Value) -> (u16, Value) {
    let answer = server.handle(request(server, line, &body)).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("answers do not fail").to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::String(text)))
}

/// Another server: its group has things, and it tells who asks.
async fn other(request: http::Request<Full<Bytes>>) -> Result<http::Response<Full<Bytes>>, std::convert::Infallible> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let verbs = json!(["get", "list"]);
    let value = match request.uri().path() {
        "/apis/things.example.com/v1" => json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "things.example.com/v1",
            "resources": [
                {"name": "things", "singularName": "thing", "namespaced": true, "kind": "Thing", "verbs": verbs},
                {"name": "things/status", "singularName": "", "namespaced": true, "kind": "Thing", "verbs": ["get"]},
            ],
        }),
        path => json!({
            "path": path, "query": request.uri().query(), "method": request.method().as_str(),
            "user": header("x-remote-user"), "group": header("x-remote-group"), "token": header("authorization"),
        }),
    };
    Ok(http::Response::builder()
        .header("Content-Type", "application/json")
        .body(Full::from(value.to_string()))
        .expect("an answer"))
}

async fn register(server: &ApiServer) {
    let spec = json!({
        "group": "things.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
        "insecureSkipTLSVerify": true, "service": {"namespace": "default", "name": "other"},
    });
    let object = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1.things.example.com"}, "spec": spec,
    });
    assert_eq!(ask(server, &format!("POST {API_SERVICES}"), object).await.0, 201);
}

async fn condition(server: &ApiServer) -> (Value, Value) {
    let (_, found) = ask(server, &format!("GET {API_SERVICES}/v1.things.example.com"), Value::Null).await;
    let condition = &found["status"]["conditions"][0];
    (condition["status"].clone(), condition["reason"].clone())
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_there_is_unavailable_until_it_comes() {
    let server = start();
    register(&server).await;
    assert_eq!(condition(&server).await, (json!("False"), json!("ServiceNotFound")));
    let things = "GET /apis/things.example.com/v1/namespaces/default/things";
    let told = ask(&server, things, Value::Null).await;
    assert_eq!(told, (503, json!("service unavailable\n")));
    let service = json!({"metadata": {"name": "other"}, "spec": {"ports": [{"port": 443}]}});
    let begin = tokio::time::Instant::now();
    ask(&server, "POST /api/v1/namespaces/default/services", service).await;
    assert_eq!(condition(&server).await, (json!("False"), json!("MissingEndpoints")));
    assert_eq!(begin.elapsed(), Duration::ZERO, "where nobody is, nobody is waited for");
    server.server().dialer.route_to_service("default/other:443", tower::service_fn(other));
    assert_eq!(ask(&server, things, Value::Null).await.0, 200);
    assert_eq!(condition(&server).await, (json!("True"), json!("Passed")));
    ask(&server, &format!("DELETE {API_SERVICES}/v1.things.example.com"), Value::Null).await;
    assert_eq!(ask(&server, things, Value::Null).await.0, 404);
    let (_, groups) = ask(&server, "GET /apis", Value::Null).await;
    assert!(!groups.to_string().contains("things.example.com"));
}

fn definition(name: &str, group: &str, versions: &[&str]) -> Value {
    let version = |version: &&str| {
        json!({
            "name": version, "served": *version != "v9", "storage": *version == versions[0],
            "schema": {"openAPIV3Schema": {"type": "object"}},
        })
    };
    json!({
        "metadata": {"name": format!("{name}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": name, "kind": name},
            "versions": versions.iter().map(version).collect::<Vec<Value>>(),
        },
    })
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async fn names(server: &ApiServer) -> Vec<String> {
    let (_, found) = ask(server, &format!("GET {API_SERVICES}"), Value::Null).await;
    let items = found["items"].as_array().expect("a list").iter();
    items.map(|item| item["metadata"]["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn built_in_groups_have_api_services_that_are_there_once() {
    let server = start();
    let (code, found) = ask(&server, &format!("GET {API_SERVICES}/v1.apps"), Value::Null).await;
    assert_eq!((code, &found["spec"]["groupPriorityMinimum"]), (200, &json!(17800)));
    assert_eq!(found["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"], "onstart");
    let condition = &found["status"]["conditions"][0];
    let told = (&condition["status"], &condition["reason"], &condition["message"]);
    assert_eq!(told, (&json!("True"), &json!("Local"), &json!("Local APIServices are always available")));
    assert_eq!(ask(&server, &format!("DELETE {API_SERVICES}/v1.apps"), Value::Null).await.0, 200);
    assert!(!names(&server).await.contains(&"v1.apps".to_owned()));
    assert_eq!(ask(&server, "GET /apis/apps/v1/deployments", Value::Null).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn definitions_have_api_services_for_what_they_serve_as_long_as_they_do() {
    let server = start();
    let before = names(&server).await.len();
    ask(&server, &format!("POST {DEFINITIONS}"), definition("as", "one.example.com", &["v1", "v1alpha1", "v9"])).await;
    let of_group = |names: Vec<String>| -> Vec<String> {
        names.into_iter().filter(|name| name.ends_with("one.example.com")).collect()
    };
    let served = ["v1.one.example.com", "v1alpha1.one.example.com"];
    assert_eq!(of_group(names(&server).await), served);
    ask(&server, &format!("DELETE {API_SERVICES}/v1.one.example.com"), Value::Null).await;
    assert_eq!(of_group(names(&server).await), served, "a deleted one comes back");
    let (_, mut found) = ask(&server, &format!("GET {API_SERVICES}/v1.one.example.com"), Value::Null).await;
    found["spec"]["versionPriority"] = 5.into();
    assert_eq!(ask(&server, &format!("PUT {API_SERVICES}/v1.one.example.com"), found).await.0, 200);
    let (_, found) = ask(&server, &format!("GET {API_SERVICES}/v1.one.example.com"), Value::Null).await;
    assert_eq!(found["spec"]["versionPriority"], 100, "a changed one is put right");
    ask(&server, &format!("DELETE {DEFINITIONS}/as.one.example.com"), Value::Null).await;
    assert_eq!(names(&server).await.len(), before);
}

#[tokio::test(start_paused = true)]
async fn groups_are_listed_by_priority_and_those_out_of_reach_as_stale() {
    let server = start();
    register(&server).await;
    ask(&server, &format!("POST {DEFINITIONS}"), definition("as", "zz.example.com", &["v1", "v2", "foo"])).await;
    ask(&server, &format!("POST {DEFINITIONS}"), definition("zs", "aa.example.com", &["v1alpha1"])).await;
    let (_, groups) = ask(&server, "GET /apis", Value::Null).await;
    let listed: Vec<&str> =
        groups["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(listed[..3], ["apiregistration.k8s.io", "apps", "events.k8s.io"]);
    assert_eq!(listed[listed.len() - 3..], ["zz.example.com", "aa.example.com", "things.example.com"]);
    let (_, group) = ask(&server, "GET /apis/zz.example.com", Value::Null).await;
    assert_eq!(group["preferredVersion"]["version"], "v2");
    let all = discovered(&server).await;
    let items = all["items"].as_array().unwrap();
    let last: Vec<&Value> = items.iter().rev().take(3).map(|item| &item["metadata"]["name"]).collect();
    assert_eq!(last, ["things.example.com", "zz.example.com", "aa.example.com"]);
    assert_eq!(items[items.len() - 1]["versions"], json!([{"version": "v1", "freshness": "Stale"}]));
}

/// Everything that there is, in one answer.
async fn discovered(server: &ApiServer) -> Value {
    let mut all = request(server, "GET /apis", &Value::Null);
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    all.headers_mut().insert("Accept", accept.parse().expect("a header"));
    let bytes = server.handle(all).await.into_body().collect().await.expect("answers do not fail").to_bytes();
    serde_json::from_slice(&bytes).expect("JSON")
}

#[tokio::test(start_paused = true)]
async fn a_request_is_handed_on_with_the_user_and_without_the_token() {
    let server = start();
    server.server().dialer.route_to_service("default/other:443", tower::service_fn(other));
    let service = json!({"metadata": {"name": "other"}, "spec": {"ports": [{"port": 443}]}});
    ask(&server, "POST /api/v1/namespaces/default/services", service).await;
    register(&server).await;
    let (code, seen) = ask(&server, "DELETE /apis/things.example.com/v1/namespaces/n/things/t?x=1", Value::Null).await;
    let wanted = json!({
        "path": "/apis/things.example.com/v1/namespaces/n/things/t", "query": "x=1", "method": "DELETE",
        "user": "admin", "group": "system:masters", "token": "",
    });
    assert_eq!((code, seen), (200, wanted));
}

#[tokio::test(start_paused = true)]
async fn discovery_knows_the_groups_of_others() {
    let server = start();
    server.server().dialer.route_to_service("default/other:443", tower::service_fn(other));
    let service = json!({"metadata": {"name": "other"}, "spec": {"ports": [{"port": 443}]}});
    ask(&server, "POST /api/v1/namespaces/default/services", service).await;
    register(&server).await;
    let (_, group) = ask(&server, "GET /apis/things.example.com", Value::Null).await;
    assert_eq!((&group["kind"], &group["preferredVersion"]["version"]), (&json!("APIGroup"), &json!("v1")));
    let (_, groups) = ask(&server, "GET /apis", Value::Null).await;
    let listed = groups["groups"].as_array().unwrap();
    assert!(listed.iter().any(|group| group["name"] == "things.example.com"));
    let all = discovered(&server).await;
    let mut items = all["items"].as_array().unwrap().iter();
    let found = items.find(|item| item["metadata"]["name"] == "things.example.com").expect("the group is there");
    let thing = &found["versions"][0]["resources"][0];
    assert_eq!((&thing["resource"], &thing["scope"]), (&json!("things"), &json!("Namespaced")));
    assert_eq!(thing["subresources"][0]["subresource"], "status");
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_handed_on_event_by_event() {
    let (server, other) = (start(), start());
    ask(&other, &format!("POST {DEFINITIONS}"), definition("things", "things.example.com", &["v1"])).await;
    let service = tower::service_fn(move |mut request: http::Request<Full<Bytes>>| {
        let other = other.clone();
        let token = format!("Bearer {}", other.admin_token());
        request.headers_mut().insert("authorization", token.parse().unwrap());
        async move { Ok::<_, std::convert::Infallible>(other.handle(request).await) }
    });
    server.server().dialer.route_to_service("default/other:443", service);
    let service = json!({"metadata": {"name": "other"}, "spec": {"ports": [{"port": 443}]}});
    ask(&server, "POST /api/v1/namespaces/default/services", service).await;
    register(&server).await;
    let things = "/apis/things.example.com/v1/namespaces/default/things";
    let watch = request(&server, &format!("GET {things}?watch=1"), &Value::Null);
    let mut events = server.handle(watch).await.into_body();
    for name in ["a", "b"] {
        let thing = json!({"apiVersion": "things.example.com/v1", "kind": "things", "metadata": {"name": name}});
        assert_eq!(ask(&server, &format!("POST {things}"), thing).await.0, 201);
        let line = events.frame().await.unwrap().unwrap().into_data().unwrap();
        let event: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&json!("ADDED"), &json!(name)));
    }
}
