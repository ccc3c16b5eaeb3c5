//! Admission plugins as clients meet them: pods and others that are completed, refused or counted.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use kueue_apiserver::clock::Clock;
use kueue_apiserver::{ApiServer, Settings};
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

fn settings() -> Settings {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    Settings::new(Clock::starting_at(start), [1; 32])
}

/// Asks as administrator: code and body of the answer.
async fn ask(server: &ApiServer, line: &str, body: Value) -> (u16, Value) {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", kind);
    let request = request.header("Authorization", format!("Bearer {}", server.admin_token()));
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let request = request.body(Full::<Bytes>::from(text)).expect("a request that can be sent");
    let answer = server.handle(request).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("answers do not fail").to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// Creates a pod with one container: code and either the message or the object.
async fn pod(server: &ApiServer, name: &str, spec: Value, resources: Value) -> (u16, Value) {
    let mut spec = spec;
    spec["containers"] = json!([{"name": "c", "image": "i", "resources": resources}]);
    let body = json!({"metadata": {"name": name}, "spec": spec});
    let (code, answer) = ask(server, &format!("POST {PODS}"), body).await;
    if code < 300 { (code, answer) } else { (code, answer["message"].clone()) }
}

async fn quota(server: &ApiServer, spec: Value) {
    let hard = spec["hard"].clone();
    let (code, _) = ask(server, &format!("POST {QUOTAS}"), json!({"metadata": {"name": "q"}, "spec": spec})).await;
    assert_eq!(code, 201);
    let used: serde_json::Map<String, Value> =
        hard.as_object().expect("a quota has amounts").keys().map(|name| (name.clone(), json!("0"))).collect();
    let status = json!({"status": {"hard": hard, "used": used}});
    assert_eq!(ask(server, &format!("PATCH {QUOTAS}/q/status"), status).await.0, 200);
}

async fn used(server: &ApiServer) -> Value {
    ask(server, &format!("GET {QUOTAS}/q"), Value::Null).await.1["status"]["used"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_pod_gets_priority_tolerations_and_limits() {
    let server = ApiServer::start(settings());
    let range = json!({"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}});
    ask(&server, "POST /api/v1/namespaces/default/limitranges", range).await;
    let (_, found) = pod(&server, "a", json!({}), json!({})).await;
    let spec = &found["spec"];
    assert_eq!((&spec["priority"], &spec["preemptionPolicy"]), (&json!(0), &json!("PreemptLowerPriority")));
    assert_eq!(spec["tolerations"].as_array().unwrap().len(), 2);
    assert_eq!(
        spec["containers"][0]["resources"],
        json!({"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}),
        "the most is the default"
    );
    assert_eq!(found["status"]["qosClass"], "Burstable", "decided by what admission made of it");
    let (code, why) = pod(&server, "b", json!({}), json!({"limits": {"cpu": "3"}})).await;
    assert_eq!(
        (code, why),
        (403, json!("pods \"b\" is forbidden: maximum cpu usage per Container is 2, but limit is 3"))
    );
    let (code, _) = ask(&server, &format!("PATCH {PODS}/a"), json!({"metadata": {"labels": {"x": "y"}}})).await;
    assert_eq!(code, 200);
}

#[tokio::test(start_paused = true)]
async fn a_priority_class_decides_a_number() {
    let server = ApiServer::start(settings());
    let classes = "POST /apis/scheduling.k8s.io/v1/priorityclasses";
    let class = |name: &str, value: i64, is_default: bool| json!({"metadata": {"name": name}, "value": value, "globalDefault": is_default});
    assert_eq!(ask(&server, classes, class("low", 5, true)).await.0, 201);
    let (code, answer) = ask(&server, classes, class("other", 6, true)).await;
    assert_eq!(
        (code, answer["message"].as_str().unwrap()),
        (
            403,
            "priorityclasses.scheduling.k8s.io \"other\" is forbidden: PriorityClass low is already marked as default. \
             Only one default can exist"
        )
    );
    let (_, plain) = pod(&server, "a", json!({}), json!({})).await;
    assert_eq!((&plain["spec"]["priorityClassName"], &plain["spec"]["priority"]), (&json!("low"), &json!(5)));
    let critical = json!({"priorityClassName": "system-node-critical"});
    assert_eq!(pod(&server, "b", critical, json!({})).await.1["spec"]["priority"], 2_000_001_000);
    let delete = "DELETE /apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical";
    assert_eq!(ask(&server, delete, Value::Null).await.0, 403);
    let (code, why) = pod(&server, "c", json!({"priorityClassName": "none"}), json!({})).await;
    assert_eq!((code, why), (403, json!("pods \"c\" is forbidden: no PriorityClass with name none was found")));
}

#[tokio::test(start_paused = true)]
async fn a_runtime_class_that_is_not_there_runs_nothing() {
    let server = ApiServer::start(settings());
    let (code, why) = pod(&server, "a", json!({"runtimeClassName": "x"}), json!({})).await;
    assert_eq!((code, why), (403, json!("pods \"a\" is forbidden: pod rejected: RuntimeClass \"x\" not found")));
    let class = json!({"metadata": {"name": "x"}, "handler": "h", "overhead": {"podFixed": {"cpu": "250m"}}});
    ask(&server, "POST /apis/node.k8s.io/v1/runtimeclasses", class).await;
    let (_, found) = pod(&server, "a", json!({"runtimeClassName": "x"}), json!({})).await;
    assert_eq!(found["spec"]["overhead"], json!({"cpu": "250m"}));
}

#[tokio::test(start_paused = true)]
async fn a_quota_is_charged_with_the_request() {
    let server = ApiServer::start(settings());
    quota(&server, json!({"hard": {"pods": "2", "requests.cpu": "2", "count/configmaps": "1"}})).await;
    let cpu = |amount: &str| json!({"requests": {"cpu": amount}});
    let (_, why) = pod(&server, "none", json!({}), json!({})).await;
    assert_eq!(why, "pods \"none\" is forbidden: failed quota: q: must specify requests.cpu for: c");
    let (_, why) = pod(&server, "big", json!({}), cpu("3")).await;
    assert_eq!(
        why,
        "pods \"big\" is forbidden: exceeded quota: q, requested: requests.cpu=3, used: requests.cpu=0, limited: \
         requests.cpu=2"
    );
    assert_eq!(pod(&server, "a", json!({}), cpu("1500m")).await.0, 201);
    assert_eq!(used(&server).await, json!({"count/configmaps": "0", "pods": "1", "requests.cpu": "1500m"}));
    assert_eq!(pod(&server, "b", json!({}), cpu("1")).await.0, 403);
    let map = json!({"metadata": {"name": "m"}});
    let maps = "POST /api/v1/namespaces/default/configmaps";
    assert_eq!(ask(&server, &format!("{maps}?dryRun=All"), map.clone()).await.0, 201);
    assert_eq!(used(&server).await["count/configmaps"], "0", "a dry run costs nothing");
    assert_eq!(ask(&server, maps, map).await.0, 201);
    assert_eq!(ask(&server, maps, json!({"metadata": {"name": "n"}})).await.0, 403);
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_was_not_counted_yet_refuses() {
    let server = ApiServer::start(settings());
    let spec = json!({"hard": {"pods": "1"}, "scopes": ["Terminating"]});
    ask(&server, &format!("POST {QUOTAS}"), json!({"metadata": {"name": "q"}, "spec": spec})).await;
    ask(&server, &format!("PATCH {QUOTAS}/q/status"), json!({"status": {"hard": {"pods": "1"}}})).await;
    assert_eq!(pod(&server, "a", json!({}), json!({})).await.0, 201, "not in its scope");
    let (_, why) = pod(&server, "b", json!({"activeDeadlineSeconds": 5}), json!({})).await;
    assert_eq!(why, "pods \"b\" is forbidden: status unknown for quota: q, resources: pods");
}

#[tokio::test(start_paused = true)]
async fn controllers_count_what_comes_and_goes() {
    let server = ApiServer::start(Settings { collects: true, ..settings() });
    let spec = json!({"hard": {"pods": "1"}});
    ask(&server, &format!("POST {QUOTAS}"), json!({"metadata": {"name": "q"}, "spec": spec})).await;
    let settled = || tokio::time::sleep(std::time::Duration::from_millis(1));
    settled().await;
    assert_eq!(used(&server).await, json!({"pods": "0"}));
    assert_eq!(pod(&server, "a", json!({}), json!({})).await.0, 201);
    settled().await;
    assert_eq!(pod(&server, "b", json!({}), json!({})).await.0, 403);
    ask(&server, &format!("DELETE {PODS}/a"), Value::Null).await;
    settled().await;
    assert_eq!(used(&server).await, json!({"pods": "0"}));
    assert_eq!(pod(&server, "b", json!({}), json!({})).await.0, 201);
    let view = ask(&server, "GET /apis/rbac.authorization.k8s.io/v1/clusterroles/view", Value::Null).await.1;
    assert!(!view["rules"].as_array().unwrap().is_empty(), "roles gather the rules of others");
}

#[tokio::test(start_paused = true)]
async fn a_pod_runs_as_an_account_that_exists() {
    let server = ApiServer::start(Settings { assigns_accounts: true, ..settings() });
    let (code, why) = pod(&server, "a", json!({}), json!({})).await;
    let message = "pods \"a\" is forbidden: error looking up service account default/default: serviceaccount \
                   \"default\" not found";
    assert_eq!((code, why), (403, json!(message)));
    let account = json!({"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "s"}]});
    ask(&server, "POST /api/v1/namespaces/default/serviceaccounts", account).await;
    let (_, found) = pod(&server, "a", json!({}), json!({})).await;
    let spec = &found["spec"];
    assert_eq!((&spec["serviceAccountName"], &spec["imagePullSecrets"]), (&json!("default"), &json!([{"name": "s"}])));
    assert_eq!(spec["volumes"][0]["projected"]["sources"].as_array().unwrap().len(), 3);
    let (_, bare) = pod(&server, "b", json!({"automountServiceAccountToken": false}), json!({})).await;
    assert!(bare["spec"].get("volumes").is_none());
}
