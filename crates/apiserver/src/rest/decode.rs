//! From a body to an object of the kind the URL names: type, unknown fields, defaults.

use http::Method;
use serde_json::{Map, Value};

use super::body::{self, Parsed};
use super::query::FieldValidation;
use super::service::{Call, Server};
use crate::kinds::{Resource, group_version};
use crate::protobuf;
use crate::schema::{defaults, go, object_at, prune};
use crate::status::{Result, Status};

/// `Pod in version "v1" cannot be handled as a Pod: …`.
fn unusable(resource: &Resource, why: &str) -> Status {
    let kind = &resource.kind;
    Status::bad_request(format!("{kind} in version \"{}\" cannot be handled as a {kind}: {why}", resource.version))
}

impl Call {
    /// A body in protobuf becomes what it would be in JSON. Custom resources have no such form, and patches neither.
    pub fn open_protobuf(&mut self, resource: &Resource) -> Result<()> {
        let is_object = matches!(self.method, Method::POST | Method::PUT | Method::DELETE) && !self.body.is_empty();
        if !is_object || resource.custom.is_some() || !protobuf::is_named_by(self.content_type.as_deref()) {
            return Ok(());
        }
        let (api_version, kind) = match resource.subresource(&self.path.subresource) {
            _ if self.method == Method::DELETE => (resource.api_version(), "DeleteOptions"),
            Some(sub) => (group_version(&sub.group, &sub.version), sub.kind.as_str()),
            None => (resource.api_version(), resource.kind.as_str()),
        };
        let object = protobuf::decode(&self.body, (&api_version, kind)).map_err(|why| {
            let summary = summary(&self.body);
            let why = format!("the object provided is unrecognized (must be of type {kind}): {why} ({summary})");
            Status::bad_request(why)
        })?;
        self.body = object.to_string().into();
        self.content_type = None;
        Ok(())
    }
}

/// The first bytes of a body that could not be read.
fn summary(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let hex: String = body.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    if body.len() > SHOWN { format!("{hex} ...") } else { hex }
}

impl Server {
    /// The object in the body of a create or update, as the kind's types see it.
    pub fn decode(&self, call: &Call, resource: &Resource) -> Result<Value> {
        let encoding = body::encoding(call.content_type.as_deref())?;
        let Parsed { mut value, duplicates } =
            body::parse(&call.body, encoding).map_err(|why| match resource.custom {
                Some(_) => Status::bad_request(why),
                None => Status::bad_request(format!("couldn't get version/kind; json parse error: {why}")),
            })?;
        let Value::Object(object) = &mut value else {
            return Err(unusable(resource, "json: cannot unmarshal into Go value"));
        };
        settle_type(object, resource)?;
        let problems: Vec<String> = duplicates.iter().map(|path| format!("duplicate field \"{path}\"")).collect();
        self.settle(call, resource, &mut value, problems).map_err(|refused| match refused {
            Refused::Type(why) | Refused::Strict(why) => unusable(resource, &why),
        })?;
        Ok(value)
    }

    /// Brings an object into the form that is stored: unknown fields go, defaults come. `problems` are told with the
    /// unknown fields, as warnings or as an error.
    pub fn settle(
        &self,
        call: &Call,
        resource: &Resource,
        value: &mut Value,
        mut problems: Vec<String>,
    ) -> std::result::Result<(), Refused> {
        if let Some(object) = value.as_object_mut() {
            object.remove("apiVersion");
            object.remove("kind");
        }
        let unknown = self.shape(resource, value).map_err(Refused::Type)?;
        problems.extend(unknown.iter().map(|path| format!("unknown field \"{path}\"")));
        match call.query.field_validation() {
            Ok(FieldValidation::Strict) if !problems.is_empty() => {
                return Err(Refused::Strict(format!("strict decoding error: {}", problems.join(", "))));
            }
            Ok(FieldValidation::Warn) => problems.into_iter().for_each(|problem| call.warn(problem)),
            _ => {}
        }
        Ok(())
    }

    /// Gives an object the form of its kind; returns the unknown fields it had.
    pub fn shape(&self, resource: &Resource, value: &mut Value) -> std::result::Result<Vec<String>, String> {
        match &resource.custom {
            None => {
                let unknown = go::canonical(&resource.schema, value)?;
                (resource.rules.default)(value);
                defaults::apply(&resource.schema, value);
                go::canonical(&resource.schema, value)?;
                Ok(unknown)
            }
            Some(custom) => {
                // Metadata has the same form in every kind.
                let mut unknown = Vec::new();
                if object_at(value, &["metadata"]).is_some() {
                    let built_in = std::sync::Arc::clone(self.registry().built_in());
                    let found = go::canonical(&built_in.metadata, &mut value["metadata"])?;
                    unknown.extend(found.iter().map(|path| format!("metadata.{path}")));
                }
                let pruned = prune::prune(&resource.schema, value);
                unknown.extend(pruned);
                defaults::apply(&resource.schema, value);
                if let Some(stored) = &custom.stored_as {
                    prune::prune(stored, value);
                }
                Ok(unknown)
            }
        }
    }
}

/// Why an object could not be brought into the form of its kind.
#[derive(Debug)]
pub enum Refused {
    /// A value of the wrong type.
    Type(String),
    /// Unknown or duplicate fields, where none are allowed.
    Strict(String),
}

/// Type given and type expected must agree; what is missing is taken from the URL.
fn settle_type(object: &mut Map<String, Value>, resource: &Resource) -> Result<()> {
    let wanted = resource.api_version();
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (given, kind) = (text("apiVersion"), text("kind"));
    if resource.custom.is_none() {
        let is_it = (given.is_empty() || given == wanted) && (kind.is_empty() || kind == resource.kind);
        if is_it {
            return Ok(());
        }
        if given.is_empty() || given == wanted {
            let (group, version) = (&resource.group, &resource.version);
            let group = if group.is_empty() { String::new() } else { format!("{group}/") };
            return Err(Status::bad_request(format!(
                "no kind \"{kind}\" is registered for version \"{group}{version}\" in scheme"
            )));
        }
    }
    if given != wanted {
        return Err(Status::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version ({wanted})"
        )));
    }
    if kind != resource.kind {
        return Err(unusable(resource, "the kind in the data does not match"));
    }
    Ok(())
}
