//! Custom resources in several versions that a webhook converts.
//!
//! Objects of such a kind are stored in the version that the definition names for it when they are written, with that
//! version in the object; every other way to ask for them goes through the webhook.

use std::sync::Arc;
use std::time::Duration;

use crate::dial::Client;
use crate::json::{Value, json};
use crate::kinds::rules::stored_form;
use crate::kinds::{Resource, group_version, text_at};
use crate::managed::{self, Managers};
use crate::rest::service::Server;
use crate::status::{Result, Status};
use crate::store::{Content, Object};

const GROUP: &str = "apiextensions.k8s.io";
const KIND: &str = "ConversionReview";
const TIMEOUT: Duration = Duration::from_secs(30);

/// Who converts the objects of a kind.
#[derive(Debug)]
pub struct Webhook {
    client: Client,
    /// The first version of the review that both sides know.
    review: Option<&'static str>,
    /// The version that is stored now.
    storage: String,
    /// The version of objects that do not say it: they were stored before there was a webhook.
    unmarked: String,
}

/// What is converted: whole objects with their types, all of one kind.
struct Request<'a> {
    /// The version they have, for errors.
    from: &'a str,
    /// The version they shall have.
    to: &'a str,
    kind: &'a str,
    is_list: bool,
}

impl Webhook {
    /// Reads a definition that has one.
    pub fn of(crd: &Value) -> Option<Self> {
        let conversion = &crd["spec"]["conversion"];
        if conversion["strategy"] != "Webhook" {
            return None;
        }
        let webhook = &conversion["webhook"];
        let group = text_at(crd, &["spec", "group"]);
        let mut versions = crd["spec"]["versions"].as_array().into_iter().flatten();
        let storage = versions.find(|version| version["storage"] == true).map(|version| text_at(version, &["name"]));
        let storage = group_version(group, storage.unwrap_or_default());
        let first = crd["status"]["storedVersions"][0].as_str();
        let mut reviews = webhook["conversionReviewVersions"].as_array().into_iter().flatten();
        Some(Self {
            client: Client::of_config(&webhook["clientConfig"]),
            review: reviews.find_map(|version| ["v1", "v1beta1"].into_iter().find(|known| version == known)),
            unmarked: first.map_or_else(|| storage.clone(), |version| group_version(group, version)),
            storage,
        })
    }
}

fn webhook(resource: &Resource) -> Option<&Webhook> {
    resource.custom.as_ref()?.conversion.as_ref()
}

impl Server {
    /// Objects of one version as another shows them.
    pub async fn convert(&self, from: &Resource, to: &Resource, values: Vec<Value>) -> Result<Vec<Value>> {
        let (Some(webhook), false) = (webhook(from), from.version == to.version) else { return Ok(values) };
        let (has, wanted) = (from.api_version(), to.api_version());
        let typed = values.into_iter().map(|value| with_type(value, &has, &from.kind)).collect();
        let request = Request { from: &has, to: &wanted, kind: &from.kind, is_list: false };
        self.call_conversion(webhook, &request, typed).await
    }

    /// An object as it is stored.
    pub async fn stored_form(&self, resource: &Resource, mut value: Value, managed: Managers) -> Result<Content> {
        let Some(webhook) = webhook(resource) else {
            return Ok(Content { value: stored_form(resource, value), managed: Some(managed) });
        };
        let has = resource.api_version();
        let mut stored = if webhook.storage == has {
            value
        } else {
            let request = Request { from: &has, to: &webhook.storage, kind: &resource.kind, is_list: false };
            managed::put(&mut value, &managed);
            let typed = with_type(value, &has, &resource.kind);
            let mut converted = self.call_conversion(webhook, &request, vec![typed]).await?.pop().unwrap_or_default();
            managed::take(&mut converted);
            converted
        };
        stored["apiVersion"] = webhook.storage.as_str().into();
        Ok(Content { value: stored, managed: Some(managed) })
    }

