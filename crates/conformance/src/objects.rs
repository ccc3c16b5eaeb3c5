//! The objects of a case, in an API server that is small enough to read: what a framework wants written is applied to
//! them, events are kept, and [`Comparison`] says whether the outcome is the recorded one.
//!
//! A write changes what it names and nothing else: one of the spec leaves the status alone and the reverse, an object
//! with finalizers that is deleted stays until the last of them is gone.

mod comparison;
mod facts;
mod writes;

use std::collections::BTreeMap;

use kueue_api::meta::{Object, ObjectMeta};
use kueue_core::time::Time;
use kueue_runtime::client::Patch;
use serde_json::{Map, Value, json};

use crate::corpus::{Case, Failure, decode};

pub(crate) use comparison::{same_events, same_object, same_objects};

/// Kind, namespace and name.
type Place = (String, String, String);

/// What an API server holds, and the events that were told.
#[derive(Debug)]
pub(crate) struct Objects {
    stored: BTreeMap<Place, Value>,
    pub(crate) now: Time,
    /// As the corpus writes them, in order.
    pub(crate) events: Vec<Value>,
}

impl Objects {
    pub(crate) fn new(now: Time) -> Self {
        Self { stored: BTreeMap::new(), now, events: Vec::new() }
    }

    /// What the API server held just before the call.
    pub(crate) fn of_case(case: &Case) -> Result<Self, Failure> {
        let mut objects = Self::new(case.now()?);
        objects.add(&case.cluster)?;
        Ok(objects)
    }

    /// Stores objects as they are, one or a list of them.
    pub(crate) fn add(&mut self, objects: &Value) -> Result<(), Failure> {
        match objects {
            Value::Null => Ok(()),
            Value::Array(objects) => objects.iter().try_for_each(|object| self.add(object)),
            object => {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let kind = text(&object["kind"]);
                if kind.is_empty() {
                    return Err(Failure(format!("an object without a kind: {object}")));
                }
                let meta = &object["metadata"];
                self.stored.insert((kind, text(&meta["namespace"]), text(&meta["name"])), object.clone());
                Ok(())
            }
        }
    }

    /// All objects of a kind, by name.
    pub(crate) fn all<T: Object>(&self) -> Result<Vec<T>, Failure> {
        let is_meant = |place: &Place| place.0 == T::KIND;
        let found = self.stored.iter().filter(|(place, _)| is_meant(place));
        found.map(|((_, _, name), object)| read(&format!("{} {name}", T::KIND), object)).collect()
    }

    pub(crate) fn get<T: Object>(&self, namespace: &str, name: &str) -> Result<Option<T>, Failure> {
        let found = self.raw(T::KIND, namespace, name);
        found.map(|object| read(&format!("{} {name}", T::KIND), object)).transpose()
    }

    /// The metadata of an object of any kind.
    pub(crate) fn metadata(&self, kind: &str, namespace: &str, name: &str) -> Option<ObjectMeta> {
        serde_json::from_value(self.raw(kind, namespace, name)?["metadata"].clone()).ok()
    }

    /// An object of any kind, as it is stored.
    pub(crate) fn raw(&self, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        self.stored.get(&(kind.to_owned(), namespace.to_owned(), name.to_owned()))
    }

    pub(crate) fn create<T: Object>(&mut self, object: &T) -> Result<(), Failure> {
        let place = place(object);
        if self.stored.contains_key(&place) {
            return Err(Failure(format!("{} {:?} already exists", T::KIND, place.2)));
        }
        let mut stored = json!(object);
        if let Some(fields) = stored.as_object_mut() {
            fields.remove("status");
        }
        self.stored.insert(place, stored);
        Ok(())
    }

    /// Makes of the object that was read the one that is wanted, except for its status.
    pub(crate) fn update<T: Object>(&mut self, read: &T, wanted: &T) -> Result<(), Failure> {
        self.patch(read, wanted, false)
    }

    /// Makes the status that was read the one that is wanted, and nothing else.
    pub(crate) fn update_status<T: Object>(&mut self, read: &T, wanted: &T) -> Result<(), Failure> {
        self.patch(read, wanted, true)
    }

