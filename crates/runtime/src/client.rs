//! The API server as typed verbs, with limits on how much is asked of it at once.
//!
//! Connections, TLS and credentials are `kube`'s; what is asked and how answers are read is ours, so that every failure
//! keeps its code and what the server says about trying again.

mod any_kind;
mod failure;
mod latency;
pub(crate) mod lean;
mod limits;
mod patch;
mod target;
mod watch;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kueue_api::meta::{ListMeta, Object};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::key::Key;
use crate::meters::Meters;
use latency::Latency;
use target::{Query, collection, object};

pub use failure::{Failure, LONGEST_WAIT};
pub use limits::{Limits, Rate};
pub use patch::Patch;
pub use watch::{Watch, WatchEvent};

/// How long an answer may take before it counts as lost.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

const JSON: &str = "application/json";
/// Objects without anything but their metadata, where the server can do that.
const ONLY_METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

/// Speaks to one API server. Copies share their limits.
#[derive(Clone)]
pub struct Client {
    inner: kube::Client,
    limits: Limits,
    latency: Latency,
    meters: Option<Meters>,
    agent: Option<&'static str>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Which part of a list is asked for.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// At most so many objects; all when missing.
    pub limit: Option<u32>,
    /// Where the previous page ended.
    pub resume: String,
    /// `0` takes what the server has at hand, empty the newest.
    pub version: &'static str,
}

/// Part of a list. Objects are not read yet: one that cannot be must not spoil the others.
#[derive(Debug, Deserialize)]
pub struct Listed {
    pub metadata: ListMeta,
    #[serde(default)]
    pub items: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize)]
struct Versions {
    #[serde(default)]
    items: Option<Vec<Versioned>>,
}

#[derive(Deserialize)]
struct Versioned {
    metadata: VersionedMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionedMeta {
    name: String,
    #[serde(default)]
    namespace: String,
    resource_version: String,
}

/// Which object was written, and what its version is since then.
#[derive(Clone, Debug)]
pub struct Stamp {
    pub name: String,
    pub version: String,
}

impl Stamp {
    fn of(written: Versioned) -> Self {
        Self { name: written.metadata.name, version: written.metadata.resource_version }
    }
}

/// What happens to the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependents {
    Background,
    Foreground,
}

impl Client {
    pub fn new(inner: kube::Client, limits: Limits) -> Self {
        Self { inner, limits, latency: Latency::default(), meters: None, agent: None }
    }

    /// The same, with its requests counted there.
    pub fn counted_by(self, meters: &Meters) -> Self {
        Self { meters: Some(meters.clone()), ..self }
    }

    /// The same under that name, which managed fields tell of what it creates.
    #[must_use]
    pub fn speaking_as(self, agent: &'static str) -> Self {
        Self { agent: Some(agent), ..self }
    }

    /// How long answers take of late.
    pub fn latency(&self) -> Duration {
        self.latency.mean()
    }

    /// Whether the server has time for more than what must be.
    pub fn is_prompt(&self) -> bool {
        self.latency.is_prompt()
    }

    pub async fn get<T: Object>(&self, key: &Key) -> Result<T, Failure> {
        self.read_object(Method::GET, object::<T>(key, ""), None, Vec::new()).await
    }

    pub async fn list<T: Object>(&self, page: &Page) -> Result<Listed, Failure> {
        let mut query = Query::default();
        if let Some(limit) = page.limit {
            query.push("limit", &limit.to_string());
        }
        query.push("continue", &page.resume);
        query.push("resourceVersion", page.version);
        self.read(Method::GET, query.after(collection::<T>("")), None, Vec::new()).await
    }

    /// The version of every object of a kind that has these labels as it is now, without the objects.
    pub async fn versions<T: Object>(&self, labels: &str) -> Result<BTreeMap<Key, String>, Failure> {
        let mut query = Query::default();
        query.push("labelSelector", labels);
        let target = query.after(collection::<T>(""));
        let bytes = self.ask(ONLY_METADATA, Method::GET, target, None, Vec::new()).await?;
        let listed: Versions =
            serde_json::from_slice(&bytes).map_err(|error| Failure::Unreadable(error.to_string()))?;
        let items = listed.items.unwrap_or_default().into_iter().map(|item| item.metadata);
        Ok(items.map(|meta| (Key::new(meta.namespace, meta.name), meta.resource_version)).collect())
    }

