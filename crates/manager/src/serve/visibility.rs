//! Who waits in a queue, as an API that the API server hands requests on to.

use http::{HeaderMap, HeaderValue, Request};
use http::{Method, StatusCode, Uri, header};
use hyper::body::Incoming;
use kueue_api::config::Configuration;
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::visibility::{GROUP, PendingWorkload, PendingWorkloadOptions};
use kueue_controllers::owner::Handle;
use kueue_engine::Key as EngineKey;
use kueue_runtime::client::{Client, Limits};
use kueue_runtime::clock::Clock;
use kueue_runtime::informer::Store;
use kueue_runtime::key::Key;
use kueue_runtime::server::{Answer, Handler, Peer};
use kueue_translate::{pending_in_cluster_queue, pending_in_local_queue};
use serde_json::{Value, json};
use std::sync::Arc;

use super::access::{Access, Caller, Refusal, Wanted};
use super::front::{Front, Rules};
use super::text;
use crate::observer::Observer;

mod discovery;

/// The newest first.
const VERSIONS: [&str; 2] = ["v1beta2", "v1beta1"];
const PART: &str = "pendingworkloads";
/// Those may do everything, whatever anybody else says.
const MASTERS: &str = "system:masters";
/// Everybody may know whether it lives.
const PROBES: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// The address that the configuration names.
pub(super) fn address(config: &Configuration) -> String {
    match config.visibility_endpoint() {
        (None, port) => format!(":{port}"),
        (Some(host), port) if host.contains(':') => format!("[{host}]:{port}"),
        (Some(host), port) => format!("{host}:{port}"),
    }
}

/// The queues of a running manager.
pub(crate) struct Queues {
    pub(crate) engine: Handle,
    pub(crate) workloads: Arc<Store<Workload>>,
}

/// A queue, by its names in a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    Cluster(String),
    Local(String, String),
}

impl Queues {
    /// A page of those who wait: nothing when the manager ended, and nothing in that when there is no such queue.
    pub(crate) async fn pending(
        &self,
        queue: Queue,
        page: PendingWorkloadOptions,
    ) -> Option<Option<Vec<PendingWorkload>>> {
        let workloads = Arc::clone(&self.workloads);
        let find = move |key: &EngineKey| {
            let key = Key::new(Arc::clone(&key.namespace), Arc::clone(&key.name));
            workloads.get(&key).map(|stored| stored.object)
        };
        let ask = move |engine: &kueue_engine::Engine| match queue {
            Queue::Cluster(name) => pending_in_cluster_queue(engine, &name, page, find),
            Queue::Local(namespace, name) => {
                pending_in_local_queue(engine, &namespace.into(), &name.into(), page, find)
            }
        };
        self.engine.ask(ask).await
    }
}

/// Answers who waits in a queue, to those who may know.
pub struct Visibility {
    observer: Observer,
    access: Access,
    front: Front,
}

impl std::fmt::Debug for Visibility {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Visibility").finish_non_exhaustive()
    }
}

impl Visibility {
    pub fn new(observer: &Observer, client: kube::Client, clock: Clock) -> Self {
        let client = Client::new(client, Limits::new(4, None));
        Self { observer: observer.clone(), access: Access::new(client.clone()), front: Front::new(client, clock) }
    }

