//! How the collector asks: as a controller of Kubernetes would, in process.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};

use super::{Failed, Place};
use crate::ApiServer;
use crate::json::Value;
use crate::kinds::{Resource, group_version};
use crate::store::Object;

const AGENT: &str = "kube-controller-manager/v1.36.3";

/// One controller and the server it works for.
pub struct Client {
    server: ApiServer,
    user: &'static str,
}

/// How a write ended.
pub struct Answer {
    pub code: u16,
    pub message: String,
}

impl Answer {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// What was wanted is so, or it has to be tried again.
    pub fn settled(self) -> Result<(), Failed> {
        // What is gone needs nothing more.
        if self.is_success() || self.code == 404 { Ok(()) } else { Err(Failed) }
    }
}

impl Client {
    pub fn garbage_collector(server: ApiServer) -> Self {
        Self { server, user: "system:serviceaccount:kube-system:generic-garbage-collector" }
    }

    pub fn namespace_controller(server: ApiServer) -> Self {
        Self { server, user: "system:serviceaccount:kube-system:namespace-controller" }
    }

    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    pub fn read(&self, place: &Place) -> Option<Arc<Object>> {
        self.server.server().store.get(&place.collection, &place.key)
    }

    /// The kind that an owner reference names, if there is one.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        let registry = self.server.server().registry();
        let is_it = |resource: &&Arc<Resource>| {
            resource.kind == kind && group_version(&resource.group, &resource.version) == api_version
        };
        registry.all().find(is_it).cloned()
    }

    /// The path of an object; nothing when its kind is not served any more.
    pub fn path(&self, place: &Place) -> Option<String> {
        let registry = self.server.server().registry();
        let resource = registry.all().find(|resource| resource.storage == *place.collection)?;
        Some(format!("{}/{}", collection_path(resource, &place.key.namespace), place.key.name))
    }

    pub async fn send(&self, method: &str, path: &str, kind: &str, body: &Value) -> Answer {
        let token = self.server.server().authentication.admin_token();
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("Authorization", format!("Bearer {token}"))
            .header("Impersonate-User", self.user)
            .header("Impersonate-Group", crate::auth::MASTERS)
            .header("User-Agent", AGENT)
            .header("Content-Type", kind);
        let request = match request.body(Full::new(Bytes::from(body.to_string()))) {
            Ok(request) => request,
            Err(error) => return Answer { code: 400, message: error.to_string() },
        };
        let answer = self.server.handle(request).await;
        let code = answer.status().as_u16();
        let bytes = match answer.into_body().collect().await {
            Ok(body) => body.to_bytes(),
            Err(never) => match never {},
        };
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        Answer { code, message: value["message"].as_str().unwrap_or_default().to_owned() }
    }
}

/// The path of the objects of a kind in a namespace, or of all when the kind has none.
pub fn collection_path(resource: &Resource, namespace: &str) -> String {
    let root = if resource.group.is_empty() { "/api" } else { "/apis" };
    let version = resource.api_version();
    match resource.is_namespaced {
        true => format!("{root}/{version}/namespaces/{namespace}/{}", resource.plural),
        false => format!("{root}/{version}/{}", resource.plural),
    }
}
