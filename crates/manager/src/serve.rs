//! What a manager answers on its sockets: probes of the kubelet, metrics and who waits in queues for those who may read
//! them, and what the API server asks its webhooks.

mod access;
mod front;
#[cfg(test)]
mod tests;
mod visibility;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use kueue_api::config::Configuration;
use kueue_api::config::tls::TlsSettings;
use kueue_api::kueue::names::FIELD_MANAGER_KUEUE;
use kueue_api::kueue::names::install::{METRICS_CERT_DIR, VISIBILITY_CERT_DIR, WEBHOOK_SERVICE};
use kueue_core::gates::{Gate, Gates};
use kueue_runtime::client::{Client, Limits};
use kueue_runtime::clock::Clock;
use kueue_runtime::server::{self, Answer, Certificate, Demands, Handler};
use kueue_runtime::watch;
use kueue_webhooks::Keeper;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::observer::Observer;
use access::{Access, Caller, Wanted};

pub use visibility::Visibility;
pub(crate) use visibility::{Queue, Queues};

/// This, instead of an address, switches a server off.
const OFF: &str = "0";
/// How often files with certificates are read again.
const READ_AGAIN: Duration = Duration::from_secs(60);
/// More than the API server lets an object and its old version have.
const LARGEST_REVIEW: usize = 8 * 1024 * 1024;
const METRICS_PATH: &str = "/metrics";
/// The text format of Prometheus.
const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// Why there is nothing to serve with.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Listen(#[from] io::Error),
    #[error("cannot make a certificate: {0}")]
    Certificate(String),
    #[error("the TLS options are of no use: {0}")]
    Tls(String),
}

/// Serves what the configuration asks for, until it is dropped. The sockets are open when this returns.
///
/// # Errors
/// When an address is taken, or means nothing.
pub async fn serve(
    config: &Configuration,
    gates: Gates,
    observer: &Observer,
    client: kube::Client,
    clock: Clock,
) -> Result<impl Future<Output = ()> + Send + use<>, ServeError> {
    let mut tasks = JoinSet::new();
    let demands = demands(config)?;
    let mut hooks = None;
    let webhook = &config.webhook;
    let address = webhook.port.map(|port| format!("{}:{port}", webhook.host)).unwrap_or_default();
    if let Some(listener) = open(&address, "webhooks").await? {
        let certificate = Certificate::default();
        let keeper = keeper(config, observer, client.clone(), clock, &certificate);
        hooks = Some(Hooks { certificate: certificate.clone(), registered: keeper.registered.subscribe() });
        tasks.spawn(keep(keeper, observer.clone()));
        if !config.manages_certificates() {
            tasks.spawn(follow_files(certificate.clone(), webhook.cert_dir.clone().into()));
        }
        let page = Arc::new(HooksPage { observer: observer.clone() });
        tasks.spawn(serve_tls(listener, certificate, demands.clone(), page));
    }
    let health = &config.health;
    if let Some(listener) = open(&health.health_probe_bind_address, "probes").await? {
        let alive = path_of(&health.liveness_endpoint_name, "healthz");
        let ready = path_of(&health.readiness_endpoint_name, "readyz");
        let probes = Probes { observer: observer.clone(), hooks, alive, ready };
        tasks.spawn(server::serve_plain(listener, Arc::new(probes)));
    }
    if let Some(listener) = open(&config.metrics.bind_address, "metrics").await? {
        let certificate = Certificate::default();
        show_own_certificate(&certificate)?;
        if !config.manages_certificates() {
            tasks.spawn(follow_files(certificate.clone(), METRICS_CERT_DIR.into()));
        }
        let access = Access::new(Client::new(client.clone(), Limits::new(4, None)));
        let metrics = Arc::new(MetricsPage { observer: observer.clone(), access });
        tasks.spawn(serve_tls(listener, certificate, demands.clone(), metrics));
    }
    if gates.enabled(Gate::VisibilityOnDemand)
        && let Some(listener) = open(&visibility::address(config), "visibility").await?
    {
        let certificate = Certificate::default();
        show_own_certificate(&certificate)?;
        if !config.manages_certificates() {
            tasks.spawn(follow_files(certificate.clone(), VISIBILITY_CERT_DIR.into()));
        }
        let demands = Demands { asks_for_certificate: true, ..demands };
        tasks.spawn(serve_tls(listener, certificate, demands, Arc::new(Visibility::new(observer, client, clock))));
    }
    Ok(async move { while tasks.join_next().await.is_some() {} })
}

