//! Calls outward: webhooks, conversion and aggregated APIs. Nothing else in the crate opens a connection.
//!
//! A target is a URL or a Service. A Service must exist and have the port, as on a real server; where it leads to is said
//! by a route (a service in this process, or a port of this machine), or by its endpoints when those are on loopback.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use tower::ServiceExt as _;

use crate::base64;
use crate::json::Value;
use crate::kinds::text_at;
use crate::store::{Key, Store};

mod https;
pub mod review;

use https::Https;

/// More than this is no answer to a review.
const ANSWER_BYTES_MAX: usize = 8 << 20;

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub type Request = http::Request<Full<Bytes>>;
pub type Response = http::Response<UnsyncBoxBody<Bytes, BoxError>>;
/// Either an answer, or why there is none, in the words of Go's HTTP client.
pub type Answered = Pin<Box<dyn Future<Output = Result<Response, String>> + Send>>;

/// Something that answers HTTP requests, near or far.
pub trait Dial: Send + Sync {
    fn call(&self, request: Request) -> Answered;
}

/// A service of this process, called without a socket.
struct InProcess<S>(S);

impl<S, B> Dial for InProcess<S>
where
    S: tower::Service<Request, Response = http::Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    fn call(&self, request: Request) -> Answered {
        let service = self.0.clone();
        Box::pin(async move {
            match service.oneshot(request).await {
                Ok(response) => Ok(response.map(|body| body.map_err(Into::into).boxed_unsync())),
                Err(never) => match never {},
            }
        })
    }
}

/// Where the calls of a Service, or of a host, really go.
#[derive(Clone)]
enum Route {
    Near(Arc<dyn Dial>),
    /// A port of this machine.
    Port(u16),
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Route::Near(_) => f.write_str("in process"),
            Route::Port(port) => write!(f, "127.0.0.1:{port}"),
        }
    }
}

/// Knows the routes. `NAMESPACE/SERVICE:PORT` names a Service, `HOST:PORT` what a URL names.
#[derive(Debug, Default)]
pub struct Dialer {
    routes: Mutex<BTreeMap<String, Route>>,
}

/// Who is to be called: `clientConfig` of a webhook or CRD, or the `service` of an APIService.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Scheme, host and port: `https://NAME.NAMESPACE.svc:443`.
    origin: String,
    path: String,
    /// Namespace, name and port, when it is a Service.
    service: Option<(String, String, u16)>,
    ca_bundle: Vec<u8>,
    /// Whether certificates are not looked at.
    is_trusted: bool,
}

impl Client {
    /// Reads a `clientConfig`.
    pub fn of_config(config: &Value) -> Self {
        let ca_bundle = ca_bundle(&config["caBundle"]);
        if let Some(url) = config["url"].as_str() {
            let rest = url.find("://").map_or(url, |at| &url[at + 3..]);
            let host_ends = url.len() - rest.len() + rest.find('/').unwrap_or(rest.len());
            let (origin, path) = url.split_at(host_ends);
            return Self {
                origin: origin.to_owned(),
                path: path.to_owned(),
                service: None,
                ca_bundle,
                is_trusted: false,
            };
        }
        Self {
            ca_bundle,
            path: text_at(&config["service"], &["path"]).to_owned(),
            ..Self::of_service(&config["service"])
        }
    }

    /// The Service behind an aggregated API.
    pub fn of_api_service(spec: &Value) -> Self {
        Self {
            ca_bundle: ca_bundle(&spec["caBundle"]),
            is_trusted: spec["insecureSkipTLSVerify"] == true,
            ..Self::of_service(&spec["service"])
        }
    }

