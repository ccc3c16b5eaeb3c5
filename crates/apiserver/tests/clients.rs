//! What clients send and ask for beside plain JSON: protobuf, other forms of an answer, other versions.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use kueue_apiserver::clock::Clock;
use kueue_apiserver::{ApiServer, Settings, protobuf};
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PROTOBUF: &str = protobuf::MEDIA_TYPE;

fn server() -> ApiServer {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    ApiServer::start(Settings::new(Clock::starting_at(start), [1; 32]))
}

/// Sends bytes of a media type and asks for another: code, media type and body of the answer.
async fn exchange(server: &ApiServer, line: &str, (kind, accept): (&str, &str), body: Vec<u8>) -> (u16, String, Bytes) {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let request = http::Request::builder().method(method).uri(path).header(CONTENT_TYPE, kind).header(ACCEPT, accept);
    let request = request.header("Authorization", format!("Bearer {}", server.admin_token()));
    let answer = server.handle(request.body(Full::<Bytes>::from(body)).expect("a request that can be sent")).await;
    let code = answer.status().as_u16();
    let kind = answer.headers()[CONTENT_TYPE].to_str().expect("a media type").to_owned();
    (code, kind, answer.into_body().collect().await.expect("answers do not fail").to_bytes())
}

async fn get(server: &ApiServer, path: &str, accept: &str) -> (u16, Value) {
    let (code, _, body) = exchange(server, &format!("GET {path}"), ("", accept), Vec::new()).await;
    (code, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

#[tokio::test(start_paused = true)]
async fn a_client_may_speak_protobuf_only() {
    let server = server();
    let both = (PROTOBUF, PROTOBUF);
    let body = protobuf::encode(&config_map("x").into()).expect("a kind with a form");
    let (code, kind, made) = exchange(&server, &format!("POST {CONFIG_MAPS}"), both, body).await;
    assert_eq!((code, kind.as_str()), (201, PROTOBUF));
    let made = protobuf::decode(&made, ("", "")).expect("a message");
    assert_eq!(made["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");

    let (_, _, list) = exchange(&server, &format!("GET {CONFIG_MAPS}"), both, Vec::new()).await;
    let list = protobuf::decode(&list, ("", "")).expect("a message");
    assert_eq!(serde_json::Value::from(&list["items"][0]["data"]), json!({"a": "1"}));
    assert_eq!(list["kind"], "ConfigMapList");

    let watch = format!("GET {CONFIG_MAPS}?watch=1&timeoutSeconds=1");
    let (_, kind, events) = exchange(&server, &watch, both, Vec::new()).await;
    assert_eq!(kind, format!("{PROTOBUF};stream=watch"));
    let length = u32::from_be_bytes(*events.first_chunk().expect("a length"));
    assert_eq!(length as usize + 4, events.len());

    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "other"}});
    let options = protobuf::encode(&options.into()).expect("options have a form");
    let (code, _, refused) = exchange(&server, &format!("DELETE {CONFIG_MAPS}/x"), both, options).await;
    let refused = protobuf::decode(&refused, ("", "")).expect("a message");
    assert_eq!((code, refused["reason"].as_str()), (409, Some("Conflict")));

    let (code, kind, _) =
        exchange(&server, &format!("POST {CONFIG_MAPS}"), (PROTOBUF, "application/json"), b"nonsense".to_vec()).await;
    assert_eq!((code, kind.as_str()), (400, "application/json"));
}

#[tokio::test(start_paused = true)]
async fn old_clients_get_tables_of_their_version() {
    let server = server();
    let body = config_map("x").to_string().into_bytes();
    exchange(&server, &format!("POST {CONFIG_MAPS}"), ("application/json", "application/json"), body).await;
    let accept = "application/json;as=Table;v=v1beta1;g=meta.k8s.io";
    let asked = ("application/json", accept);
    let (_, _, table) = exchange(&server, &format!("GET {CONFIG_MAPS}"), asked, Vec::new()).await;
    let table: Value = serde_json::from_slice(&table).expect("JSON");
    assert_eq!(table["apiVersion"], "meta.k8s.io/v1beta1");
    assert_eq!(table["rows"][0]["object"]["apiVersion"], "meta.k8s.io/v1beta1");
    let watch = format!("GET {CONFIG_MAPS}?watch=1&timeoutSeconds=1");
    let (_, _, event) = exchange(&server, &watch, asked, Vec::new()).await;
    let event: Value = serde_json::from_slice(&event).expect("one event");
    assert_eq!(event["object"]["apiVersion"], "meta.k8s.io/v1beta1");
}

