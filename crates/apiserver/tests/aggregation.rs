//! Groups that another server answers for, in process: requests are handed on, discovery knows them.

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
    server.server().dialer.route_to_service("default/other:443", tower::service_fn(other));
    let service = json!({"metadata": {"name": "other"}, "spec": {"ports": [{"port": 443}]}});
    ask(&server, "POST /api/v1/namespaces/default/services", service).await;
    assert_eq!(condition(&server).await, (json!("True"), json!("Passed")));
    assert_eq!(ask(&server, things, Value::Null).await.0, 200);
    ask(&server, &format!("DELETE {API_SERVICES}/v1.things.example.com"), Value::Null).await;
    assert_eq!(ask(&server, things, Value::Null).await.0, 404);
    let (_, groups) = ask(&server, "GET /apis", Value::Null).await;
    assert!(!groups.to_string().contains("things.example.com"));
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
    let mut all = request(&server, "GET /apis", &Value::Null);
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    all.headers_mut().insert("Accept", accept.parse().unwrap());
    let bytes = server.handle(all).await.into_body().collect().await.unwrap().to_bytes();
    let all: Value = serde_json::from_slice(&bytes).unwrap();
    let mut items = all["items"].as_array().unwrap().iter();
    let found = items.find(|item| item["metadata"]["name"] == "things.example.com").expect("the group is there");
    let thing = &found["versions"][0]["resources"][0];
    assert_eq!((&thing["resource"], &thing["scope"]), (&json!("things"), &json!("Namespaced")));
    assert_eq!(thing["subresources"][0]["subresource"], "status");
}
