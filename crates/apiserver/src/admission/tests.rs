//! Webhooks and policies against a whole server, in process and under virtual time.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;

use crate::clock::Clock;
use crate::json::{Value, json};
use crate::{ApiServer, Settings, base64};

mod mutating;
mod policies;
mod validating;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const KINDS: &str = "/apis/admissionregistration.k8s.io/v1";

/// What a webhook does when it is called.
#[derive(Debug, Clone)]
enum Act {
    /// Answers with this `response`; the uid is filled in unless it is given.
    Respond(Value),
    /// Sends just this, with a code.
    Send(u16, Vec<u8>),
    Hang,
}

/// A server and webhooks at `https://hooks.example.com/NAME`.
struct Bed {
    server: ApiServer,
    acts: Arc<Mutex<BTreeMap<String, Act>>>,
    calls: Arc<Mutex<Vec<(String, Value)>>>,
}

/// An answer to a request: code, body and warnings.
#[derive(Debug)]
struct Told {
    code: u16,
    body: Value,
    warnings: Vec<String>,
}

impl Told {
    fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

impl Bed {
    fn new() -> Self {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let server = ApiServer::start(Settings::new(Clock::starting_at(start), [1; 32]));
        let bed = Self { server, acts: Arc::default(), calls: Arc::default() };
        let (acts, calls) = (Arc::clone(&bed.acts), Arc::clone(&bed.calls));
        let hooks = tower::service_fn(move |request: crate::dial::Request| {
            let (acts, calls) = (Arc::clone(&acts), Arc::clone(&calls));
            async move { Ok::<_, Infallible>(answered(request, &acts, &calls).await) }
        });
        bed.server.server().dialer.route_to_service("hooks.example.com:443", hooks);
        bed
    }

    fn act(&self, name: &str, act: Act) {
        self.acts.lock().unwrap().insert(format!("/{name}"), act);
    }

    fn respond(&self, name: &str, response: Value) {
        self.act(name, Act::Respond(response));
    }

    /// What was asked since the last look, as names and requests.
    fn calls(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn called(&self) -> Vec<String> {
        self.calls().into_iter().map(|(name, _)| name).collect()
    }

    /// Configures webhooks; each needs a name and rules, and is called at that name.
    async fn configure(&self, kind: &str, webhooks: &[Value]) -> Told {
        let webhooks: Vec<Value> = webhooks.iter().map(completed).collect();
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
            "metadata": {"name": "c"}, "webhooks": webhooks,
        });
        let path = format!("{KINDS}/{}webhookconfigurations", kind.to_lowercase());
        self.ask(&format!("POST {path}"), configuration).await
    }

    async fn ask(&self, line: &str, body: Value) -> Told {
        let (method, path) = line.split_once(' ').unwrap();
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("Authorization", format!("Bearer {}", self.server.admin_token()))
            .header("Content-Type", kind)
            .body(Full::<Bytes>::from(text))
            .unwrap();
        let answer = self.server.handle(request).await;
        let warnings = answer.headers().get_all("Warning").iter();
        let warnings = warnings.map(|one| one.to_str().unwrap().to_owned()).collect();
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        Told { code, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null), warnings }
    }

    async fn create(&self, name: &str) -> Told {
        self.ask(&format!("POST {CONFIG_MAPS}"), config_map(name)).await
    }
}

async fn answered(
    request: crate::dial::Request,
    acts: &Mutex<BTreeMap<String, Act>>,
    calls: &Mutex<Vec<(String, Value)>>,
) -> http::Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    calls.lock().unwrap().push((path.trim_start_matches('/').to_owned(), review["request"].clone()));
    let act = acts.lock().unwrap().get(&path).cloned().unwrap_or_else(|| Act::Respond(json!({"allowed": true})));
    let (code, bytes) = match act {
        Act::Hang => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            (200, Vec::new())
        }
        Act::Send(code, bytes) => (code, bytes),
        Act::Respond(mut response) => {
            if response.get("uid").is_none() {
                response["uid"] = review["request"]["uid"].clone();
            }
            let answer = json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
            (200, answer.to_string().into_bytes())
        }
    };
    let answer = http::Response::builder().status(code).header("Content-Type", "application/json");
    answer.body(Full::from(bytes)).unwrap()
}

/// A webhook with what every one must have; it is for new config maps unless it says something else.
fn completed(webhook: &Value) -> Value {
    let name = webhook["name"].as_str().unwrap();
    let mut whole = json!({
        "clientConfig": {"url": format!("https://hooks.example.com/{name}")},
        "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "rules": [rule("CREATE", "", "v1", "configmaps")],
    });
    whole.as_object_mut().unwrap().extend(webhook.as_object().unwrap().clone());
    whole["name"] = format!("{name}.example.com").into();
    whole
}

fn rule(operation: &str, group: &str, version: &str, resource: &str) -> Value {
    json!({"operations": [operation], "apiGroups": [group], "apiVersions": [version], "resources": [resource]})
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

/// A response that changes the object.
fn patching(operations: &Value) -> Value {
    let patch = base64::STANDARD.encode(operations.to_string().as_bytes());
    json!({"allowed": true, "patchType": "JSONPatch", "patch": patch})
}

/// A kind with two versions of the same form.
async fn define_widgets(bed: &Bed) {
    let version = |name: &str, storage: bool| {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema},
               "subresources": {"status": {}}})
    };
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                 "versions": [version("v1", true), version("v1beta1", false)]},
    });
    let told = bed.ask("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
    assert_eq!(told.code, 201, "{told:?}");
}