#[tokio::test(start_paused = true)]
async fn what_is_forgotten_is_expired() {
    let settings = Settings::new(Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time")), [1; 32]);
    let server = ApiServer::start(Settings { compacts_every: Some(Duration::from_secs(10)), ..settings });
    let plain = ("application/json", "application/json");
    for name in ["a", "b", "c"] {
        let body = config_map(name).to_string().into_bytes();
        exchange(&server, &format!("POST {CONFIG_MAPS}"), plain, body).await;
    }
    let (_, first) = get(&server, &format!("{CONFIG_MAPS}?limit=1"), "application/json").await;
    let token = |list: &Value| list["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
    let version = first["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    exchange(&server, &format!("DELETE {CONFIG_MAPS}/b"), plain, Vec::new()).await;

    tokio::time::sleep(Duration::from_secs(15)).await;
    let (code, _) = get(&server, &format!("{CONFIG_MAPS}?limit=1&continue={}", token(&first)), "").await;
    assert_eq!(code, 200, "young enough");
    tokio::time::sleep(Duration::from_secs(15)).await;
    let (code, expired) = get(&server, &format!("{CONFIG_MAPS}?limit=1&continue={}", token(&first)), "").await;
    assert_eq!((code, &expired["reason"]), (410, &json!("Expired")));
    let (_, rest) = get(&server, &format!("{CONFIG_MAPS}?continue={}", token(&expired)), "").await;
    assert_eq!(rest["items"][0]["metadata"]["name"], "c", "it goes on with what there is now");
    let exact = format!("{CONFIG_MAPS}?resourceVersion={version}&resourceVersionMatch=Exact");
    assert_eq!(get(&server, &exact, "").await.0, 410);
    let (code, event) = get(&server, &format!("{CONFIG_MAPS}?watch=1&resourceVersion={version}"), "").await;
    assert_eq!((code, &event["object"]["code"]), (200, &json!(410)), "a watch ends with an error");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_a_client_has_is_not_sent_again() {
    let server = server();
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    for (path, accept) in [("/apis", accept), ("/openapi/v3", "*/*"), ("/openapi/v3/apis/batch/v1", "*/*")] {
        let ask = |known: &str| {
            let request = http::Request::get(path).header(ACCEPT, accept).header(IF_NONE_MATCH, known);
            let request = request.header("Authorization", format!("Bearer {}", server.admin_token()));
            server.handle(request.body(Full::<Bytes>::default()).expect("a request that can be sent"))
        };
        let first = ask("").await;
        let tag = first.headers()[ETAG].to_str().expect("a tag").to_owned();
        assert_eq!((first.status().as_u16(), ask(&tag).await.status().as_u16()), (200, 304), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_autoscaler_is_the_same_in_both_versions() {
    let server = server();
    let path = |version: &str| format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers");
    let plain = ("application/json", "application/json");
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    for (name, percentage, wanted) in [("a", json!(33), 33), ("b", Value::Null, 80)] {
        let spec = json!({"maxReplicas": 3, "scaleTargetRef": target, "targetCPUUtilizationPercentage": percentage});
        let body = json!({"metadata": {"name": name}, "spec": spec}).to_string().into_bytes();
        let (code, _, made) = exchange(&server, &format!("POST {}", path("v1")), plain, body).await;
        let made: Value = serde_json::from_slice(&made).expect("JSON");
        assert_eq!((code, &made["spec"]["targetCPUUtilizationPercentage"]), (201, &json!(wanted)), "{made}");
        assert!(made["spec"].get("metrics").is_none(), "{made}");
        let (_, second) = get(&server, &format!("{}/{name}", path("v2")), "").await;
        let cpu = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": wanted}});
        assert_eq!(second["spec"]["metrics"], json!([{"type": "Resource", "resource": cpu}]));
        assert!(second["spec"].get("targetCPUUtilizationPercentage").is_none(), "{second}");
        let (_, list) = get(&server, &path("v1"), "").await;
        let last = list["items"].as_array().expect("a list").last().expect("the one just made");
        assert_eq!(last["spec"], made["spec"]);
    }
}
