//! Patches: the four forms, each a module with its own rules.

use serde_json::Value;

use crate::kinds::Resource;
use crate::rest::body::{self, Encoding};
use crate::schema::Schema;
use crate::status::{Result, Status};

pub mod apply;
mod json;
mod merge;
mod strategic;

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
                Err(status.with_details(serde_json::json!({})))
            }
        }
    }
}

/// A patch that could be read, to be applied to one object after the other until it is stored.
#[derive(Debug)]
pub struct Patch {
    kind: Kind,
    value: Value,
}

impl Patch {
    pub fn parse(kind: Kind, bytes: &[u8]) -> Result<Self> {
        let wrong = |why: String| Status::bad_request(format!("error decoding patch: {why}"));
        let value = body::parse(bytes, Encoding::Json).map_err(wrong)?.value;
        if kind == Kind::Json && !value.is_array() {
            let why = "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";
            return Err(wrong(why.to_owned()));
        }
        if kind != Kind::Json && !value.is_object() {
            return Err(wrong("json: cannot unmarshal into Go value of type map[string]interface {}".to_owned()));
        }
        Ok(Self { kind, value })
    }

    /// Changes the object, which has its apiVersion and kind.
    pub fn apply(&self, object: &mut Value, schema: &Schema) -> Result<()> {
        match self.kind {
            Kind::Json => json::apply(object, &self.value).map_err(|_| {
                let message = "the server rejected our request due to an error in our request";
                Status::new(422, "Invalid", message).with_details(serde_json::json!({}))
            }),
            Kind::Merge => {
                merge::apply(object, &self.value);
                Ok(())
            }
            Kind::Strategic => strategic::apply(schema, object, &self.value).map_err(Status::internal),
            Kind::Apply => Err(Status::internal("an applied configuration is no patch")),
        }
    }
}