/// Keeps the API server informed about what it has to ask the webhooks, for a manager without sockets: whoever leads
/// the questions to it needs no certificate. Runs until it is dropped.
pub fn keep_registered(
    config: &Configuration,
    observer: &Observer,
    client: kube::Client,
    clock: Clock,
) -> impl Future<Output = ()> + Send + use<> {
    let keeper = Keeper { secret: None, ..keeper(config, observer, client, clock, &Certificate::default()) };
    keep(keeper, observer.clone())
}

async fn keep(keeper: Keeper, observer: Observer) {
    // Before everything is listed nobody knows which namespaces have a queue for everybody.
    observer.ready().await;
    keeper.run().await;
}

async fn serve_tls<H: Handler>(listener: TcpListener, certificate: Certificate, demands: Demands, handler: Arc<H>) {
    if let Err(error) = server::serve_tls(listener, &certificate, &demands, handler).await {
        warn!(%error, "nobody could meet the demands of the TLS options, so nothing is served");
    }
}

/// Whoever looks after the certificate of the webhooks, and what the API server knows of them.
fn keeper(
    config: &Configuration,
    observer: &Observer,
    client: kube::Client,
    clock: Clock,
    certificate: &Certificate,
) -> Keeper {
    let names = config.internal_cert_management.clone().unwrap_or_default();
    let secret = names.webhook_secret_name.unwrap_or_default();
    Keeper {
        client: Client::new(client, Limits::new(4, None)).speaking_as(FIELD_MANAGER_KUEUE),
        clock,
        namespace: config.namespace.clone().unwrap_or_default(),
        service: names.webhook_service_name.unwrap_or_else(|| WEBHOOK_SERVICE.to_owned()),
        secret: config.manages_certificates().then_some(secret),
        certificate: certificate.clone(),
        default_namespaces: observer.default_namespaces(),
        registered: watch::Sender::default(),
    }
}

async fn open(address: &str, what: &str) -> io::Result<Option<TcpListener>> {
    if address.is_empty() || address == OFF {
        return Ok(None);
    }
    let listener = server::listen(address).await?;
    let shown = listener.local_addr().map_or_else(|_| address.to_owned(), |address| address.to_string());
    info!(address = shown, "serving {what}");
    Ok(Some(listener))
}

fn path_of(name: &str, usual: &str) -> String {
    let name = if name.is_empty() { usual } else { name };
    format!("/{}", name.trim_start_matches('/'))
}

/// What clients of all servers must be able to speak.
fn demands(config: &Configuration) -> Result<Demands, ServeError> {
    let Some(options) = &config.tls else { return Ok(Demands::default()) };
    let TlsSettings { min_version, cipher_suites, curve_preferences } =
        TlsSettings::parse(options).map_err(|errors| ServeError::Tls(errors.to_string()))?;
    Ok(Demands { min_version: Some(min_version), cipher_suites, curves: curve_preferences, ..Demands::default() })
}

/// A certificate that nobody vouches for, as long as there is no other one.
fn show_own_certificate(certificate: &Certificate) -> Result<(), ServeError> {
    let failed = |error: &dyn std::fmt::Display| ServeError::Certificate(error.to_string());
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).map_err(|error| failed(&error))?;
    let (pem, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    certificate.replace(pem.as_bytes(), key.as_bytes()).map_err(|error| failed(&error))
}

