//! Aggregation: groups that another server answers for, named by an APIService with a service.
//!
//! Whether it can be reached is looked at when the APIService, its Service or endpoints are written, and again when
//! somebody asks while it could not. What the other server says of itself then is what discovery shows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::{HeaderMap, Method};
use http_body_util::{BodyExt as _, Full};
use kueue_core::time::Time;
use tokio::sync::mpsc;

use crate::auth::{MASTERS, User};
use crate::dial::{Client, endpoints};
use crate::json::{Value, json};
use crate::kinds::{group_version, text_at};
use crate::rest::accept::Accepted;
use crate::rest::reply::{Body, Reply, Response};
use crate::rest::service::Server;
use crate::schema::object_at;
use crate::store::{Key, Object};

mod local;

const STORAGE: &str = "apiservices.apiregistration.k8s.io";
/// Collections whose changes may make a server reachable.
const LOOKED_AT: [&str; 4] = [STORAGE, "services", "endpoints", "endpointslices.discovery.k8s.io"];
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Parts of a stream that wait to be sent.
const BACKLOG: usize = 64;

/// The resources of other servers, as they list them: by group, then version.
#[derive(Debug, Default)]
pub struct Aggregated(Mutex<BTreeMap<(String, String), Arc<Value>>>);

impl Aggregated {
    /// What another server lists for a version of a group.
    pub fn resources(&self, group: &str, version: &str) -> Option<Arc<Value>> {
        let known = self.0.lock().expect("nobody panics with what others serve");
        known.get(&(group.to_owned(), version.to_owned())).cloned()
    }
}

/// One request that is handed on.
#[derive(Debug)]
pub struct Passed<'a> {
    pub method: &'a Method,
    pub path_and_query: &'a str,
    pub headers: &'a HeaderMap,
    pub user: &'a User,
    pub body: Bytes,
}

/// Whether a server can be reached, as the condition of its APIService tells it.
struct Availability {
    is_there: bool,
    reason: &'static str,
    message: Cow<'static, str>,
}

impl Availability {
    fn missing(reason: &'static str, message: String) -> Self {
        Self { is_there: false, reason, message: message.into() }
    }

    fn condition(&self, now: Time) -> Value {
        json!({
            "type": "Available", "status": if self.is_there { "True" } else { "False" },
            "lastTransitionTime": now.to_string(), "reason": self.reason, "message": self.message,
        })
    }
}