    /// What happens to all objects of a kind after that version, for so long.
    pub async fn watch<T: Object>(&self, version: &str, lasting: Duration) -> Result<Watch<T>, Failure> {
        self.watch_some("", version_query(version), lasting).await
    }

    /// All objects of a kind that exist at that version or later, each as if it were new, a bookmark that says that this
    /// was all, and then what happens to them, for so long. Servers before 1.34 may refuse that.
    pub async fn stream<T: Object>(&self, version: &str, lasting: Duration) -> Result<Watch<T>, Failure> {
        let mut query = version_query(version);
        query.push("sendInitialEvents", "true");
        query.push("resourceVersionMatch", "NotOlderThan");
        self.watch_some("", query, lasting).await
    }

    /// What happens to one object of a kind with namespaces after that version, for so long.
    pub async fn watch_one<T: Object>(&self, key: &Key, version: &str, lasting: Duration) -> Result<Watch<T>, Failure> {
        let mut query = version_query(version);
        query.push("fieldSelector", &format!("metadata.name={}", key.name));
        self.watch_some(&key.namespace, query, lasting).await
    }

    async fn watch_some<T: Object>(
        &self,
        namespace: &str,
        mut query: Query,
        lasting: Duration,
    ) -> Result<Watch<T>, Failure> {
        query.push("watch", "1");
        query.push("allowWatchBookmarks", "true");
        query.push("timeoutSeconds", &lasting.as_secs().to_string());
        let target = query.after(collection::<T>(namespace));
        let answer = within(ANSWER_WITHIN, self.send(JSON, Method::GET, target, None, Vec::new())).await?;
        Ok(Watch::new(answer.into_body(), lasting))
    }

    pub async fn create<T: Object>(&self, object: &T) -> Result<T, Failure> {
        let body = encode(object)?;
        let target = collection::<T>(&object.metadata().namespace);
        self.read_object(Method::POST, target, Some(JSON), body).await
    }

    /// The same for whoever needs no more of it than when it was.
    pub async fn make<T: Object>(&self, object: &T) -> Result<Stamp, Failure> {
        let body = encode(object)?;
        let target = collection::<T>(&object.metadata().namespace);
        self.read::<Versioned>(Method::POST, target, Some("application/json"), body).await.map(Stamp::of)
    }

    /// Asks a question that is an object of a kind which is never stored, such as a review.
    pub async fn post<R: for<'de> Deserialize<'de>>(&self, path: &str, question: &Value) -> Result<R, Failure> {
        self.read(Method::POST, path.to_owned(), Some("application/json"), encode(question)?).await
    }

    pub async fn patch<T: Object>(&self, key: &Key, patch: &Patch) -> Result<T, Failure> {
        let target = patch.query().after(object::<T>(key, patch.subresource()));
        self.read_object(Method::PATCH, target, Some(patch.content_type()), encode(patch.body())?).await
    }

    /// The same for whoever needs no more of it than when it was.
    pub async fn change<T: Object>(&self, key: &Key, patch: &Patch) -> Result<Stamp, Failure> {
        let target = patch.query().after(object::<T>(key, patch.subresource()));
        let (content_type, body) = (Some(patch.content_type()), encode(patch.body())?);
        self.read::<Versioned>(Method::PATCH, target, content_type, body).await.map(Stamp::of)
    }

    /// Deletes the object with that identity; another one of the same name is left alone.
    pub async fn delete<T: Object>(&self, key: &Key, uid: &str, dependents: Dependents) -> Result<(), Failure> {
        let policy = match dependents {
            Dependents::Background => "Background",
            Dependents::Foreground => "Foreground",
        };
        self.delete_with::<T>(key, uid, json!({"propagationPolicy": policy})).await
    }

    /// The same without the grace that the object has.
    pub async fn delete_at_once<T: Object>(&self, key: &Key, uid: &str) -> Result<(), Failure> {
        self.delete_with::<T>(key, uid, json!({"gracePeriodSeconds": 0})).await
    }

    async fn delete_with<T: Object>(&self, key: &Key, uid: &str, mut options: Value) -> Result<(), Failure> {
        options["apiVersion"] = json!("v1");
        options["kind"] = json!("DeleteOptions");
        if !uid.is_empty() {
            options["preconditions"] = json!({"uid": uid});
        }
        self.send_delete::<T>(key, &options).await
    }

