//! `metadata`: what the server sets, what it keeps, what is wrong with the rest.

use std::collections::BTreeMap;
use std::num::IntErrorKind;

use kueue_core::field::{Error, Errors, Path};
use kueue_core::label;

use crate::clock::Clock;
use crate::json::{Map, Value};
use crate::kinds::{Resource, text_at};
use crate::random::Random;
use crate::schema::object_at;
use crate::status::{Result, Status};

/// Together, keys and values, of all annotations.
const ANNOTATIONS_BYTES_MAX: usize = 256 << 10;
/// Longest `generateName` that leaves room for the suffix.
const GENERATE_NAME_MAX: usize = 58;

/// Fields of `metadata` that a client cannot change.
const SERVER_OWNED: [&str; 4] = ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

/// Gives an object a name, when it only has the beginning of one.
pub fn generate_name(object: &mut Value, random: &Random) {
    let Some(metadata) = object_at(object, &["metadata"]) else { return };
    let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, prefix) = (text("name"), text("generateName"));
    if name.is_empty() && !prefix.is_empty() {
        let kept: String = prefix.chars().take(GENERATE_NAME_MAX).collect();
        metadata.insert("name", format!("{kept}{}", random.name_suffix()).into());
    }
}

/// Sets what a new object gets from the server; what a client says of these is ignored.
pub fn fill(object: &mut Value, resource: &Resource, random: &Random, clock: &Clock) {
    let Some(metadata) = object_at(object, &["metadata"]) else { return };
    for name in SERVER_OWNED {
        metadata.remove(name);
    }
    metadata.remove("resourceVersion");
    metadata.insert("uid", random.uid().into());
    metadata.insert("creationTimestamp", clock.time().to_string().into());
    if resource.rules.has_generation {
        metadata.insert("generation", 1.into());
    }
    drop_duplicate_owners(metadata);
}

/// Keeps what an update may not touch.
pub fn carry_over(new: &mut Value, old: &Value) {
    let Some(metadata) = object_at(new, &["metadata"]) else { return };
    for name in SERVER_OWNED.iter().chain(&["uid", "generation"]) {
        metadata.carry(name, old["metadata"].get(name));
    }
    drop_duplicate_owners(metadata);
}

/// Equal owner references count once. Returns whether there were any.
pub fn drop_duplicate_owners(metadata: &mut Map) -> bool {
    let listed = metadata.get("ownerReferences").and_then(Value::as_array).map_or(0, Vec::len);
    if listed < 2 {
        return false;
    }
    let Some(Value::Array(owners)) = metadata.get_mut("ownerReferences") else { return false };
    let before = owners.len();
    let mut kept: Vec<Value> = Vec::with_capacity(before);
    for owner in owners.drain(..) {
        if !kept.contains(&owner) {
            kept.push(owner);
        }
    }
    **owners = kept;
    owners.len() < before
}

/// What is told when owners are named more than once.
pub fn owner_warning(object: &Value) -> Option<String> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let is_repeated = |index: usize| owners[..index].contains(&owners[index]);
    let mut uids: Vec<&str> = Vec::new();
    for uid in (0..owners.len()).filter(|index| is_repeated(*index)).filter_map(|index| owners[index]["uid"].as_str()) {
        if !uids.contains(&uid) {
            uids.push(uid);
        }
    }
    (!uids.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may \
             reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            uids.join(", ")
        )
    })
}

/// The version that an object says it has; 0 when it says nothing.
pub fn version(object: &Value) -> Result<u64> {
    let text = text_at(object, &["metadata", "resourceVersion"]);
    let why = match text.parse::<u64>() {
        _ if text.is_empty() => return Ok(0),
        Ok(version) if !text.starts_with('+') => return Ok(version),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => "value out of range",
        _ => "invalid syntax",
    };
    Err(Status::internal(format!("strconv.ParseUint: parsing {text:?}: {why}")))
}

/// Puts the namespace of the URL into an object, or refuses one that names another.
pub fn settle_namespace(object: &mut Value, namespace: &str) -> Result<()> {
    let Some(metadata) = object_at(object, &["metadata"]) else {
        return Err(Status::bad_request("metadata must be an object"));
    };
    let given = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    if !given.is_empty() && !namespace.is_empty() && given != namespace {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Status::bad_request(why));
    }
    if namespace.is_empty() {
        metadata.remove("namespace");
    } else if given != namespace {
        metadata.insert("namespace", namespace.into());
    }
    Ok(())
}

/// Every mistake of a new object's metadata.
pub fn validate(object: &Value, resource: &Resource) -> Errors {
    let mut errors = validate_name(object, resource);
    errors.extend(validate_rest(object));
    errors
}

fn validate_name(object: &Value, resource: &Resource) -> Errors {
    let mut errors = Errors::new();
    let at = Path::new("metadata");
    let metadata = &object["metadata"];
    let text = |name: &str| metadata[name].as_str().unwrap_or_default();
    if !text("generateName").is_empty() {
        for why in (resource.rules.check_name)(&format!("{}a", text("generateName").trim_end_matches('-'))) {
            errors.push(Error::invalid(&at.child("generateName"), text("generateName"), why));
        }
    }
    if text("name").is_empty() {
        errors.push(Error::required(&at.child("name"), "name or generateName is required"));
    } else {
        for why in (resource.rules.check_name)(text("name")) {
            errors.push(Error::invalid(&at.child("name"), text("name"), why));
        }
    }
    errors
}

