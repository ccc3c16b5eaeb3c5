//! The embedded bed: the API server of this repository in this process, under virtual time, with its collector.
//!
//! Time passes only when it is told to, so a scenario takes as long as its requests do, and is the same every time.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use kueue_apiserver::clock::Clock;
use kueue_apiserver::{ApiServer, Image, Settings};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::bed::{Bed, Need};
use crate::http::{Request, Response};
use crate::problem::{Problem, Result};

/// What the server's clock shows at the start.
const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// A server and the time it lives in.
#[derive(Debug)]
pub struct Embedded {
    runtime: Runtime,
    server: ApiServer,
    /// What others play on it.
    played: Vec<Need>,
    patience: u32,
}

impl Embedded {
    /// A new cluster; everything invented in it comes from `seed`.
    pub fn start(seed: [u8; 32]) -> Result<Self> {
        Self::start_from(None, seed)
    }

    /// The same with what an image has.
    pub fn start_from(image: Option<Image>, seed: [u8; 32]) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = runtime.map_err(|error| Problem::new(format!("cannot start a runtime: {error}")))?;
        let server = runtime.block_on(async {
            ApiServer::start(Settings { collects: true, image, ..Settings::new(Clock::starting_at(START), seed) })
        });
        Ok(Self::around(server, runtime))
    }

    /// A server that somebody else started in that runtime; it lives in the runtime's time.
    pub fn around(server: ApiServer, runtime: Runtime) -> Self {
        Self { runtime, server, played: Vec::new(), patience: 1 }
    }

    /// The same bed, where somebody plays this.
    #[must_use]
    pub fn playing(mut self, need: Need) -> Self {
        self.played.push(need);
        self
    }

    /// The same bed, where everything may take so many times as long.
    #[must_use]
    pub fn with_patience(self, patience: u32) -> Self {
        Self { patience, ..self }
    }

    /// Does something in the time of the bed: what it spawns goes on while requests are sent and time passes.
    pub fn within<T>(&self, doing: impl Future<Output = T>) -> T {
        self.runtime.block_on(doing)
    }

    pub fn server(&self) -> &ApiServer {
        &self.server
    }
}

impl Bed for Embedded {
    fn send(&self, request: &Request) -> Result<Response> {
        let Request { method, path, content_type, accept, body } = request;
        let body = body.as_ref().map(Value::to_string).unwrap_or_default();
        let request = http::Request::builder()
            .method(*method)
            .uri(path)
            .header("Authorization", format!("Bearer {}", self.server.admin_token()))
            .header("User-Agent", "testbed")
            .header("Content-Type", *content_type)
            .header("Accept", *accept)
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| Problem::new(format!("{method} {path} is no request: {error}")))?;
        self.runtime.block_on(async {
            let answer = self.server.handle(request).await;
            let status = answer.status().as_u16();
            let bytes = match answer.into_body().collect().await {
                Ok(body) => body.to_bytes(),
                Err(never) => match never {},
            };
            let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
            Ok(Response { status, body: serde_json::from_slice(&bytes).unwrap_or_else(|_| text()) })
        })
    }

    fn pass(&self, duration: Duration) {
        self.runtime.block_on(async { tokio::time::sleep(duration).await });
    }

    fn has(&self, need: Need) -> bool {
        self.played.contains(&need)
    }

    fn patience(&self) -> u32 {
        self.patience
    }
}
