//! From a body to an object of the kind the URL names: type, unknown fields, defaults.

use std::sync::Arc;

use http::Method;
use kueue_core::field::{Error, Path};

use super::body::{self, Parsed};
use super::query::FieldValidation;
use super::service::{Call, Server};
use crate::json::{Map, Value};
use crate::kinds::{Resource, group_version};
use crate::protobuf;
use crate::schema::{defaults, embedded, go, object_at, prune};
use crate::status::{About, Result, Status};

/// `Pod in version "v1" cannot be handled as a Pod: …`.
fn unusable(resource: &Resource, why: &str) -> Status {
    cannot_be(&resource.kind, &resource.version, &resource.kind, why)
}

/// The same for a body of another kind, or of another version.
fn cannot_be(given: &str, api_version: &str, wanted: &str, why: &str) -> Status {
    let version = api_version.rsplit('/').next().unwrap_or_default();
    Status::bad_request(format!("{given} in version \"{version}\" cannot be handled as a {wanted}: {why}"))
}

impl Call {
    /// A body in protobuf becomes what it would be in JSON. Custom resources have no such form, and patches neither.
    pub fn open_protobuf(&mut self, resource: &Resource) -> Result<()> {
        let has_object = match self.method {
            Method::POST | Method::PUT => true,
            Method::DELETE => !self.body.is_empty(),
            _ => false,
        };
        if !has_object || resource.custom.is_some() || !protobuf::is_named_by(self.content_type.as_deref()) {
            return Ok(());
        }
        let (api_version, kind) = match resource.subresource(&self.path.subresource) {
            _ if self.method == Method::DELETE => (resource.api_version(), "DeleteOptions"),
            Some(sub) => (group_version(&sub.group, &sub.version), sub.kind.as_str()),
            None => (resource.api_version(), resource.kind.as_str()),
        };
        let object = protobuf::decode(&self.body, (&api_version, kind)).map_err(|found| match found.of {
            None => unrecognized(kind, &found.why, &self.body),
            Some((given, found_kind)) => cannot_be(&found_kind, &given, kind, &found.why),
        })?;
        self.body = object.to_string().into();
        self.content_type = None;
        Ok(())
    }
}

/// Where Go keeps its types, as its messages tell it.
pub const SCHEME: &str = "pkg/runtime/scheme.go:111";
/// What Go reads first of every body.
const TYPE_OF_TYPES: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
const NO_TYPE: &str = "couldn't get version/kind; json parse error: ";

/// A body that does not even have a type.
fn unrecognized(kind: &str, why: &str, body: &[u8]) -> Status {
    let summary = summary(body);
    Status::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why} ({summary})"))
}

