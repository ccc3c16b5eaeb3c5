//! Server-side apply: reading the configuration. What is done with it is told in [`crate::managed`].

use crate::json::Value;
use crate::managed::{self, Intent, Live};
use crate::rest::body::{self, Encoding};
use crate::rest::service::{Call, Server};
use crate::rest::write::check_name;
use crate::status::{Result, Status};
use crate::store::Object;

/// The configuration in the body, which must say that it is of the type that is asked for.
pub fn read(call: &Call, api_version: &str, kind: &str) -> Result<Value> {
    // JSON is YAML; reading it as such keeps numbers exact.
    let parsed = match body::parse(&call.body, Encoding::Json) {
        Ok(parsed) => parsed,
        Err(_) => body::parse(&call.body, Encoding::Yaml)
            .map_err(|why| Status::bad_request(format!("error decoding YAML: error converting YAML to JSON: {why}")))?,
    };
    let mut config = parsed.value;
    let text = |name: &str| config[name].as_str().unwrap_or_default().to_owned();
    let (given, found) = (text("apiVersion"), text("kind"));
    if given != api_version || found != kind {
        let (group, version) = given.split_once('/').unwrap_or(("", &given));
        let shown = match (group, version) {
            ("", version) => format!("/{version}"),
            (group, version) => format!("{group}/{version}"),
        };
        return Err(Status::bad_request(format!("invalid object type: {shown}, Kind={found}")));
    }
    if config["metadata"].get("managedFields").is_some() {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
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

    /// A scale with the configuration in the body applied to it. Its managed fields are those of its object that are
    /// about the number of replicas, which is at `path` in it.
    pub fn apply_scale(
        &self,
        call: &Call,
        intent: &Intent,
        object: &Object,
        scale: &Value,
        path: &[String],
    ) -> Result<Value> {
        let config = read(call, managed::scale::VERSION, "Scale")?;
        let registry = self.registry();
        let of_scale =
            |resource: &std::sync::Arc<crate::kinds::Resource>| resource.subresource("scale")?.schema.clone();
        let schema = registry.all().find_map(of_scale).unwrap_or_else(crate::schema::Schema::any);
        let managers = managed::scale::lend(&object.managed, path);
        let intent = Intent { api_version: managed::scale::VERSION.into(), ..intent.clone() };
        let is_forced = call.query.flag("force").unwrap_or_default();
        let mut config = config;
        crate::meta::settle_namespace(&mut config, &call.path.namespace)?;
        let live = Live { value: scale, managers: &managers };
        let (mut applied, managers) = managed::apply(&schema, Some(live), &config, &intent, is_forced)
            .map_err(|error| error.to_scale_status(&call.path.name))?;
        check_name(call, &config)?;
        managed::put(&mut applied, &managers);
        Ok(applied)
    }
}
