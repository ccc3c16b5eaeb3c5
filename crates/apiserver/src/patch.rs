//! Patches: the four forms, each a module with its own rules.

use kueue_core::field::{Error, Path};

use crate::json::{Value, json};
use crate::kinds::{Registry, Resource};
use crate::managed;
use crate::rest::body::{self, Encoding, Parsed};
use crate::schema::{Schema, go};
use crate::status::{About, Result, Status};

pub mod apply;
pub mod json;
mod merge;
mod strategic;

/// More operations than this are not even tried.
const OPERATIONS_MAX: usize = 10_000;

/// The form of a patch, by its media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Kind {
    pub fn of(content_type: Option<&str>, resource: &Resource) -> Result<Self> {
        let media = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        match media {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if resource.custom.is_none() => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ if resource.custom.is_some() => Err(Status::new(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
            _ => {
                let status = Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
                Err(status.with_details(json!({})))
            }
        }
    }
}

/// A patch that could be read, to be applied to one object after the other until it is stored.
#[derive(Debug)]
pub struct Patch {
    kind: Kind,
    value: Value,
    /// What a strict reader has to say about the patch itself.
    pub problems: Vec<String>,
}

impl Patch {
    pub fn parse(kind: Kind, bytes: &[u8]) -> Result<Self> {
        // Only of a strategic patch the mistake is told as it is.
        let wrong = |why: String| match kind {
            Kind::Strategic => Status::bad_request(why),
            _ => Status::bad_request(format!("error decoding patch: {why}")),
        };
        let Parsed { value, duplicates: mut problems } = body::parse(bytes, Encoding::Json).map_err(wrong)?;
        if kind == Kind::Json {
            problems.extend(json::check(&value).map_err(wrong)?);
            problems.iter_mut().for_each(|problem| *problem = format!("json patch {problem}"));
            let count = value.as_array().map_or(0, Vec::len);
            if count > OPERATIONS_MAX {
                let what = format!("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {count}");
                let message = format!("Request entity too large: {what}");
                return Err(Status::new(413, "RequestEntityTooLarge", message));
            }
        } else if value.is_null() && kind == Kind::Merge {
            return Err(Status::bad_request("Invalid JSON Patch"));
        } else if !value.is_object() && !value.is_null() {
            let found = go::kind_of(&value);
            return Err(wrong(format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )));
        }
        Ok(Self { kind, value, problems })
    }

    /// Whether the patch may have to do with managed fields, so that it needs them in the object.
    pub fn may_touch_managed(&self) -> bool {
        self.kind != Kind::Merge || self.value["metadata"].get(managed::FIELD).is_some()
    }

    /// Changes the object, which has its apiVersion and kind.
    pub fn apply(&self, object: &mut Value, schema: &Schema) -> Result<()> {
        match self.kind {
            Kind::Json => json::apply(object, &self.value).map_err(|_| {
                let message = "the server rejected our request due to an error in our request";
                Status::new(422, "Invalid", message).with_details(json!({}))
            }),
            Kind::Merge => {
                merge::apply(object, &self.value);
                Ok(())
            }
            Kind::Strategic => strategic::apply(schema, object, &self.value).map_err(|wrong| match wrong {
                strategic::Wrong::Form(why) => Status::bad_request(why),
                strategic::Wrong::Merge(why) => Status::internal(why),
            }),
            Kind::Apply => Err(Status::internal("an applied configuration is no patch")),
        }
    }
}

/// A patch may not make something else of an object. Of built-in kinds the answer is a decoder's complaint, in `Err`'s
/// text; custom resources are judged.
pub fn check_type(registry: &Registry, resource: &Resource, value: &Value) -> Result<std::result::Result<(), String>> {
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    let (given, kind) = (text("apiVersion"), text("kind"));
    let wanted = resource.api_version();
    if given == wanted && kind == resource.kind {
        return Ok(Ok(()));
    }
    let (group, version) = given.split_once('/').unwrap_or(("", given));
    if resource.custom.is_some() {
        let mut errors = Vec::new();
        for (name, found, wanted) in [("kind", kind, &resource.kind), ("apiVersion", given, &wanted)] {
            if found != wanted {
                errors.push(Error::invalid(&Path::new(name), found, format!("must be {wanted}")));
            }
        }
        let name = value["metadata"]["name"].as_str().unwrap_or_default();
        return Err(Status::invalid(About { group, kind, name }, &errors));
    }
    let mut known = registry.all();
    let other = known.find(|other| other.group == group && other.version == version && other.kind == kind);
    let why = match other {
        None => format!(
            "no kind \"{kind}\" is registered for version \"{given}\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""
        ),
        Some(other) => match go::canonical(&other.schema, &mut value.clone(), None) {
            Err(why) => why,
            Ok(_) => {
                let hub = if resource.group.is_empty() { "core" } else { &resource.group };
                format!("converting ({version}.{kind}) to ({hub}.{}): unknown conversion", resource.kind)
            }
        },
    };
    Ok(Err(why))
}