/// The first bytes of a body that could not be read.
fn summary(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let start = &body[..body.len().min(SHOWN)];
    let shown = match start {
        [] => return "<empty>".to_owned(),
        [b'{', ..] => String::from_utf8_lossy(start).into_owned(),
        _ => start.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    if body.len() > SHOWN { format!("{shown} ...") } else { shown }
}

impl Server {
    /// The object in the body of a create or update, as the kind's types see it.
    pub fn decode(&self, call: &Call, resource: &Resource) -> Result<Value> {
        let encoding = body::encoding(call.content_type.as_deref())?;
        let unrecognized = |why: &str| unrecognized(&resource.kind, why, &call.body);
        let Parsed { mut value, duplicates: problems } =
            body::parse(&call.body, encoding).map_err(|why| match encoding {
                body::Encoding::Json => unrecognized(&format!("{NO_TYPE}{why}")),
                body::Encoding::Yaml => unrecognized(&why),
            })?;
        if value.is_null() {
            value = Value::Object(Map::new());
        }
        let Value::Object(object) = &mut value else {
            let kind = go::kind_of(&value);
            let why = format!("{NO_TYPE}json: cannot unmarshal {kind} into Go value of type {TYPE_OF_TYPES}");
            return Err(unrecognized(&why));
        };
        if resource.custom.is_some() {
            self.warn_of_version(call, resource, object);
        }
        self.settle_type(object, resource).map_err(|why| match why {
            WrongType::Unreadable(why) => unrecognized(&why),
            WrongType::Refused(status) => status,
        })?;
        self.settle(call, resource, &mut value, None, problems).map_err(|refused| match refused {
            Refused::Type(why) | Refused::Strict(why) => unusable(resource, &why),
        })?;
        Ok(value)
    }

    /// The options in a body, as their type sees them.
    pub fn decode_options(&self, call: &Call, kind: &str) -> Result<Value> {
        let encoding = body::encoding(call.content_type.as_deref())?;
        let wrong = |why: String| Status::bad_request(format!("{NO_TYPE}{why}"));
        let mut value = body::parse(&call.body, encoding).map_err(wrong)?.value;
        if value.is_null() {
            value = crate::json::json!({});
        }
        let Value::Object(object) = &mut value else {
            let found = go::kind_of(&value);
            return Err(wrong(format!("json: cannot unmarshal {found} into Go value of type {TYPE_OF_TYPES}")));
        };
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        if !["", kind].contains(&text("kind")) {
            let (given, version) = (text("kind"), text("apiVersion"));
            let why = format!("no kind \"{given}\" is registered for version \"{version}\" in scheme \"{SCHEME}\"");
            return Err(Status::bad_request(why));
        }
        let schema = self.registry().built_in().delete_options.clone();
        go::canonical(&schema, &mut value, None).map_err(Status::bad_request)?;
        Ok(value)
    }

    /// Of a version of a custom resource that there is not, no field is known.
    fn warn_of_version(&self, call: &Call, resource: &Resource, object: &Map) {
        let given = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let version = given.split_once('/').filter(|(group, _)| *group == resource.group).map(|(_, version)| version);
        let is_unknown =
            version.is_some_and(|version| self.registry().find(&resource.group, version, &resource.plural).is_none());
        if is_unknown && matches!(call.query.field_validation(), Ok(FieldValidation::Warn)) {
            let names = object.keys().filter(|name| !["apiVersion", "kind", "metadata"].contains(&name.as_str()));
            names.for_each(|name| call.warn(format!("unknown field \"{name}\"")));
        }
    }

    /// Brings an object into the form that is stored: unknown fields go, defaults come. `problems` are told with the
    /// unknown fields, as warnings or as an error.
    pub fn settle(
        &self,
        call: &Call,
        resource: &Resource,
        value: &mut Value,
        old: Option<&Value>,
        mut problems: Vec<String>,
    ) -> std::result::Result<(), Refused> {
        if let Some(object) = value.as_object_mut() {
            object.remove("apiVersion");
            object.remove("kind");
        }
        let unknown = self.shape(resource, value, old).map_err(Refused::Type)?;
        problems.extend(unknown.iter().map(|path| format!("unknown field \"{path}\"")));
        match call.query.field_validation() {
            Ok(FieldValidation::Strict) if !problems.is_empty() => {
                return Err(Refused::Strict(format!("strict decoding error: {}", problems.join(", "))));
            }
            Ok(FieldValidation::Warn) => {
                for problem in problems {
                    // Of YAML all problems are one error, and yet a warning each.
                    let problem = problem.strip_prefix("yaml: unmarshal errors:\n").unwrap_or(&problem);
                    problem.lines().for_each(|line| call.warn(line.trim()));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Gives an object the form of its kind; returns the unknown fields it had. What it shares with `old`, an object
    /// that has this form, keeps it.
    pub fn shape(
        &self,
        resource: &Resource,
        value: &mut Value,
        old: Option<&Value>,
    ) -> std::result::Result<Vec<String>, String> {
        match &resource.custom {
            None => {
                let mut unknown = go::canonical(&resource.schema, value, old)?;
                unknown.extend(crate::crd::drop_unknown_keywords(resource, value));
                // Only what defaults bring has to be looked at again.
                let settled = value.clone();
                (resource.rules.default)(value);
                defaults::apply(&resource.schema, value, old);
                go::canonical(&resource.schema, value, Some(&settled))?;
                Ok(unknown)
            }
            Some(custom) => {
                // Metadata has the same form in every kind.
                let mut unknown = Vec::new();
                let before = old.and_then(|old| old.get("metadata"));
                let is_settled = value.get("metadata").zip(before).is_some_and(|(new, old)| new.is_same_as(old));
                if !is_settled && object_at(value, &["metadata"]).is_some() {
                    let built_in = std::sync::Arc::clone(self.registry().built_in());
                    let found = go::canonical(&built_in.metadata, &mut value["metadata"], before)?;
                    unknown.extend(found.iter().map(|path| format!("metadata.{path}")));
                }
                let pruned = prune::prune(&resource.schema, value, old);
                unknown.extend(pruned);
                if custom.has_embedded {
                    embedded::settle(&resource.schema, value, &Path::default())?;
                }
                defaults::apply(&resource.schema, value, old);
                if let Some(stored) = &custom.stored_as {
                    prune::prune(stored, value, old);
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

/// Why the type in a body is not the one of its URL.
enum WrongType {
    /// It is not a type at all.
    Unreadable(String),
    Refused(Status),
}

impl Server {
    /// Type given and type expected must agree; what is missing is taken from the URL.
    fn settle_type(&self, object: &Map, resource: &Resource) -> std::result::Result<(), WrongType> {
        let mut texts = [("apiVersion", String::new()), ("kind", String::new())];
        for (name, text) in &mut texts {
            match object.get(name) {
                None | Some(Value::Null) => {}
                Some(Value::String(given)) => text.clone_from(given),
                Some(other) => {
                    let found = go::kind_of(other);
                    return Err(WrongType::Unreadable(format!(
                        "{NO_TYPE}json: cannot unmarshal {found} into Go struct field .{name} of type string"
                    )));
                }
            }
        }
        let [(_, given), (_, kind)] = texts;
        if given.matches('/').count() > 1 {
            return Err(WrongType::Unreadable(format!("unexpected GroupVersion string: {given}")));
        }
        let wanted = resource.api_version();
        if resource.custom.is_none() {
            self.settle_built_in(&given, &kind, resource).map_err(WrongType::Refused)
        } else if given != wanted {
            Err(WrongType::Refused(other_version(&given, &wanted)))
        } else if kind != resource.kind {
            let name = object.get("metadata").and_then(|metadata| metadata["name"].as_str()).unwrap_or_default();
            let error = Error::invalid(&Path::new("kind"), kind.as_str(), format!("must be {}", resource.kind));
            let about = About { group: &resource.group, kind: &kind, name };
            Err(WrongType::Refused(Status::invalid(about, &[error])))
        } else {
            Ok(())
        }
    }

    fn settle_built_in(&self, given: &str, kind: &str, resource: &Resource) -> Result<()> {
        let wanted = resource.api_version();
        let given = if given.is_empty() { wanted.as_str() } else { given };
        let kind = if kind.is_empty() { resource.kind.as_str() } else { kind };
        if given == wanted && kind == resource.kind {
            return Ok(());
        }
        let (group, version) = given.split_once('/').unwrap_or(("", given));
        let registry = self.registry();
        let is_it = |known: &&Arc<Resource>| known.group == group && known.version == version && known.kind == kind;
        let is_known = registry.built_in().resources.iter().any(|known| is_it(&known));
        if is_known && group == resource.group && kind == resource.kind {
            return Err(other_version(given, &wanted));
        }
        let package = resource.go_package();
        let why = match is_known {
            true => format!("converting ({version}.{kind}) to ({package}.{}): unknown conversion", resource.kind),
            false => format!("no kind \"{kind}\" is registered for version \"{given}\" in scheme \"{SCHEME}\""),
        };
        Err(cannot_be(kind, version, &resource.kind, &why))
    }
}

fn other_version(given: &str, wanted: &str) -> Status {
    let message = format!("the API version in the data ({given}) does not match the expected API version ({wanted})");
    Status::bad_request(message)
}
