//! The life of a definition: what it has from the start, when its kinds are served, and how they end.

use std::sync::Arc;

use kueue_core::time::Time;

use super::definition::{NamesIn, accept_names};
use super::{FINALIZER, STORAGE, is_definition, resources};
use crate::json::{Value, json};
use crate::kinds::{Registry, Resource, storage};
use crate::rest::service::Server;
use crate::schema::object_at;
use crate::status::{About, Result, Status};
use crate::store::{Key, Object};

/// What keeps a definition until its objects are gone.
pub fn finalizer(resource: &Resource) -> Option<&'static str> {
    is_definition(resource).then_some(FINALIZER)
}

/// Fills in what a new definition has from the start.
pub fn prepare(resource: &Resource, value: &mut Value) {
    if !is_definition(resource) {
        return;
    }
    let kind = value["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
    if let Some(names) = object_at(value, &["spec", "names"]) {
        let is_unset = |name: Option<&Value>| name.and_then(Value::as_str).is_none_or(str::is_empty);
        if is_unset(names.get("singular")) {
            names.insert("singular", kind.to_lowercase().into());
        }
        if is_unset(names.get("listKind")) && !kind.is_empty() {
            names.insert("listKind", format!("{kind}List").into());
        }
    }
    drop_nulls(value);
    if let Some(spec) = object_at(value, &["spec"]) {
        spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    }
    let names = json!({"kind": "", "plural": ""});
    let stored: Vec<Value> = storage_version(value).into_iter().collect();
    value["status"] = json!({"conditions": null, "acceptedNames": names, "storedVersions": stored});
}

/// A schema that says nothing of something does not say null.
fn drop_nulls(value: &mut Value) {
    let schemas = value["spec"]["versions"].as_array_mut().into_iter().flatten();
    for schema in schemas.filter_map(|version| version.get_mut("schema")) {
        drop_nulls_below(schema, true);
    }
}

/// Below `properties` names are not keywords, and values of `default` and `example` are anybody's.
fn drop_nulls_below(schema: &mut Value, are_keywords: bool) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            for (name, inner) in fields.iter_mut() {
                if !are_keywords || !["default", "example", "enum"].contains(&name.as_str()) {
                    drop_nulls_below(inner, !are_keywords || name != "properties");
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_nulls_below(item, true)),
        _ => {}
    }
}

fn storage_version(definition: &Value) -> Option<Value> {
    let mut versions = definition["spec"]["versions"].as_array()?.iter();
    versions.find(|version| version["storage"] == true).map(|version| version["name"].clone())
}

/// Remembers every version that objects may have been stored in.
pub fn prepare_update(resource: &Resource, value: &mut Value) {
    if !is_definition(resource) {
        return;
    }
    drop_nulls(value);
    let stored = storage_version(value);
    let known = object_at(value, &["status"]).map(|status| status.entry("storedVersions").or_insert_with(|| json!([])));
    if let Some(list) = known.and_then(Value::as_array_mut)
        && let Some(stored) = stored.filter(|stored| !list.contains(stored))
    {
        list.push(stored);
    }
}

/// A definition that is being deleted says so.
pub fn mark_terminating(resource: &Resource, value: &mut Value, now: Time) {
    if is_definition(resource) {
        let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        set_condition(value, &Condition::new("Terminating", true, "InstanceDeletionPending", message), now);
    }
}

/// Nothing new is made of a kind that is going.
pub fn check_create(resource: &Resource, name: &str) -> Result<()> {
    if resource.custom.as_ref().is_none_or(|custom| !custom.is_terminating) {
        return Ok(());
    }
    let about = About { group: &resource.group, kind: &resource.plural, name };
    Err(Status::forbidden(about, "create not allowed while custom resource definition is terminating"))
}

#[derive(Debug, Clone)]
struct Condition {
    kind: &'static str,
    is_true: bool,
    reason: &'static str,
    message: String,
}

impl Condition {
    fn new(kind: &'static str, is_true: bool, reason: &'static str, message: impl Into<String>) -> Self {
        Self { kind, is_true, reason, message: message.into() }
    }
}