    fn of_service(service: &Value) -> Self {
        let (namespace, name) = (text_at(service, &["namespace"]), text_at(service, &["name"]));
        let port = service["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(443);
        Self {
            origin: format!("https://{name}.{namespace}.svc:{port}"),
            path: String::new(),
            service: Some((namespace.to_owned(), name.to_owned(), port)),
            ca_bundle: Vec::new(),
            is_trusted: false,
        }
    }

    /// The address as errors show it.
    fn url(&self, query: &str) -> String {
        let path = format!("/{}", self.path.trim_start_matches('/'));
        format!("{}{path}{query}", self.origin)
    }

    /// The address of a path at the same place.
    pub fn url_of(&self, path_and_query: &str) -> String {
        format!("{}{path_and_query}", self.origin)
    }

    /// Host and port; HTTPS has a port of its own.
    fn authority(&self) -> String {
        let host = self.origin.split_once("://").map_or(self.origin.as_str(), |(_, host)| host);
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        if has_port { host.to_owned() } else { format!("{host}:443") }
    }
}

fn ca_bundle(value: &Value) -> Vec<u8> {
    value.as_str().and_then(|text| base64::STANDARD.decode(text).ok()).unwrap_or_default()
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub content_type: String,
    pub body: Bytes,
}

impl Dialer {
    /// Leads the calls of a Service or host to a service of this process; the newest route counts.
    pub fn route_to_service<S, B>(&self, from: impl Into<String>, service: S)
    where
        S: tower::Service<Request, Response = http::Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.add(from.into(), Route::Near(Arc::new(InProcess(service))));
    }

    /// Leads the calls of a Service or host to a port of this machine.
    pub fn route_to_port(&self, from: impl Into<String>, port: u16) {
        self.add(from.into(), Route::Port(port));
    }

    fn add(&self, from: String, route: Route) {
        self.routes.lock().expect("nobody panics with the routes").insert(from, route);
    }

    fn route(&self, from: &str) -> Option<Route> {
        self.routes.lock().expect("nobody panics with the routes").get(from).cloned()
    }

    /// Posts JSON and reads the answer. The deadline is part of the URL, so that the other side knows it.
    pub async fn post(
        &self,
        store: &Store,
        client: &Client,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Answer, String> {
        let url = client.url(&format!("?timeout={}s", timeout.as_secs()));
        let told = |why: String| format!("Post \"{url}\": {why}");
        let mut request = http::Request::post(&url)
            .body(Full::from(Bytes::from(body)))
            .map_err(|error| format!("cannot call {url}: {error}"))?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(http::header::ACCEPT, HeaderValue::from_static("application/json, */*"));
        let answered = async {
            let response = self.find(store, client).map_err(&told)?.call(request).await.map_err(&told)?;
            read(response).await
        };
        match tokio::time::timeout(timeout, answered).await {
            Ok(answered) => answered,
            Err(_) => Err(told("context deadline exceeded".into())),
        }
    }

    /// Whether somebody on this machine answers for a client, whatever its Service says.
    pub fn has_route(&self, client: &Client) -> bool {
        let service = client.service.as_ref();
        service.is_some_and(|(namespace, name, port)| self.route(&format!("{namespace}/{name}:{port}")).is_some())
    }

    /// Who answers for a client.
    pub fn find(&self, store: &Store, client: &Client) -> Result<Arc<dyn Dial>, String> {
        let (name, address) = match &client.service {
            Some((namespace, name, port)) => {
                let address = resolve(store, namespace, name, *port)?;
                match self.route(&format!("{namespace}/{name}:{port}")) {
                    Some(Route::Near(service)) => return Ok(service),
                    Some(Route::Port(port)) => (format!("{name}.{namespace}.svc"), format!("127.0.0.1:{port}")),
                    None => (format!("{name}.{namespace}.svc"), address),
                }
            }
            None => {
                let authority = client.authority();
                let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host).to_owned();
                match self.route(&authority) {
                    Some(Route::Near(service)) => return Ok(service),
                    Some(Route::Port(port)) => (host, format!("127.0.0.1:{port}")),
                    None => (host, authority),
                }
            }
        };
        Ok(Arc::new(Https::new(&name, address, &client.ca_bundle, client.is_trusted)?))
    }
}

