//! AdmissionReview: what a webhook is asked, and what counts as an answer.

use super::Attributes;
use crate::base64;
use crate::json::{Map, Value, json};
use crate::kinds::{Resource, group_version, text_at};
use crate::rest::body::{self, Encoding};
use crate::schema::go::kind_of;
use crate::status::Status;

pub const GROUP: &str = "admission.k8s.io";
pub const KIND: &str = "AdmissionReview";

/// One question: a write as a webhook or policy sees it.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub attributes: &'a Attributes<'a>,
    /// The resource as which the write is seen; the attributes' own unless that is of another version.
    pub resource: &'a Resource,
    pub object: Option<&'a Value>,
    pub old: Option<&'a Value>,
}

impl Question<'_> {
    /// Group, version and kind of the objects.
    fn kind(&self) -> [&str; 3] {
        let asked = self.attributes.kind;
        let is_own = asked[2] == self.attributes.resource.kind && asked[0] == self.attributes.resource.group;
        if is_own { [&self.resource.group, &self.resource.version, &self.resource.kind] } else { asked }
    }

    /// An object with its type, as it is sent and as expressions see it.
    pub fn typed(&self, object: Option<&Value>) -> Value {
        let Some(object) = object else { return Value::Null };
        let [group, version, kind] = self.kind();
        let mut value = object.clone();
        if let Some(map) = value.as_object_mut() {
            map.insert("apiVersion", group_version(group, version).into());
            map.insert("kind", kind.into());
        }
        value
    }

    /// Everything but the objects; also what expressions know as `request`.
    pub fn request(&self, uid: &str) -> Map {
        let kind = |[group, version, kind]: [&str; 3]| json!({"group": group, "version": version, "kind": kind});
        let resource = |of: &Resource| json!({"group": of.group, "version": of.version, "resource": of.plural});
        let asked = self.attributes;
        let mut request = Map::new();
        request.insert("uid", uid.into());
        request.insert("kind", kind(self.kind()));
        request.insert("resource", resource(self.resource));
        request.insert("requestKind", kind(asked.kind));
        request.insert("requestResource", resource(asked.resource));
        for (name, text) in [
            ("subResource", asked.subresource),
            ("requestSubResource", asked.subresource),
            ("name", asked.name),
            ("namespace", asked.namespace),
        ] {
            if !text.is_empty() {
                request.insert(name, text.into());
            }
        }
        request.insert("operation", asked.operation.name().into());
        request.insert("userInfo", asked.call.user.to_value());
        request.insert("dryRun", asked.is_dry_run.into());
        request.insert("options", asked.options.clone());
        request
    }

    /// The review that is sent.
    pub fn review(&self, uid: &str, version: &str) -> Value {
        let mut request = self.request(uid);
        request.insert("object", self.typed(self.object));
        request.insert("oldObject", self.typed(self.old));
        json!({"kind": KIND, "apiVersion": format!("{GROUP}/{version}"), "request": request})
    }
}

/// What a webhook said.
#[derive(Debug, Default)]
pub struct Answer {
    pub is_allowed: bool,
    /// Operations of a JSON patch, not yet read.
    pub patch: Vec<u8>,
    pub patch_type: String,
    pub status: Value,
    pub warnings: Vec<String>,
}