/// Sets a condition; its time moves with its status.
fn set_condition(value: &mut Value, condition: &Condition, now: Time) {
    let Some(status) = object_at(value, &["status"]) else { return };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if conditions.is_null() {
        *conditions = json!([]);
    }
    let Some(list) = conditions.as_array_mut() else { return };
    let state = if condition.is_true { "True" } else { "False" };
    let mut new = json!({
        "type": condition.kind, "status": state, "lastTransitionTime": now.to_string(), "reason": condition.reason,
        "message": condition.message,
    });
    match list.iter_mut().find(|known| known["type"] == condition.kind) {
        Some(known) => {
            if known["status"] == state {
                new["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = new;
        }
        None => list.push(new),
    }
}

fn is_true(definition: &Value, kind: &str) -> bool {
    let conditions = definition["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|one| one["type"] == kind && one["status"] == "True")
}

/// The definition with the names it gets, and what that means for it.
fn with_names(definition: &Value, taken: &NamesIn, now: Time) -> Value {
    let mut value = definition.clone();
    let (names, refused) = accept_names(&value["spec"]["names"], &value["status"]["acceptedNames"], taken);
    value["status"]["acceptedNames"] = names;
    let accepted = match &refused {
        None => Condition::new("NamesAccepted", true, "NoConflicts", "no conflicts found"),
        Some((reason, message)) => Condition::new("NamesAccepted", false, reason, message.clone()),
    };
    set_condition(&mut value, &accepted, now);
    if !is_true(definition, "Established") {
        let (reason, message) = match refused {
            None => ("Installing", "the initial names have been accepted"),
            Some(_) => ("NotAccepted", "not all names are accepted"),
        };
        set_condition(&mut value, &Condition::new("Established", false, reason, message), now);
    }
    value
}

impl Server {
    /// What follows from a write: definitions change the kinds there are, and end with their last object.
    pub async fn after_write(&self, resource: &Resource, key: &Key) {
        self.settle_api_services(&resource.storage).await;
        if is_definition(resource) {
            self.settle_definitions(key);
        } else if resource.custom.as_ref().is_some_and(|custom| custom.is_terminating) {
            self.settle_definitions(&Key::new("", format!("{}.{}", resource.plural, resource.group)));
        }
    }

    /// Serves the kinds of definitions that nobody wrote here: they came with an image.
    pub fn serve_stored_definitions(&self) {
        self.settle_definitions(&Key::new("", ""));
    }

    /// Accepts, serves or ends definitions, in the steps that a watcher of them expects. Names that one gives up or
    /// takes may be of interest to others of its group.
    fn settle_definitions(&self, key: &Key) {
        if let Some(read) = self.store.get(STORAGE, key)
            && read.value["metadata"].get("deletionTimestamp").is_some()
        {
            self.end_definition(key, &read);
        }
        let all = || self.store.list(STORAGE, "", None).map(|found| found.objects).unwrap_or_default();
        for (own, _) in all() {
            let Some(read) = self.store.get(STORAGE, &own) else { continue };
            let mut taken = NamesIn::default();
            for (other, definition) in all() {
                if other != own && definition.value["spec"]["group"] == read.value["spec"]["group"] {
                    taken.add(&definition.value["status"]["acceptedNames"]);
                }
            }
            self.accept_definition(&own, &read, &taken);
        }
        self.replace_registry(|registry| {
            let built_in = Arc::clone(registry.built_in());
            let definitions = all();
            let custom: Vec<Arc<Resource>> = definitions
                .iter()
                .flat_map(|(_, definition)| match registry.defined_at(definition.revision) {
                    known if known.is_empty() => {
                        resources(definition, &built_in.metadata).into_iter().map(Arc::new).collect()
                    }
                    // To read a definition is dear, and this one has not changed.
                    known => known,
                })
                .collect();
            custom.iter().for_each(|resource| self.store.open(&resource.storage));
            Registry::new(built_in, custom)
        });
        self.settle_local_api_services();
    }

    /// Names first, then service: two writes, as a watcher sees them. Somebody else may be faster; their write comes
    /// here as well.
    fn accept_definition(&self, key: &Key, read: &Arc<Object>, taken: &NamesIn) {
        let now = self.clock.time();
        let value = with_names(&read.value, taken, now);
        if value != read.value {
            let _ = self.store.update(STORAGE, key.clone(), read, value);
        }
        let Some(read) = self.store.get(STORAGE, key) else { return };
        if is_true(&read.value, "NamesAccepted") && !is_true(&read.value, "Established") {
            let mut value = read.value.clone();
            let message = "the initial names have been accepted";
            set_condition(&mut value, &Condition::new("Established", true, "InitialNamesAccepted", message), now);
            let _ = self.store.update(STORAGE, key.clone(), &read, value);
        }
    }

    /// Deletes all objects of a definition, then what keeps it. Objects with finalizers keep it longer.
    fn end_definition(&self, key: &Key, read: &Arc<Object>) {
        let has_own =
            read.value["metadata"]["finalizers"].as_array().is_some_and(|all| all.contains(&FINALIZER.into()));
        if !has_own {
            return;
        }
        let now = self.clock.time();
        let mut value = read.value.clone();
        let message = "CustomResource deletion is in progress";
        set_condition(&mut value, &Condition::new("Terminating", true, "InstanceDeletionInProgress", message), now);
        if value != read.value && self.store.update(STORAGE, key.clone(), read, value).is_err() {
            return;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let place = storage(&text(&read.value["spec"]["group"]), &text(&read.value["spec"]["names"]["plural"]));
        let mut is_held = false;
        for (key, object) in self.store.list(&place, "", None).map(|found| found.objects).unwrap_or_default() {
            is_held |= self.end_instance(&place, key, &object, now);
        }
        if is_held {
            return;
        }
        let Some(read) = self.store.get(STORAGE, key) else { return };
        let mut value = read.value.clone();
        let mut is_free = true;
        if let Some(finalizers) = value["metadata"]["finalizers"].as_array_mut() {
            finalizers.retain(|name| name != FINALIZER);
            is_free = finalizers.is_empty();
        }
        let completed = Condition::new("Terminating", false, "InstanceDeletionCompleted", "removed all instances");
        set_condition(&mut value, &completed, now);
        let _ = match is_free {
            true => self.store.delete(STORAGE, key.clone(), &read, value),
            false => self.store.update(STORAGE, key.clone(), &read, value),
        };
    }

    /// Removes an object, or marks it; tells whether it stays.
    fn end_instance(&self, place: &str, key: Key, object: &Arc<Object>, now: Time) -> bool {
        let metadata = &object.value["metadata"];
        if metadata["finalizers"].as_array().is_none_or(Vec::is_empty) {
            return self.store.delete(place, key, object, object.value.clone()).is_err();
        }
        if metadata.get("deletionTimestamp").is_none() {
            let mut value = object.value.clone();
            let generation = metadata["generation"].as_i64().unwrap_or_default();
            if let Some(metadata) = object_at(&mut value, &["metadata"]) {
                metadata.insert("deletionTimestamp", now.to_string().into());
                metadata.insert("deletionGracePeriodSeconds", 0.into());
                metadata.insert("generation", (generation + 1).into());
            }
            let _ = self.store.update(place, key, object, value);
        }
        true
    }
}