    /// Deletes the object with that identity without waiting for it to end, as a kubelet does with pods that ended.
    pub async fn delete_now<T: Object>(&self, key: &Key, uid: &str) -> Result<(), Failure> {
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
            "preconditions": {"uid": uid}});
        self.send_delete::<T>(key, &options).await
    }

    async fn send_delete<T: Object>(&self, key: &Key, options: &Value) -> Result<(), Failure> {
        let body = encode(options)?;
        let _: Box<RawValue> = self.read(Method::DELETE, object::<T>(key, ""), Some("application/json"), body).await?;
        Ok(())
    }

    /// Posts to a part of an object, as one binds a pod to a node.
    pub async fn post_part<T: Object>(&self, key: &Key, subresource: &str, body: &Value) -> Result<(), Failure> {
        let (target, body) = (object::<T>(key, subresource), encode(body)?);
        let _: Box<RawValue> = self.read(Method::POST, target, Some("application/json"), body).await?;
        Ok(())
    }

    /// Asks, waits for the whole answer and reads it.
    async fn read<R: for<'de> Deserialize<'de>>(
        &self,
        method: Method,
        target: String,
        content_type: Option<&'static str>,
        body: Vec<u8>,
    ) -> Result<R, Failure> {
        let bytes = self.ask(JSON, method, target, content_type, body).await?;
        serde_json::from_slice(&bytes).map_err(|error| Failure::Unreadable(error.to_string()))
    }

    /// The same for what became of an object, without its managed fields.
    async fn read_object<T: Object>(
        &self,
        method: Method,
        target: String,
        content_type: Option<&'static str>,
        body: Vec<u8>,
    ) -> Result<T, Failure> {
        let bytes = self.ask(JSON, method, target, content_type, body).await?;
        lean::read(&bytes).map_err(|error| Failure::Unreadable(error.to_string()))
    }

    /// Asks for an answer in some form, and waits for all of it.
    async fn ask(
        &self,
        accept: &'static str,
        method: Method,
        target: String,
        content_type: Option<&'static str>,
        body: Vec<u8>,
    ) -> Result<Bytes, Failure> {
        let _permit = self.limits.permit().await;
        let began = Instant::now();
        let answer = within(ANSWER_WITHIN, async {
            let answer = self.send(accept, method, target, content_type, body).await?;
            collect(answer).await
        });
        let answer = answer.await;
        self.latency.note(began.elapsed());
        answer
    }

    async fn send(
        &self,
        accept: &'static str,
        method: Method,
        target: String,
        content_type: Option<&'static str>,
        body: Vec<u8>,
    ) -> Result<Response<Body>, Failure> {
        let mut request = Request::builder().method(method).uri(target).header(ACCEPT, accept);
        if let Some(content_type) = content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        if let Some(agent) = self.agent {
            request = request.header(USER_AGENT, agent);
        }
        let request =
            request.body(Body::from(body)).map_err(|error| Failure::Unreadable(format!("the request: {error}")))?;
        let method = request.method().clone();
        let answer = self.inner.send(request).await.map_err(|error| Failure::Unreachable(reasons(&error)));
        if let Some(meters) = &self.meters {
            meters.request(method.as_str(), answer.as_ref().ok().map(|answer| answer.status().as_u16()));
        }
        let answer = answer?;
        match answer.status().is_success() {
            true => Ok(answer),
            false => {
                let (parts, body) = answer.into_parts();
                let bytes = collect(Response::from_parts(parts.clone(), body)).await.unwrap_or_default();
                Err(Failure::from_answer(&parts, &bytes))
            }
        }
    }
}

fn version_query(version: &str) -> Query {
    let mut query = Query::default();
    query.push("resourceVersion", version);
    query
}

/// An error with everything behind it: the outermost one seldom says what happened.
fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = source.source();
    }
    text
}

async fn collect(answer: Response<Body>) -> Result<Bytes, Failure> {
    let body = answer.into_body().collect().await.map_err(|error| Failure::Unreachable(reasons(&error)))?;
    Ok(body.to_bytes())
}

async fn within<T>(limit: Duration, answer: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::time::timeout(limit, answer).await.unwrap_or(Err(Failure::TimedOut(limit)))
}

fn encode<T: serde::Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(|error| Failure::Unreadable(format!("the request: {error}")))
}