impl Answer {
    /// Reads the review that came back; an error is why it does not count.
    pub fn verify(review: &Value, uid: &str, version: &str, mutates: bool) -> Result<Self, String> {
        let response = review.get("response").filter(|response| !response.is_null());
        let response = response.ok_or("webhook response was absent")?;
        let given = text_at(response, &["uid"]);
        let is_strict = version == "v1";
        if is_strict && given != uid {
            return Err(format!("expected response.uid={uid:?}, got {given:?}"));
        }
        let found = text_at(review, &["apiVersion"]);
        let wanted = format!("{GROUP}/{version}");
        if is_strict && found != wanted {
            return Err(format!("expected webhook response of {wanted}, Kind={KIND}, got {found}, Kind={KIND}"));
        }
        let patch = base64::STANDARD.decode(text_at(response, &["patch"])).unwrap_or_default();
        let patch_type =
            response.get("patchType").filter(|kind| !kind.is_null()).map(|_| text_at(response, &["patchType"]));
        let patch_type = match (mutates, is_strict) {
            (true, true) => checked_patch_type(&patch, patch_type)?,
            (true, false) => {
                if patch.is_empty() {
                    ""
                } else {
                    "JSONPatch"
                }
            }
            (false, true) if !patch.is_empty() => return Err("validating webhook may not return response.patch".into()),
            (false, true) if patch_type.is_some() => {
                return Err("validating webhook may not return response.patchType".into());
            }
            (false, _) => "",
        };
        let warnings = response["warnings"].as_array().into_iter().flatten();
        Ok(Self {
            is_allowed: response["allowed"] == true,
            patch: if mutates { patch } else { Vec::new() },
            patch_type: patch_type.to_owned(),
            status: response["status"].clone(),
            warnings: warnings.filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    }

    /// The operations of the patch; nothing when there are none.
    pub fn operations(&self) -> Result<Option<Value>, String> {
        if self.patch.is_empty() {
            return Ok(None);
        }
        let undecodable = |why: String| format!("received undecodable patch in webhook response: {why}");
        let operations = body::parse(&self.patch, Encoding::Json).map_err(undecodable)?.value;
        match operations.as_array() {
            None if operations.is_null() => Ok(None),
            None => Err(undecodable("json: cannot unmarshal into Go value of type jsonpatch.Patch".into())),
            Some(list) if list.is_empty() => Ok(None),
            Some(_) => Ok(Some(operations)),
        }
    }

    /// The refusal that the client is told.
    pub fn refusal(&self, webhook: &str) -> Status {
        let denied = format!("admission webhook {webhook:?} denied the request");
        let (message, reason) = (text_at(&self.status, &["message"]), text_at(&self.status, &["reason"]));
        let message = match (message, reason) {
            ("", "") => format!("{denied} without explanation"),
            ("", reason) => format!("{denied}: {reason}"),
            (message, _) => format!("{denied}: {message}"),
        };
        let code = self.status["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        // A refusal is no success, whatever the webhook thinks.
        let code = code.filter(|code| (400..600).contains(code)).unwrap_or(400);
        let status = Status::new(code, reason.to_owned(), message);
        match self.status.get("details").filter(|details| details.is_object()) {
            Some(details) => status.with_details(details.clone()),
            None => status,
        }
    }
}

/// A patch and its type come together.
fn checked_patch_type<'a>(patch: &[u8], patch_type: Option<&'a str>) -> Result<&'a str, String> {
    match (patch.is_empty(), patch_type) {
        (false, None) => Err("webhook returned response.patch but not response.patchType".into()),
        (true, Some(_)) => Err("webhook returned response.patchType but not response.patch".into()),
        (_, Some("")) => Err("webhook returned invalid response.patchType of \"\"".into()),
        (_, given) => Ok(given.unwrap_or_default()),
    }
}

/// A value in the answer that is not of the type it should be, as Go's reader tells it.
pub fn wrong_type(review: &Value) -> Option<String> {
    let told = |value: &Value, place: &str, wanted: &str| {
        format!("json: cannot unmarshal {} into Go struct field {place} of type {wanted}", kind_of(value))
    };
    let response = review.get("response").filter(|response| !response.is_null())?;
    if !response.is_object() {
        return Some(told(response, "AdmissionReview.response", "v1.AdmissionResponse"));
    }
    type Check = fn(&Value) -> bool;
    let fields: [(&str, &str, Check); 6] = [
        ("uid", "types.UID", Value::is_string),
        ("allowed", "bool", Value::is_boolean),
        ("status", "v1.Status", Value::is_object),
        ("patch", "[]uint8", Value::is_string),
        ("patchType", "v1.PatchType", Value::is_string),
        ("warnings", "[]string", Value::is_array),
    ];
    for (name, wanted, is_right) in fields {
        if let Some(value) = response.get(name).filter(|value| !value.is_null() && !is_right(value)) {
            return Some(told(value, &format!("AdmissionResponse.response.{name}"), wanted));
        }
    }
    let patch = response["patch"].as_str().unwrap_or_default();
    base64::STANDARD.decode(patch).err().map(|at| format!("illegal base64 data at input byte {at}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verified(response: &Value, mutates: bool) -> Result<Answer, String> {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": KIND, "response": response});
        Answer::verify(&review, "u", "v1", mutates)
    }

    #[test]
    fn an_answer_must_be_to_this_question_and_whole() {
        let patch = base64::STANDARD.encode(b"[]");
        let cases = [
            (json!(null), true, "webhook response was absent"),
            (json!({"uid": "x"}), true, "expected response.uid=\"u\", got \"x\""),
            (json!({"uid": "u", "patch": patch}), true, "webhook returned response.patch but not response.patchType"),
            (
                json!({"uid": "u", "patchType": "JSONPatch"}),
                true,
                "webhook returned response.patchType but not response.patch",
            ),
            (json!({"uid": "u", "patch": patch}), false, "validating webhook may not return response.patch"),
            (
                json!({"uid": "u", "patchType": "JSONPatch"}),
                false,
                "validating webhook may not return response.patchType",
            ),
        ];
        for (response, mutates, wanted) in cases {
            assert_eq!(verified(&response, mutates).unwrap_err(), wanted);
        }
        let old = json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": KIND, "response": {"uid": "u"}});
        assert_eq!(
            Answer::verify(&old, "u", "v1", false).unwrap_err(),
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v1beta1, Kind=AdmissionReview"
        );
        // The old version never looked.
        assert!(Answer::verify(&json!({"response": {"allowed": true}}), "u", "v1beta1", true).unwrap().is_allowed);
    }

    #[test]
    fn a_refusal_has_the_words_and_code_of_the_webhook() {
        let refusal = |status: Value| {
            let status = verified(&json!({"uid": "u", "status": status}), false).unwrap().refusal("w");
            (status.code(), status.message().to_owned(), status.reason().to_owned())
        };
        let text = |rest: &str| format!("admission webhook \"w\" denied the request{rest}");
        assert_eq!(refusal(json!(null)), (400, text(" without explanation"), String::new()));
        assert_eq!(refusal(json!({"message": "no", "code": 200})), (400, text(": no"), String::new()));
        assert_eq!(refusal(json!({"reason": "Gone", "code": 410})), (410, text(": Gone"), "Gone".into()));
    }

    #[test]
    fn values_of_the_wrong_type_are_told() {
        let cases = [
            (
                json!({"response": "x"}),
                "json: cannot unmarshal string into Go struct field AdmissionReview.response of type v1.AdmissionResponse",
            ),
            (
                json!({"response": {"allowed": "yes"}}),
                "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
            ),
            (json!({"response": {"patch": "!"}}), "illegal base64 data at input byte 1"),
        ];
        for (review, wanted) in cases {
            assert_eq!(wrong_type(&review).as_deref(), Some(wanted));
        }
        assert_eq!(wrong_type(&json!({"response": {"allowed": true, "patch": null}})), None);
    }
}