fn is_available(api_service: &Value) -> bool {
    let conditions = api_service["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|one| one["type"] == "Available" && one["status"] == "True")
}

fn unavailable() -> Response {
    Reply::text(503, "service unavailable\n").encode(Accepted::JSON, &[])
}

impl Server {
    /// The other server that answers for a path, if there is one.
    fn api_service_of(&self, path: &str) -> Option<Arc<Object>> {
        let mut parts = path.trim_matches('/').split('/');
        let ("apis", group, version) = (parts.next()?, parts.next()?, parts.next()?) else { return None };
        let found = self.store.get(STORAGE, &Key::new("", format!("{version}.{group}")))?;
        found.value["spec"]["service"].is_object().then_some(found)
    }

    /// Hands a request on to the server that answers for its group; nothing when that is this one.
    pub async fn pass_on(&self, request: Passed<'_>) -> Option<Response> {
        let path = request.path_and_query.split('?').next().unwrap_or_default();
        let mut found = self.api_service_of(path)?;
        if !is_available(&found.value) {
            self.settle_api_service(&found).await;
            found = self.api_service_of(path)?;
        }
        if !is_available(&found.value) {
            return Some(unavailable());
        }
        let client = Client::of_api_service(&found.value["spec"]);
        let Ok(server) = self.dialer.find(&self.store, &client) else { return Some(unavailable()) };
        let Some(passed) = passed(&client, request) else { return Some(unavailable()) };
        let answered = match tokio::time::timeout(ANSWER_TIMEOUT, server.call(passed)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(why)) => Err(why),
            Err(_) => Err("context deadline exceeded".to_owned()),
        };
        Some(match answered {
            Ok(answer) => streamed(answer),
            Err(why) => {
                let text = format!("error trying to reach service: {why}\n");
                Reply::text(503, text).encode(Accepted::JSON, &[])
            }
        })
    }

    /// Looks at other servers again after something was written that they depend on.
    pub async fn settle_api_services(&self, storage: &str) {
        if !LOOKED_AT.contains(&storage) {
            return;
        }
        if storage == STORAGE {
            self.settle_local_api_services();
        }
        let listed = self.store.list(STORAGE, "", None).map(|found| found.objects).unwrap_or_default();
        for (_, object) in &listed {
            self.settle_api_service(object).await;
        }
        let is_there = |group: &str, version: &str| {
            listed.iter().any(|(_, object)| {
                text_at(&object.value, &["spec", "group"]) == group
                    && text_at(&object.value, &["spec", "version"]) == version
            })
        };
        let mut known = self.aggregated.0.lock().expect("nobody panics with what others serve");
        known.retain(|(group, version), _| is_there(group, version));
    }

    /// Asks another server what it serves, and writes whether it could be reached.
    async fn settle_api_service(&self, object: &Arc<Object>) {
        let spec = &object.value["spec"];
        if !spec["service"].is_object() {
            return self.tell_availability(object, &local::AVAILABLE);
        }
        let found = match self.discover(spec).await {
            Ok(resources) => {
                let name = (text_at(spec, &["group"]).to_owned(), text_at(spec, &["version"]).to_owned());
                let mut known = self.aggregated.0.lock().expect("nobody panics with what others serve");
                known.insert(name, Arc::new(resources));
                Availability { is_there: true, reason: "Passed", message: "all checks passed".into() }
            }
            Err(why) => why,
        };
        self.tell_availability(object, &found);
    }

    /// Writes the condition, unless it says so already; its time moves with its status.
    fn tell_availability(&self, object: &Arc<Object>, found: &Availability) {
        let mut condition = found.condition(self.clock.time());
        let present = &object.value["status"]["conditions"][0];
        if present["status"] == condition["status"] {
            condition["lastTransitionTime"] = present["lastTransitionTime"].clone();
        }
        if *present == condition {
            return;
        }
        let mut value = object.value.clone();
        if let Some(status) = object_at(&mut value, &["status"]) {
            status.insert("conditions", json!([condition]));
        }
        let key = Key::new("", text_at(&object.value, &["metadata", "name"]));
        // Whoever was faster comes here as well.
        let _ = self.store.update(STORAGE, key, object, value);
    }

    /// The resources that another server lists.
    async fn discover(&self, spec: &Value) -> Result<Value, Availability> {
        let service = &spec["service"];
        let (namespace, name) = (text_at(service, &["namespace"]), text_at(service, &["name"]));
        let found = self.store.get("services", &Key::new(namespace, name)).ok_or_else(|| {
            Availability::missing("ServiceNotFound", format!("service/{name} in {namespace:?} is not present"))
        })?;
        let port = service["port"].as_u64().unwrap_or(443);
        let mut ports = found.value["spec"]["ports"].as_array().into_iter().flatten();
        let Some(known) = ports.find(|known| known["port"] == port) else {
            let message = format!("service/{name} in {namespace:?} is not listening on port {port}");
            return Err(Availability::missing("ServicePortError", message));
        };
        let client = Client::of_api_service(spec);
        let (port_name, kind) = (text_at(known, &["name"]), text_at(&found.value, &["spec", "type"]));
        let has_own_addresses = ["", "ClusterIP"].contains(&kind) && !self.dialer.has_route(&client);
        if has_own_addresses && endpoints(&self.store, namespace, name, port_name).is_empty() {
            let message =
                format!("endpoints for service/{name} in {namespace:?} have no addresses with port name {port_name:?}");
            return Err(Availability::missing("MissingEndpoints", message));
        }
        let path = format!("/apis/{}", group_version(text_at(spec, &["group"]), text_at(spec, &["version"])));
        let failed = |why: String| {
            let message = format!("failing or missing response from {}: {why}", client.url_of(&path));
            Availability::missing("FailedDiscoveryCheck", message)
        };
        let nobody = User { name: "system:kube-aggregator".into(), groups: vec![MASTERS.into()], ..User::default() };
        let headers = HeaderMap::new();
        let request = Passed {
            method: &Method::GET,
            path_and_query: &path,
            headers: &headers,
            user: &nobody,
            body: Bytes::new(),
        };
        let server = self.dialer.find(&self.store, &client).map_err(&failed)?;
        let request = passed(&client, request).ok_or_else(|| failed("invalid URL".into()))?;
        let answer = async {
            let answer = crate::dial::read(server.call(request).await?).await?;
            match answer.code {
                200..300 => Ok(serde_json::from_slice(&answer.body).unwrap_or(Value::Null)),
                code => Err(format!("bad status from {}: {code}", client.url_of(&path))),
            }
        };
        match tokio::time::timeout(DISCOVERY_TIMEOUT, answer).await {
            Ok(answer) => answer.map_err(failed),
            Err(_) => Err(failed("context deadline exceeded".into())),
        }
    }
}

/// A request as the other server gets it: the user in headers, and nothing that only concerns this server.
fn passed(client: &Client, request: Passed<'_>) -> Option<http::Request<Full<Bytes>>> {
    let mut passed = http::Request::builder().method(request.method).uri(client.url_of(request.path_and_query));
    let headers = passed.headers_mut()?;
    for (name, value) in request.headers {
        let is_own = [&AUTHORIZATION, &HOST, &CONNECTION, &CONTENT_LENGTH, &TRANSFER_ENCODING].contains(&name)
            || ["x-remote-", "impersonate-"].iter().any(|prefix| name.as_str().starts_with(prefix));
        if !is_own {
            headers.append(name, value.clone());
        }
    }
    let mut tell = |name: &str, text: &str| {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(text)) {
            headers.append(name, value);
        }
    };
    tell("x-remote-user", &request.user.name);
    request.user.groups.iter().for_each(|group| tell("x-remote-group", group));
    for (key, values) in &request.user.extra {
        values.iter().for_each(|value| tell(&format!("x-remote-extra-{}", key.to_lowercase()), value));
    }
    passed.body(Full::from(request.body)).ok()
}

/// An answer as it comes; it may never end.
fn streamed(answer: crate::dial::Response) -> Response {
    let (parts, mut frames) = answer.into_parts();
    let (sender, lines) = mpsc::channel(BACKLOG);
    tokio::spawn(async move {
        while let Some(Ok(frame)) = frames.frame().await {
            let Ok(data) = frame.into_data() else { continue };
            if sender.send(data).await.is_err() {
                return;
            }
        }
    });
    let mut response = http::Response::new(Body::Stream { lines, accepted: Accepted::JSON });
    *response.status_mut() = parts.status;
    for (name, value) in &parts.headers {
        if ![CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(name) {
            response.headers_mut().append(name, value.clone());
        }
    }
    response
}