    /// Stored objects in the version of a resource; those that are in another go through the webhook together.
    pub async fn from_storage(
        &self,
        resource: &Resource,
        objects: &[Arc<Object>],
        is_list: bool,
    ) -> Result<Vec<Arc<Object>>> {
        let wanted = resource.api_version();
        let webhook = webhook(resource);
        let version_of = |object: &Object| {
            let marked = object.value["apiVersion"].as_str().map(str::to_owned);
            marked.or_else(|| webhook.map(|webhook| webhook.unmarked.clone())).unwrap_or_else(|| wanted.clone())
        };
        let versions: Vec<String> = objects.iter().map(|object| version_of(object)).collect();
        let differs = |version: &String| webhook.is_some() && *version != wanted;
        let others = objects.iter().zip(&versions).filter(|(_, version)| differs(version));
        let typed: Vec<Value> =
            others.map(|(object, version)| with_type(object.whole(), version, &resource.kind)).collect();
        let mut converted = match (webhook, versions.iter().find(|version| differs(version))) {
            (Some(webhook), Some(from)) => {
                let request = Request { from, to: &wanted, kind: &resource.kind, is_list };
                self.call_conversion(webhook, &request, typed).await?.into_iter()
            }
            _ => Vec::new().into_iter(),
        };
        let shown = objects.iter().zip(&versions).map(|(object, version)| {
            if differs(version) {
                let mut value = converted.next().unwrap_or_default();
                managed::take(&mut value);
                return Arc::new(object.shown_as(value));
            }
            if object.value.get("apiVersion").is_none() {
                return Arc::clone(object);
            }
            Arc::new(object.shown_as(without_type(object.value.clone())))
        });
        Ok(shown.collect())
    }

    async fn call_conversion(
        &self,
        webhook: &Webhook,
        request: &Request<'_>,
        objects: Vec<Value>,
    ) -> Result<Vec<Value>> {
        let version = webhook.review.ok_or_else(|| Status::internal("no supported conversion review versions"))?;
        let uid = self.random.uid();
        let review = json!({
            "kind": KIND, "apiVersion": format!("{GROUP}/{version}"),
            "request": {"uid": uid, "desiredAPIVersion": request.to, "objects": objects},
            "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}},
        });
        let failed = |why: String| {
            let (from, kind) = (request.from, request.kind);
            Status::internal(format!("conversion webhook for {from}, Kind={kind} failed: {why}"))
        };
        let types = [("apiextensions.k8s.io/v1", KIND), ("apiextensions.k8s.io/v1beta1", KIND)];
        let answer =
            self.dialer.review(&self.store, &webhook.client, &review, TIMEOUT, &types).await.map_err(failed)?;
        let converted = converted(&answer, &uid, version).map_err(failed)?;
        request.accept(&objects, converted).map_err(Status::internal)
    }
}

/// The objects of an answer that counts.
fn converted(answer: &Value, uid: &str, version: &str) -> std::result::Result<Vec<Value>, String> {
    let found = text_at(answer, &["apiVersion"]);
    let is_strict = version == "v1";
    if is_strict && found != format!("{GROUP}/v1") {
        return Err(format!("expected webhook response of {GROUP}/v1, Kind={KIND}, got {found}, Kind={KIND}"));
    }
    let response = answer.get("response").filter(|response| response.is_object()).ok_or("no response provided")?;
    let given = text_at(response, &["uid"]);
    if is_strict && given != uid {
        return Err(format!("expected response.uid={uid:?}, got {given:?}"));
    }
    let (status, message) = (text_at(response, &["result", "status"]), text_at(response, &["result", "message"]));
    match (status, message) {
        ("Success", _) => Ok(response["convertedObjects"].as_array().cloned().unwrap_or_default()),
        (status, "") => Err(format!("response.result.status was '{status}', not 'Success'")),
        (_, message) => Err(message.to_owned()),
    }
}

impl Request<'_> {
    /// Takes what the webhook made of the objects, which may be anything but other objects.
    fn accept(&self, originals: &[Value], converted: Vec<Value>) -> std::result::Result<Vec<Value>, String> {
        let told = format!("conversion webhook for {}, Kind={}", self.from, self.kind);
        if converted.len() != originals.len() {
            return Err(format!("{told} returned {} objects, expected {}", converted.len(), originals.len()));
        }
        let mut accepted = Vec::with_capacity(converted.len());
        for (index, (original, mut object)) in originals.iter().zip(converted).enumerate() {
            let place = if self.is_list { "converted object" } else { "object" };
            let invalid = |why: String| format!("{told} returned invalid {place} at index {index}: {why}");
            let (version, kind) = (text_at(&object, &["apiVersion"]), text_at(&object, &["kind"]));
            if version != self.to {
                return Err(invalid(format!("invalid groupVersion (expected {}, received {version})", self.to)));
            }
            if kind != self.kind {
                return Err(invalid(format!("invalid kind (expected {}, received {kind})", self.kind)));
            }
            let at_index = if self.is_list { format!(" converted object at index {index}") } else { " object".into() };
            same_object(original, &object).map_err(|why| format!("{told} returned invalid{at_index}: {why}"))?;
            let in_object = if self.is_list { format!(" in object at index {index}") } else { String::new() };
            restore_metadata(original, &mut object)
                .map_err(|why| format!("{told} returned invalid metadata{in_object}: {why}"))?;
            accepted.push(without_type(object));
        }
        Ok(accepted)
    }
}