/// Labels, annotations, owners and finalizers, which a client may change at any time.
pub fn validate_rest(object: &Value) -> Errors {
    let at = Path::new("metadata");
    let metadata = &object["metadata"];
    let mut errors = label::validate_labels(&strings(&metadata["labels"]), &at.child("labels"));
    errors.extend(validate_annotations(&metadata["annotations"], &at.child("annotations")));
    errors.extend(validate_owners(&metadata["ownerReferences"], &at.child("ownerReferences")));
    errors.extend(validate_finalizers(&metadata["finalizers"], &at.child("finalizers")));
    errors
}

/// Every mistake of a change of metadata.
pub fn validate_update(new: &Value, old: &Value) -> Errors {
    if new["metadata"].is_same_as(&old["metadata"]) {
        return Errors::new();
    }
    let mut errors = validate_rest(new);
    let at = Path::new("metadata");
    if old["metadata"].get("deletionTimestamp").is_some() {
        let before = finalizers(old);
        let added: Vec<&str> = finalizers(new).into_iter().filter(|name| !before.contains(name)).collect();
        if !added.is_empty() {
            let shown: Vec<String> = added.iter().map(|name| format!("{name:?}")).collect();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                shown.join(", ")
            );
            errors.push(Error::forbidden(&at.child("finalizers"), why));
        }
    }
    errors
}

pub fn finalizers(object: &Value) -> Vec<&str> {
    let listed = object["metadata"]["finalizers"].as_array().map(Vec::as_slice).unwrap_or_default();
    listed.iter().filter_map(Value::as_str).collect()
}

/// A map of texts, as labels and annotations are.
pub fn strings(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_owned()))).collect()
}

fn validate_annotations(annotations: &Value, at: &Path) -> Errors {
    let annotations = strings(annotations);
    let mut errors = label::validate_annotations(&annotations, at);
    let bytes: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > ANNOTATIONS_BYTES_MAX && errors.is_empty() {
        errors.push(Error::too_long(at, ANNOTATIONS_BYTES_MAX));
    }
    errors
}

fn validate_owners(owners: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let mut controller: Option<String> = None;
    for owner in owners.as_array().into_iter().flatten() {
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        for (field, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if text(field).is_empty() {
                errors.push(Error::invalid(&at.child(field), text(field), why));
            }
        }
        if (text("apiVersion"), text("kind")) == ("v1", "Event") {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(Error::invalid(at, owner.clone(), why));
        }
        if owner["controller"] == true {
            let name = format!("{}/{}", text("kind"), text("name"));
            if let Some(first) = &controller {
                let detail = format!(
                    "{}: Only one reference can have Controller set to true. Found \"true\" in references for {first} \
                     and {name}",
                    shown_owners(owners)
                );
                errors.push(Error { value: None, detail, ..Error::invalid(at, "", "") });
            }
            controller = Some(name);
        }
    }
    errors
}

/// Owners as Go prints them: the fields in the order of their declaration.
fn shown_owners(owners: &Value) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let one = |owner: &Value| {
        let parts = fields.iter().filter_map(|name| Some(format!("\"{name}\":{}", owner.get(name)?)));
        format!("{{{}}}", parts.collect::<Vec<String>>().join(","))
    };
    let all: Vec<String> = owners.as_array().into_iter().flatten().map(one).collect();
    format!("[{}]", all.join(","))
}

fn validate_finalizers(finalizers: &Value, at: &Path) -> Errors {
    const BUILT_IN: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];
    let mut errors = Errors::new();
    let names: Vec<&str> = finalizers.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (index, name) in names.iter().enumerate() {
        let (at, mistakes) = (at.index(index), label::qualified_name(name));
        if !mistakes.is_empty() {
            errors.extend(mistakes.into_iter().map(|why| Error::invalid(&at, *name, why)));
        } else if !name.contains('/') && !BUILT_IN.contains(name) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(Error::invalid(&at, *name, why));
        }
    }
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(Error::invalid(at, finalizers.clone(), why));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn owners_that_are_named_twice_are_told() {
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u"});
        let object = |owners: Value| json!({"metadata": {"ownerReferences": owners}});
        assert_eq!(owner_warning(&object(json!([owner]))), None);
        let told = owner_warning(&object(json!([owner, owner]))).unwrap();
        assert!(told.ends_with("duplicate UID(s) observed: u"), "{told}");
    }

    #[test]
    fn only_one_owner_controls() {
        let owner =
            |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": true});
        let errors = validate_owners(&json!([owner("a"), owner("b")]), &Path::new("o"));
        assert_eq!(errors.len(), 1);
        assert!(errors[0].detail.ends_with("in references for Pod/a and Pod/b"));
    }

    #[test]
    fn a_deleted_object_gains_no_finalizer() {
        let object = |finalizers: Value| json!({"metadata": {"deletionTimestamp": "x", "finalizers": finalizers}});
        let errors = validate_update(&object(json!(["a/b", "c/d"])), &object(json!(["a/b"])));
        assert_eq!(
            errors[0].to_string(),
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
             finalizers []string{\"c/d\"}"
        );
        assert!(validate_update(&object(json!([])), &object(json!(["a/b"]))).is_empty());
    }

    #[test]
    fn what_the_server_owns_survives_an_update() {
        let old = json!({"metadata": {"uid": "u", "creationTimestamp": "t", "generation": 3}});
        let mut new = json!({"metadata": {"uid": "x", "deletionTimestamp": "now", "labels": {"a": "b"}}});
        carry_over(&mut new, &old);
        assert_eq!(
            new,
            json!({"metadata": {"uid": "u", "creationTimestamp": "t", "generation": 3, "labels": {"a": "b"}}})
        );
    }
}
