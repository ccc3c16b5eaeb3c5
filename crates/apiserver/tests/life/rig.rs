//! A server in process under virtual time, and short ways to ask it.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use kueue_apiserver::clock::Clock;
use kueue_apiserver::{ApiServer, Settings};
use serde_json::{Value, json};

pub const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub const NAMESPACES: &str = "/api/v1/namespaces";

/// Settings of a server that shows the first second of 2026 and always invents the same.
pub fn settings() -> Settings {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    Settings::new(Clock::starting_at(start), [1; 32])
}

pub struct Rig {
    pub server: ApiServer,
}

impl Rig {
    pub fn start(settings: Settings) -> Self {
        Self { server: ApiServer::start(settings) }
    }

    pub fn request(&self, line: &str, body: &str) -> http::Request<Full<Bytes>> {
        let (method, path) = line.split_once(' ').unwrap();
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let token = self.server.admin_token();
        let request = http::Request::builder().method(method).uri(path).header("Content-Type", kind);
        let request = request.header("Authorization", format!("Bearer {token}")).header("User-Agent", "test/1");
        request.body(Full::from(body.to_owned())).unwrap()
    }

    /// Asks as administrator: code and body of the answer.
    pub async fn ask(&self, line: &str, body: Value) -> (u16, Value) {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.server.handle(self.request(line, &text)).await;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    pub async fn get(&self, path: &str) -> Option<Value> {
        let (code, value) = self.ask(&format!("GET {path}"), Value::Null).await;
        (code == 200).then_some(value)
    }

    pub async fn must(&self, line: &str, body: Value) -> Value {
        let (code, value) = self.ask(line, body).await;
        assert!((200..300).contains(&code), "{line}: {code} {value}");
        value
    }

    /// Lets everything happen that is under way. Time is virtual, so this takes none.
    pub async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    /// Creates a ConfigMap in the namespace `default`, with these owners; returns its uid.
    pub async fn config_map(&self, name: &str, owners: Value) -> String {
        let object = json!({"metadata": {"name": name, "ownerReferences": owners}, "data": {"a": "1"}});
        let made = self.must(&format!("POST {CONFIG_MAPS}"), object).await;
        made["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// Names of the ConfigMaps in the namespace `default`.
    pub async fn config_maps(&self) -> String {
        let list = self.get(CONFIG_MAPS).await.unwrap();
        let names = list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap());
        names.collect::<Vec<_>>().join(" ")
    }
}

/// A reference to a ConfigMap.
pub fn owner(name: &str, uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid})
}

/// One that keeps its owner from going in the foreground.
pub fn blocking(name: &str, uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": true})
}
