//! Server-side apply: reading the configuration. What is done with it is told in [`crate::managed`].

use serde_json::Value;

use crate::kinds::Resource;
use crate::rest::body::{self, Encoding};
use crate::rest::service::{Call, Server};
use crate::status::{Result, Status};

/// The configuration in the body, which must say what it is.
pub fn read(call: &Call, resource: &Resource) -> Result<Value> {
    // JSON is YAML; reading it as such keeps numbers exact.
    let parsed = match body::parse(&call.body, Encoding::Json) {
        Ok(parsed) => parsed,
        Err(_) => body::parse(&call.body, Encoding::Yaml)
            .map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?,
    };
    let mut config = parsed.value;
    let text = |name: &str| config[name].as_str().unwrap_or_default().to_owned();
    let (given, kind) = (text("apiVersion"), text("kind"));
    if given != resource.api_version() || kind != resource.kind {
        let (group, version) = given.split_once('/').unwrap_or(("", &given));
        let shown = match (group, version) {
            ("", version) => format!("/{version}"),
            (group, version) => format!("{group}/{version}"),
        };
        return Err(Status::bad_request(format!("invalid object type: {shown}, Kind={kind}")));
    }
    if config["metadata"].get("managedFields").is_some() {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    let name = config["metadata"]["name"].as_str().unwrap_or_default();
    let wanted = call.path.name.as_str();
    if name.is_empty() {
        let message =
            format!("the name of the object ({wanted} based on URL) was undeterminable: name must be provided");
        return Err(Status::bad_request(message));
    }
    if name != wanted {
        let message = format!("the name of the object ({name}) does not match the name on the URL ({wanted})");
        return Err(Status::bad_request(message));
    }
    if let Some(object) = config.as_object_mut() {
        object.remove("apiVersion");
        object.remove("kind");
    }
    Ok(config)
}

impl Server {
    /// Puts the namespace of the URL into a configuration.
    pub fn settle_applied(&self, call: &Call, config: &mut Value) -> Result<()> {
        crate::meta::settle_namespace(config, &call.path.namespace)
    }
}