/// Reads an answer to its end, unless that is too far.
pub(crate) async fn read(response: Response) -> Result<Answer, String> {
    let code = response.status().as_u16();
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let content_type = kind.unwrap_or_default().to_owned();
    let mut frames = response.into_body();
    let mut body = Vec::new();
    while let Some(frame) = frames.frame().await {
        let Ok(frame) = frame else { return Err("unexpected EOF".to_owned()) };
        body.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        if body.len() > ANSWER_BYTES_MAX {
            return Err(format!("the answer is larger than {ANSWER_BYTES_MAX} bytes"));
        }
    }
    Ok(Answer { code, content_type, body: body.into() })
}

/// The address of a Service's port: an endpoint on this machine, else what a real server would dial.
fn resolve(store: &Store, namespace: &str, name: &str, port: u16) -> Result<String, String> {
    let service =
        store.get("services", &Key::new(namespace, name)).ok_or_else(|| format!("service {name:?} not found"))?;
    let spec = &service.value["spec"];
    match text_at(spec, &["type"]) {
        "ExternalName" => return Ok(format!("{}:{port}", text_at(spec, &["externalName"]))),
        "" | "ClusterIP" | "LoadBalancer" | "NodePort" => {}
        other => return Err(format!("unsupported service type {other:?}")),
    }
    let address = text_at(spec, &["clusterIP"]);
    if address == "None" {
        return Err("cannot route to service with ClusterIP \"None\"".into());
    }
    let mut ports = spec["ports"].as_array().into_iter().flatten();
    let found = ports.find(|known| known["port"] == port);
    let found = found.ok_or_else(|| format!("no service port {port} found for service {name:?}"))?;
    let near = loopback_endpoint(store, namespace, name, text_at(found, &["name"]));
    Ok(near.unwrap_or_else(|| format!("{address}:{port}")))
}

/// A ready endpoint of a Service on this machine.
fn loopback_endpoint(store: &Store, namespace: &str, service: &str, port_name: &str) -> Option<String> {
    let is_near = |address: &str| address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let mut endpoints = endpoints(store, namespace, service, port_name).into_iter();
    endpoints.find(|(address, _)| is_near(address)).map(|(address, port)| host_port(&address, port))
}

/// The addresses of a Service that are ready, with the number of a port by its name.
pub(crate) fn endpoints(store: &Store, namespace: &str, service: &str, port_name: &str) -> Vec<(String, u64)> {
    let port_of = |ports: &Value| {
        let mut ports = ports.as_array().into_iter().flatten();
        ports.find(|port| text_at(port, &["name"]) == port_name).and_then(|port| port["port"].as_u64())
    };
    let mut found = Vec::new();
    let slices = store.list("endpointslices.discovery.k8s.io", namespace, None).map(|listed| listed.objects);
    for (_, slice) in slices.iter().flatten() {
        let value = &slice.value;
        if text_at(value, &["metadata", "labels", "kubernetes.io/service-name"]) != service {
            continue;
        }
        let ready = value["endpoints"].as_array().into_iter().flatten();
        let ready = ready.filter(|endpoint| endpoint["conditions"]["ready"] != false);
        let addresses = ready.flat_map(|endpoint| endpoint["addresses"].as_array().into_iter().flatten());
        let addresses = addresses.filter_map(|address| address.as_str().map(str::to_owned));
        found.extend(
            port_of(&value["ports"]).into_iter().flat_map(|port| addresses.clone().map(move |one| (one, port))),
        );
    }
    let endpoints = store.get("endpoints", &Key::new(namespace, service));
    let subsets = endpoints.iter().flat_map(|endpoints| endpoints.value["subsets"].as_array().into_iter().flatten());
    for subset in subsets {
        let addresses = subset["addresses"].as_array().into_iter().flatten();
        let addresses = addresses.map(|address| text_at(address, &["ip"]).to_owned());
        found.extend(
            port_of(&subset["ports"]).into_iter().flat_map(|port| addresses.clone().map(move |one| (one, port))),
        );
    }
    found
}

fn host_port(address: &str, port: u64) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

#[cfg(test)]
mod tests;