fn same_object(original: &Value, object: &Value) -> std::result::Result<(), String> {
    for (field, shown) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let (wanted, found) = (text_at(original, &["metadata", field]), text_at(object, &["metadata", field]));
        if wanted != found {
            return Err(format!("must have the same {shown}: {wanted} != {found}"));
        }
    }
    Ok(())
}

/// Of metadata, a webhook may only change labels and annotations.
fn restore_metadata(original: &Value, object: &mut Value) -> std::result::Result<(), String> {
    let Some(given) = object.get("metadata").and_then(Value::as_object) else {
        return Err("missing metadata in converted object".into());
    };
    let mut metadata = original["metadata"].clone();
    for name in ["labels", "annotations"] {
        let Some(fields) = metadata.as_object_mut() else { continue };
        match given.get(name).filter(|given| !given.is_null()) {
            None => {
                fields.remove(name);
            }
            Some(Value::Object(texts)) => {
                if let Some((key, _)) = texts.iter().find(|(_, text)| !text.is_string()) {
                    return Err(format!("metadata.{name}[{key}] must be a string, but is not in converted object"));
                }
                fields.insert(name, Value::Object(texts.clone()));
            }
            Some(_) => return Err(format!("invalid metadata.{name} in converted object")),
        }
    }
    object["metadata"] = metadata;
    Ok(())
}

fn with_type(mut value: Value, api_version: &str, kind: &str) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.insert("apiVersion", api_version.into());
        object.insert("kind", kind.into());
    }
    value
}

fn without_type(mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.remove("apiVersion");
        object.remove("kind");
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(object: Value) -> std::result::Result<Value, String> {
        let original = json!({"metadata": {"name": "w", "uid": "u", "generation": 3, "labels": {"a": "b"}}});
        let request = Request { from: "g/v2", to: "g/v1", kind: "W", is_list: false };
        request.accept(&[original], vec![object]).map(|mut objects| objects.remove(0))
    }

    #[test]
    fn metadata_is_kept_but_for_labels_and_annotations() {
        let object = json!({"apiVersion": "g/v1", "kind": "W", "spec": 1,
                            "metadata": {"name": "w", "uid": "u", "generation": 9, "annotations": {"c": "d"}}});
        let wanted =
            json!({"metadata": {"name": "w", "uid": "u", "generation": 3, "annotations": {"c": "d"}}, "spec": 1});
        assert_eq!(accepted(object), Ok(wanted));
    }

    #[test]
    fn another_object_is_not_accepted() {
        let told = "conversion webhook for g/v2, Kind=W returned invalid";
        let object = |version: &str, kind: &str, metadata: Value| json!({"apiVersion": version, "kind": kind, "metadata": metadata});
        let cases = [
            (object("g/v3", "W", json!({})), " object at index 0: invalid groupVersion (expected g/v1, received g/v3)"),
            (object("g/v1", "X", json!({})), " object at index 0: invalid kind (expected W, received X)"),
            (object("g/v1", "W", json!({"name": "x"})), " object: must have the same name: w != x"),
            (object("g/v1", "W", json!({"name": "w"})), " object: must have the same UID: u != "),
            (
                object("g/v1", "W", json!({"name": "w", "uid": "u", "labels": {"a": 1}})),
                " metadata: metadata.labels[a] must be a string, but is not in converted object",
            ),
        ];
        for (object, why) in cases {
            assert_eq!(accepted(object), Err(format!("{told}{why}")));
        }
        let request = Request { from: "g/v2", to: "g/v1", kind: "W", is_list: true };
        let why = "conversion webhook for g/v2, Kind=W returned 0 objects, expected 1";
        assert_eq!(request.accept(&[json!({})], Vec::new()), Err(why.into()));
    }

    #[test]
    fn an_answer_must_say_success_and_be_for_this_question() {
        let answer = |response: Value| {
            converted(&json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": KIND, "response": response}), "u", "v1")
        };
        let result = |result: Value| answer(json!({"uid": "u", "result": result}));
        assert_eq!(answer(json!(null)), Err("no response provided".into()));
        assert_eq!(answer(json!({"uid": "x"})), Err("expected response.uid=\"u\", got \"x\"".into()));
        assert_eq!(result(json!({"status": "Failed", "message": "no way"})), Err("no way".into()));
        assert_eq!(result(json!({})), Err("response.result.status was '', not 'Success'".into()));
        assert_eq!(result(json!({"status": "Success"})), Ok(Vec::new()));
    }
}