/// Shows what the files say, again and again: whoever manages certificates replaces them there.
async fn follow_files(certificate: Certificate, folder: PathBuf) {
    let mut shown = None;
    let mut trouble = None;
    loop {
        let read = |name: &str| std::fs::read(folder.join(name)).map_err(|error| error.to_string());
        let files = read("tls.crt").and_then(|pem| Ok((pem, read("tls.key")?)));
        let outcome = files.and_then(|(pem, key)| {
            if shown.as_ref() != Some(&(pem.clone(), key.clone())) {
                certificate.replace(&pem, &key).map_err(|error| error.to_string())?;
                shown = Some((pem, key));
            }
            Ok(())
        });
        if let Err(error) = &outcome
            && trouble.as_ref() != Some(error)
        {
            warn!(folder = %folder.display(), error, "cannot use the certificate of these files");
        }
        trouble = outcome.err();
        tokio::time::sleep(READ_AGAIN).await;
    }
}

/// What the API server needs to ask us.
struct Hooks {
    certificate: Certificate,
    /// Whether it was told about us.
    registered: watch::Receiver<bool>,
}

impl Hooks {
    fn missing(&self) -> Option<&'static str> {
        match (self.certificate.is_there(), *self.registered.borrow()) {
            (false, _) => Some("there is no certificate for the webhooks yet\n"),
            (true, false) => Some("the API server does not know yet whom to trust as the webhooks\n"),
            (true, true) => None,
        }
    }
}

/// Whether it lives, and whether it is ready.
struct Probes {
    observer: Observer,
    /// None where nobody asks.
    hooks: Option<Hooks>,
    /// The path that asks for life.
    alive: String,
    /// The path that asks for readiness.
    ready: String,
}

impl Probes {
    fn answer(&self, path: &str) -> Answer {
        let (is_life, is_readiness) = (path == self.alive, path == self.ready);
        let missing = match self.observer.is_ready() {
            false => Some("not everything is listed yet\n"),
            true => self.hooks.as_ref().and_then(Hooks::missing),
        };
        match (is_life, is_readiness, missing) {
            (true, _, _) | (_, true, None) => text(StatusCode::OK, "ok"),
            (_, true, Some(missing)) => text(StatusCode::INTERNAL_SERVER_ERROR, missing),
            (false, false, _) => not_found(),
        }
    }
}

impl Handler for Probes {
    async fn handle(&self, request: Request<Incoming>) -> Answer {
        self.answer(request.uri().path())
    }
}

/// Metrics, for those who may read them.
struct MetricsPage {
    observer: Observer,
    access: Access,
}

impl MetricsPage {
    async fn answer(&self, path: &str, headers: &HeaderMap) -> Answer {
        if path != METRICS_PATH {
            return not_found();
        }
        if let Err((code, reason)) =
            self.access.check(Caller::bearer(headers).as_ref(), &Wanted::Path(METRICS_PATH)).await
        {
            return text(code, reason);
        }
        let Some(metrics) = self.observer.metrics().await else {
            return text(StatusCode::SERVICE_UNAVAILABLE, "the manager is not running\n");
        };
        let mut answer = text(StatusCode::OK, metrics);
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(PROMETHEUS_TEXT));
        answer
    }
}

impl Handler for MetricsPage {
    async fn handle(&self, request: Request<Incoming>) -> Answer {
        self.answer(request.uri().path(), request.headers()).await
    }
}

/// What the API server asks.
struct HooksPage {
    observer: Observer,
}

impl Handler for HooksPage {
    async fn handle(&self, request: Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, LARGEST_REVIEW).collect().await else {
            return text(StatusCode::PAYLOAD_TOO_LARGE, "the review is too large\n");
        };
        let answer = self.observer.review(parts.uri.path(), &body.to_bytes()).await;
        answer.unwrap_or_else(|| text(StatusCode::SERVICE_UNAVAILABLE, "the manager is not running\n"))
    }
}

fn not_found() -> Answer {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

fn text(code: StatusCode, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(text.into()));
    *answer.status_mut() = code;
    answer
}