    fn patch<T: Object>(&mut self, read: &T, wanted: &T, is_status: bool) -> Result<(), Failure> {
        let place = place(read);
        let Some(stored) = self.stored.get_mut(&place) else {
            return Err(Failure(format!("{} {:?} is not there to be written", T::KIND, place.2)));
        };
        let Some(patch) = Patch::between(read, wanted, "") else { return Ok(()) };
        let mut body = patch.body().clone();
        if let Some(fields) = body.as_object_mut() {
            fields.retain(|field, _| (field == "status") == is_status);
        }
        if let Some(meta) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.remove("resourceVersion");
        }
        merge(stored, body);
        let meta = &stored["metadata"];
        let is_free = meta["finalizers"].as_array().is_none_or(Vec::is_empty);
        if meta["deletionTimestamp"].is_string() && is_free {
            self.stored.remove(&place);
        }
        Ok(())
    }

    /// Applies conditions: those of the same type are replaced, the others stay.
    pub(crate) fn add_conditions<T: Object>(&mut self, object: &T, applied: &Value) {
        let Some(stored) = self.stored.get_mut(&place(object)) else { return };
        let applied = applied["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let mut conditions = stored["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.retain(|old| !applied.iter().any(|new| new["type"] == old["type"]));
        conditions.extend(applied);
        stored["status"]["conditions"] = conditions.into();
    }

    /// Asks for an object to be gone; says whether it was there.
    pub(crate) fn delete<T: Object>(&mut self, object: &T) -> bool {
        let place = place(object);
        let Some(stored) = self.stored.get_mut(&place) else { return false };
        match stored["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty) {
            true => drop(self.stored.remove(&place)),
            false if stored["metadata"]["deletionTimestamp"].is_null() => {
                stored["metadata"]["deletionTimestamp"] = json!(self.now);
            }
            false => {}
        }
        true
    }

    /// Keeps an event about an object.
    pub(crate) fn tell<T: Object>(&mut self, about: &T, is_warning: bool, reason: &str, message: &str) {
        let meta = about.metadata();
        let key = told(&[("Name", &meta.name), ("Namespace", &meta.namespace)]);
        let kind = if is_warning { "Warning" } else { "Normal" };
        let mut event = told(&[("EventType", kind), ("Reason", reason), ("Message", message)]);
        event.insert("Key".to_owned(), key.into());
        self.events.push(event.into());
    }
}

/// Fields as the corpus writes them: without those that are empty.
fn told(fields: &[(&str, &str)]) -> Map<String, Value> {
    let said = fields.iter().filter(|(_, text)| !text.is_empty());
    said.map(|(name, text)| ((*name).to_owned(), json!(text))).collect()
}

fn place<T: Object>(object: &T) -> Place {
    let meta = object.metadata();
    (T::KIND.to_owned(), meta.namespace.clone(), meta.name.clone())
}

fn read<T: Object>(what: &str, object: &Value) -> Result<T, Failure> {
    decode(what, object)?.ok_or_else(|| Failure(format!("{what} is nothing")))
}

/// A merge patch (RFC 7386).
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else { return *target = patch };
    if !target.is_object() {
        *target = json!({});
    }
    let Some(fields) = target.as_object_mut() else { return };
    for (key, value) in patch {
        match value {
            Value::Null => drop(fields.remove(&key)),
            value => merge(fields.entry(key).or_insert(Value::Null), value),
        }
    }
}

#[cfg(test)]
mod tests {
    use kueue_api::kueue::v1beta2::Workload;

    use super::*;

    fn objects() -> Objects {
        let mut objects = Objects::new("2026-01-01T00:00:00Z".parse().unwrap());
        let object = json!({
            "kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta2",
            "metadata": {"name": "w", "namespace": "n", "finalizers": ["f"]},
            "spec": {"queueName": "a", "unknown": 1}, "status": {"accumulatedPastExecutionTimeSeconds": 1},
        });
        objects.add(&object).unwrap();
        objects
    }

    #[test]
    fn a_write_changes_the_spec_or_the_status() {
        let mut objects = objects();
        let read: Workload = objects.get("n", "w").unwrap().unwrap();
        let mut wanted = read.clone();
        wanted.spec.queue_name = "b".to_owned();
        wanted.status.accumulated_past_execution_time_seconds = Some(2);
        objects.update(&read, &wanted).unwrap();
        let stored = |objects: &Objects| {
            let stored = objects.raw("Workload", "n", "w").unwrap();
            (stored["spec"].clone(), stored["status"]["accumulatedPastExecutionTimeSeconds"].clone())
        };
        assert_eq!(stored(&objects), (json!({"queueName": "b", "unknown": 1}), json!(1)));
        objects.update_status(&read, &wanted).unwrap();
        assert_eq!(stored(&objects), (json!({"queueName": "b", "unknown": 1}), json!(2)));
    }

    #[test]
    fn a_deleted_object_stays_until_its_last_finalizer_is_gone() {
        let mut objects = objects();
        let read: Workload = objects.get("n", "w").unwrap().unwrap();
        assert!(objects.delete(&read));
        let marked: Workload = objects.get("n", "w").unwrap().unwrap();
        assert!(marked.metadata.deletion_timestamp.is_some());
        let mut free = marked.clone();
        free.metadata.finalizers.clear();
        objects.update(&marked, &free).unwrap();
        assert!(objects.raw("Workload", "n", "w").is_none());
        assert!(!objects.delete(&free));
    }
}
