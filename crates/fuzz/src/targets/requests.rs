//! Requests to the embedded API server, made from good ones by damage and played one after the other on a new server:
//! every one gets an answer that its client can read, and in the end the server still tells what it holds.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use kueue_apiserver::clock::Clock;
use kueue_apiserver::{ApiServer, Settings};
use kueue_storm::Random;
use serde_json::{Value, json};

use super::{Samples, Target};
use crate::mutate;

const NAME: &str = "apiserver-requests";
/// Requests per server: starting one costs more than many requests.
const REQUESTS: usize = 60;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const CONTENT_TYPES: [&str; 8] = [
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
];
const ACCEPTS: [&str; 5] = [
    "application/json",
    "application/yaml",
    "*/*",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
];
const QUERIES: [&str; 12] = [
    "labelSelector=a%20in%20(b,c),!d",
    "fieldSelector=metadata.name%3Dx",
    "limit=1",
    "limit=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOlsiYSIsImIiXX0",
    "resourceVersion=5&resourceVersionMatch=Exact",
    "watch=1&timeoutSeconds=1",
    "watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    "fieldManager=m&force=true",
    "fieldValidation=Strict&fieldManager=m",
    "dryRun=All",
    "propagationPolicy=Foreground&gracePeriodSeconds=0",
    "",
];

struct Case {
    method: &'static str,
    path: String,
    content_type: &'static str,
    accept: &'static str,
    body: String,
}

pub(super) fn target() -> Target {
    let explain = |input: &str| cases(input).iter().map(Case::tell).collect::<Vec<_>>().join("\n");
    Target { name: NAME, samples: Samples::Numbers, check, explain: Some(explain) }
}

/// Good requests: where, and with what.
fn samples() -> Vec<(&'static str, Value)> {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"},
        "metadata": {"name": "x", "labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.com/f"],
                     "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}]},
    });
    let pods = json!({"metadata": {"labels": {"a": "b"}}, "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                        "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "b"}]}],
        "restartPolicy": "Never", "schedulingGates": [{"name": "g"}], "nodeSelector": {"a": "b"},
    }});
    let pod = json!({"metadata": {"name": "p"}, "spec": pods["spec"]});
    let job = json!({"metadata": {"name": "j"}, "spec": {"suspend": true, "parallelism": 2, "template": pods}});
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "n": {"type": "integer", "maximum": 3, "default": 1},
        "l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
              "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}},
    }, "x-kubernetes-validations": [{"rule": "self.n < 3 || has(self.l)"}]}, "status": {"type": "object"}}});
    let definition = json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                 "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                               "schema": {"openAPIV3Schema": schema}}]},
    });
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
        "spec": {"n": 2, "l": [{"k": "a"}]}, "status": {"s": 1},
    });
    let patch =
        json!([{"op": "replace", "path": "/data/a", "value": "2"}, {"op": "test", "path": "/data", "value": {}}]);
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "u"}});
    vec![
        (CONFIG_MAPS, object.clone()),
        ("/api/v1/namespaces/default/configmaps/x", object),
        ("/api/v1/namespaces/default/configmaps/x", patch),
        ("/api/v1/namespaces/default/configmaps/x", options),
        ("/api/v1/namespaces", json!({"metadata": {"name": "n"}})),
        ("/api/v1/namespaces/default/pods", pod),
        ("/apis/batch/v1/namespaces/default/jobs", job.clone()),
        ("/apis/batch/v1/namespaces/default/jobs/j", job),
        (DEFINITIONS, definition.clone()),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com", definition),
        (WIDGETS, widget.clone()),
        ("/apis/example.com/v1/namespaces/default/widgets/w", widget.clone()),
        ("/apis/example.com/v1/namespaces/default/widgets/w/status", widget),
        (
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            json!({"spec": {"nonResourceAttributes": {"path": "/"}}}),
        ),
        ("/openapi/v3", Value::Null),
        ("/apis", Value::Null),
    ]
}

/// A good request to make something, so that there is something to damage.
fn good(random: &mut Random, samples: &[(&'static str, Value)]) -> Case {
    let made = [CONFIG_MAPS, DEFINITIONS, WIDGETS, "/apis/batch/v1/namespaces/default/jobs"];
    let (path, body) = random.pick(samples);
    let method = if made.contains(path) { "POST" } else { "GET" };
    Case {
        method,
        path: (*path).to_owned(),
        content_type: CONTENT_TYPES[0],
        accept: ACCEPTS[0],
        body: body.to_string(),
    }
}

fn damaged(random: &mut Random, samples: &[(&'static str, Value)]) -> Case {
    let (path, body) = random.pick(samples).clone();
    let body = mutate::json(random, &body).to_string();
    let body = if random.once_in(6) { mutate::text(random, &body) } else { body };
    let path = if random.once_in(8) { mutate::text(random, path) } else { path.to_owned() };
    let query = *random.pick(&QUERIES);
    let query = if random.once_in(4) { mutate::text(random, query) } else { query.to_owned() };
    let (method, accept) = (*random.pick(&METHODS), *random.pick(&ACCEPTS));
    let content_type = *random.pick(&CONTENT_TYPES);
    Case { method, path: format!("{path}?{query}"), content_type, accept, body }
}

fn cases(input: &str) -> Vec<Case> {
    let mut random = Random::new(input.parse().unwrap_or_default(), NAME, 0);
    let samples = samples();
    let make = |_| if random.once_in(3) { good(&mut random, &samples) } else { damaged(&mut random, &samples) };
    (0..REQUESTS).map(make).collect()
}

impl Case {
    fn tell(&self) -> String {
        format!("{} {} {} {}", self.method, self.path, self.content_type, self.body)
    }

    /// Nothing when no client could send such a request.
    fn request(&self, token: &str) -> Option<http::Request<Full<Bytes>>> {
        let request = http::Request::builder().method(self.method).uri(&self.path);
        let request = request.header("Authorization", format!("Bearer {token}")).header("Accept", self.accept);
        request.header("Content-Type", self.content_type).body(Full::from(self.body.clone())).ok()
    }
}

fn check(input: &str) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time"));
        let server = ApiServer::start(Settings { collects: true, ..Settings::new(clock, [1; 32]) });
        for case in cases(input) {
            let Some(request) = case.request(server.admin_token()) else { continue };
            let (code, body) = answer(&server, request).await;
            let is_told = code < 400 || code == 404 || case.method == "HEAD" || !body.is_empty();
            if !is_told || !(200..600).contains(&code) {
                return Err(format!("{code} without a word to {}", case.tell()));
            }
        }
        let get =
            Case { method: "GET", path: CONFIG_MAPS.into(), content_type: "", accept: ACCEPTS[0], body: String::new() };
        let request = get.request(server.admin_token()).ok_or("a plain list is a request")?;
        let (code, body) = answer(&server, request).await;
        let list: Value = serde_json::from_slice(&body).map_err(|error| format!("the list is no JSON: {error}"))?;
        if code == 200 && list["items"].is_array() { Ok(()) } else { Err(format!("no list in the end: {code} {list}")) }
    })
}

async fn answer(server: &ApiServer, request: http::Request<Full<Bytes>>) -> (u16, Bytes) {
    let answer = server.handle(request).await;
    let code = answer.status().as_u16();
    let body = match answer.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(never) => match never {},
    };
    (code, body)
}
