//! Errors as a Kubernetes API server tells them: a `Status` object with code, reason, message and details.

use std::borrow::Cow;

use kueue_core::field::{self, aggregate};

use crate::json::{Map, Value, json};

pub type Result<T> = std::result::Result<T, Status>;

/// A request that failed, in the words of a real server. Boxed, because it is rare and results are everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Status(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    code: u16,
    reason: Cow<'static, str>,
    message: String,
    details: Option<Value>,
    /// What the list metadata of the answer holds; empty but for an expired continue token.
    metadata: Value,
    /// Seconds after which the client may ask again.
    retry_after: Option<u32>,
}

/// What an error is about: `deployments.apps "x"`.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    pub group: &'a str,
    /// Plural or kind, as the error demands.
    pub kind: &'a str,
    pub name: &'a str,
}

impl About<'_> {
    /// `pods`, `deployments.apps`.
    fn qualified(&self) -> String {
        if self.group.is_empty() { self.kind.to_owned() } else { format!("{}.{}", self.kind, self.group) }
    }

    fn details(&self) -> Map {
        let mut details = Map::new();
        for (key, value) in [("name", self.name), ("group", self.group), ("kind", self.kind)] {
            if !value.is_empty() {
                details.insert(key, value.into());
            }
        }
        details
    }
}

impl Status {
    pub fn new(code: u16, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        let inner = Inner {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
            metadata: json!({}),
            retry_after: None,
        };
        Self(Box::new(inner))
    }

    #[must_use]
    pub fn with_details(mut self, details: impl Into<Value>) -> Self {
        let details = details.into();
        self.0.retry_after = details["retryAfterSeconds"].as_u64().and_then(|seconds| u32::try_from(seconds).ok());
        self.0.details = Some(details);
        self
    }

    #[must_use]
    pub fn with_metadata(mut self, metadata: Value) -> Self {
        self.0.metadata = metadata;
        self
    }

    /// The resource exists, and the object does not.
    pub fn not_found(about: About<'_>) -> Self {
        let message = format!("{} \"{}\" not found", about.qualified(), about.name);
        Self::new(404, "NotFound", message).with_details(about.details())
    }

    /// The group exists, and what the path names in it does not.
    pub fn unknown_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with_details(json!({}))
    }

    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with_details(json!({}))
    }

    pub fn already_exists(about: About<'_>) -> Self {
        let message = format!("{} \"{}\" already exists", about.qualified(), about.name);
        Self::new(409, "AlreadyExists", message).with_details(about.details())
    }

    pub fn conflict(about: About<'_>, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{}\": {why}", about.qualified(), about.name);
        Self::new(409, "Conflict", message).with_details(about.details())
    }

    pub fn forbidden(about: About<'_>, why: &str) -> Self {
        let subject = match about.name {
            "" => about.qualified(),
            name => format!("{} \"{name}\"", about.qualified()),
        };
        Self::new(403, "Forbidden", format!("{subject} is forbidden: {why}")).with_details(about.details())
    }

    /// Validation failed; `about.kind` is the kind.
    pub fn invalid(about: About<'_>, errors: &[field::Error]) -> Self {
        let message = format!("{} \"{}\" is invalid: {}", about.qualified(), about.name, aggregate(errors));
        let cause = |error: &field::Error| json!({"reason": error.kind.reason(), "message": error.body(), "field": error.field.to_string()});
        let mut details = about.details();
        details.insert("causes", errors.iter().map(cause).collect());
        Self::new(422, "Invalid", message).with_details(details)
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// A failure inside the server that has no reason of its own.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// A failure of something that the server relies on.
    pub fn internal_error(why: impl Into<String>) -> Self {
        let why = why.into();
        Self::new(500, "InternalError", format!("Internal error occurred: {why}"))
            .with_details(json!({"causes": [{"message": why}]}))
    }

    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// Not now; perhaps after so many seconds, when that is known.
    pub fn too_many_requests(message: &str, causes: &Value, retry_seconds: u32) -> Self {
        let mut details = json!({"causes": causes});
        let mut status = Self::new(429, "TooManyRequests", message);
        if retry_seconds > 0 {
            details["retryAfterSeconds"] = retry_seconds.into();
            status.0.retry_after = Some(retry_seconds);
        }
        status.with_details(details)
    }

    /// A version that has not been reached, after waiting for it.
    pub fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        let details = json!({"causes": [cause], "retryAfterSeconds": 1});
        Self::new(504, "Timeout", message).with_details(details)
    }

    /// Took longer than anything may.
    pub fn timeout() -> Self {
        Self::new(504, "Timeout", "Timeout: request did not complete within the allotted timeout")
    }

    pub fn code(&self) -> u16 {
        self.0.code
    }

    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    #[must_use]
    pub fn with_message(mut self, message: String) -> Self {
        self.0.message = message;
        self
    }

    pub fn retry_after(&self) -> Option<u32> {
        self.0.retry_after
    }

    /// The object that is sent.
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": self.0.metadata, "status": "Failure",
            "message": self.0.message, "code": self.0.code,
        });
        if !self.0.reason.is_empty() {
            value["reason"] = self.0.reason.as_ref().into();
        }
        if let Some(details) = &self.0.details {
            value["details"] = details.clone();
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_of_a_group_is_named_with_it() {
        let about = About { group: "batch", kind: "jobs", name: "j" };
        let status = Status::not_found(about);
        assert_eq!(status.message(), "jobs.batch \"j\" not found");
        assert_eq!(status.to_value()["details"], json!({"name": "j", "group": "batch", "kind": "jobs"}));
        let core = Status::already_exists(About { group: "", kind: "pods", name: "p" });
        assert_eq!(core.to_value()["details"], json!({"name": "p", "kind": "pods"}));
    }

    #[test]
    fn validation_lists_every_cause() {
        let at = field::Path::new("spec").child("x");
        let errors = [field::Error::required(&at, ""), field::Error::forbidden(&at, "no")];
        let status = Status::invalid(About { group: "apps", kind: "Deployment", name: "d" }, &errors);
        assert_eq!(
            status.message(),
            "Deployment.apps \"d\" is invalid: [spec.x: Required value, spec.x: Forbidden: no]"
        );
        let causes = &status.to_value()["details"]["causes"];
        assert_eq!(causes[1], json!({"reason": "FieldValueForbidden", "message": "Forbidden: no", "field": "spec.x"}));
    }
}
