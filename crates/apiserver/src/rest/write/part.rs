//! Parts of an object that are written by themselves, and what a write of one leaves as it was.

use crate::json::{Map, Name, Value};
use crate::kinds::Resource;
use crate::kinds::rules::PartRules;
use crate::managed;
use crate::schema::object_at;

/// Which part of an object a write may change.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// All but the status, where status is a part of its own.
    Main,
    Status,
    /// A part that the kind's rules name, with what may change there.
    Named(&'static PartRules),
    /// The number of replicas.
    Scale,
    /// All of it, as the server itself does.
    Whole,
}

impl Part {
    /// The part that a path names, if it is one that is written like the object itself.
    pub fn of(resource: &Resource, subresource: &str) -> Option<Self> {
        match subresource {
            "" => Some(Part::Main),
            "status" => Some(Part::Status),
            name => resource.rules.parts.iter().find(|part| part.name == name).map(Part::Named),
        }
    }

    /// How managed fields name the part.
    pub fn subresource(self) -> &'static str {
        match self {
            Part::Main | Part::Whole => "",
            Part::Status => "status",
            Part::Named(part) => part.name,
            Part::Scale => "scale",
        }
    }
}

pub fn take_status(value: &mut Value) -> Option<Value> {
    value.as_object_mut()?.remove("status")
}

pub fn keep_status(value: &mut Value, old: &Value) {
    if let Some(object) = value.as_object_mut() {
        object.carry("status", old.get("status"));
    }
}

/// The old object with the new status, and with what metadata the kind lets a status write change.
pub fn with_status(resource: &Resource, mut new: Value, old: &Value) -> Value {
    let (Some(object), Some(before)) = (new.as_object_mut(), old.as_object()) else { return old.clone() };
    restore(object, before, &["metadata", "status"]);
    if let (Some(metadata), Some(before)) = (object_at(&mut new, &["metadata"]), old["metadata"].as_object()) {
        let mut kept = resource.rules.status_metadata.to_vec();
        kept.push(managed::FIELD);
        restore(metadata, before, &kept);
    }
    new
}

/// Makes a map what it was, but for some names. Most of it never changed, and comparing costs less than copying.
fn restore(new: &mut Map, old: &Map, but: &[&str]) {
    let may_change = |name: &Name| but.contains(&name.as_str());
    new.retain(|name, _| may_change(name) || old.contains_key(name));
    for (name, value) in old.iter().filter(|(name, _)| !may_change(name)) {
        new.carry(name, Some(value));
    }
}

/// Generation counts changes of what is neither metadata nor status.
pub fn move_generation(resource: &Resource, value: &mut Value, old: &Value) {
    if !resource.rules.has_generation || resource.rules.keeps_generation {
        return;
    }
    let ignores_status = resource.custom.is_none() || resource.subresource("status").is_some();
    let relabels = resource.rules.labels_count_as_spec && value["metadata"]["labels"] != old["metadata"]["labels"];
    if relabels || !desired(value, ignores_status).eq(desired(old, ignores_status)) {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
        value["metadata"]["generation"] = (generation + 1).into();
    }
}

/// What an object asks for, by name.
fn desired(object: &Value, ignores_status: bool) -> impl Iterator<Item = (&Name, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(move |(name, _)| *name != "metadata" && !(ignores_status && *name == "status"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn a_map_is_restored_but_for_what_may_change() {
        let old = json!({"a": 1, "b": {"c": 1}, "status": "old"});
        let mut new = json!({"b": {"c": 2}, "new": 1, "status": "new"});
        restore(new.as_object_mut().unwrap(), old.as_object().unwrap(), &["status"]);
        assert_eq!(new, json!({"a": 1, "b": {"c": 1}, "status": "new"}));
        let mut without = json!({"a": 1, "b": {"c": 1}});
        restore(without.as_object_mut().unwrap(), old.as_object().unwrap(), &["status"]);
        assert_eq!(without, json!({"a": 1, "b": {"c": 1}}), "what may change may go");
    }
}
