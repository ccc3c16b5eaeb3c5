//! The server that is measured, asked in process.

use anyhow::{Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use kueue_apiserver::clock::Clock;
use kueue_apiserver::rest::reply::Response;
use kueue_apiserver::{ApiServer, Settings};
use serde_json::Value;

use super::object::{DEFINITIONS, OBJECTS, definition, widget};
use super::webhooks;

pub const MERGE: &str = "application/merge-patch+json";
pub const APPLY: &str = "application/apply-patch+yaml";
pub const JSON: &str = "application/json";

/// One server and the administrator's token.
pub struct Subject {
    pub server: ApiServer,
    authorization: String,
}

/// What a write goes through beside the schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum With {
    Nothing,
    /// Five rules in CEL.
    Cel,
    /// Two webhooks in the same process.
    Webhooks,
}

/// A runtime of one thread.
pub fn on_one_thread<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

pub fn start_server() -> ApiServer {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    ApiServer::start(Settings::new(Clock::starting_at(start), [7; 32]))
}

impl Subject {
    /// A server that knows the custom kind.
    pub async fn start(with: With) -> Result<Self> {
        let server = start_server();
        let authorization = format!("Bearer {}", server.admin_token());
        let subject = Self { server, authorization };
        subject.must("POST", DEFINITIONS, JSON, &definition(with == With::Cel)).await?;
        if with == With::Webhooks {
            webhooks::add(&subject).await?;
        }
        Ok(subject)
    }

    /// With so many objects in it.
    pub async fn filled(with: With, objects: usize) -> Result<Self> {
        let subject = Self::start(with).await?;
        for number in 0..objects {
            subject.must("POST", OBJECTS, JSON, &widget(number)).await?;
        }
        Ok(subject)
    }

    pub fn request(&self, method: &str, path: &str, kind: &str, body: Bytes) -> Result<http::Request<Full<Bytes>>> {
        let request = http::Request::builder().method(method).uri(path);
        let request = request.header("Authorization", &self.authorization).header("User-Agent", "bench/1");
        Ok(request.header("Content-Type", kind).body(Full::new(body))?)
    }

    /// Asks and reads the answer to its end.
    pub async fn ask(&self, request: http::Request<Full<Bytes>>) -> Result<()> {
        let answer = self.server.handle(request).await;
        let code = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        ensure!(code.is_success(), "{code}: {}", String::from_utf8_lossy(&body));
        Ok(())
    }

    pub async fn must(&self, method: &str, path: &str, kind: &str, body: &Value) -> Result<()> {
        self.ask(self.request(method, path, kind, body.to_string().into())?).await
    }

    pub async fn open(&self, path: &str) -> Result<Response> {
        Ok(self.server.handle(self.request("GET", path, JSON, Bytes::new())?).await)
    }
}