    /// What is answered to a request that the API server of the same process hands on: its headers are to be believed.
    pub async fn answer_near(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Answer {
        let caller = Rules::default().user(headers).map(Caller::Known);
        self.answer(method, uri, caller.as_ref()).await
    }

    async fn check(&self, caller: Option<&Caller>, wanted: &Wanted<'_>) -> Result<(), Refusal> {
        match caller {
            Some(Caller::Known(user)) if user.groups.iter().any(|group| group == MASTERS) => Ok(()),
            caller => self.access.check(caller, wanted).await,
        }
    }

    async fn answer(&self, method: &Method, uri: &Uri, caller: Option<&Caller>) -> Answer {
        let path = uri.path();
        if PROBES.contains(&path) {
            return text(StatusCode::OK, "ok");
        }
        let Some(asked) = Asked::of(path) else {
            return match self.check(caller, &Wanted::Path(path)).await {
                Err(refusal) => refused(refusal),
                Ok(()) => discovery::answer(path).map_or_else(super::not_found, |found| json(StatusCode::OK, &found)),
            };
        };
        if let Err(refusal) = self.check(caller, &asked.wanted()).await {
            return refused(refusal);
        }
        if method != Method::GET {
            let message = "the server does not allow this method on the requested resource";
            return status(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message, &Value::Null);
        }
        let query = uri.query().unwrap_or_default().split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let page = match PendingWorkloadOptions::from_query(query) {
            Ok(page) => page,
            Err(error) => return status(StatusCode::BAD_REQUEST, "BadRequest", &error.to_string(), &Value::Null),
        };
        match self.observer.pending(asked.queue.clone(), page).await {
            None => {
                let message = "the manager does not know everything yet";
                status(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message, &Value::Null)
            }
            Some(None) => asked.missing(),
            Some(Some(items)) => json(
                StatusCode::OK,
                &json!({"kind": "PendingWorkloadsSummary", "apiVersion": format!("{GROUP}/{}", asked.version),
                    "metadata": {}, "items": items}),
            ),
        }
    }
}

impl Handler for Visibility {
    async fn handle(&self, request: Request<Incoming>) -> Answer {
        let peer = request.extensions().get::<Peer>().cloned();
        let (parts, _) = request.into_parts();
        let caller = match self.front.user(&parts.headers, peer.as_ref()).await {
            Some(user) => Some(Caller::Known(user)),
            None => Caller::bearer(&parts.headers),
        };
        self.answer(&parts.method, &parts.uri, caller.as_ref()).await
    }
}

/// A queue that somebody asks about.
struct Asked {
    version: &'static str,
    queue: Queue,
}

impl Asked {
    fn of(path: &str) -> Option<Self> {
        let rest = path.strip_prefix("/apis/")?.strip_prefix(GROUP)?.strip_prefix('/')?;
        let parts: Vec<&str> = rest.split('/').collect();
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let (version, queue) = match parts[..] {
            [version, "clusterqueues", name, PART] => (version, Queue::Cluster(named(name)?)),
            [version, "namespaces", namespace, "localqueues", name, PART] => {
                (version, Queue::Local(named(namespace)?, named(name)?))
            }
            _ => return None,
        };
        Some(Self { version: VERSIONS.into_iter().find(|known| *known == version)?, queue })
    }

    fn wanted(&self) -> Wanted<'_> {
        let (resource, namespace, name) = match &self.queue {
            Queue::Cluster(name) => ("clusterqueues", "", name),
            Queue::Local(namespace, name) => ("localqueues", namespace.as_str(), name),
        };
        Wanted::Resource { group: GROUP, version: self.version, resource, part: PART, namespace, name }
    }

    fn missing(&self) -> Answer {
        let (kind, name) = match &self.queue {
            Queue::Cluster(name) => ("clusterqueue", name),
            Queue::Local(_, name) => ("localqueue", name),
        };
        let message = format!("{kind}.{GROUP} {name:?} not found");
        let details = json!({"name": name, "group": GROUP, "kind": kind});
        status(StatusCode::NOT_FOUND, "NotFound", &message, &details)
    }
}

fn refused((code, reason): Refusal) -> Answer {
    let kind = if code == StatusCode::FORBIDDEN { "Forbidden" } else { "Unauthorized" };
    status(code, kind, reason, &Value::Null)
}

fn status(code: StatusCode, reason: &str, message: &str, details: &Value) -> Answer {
    let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16()});
    if !details.is_null() {
        status["details"] = details.clone();
    }
    json(code, &status)
}

fn json(code: StatusCode, value: &Value) -> Answer {
    let mut answer = text(code, value.to_string());
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
