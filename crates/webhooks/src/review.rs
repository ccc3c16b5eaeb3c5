//! Requests for admission and their answers, as they come over the wire.

mod patch;
#[cfg(test)]
mod tests;

use kueue_api::meta::Object;
use kueue_core::base64;
use kueue_core::field::{Errors, aggregate};
use serde::Deserialize;
use serde_json::{Value, json};

/// What is to be done to an object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Request {
    pub(crate) uid: String,
    pub(crate) operation: String,
    pub(crate) namespace: String,
    /// As it is to be; missing for a deletion.
    pub(crate) object: Value,
    /// As it is; missing for a creation.
    pub(crate) old_object: Value,
}

/// A question of the API server.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Review {
    pub(crate) api_version: String,
    pub(crate) request: Request,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    decision: Decision,
    /// What users are told, whatever was decided.
    warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Decision {
    Allowed {
        /// What is changed on the way, as operations of a JSON patch.
        changes: Vec<Value>,
    },
    /// With a reason for the user.
    Denied(String),
    /// The request makes no sense.
    Unreadable(String),
}

impl Verdict {
    pub(crate) const ALLOWED: Self = Self::new(Decision::Allowed { changes: Vec::new() });

    const fn new(decision: Decision) -> Self {
        Self { decision, warnings: Vec::new() }
    }

    /// Refused, for that reason.
    pub(crate) fn denied(reason: impl Into<String>) -> Self {
        Self::new(Decision::Denied(reason.into()))
    }

    /// The request makes no sense.
    pub(crate) fn unreadable(problem: String) -> Self {
        Self::new(Decision::Unreadable(problem))
    }

    /// The same, and something that users are to know.
    pub(crate) fn warning(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// Allowed, unless something is wrong.
    pub(crate) fn of(errors: &Errors) -> Self {
        if errors.is_empty() { Self::ALLOWED } else { Self::denied(aggregate(errors)) }
    }

    /// Allowed, with what makes one object of the other.
    pub(crate) fn changed<T: Object>(before: &T, after: &T) -> Self {
        let value = |object: &T| serde_json::to_value(object).unwrap_or_default();
        Self::new(Decision::Allowed { changes: patch::between(&value(before), &value(after)) })
    }

    /// The answer to the review with that version and uid.
    pub(crate) fn answer(&self, version: &str, uid: &str) -> Value {
        let refused = |code: u16, reason: &str, message: &str| {
            let status = json!({"status": "Failure", "code": code, "reason": reason, "message": message});
            json!({"uid": uid, "allowed": false, "status": status})
        };
        let mut response = match &self.decision {
            Decision::Allowed { changes } if changes.is_empty() => json!({"uid": uid, "allowed": true}),
            Decision::Allowed { changes } => {
                let patch = base64::STANDARD.encode(Value::from(changes.clone()).to_string().as_bytes());
                json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": patch})
            }
            Decision::Denied(message) => refused(403, "Forbidden", message),
            Decision::Unreadable(message) => refused(400, "BadRequest", message),
        };
        if !self.warnings.is_empty() {
            response["warnings"] = json!(self.warnings);
        }
        json!({"apiVersion": version, "kind": "AdmissionReview", "response": response})
    }
}

impl Request {
    /// The object as it is to be.
    pub(crate) fn new_object<T: Object>(&self) -> Result<T, Verdict> {
        read(&self.object)
    }

    /// The object as it is.
    pub(crate) fn old_object<T: Object>(&self) -> Result<T, Verdict> {
        read(&self.old_object)
    }
}

fn read<T: Object>(object: &Value) -> Result<T, Verdict> {
    T::deserialize(object).map_err(|error| Verdict::unreadable(format!("cannot read the {}: {error}", T::KIND)))
}
