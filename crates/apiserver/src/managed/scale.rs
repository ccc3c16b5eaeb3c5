//! The managed fields of a scale are those of its object that are about the number of replicas.

use serde_json::{Value, json};

use super::entries::{self, Managers, Owned};
use super::set::FieldSet;
use super::{entries_of, write};

pub const SUBRESOURCE: &str = "scale";
/// The type of every scale.
pub const VERSION: &str = "autoscaling/v1";

/// Where the number of replicas is in the object, as a set.
fn replicas_of(path: &[String]) -> FieldSet {
    let steps: Vec<String> = path.iter().map(|name| format!("f:{name}")).collect();
    let mut set = FieldSet::default();
    set.insert(&steps);
    set
}

fn replicas_in_scale() -> FieldSet {
    replicas_of(&["spec".to_owned(), "replicas".to_owned()])
}

/// Gives a scale the entries of its object that own the number of replicas.
pub fn lend(object: &Value, path: &[String], scale: &mut Value) {
    let replicas = replicas_of(path);
    let mut managers = Managers::new();
    for (mut manager, owned) in entries_of(Some(object)) {
        if !owned.set.intersection(&replicas).is_empty() {
            if manager.is_update {
                manager.api_version = VERSION.into();
            }
            managers.insert(manager, Owned { set: replicas_in_scale(), api_version: VERSION.into(), ..owned });
        }
    }
    write(scale, managers);
}

/// Gives an object the entries of its scale back: who lost the number of replicas there loses it here.
pub fn take_back(object: &mut Value, path: &[String], api_version: &str, scale: &Value) {
    let replicas = replicas_of(path);
    let mut of_scale = entries_of(Some(scale));
    let mut managers = Managers::new();
    for (manager, mut owned) in entries_of(Some(object)) {
        let mut there = manager.clone();
        if there.is_update {
            there.api_version = VERSION.into();
        }
        if !owned.set.intersection(&replicas).is_empty() && of_scale.remove(&there).is_none() {
            owned.set.subtract(&replicas);
        }
        managers.insert(manager, owned);
    }
    for (mut manager, _) in of_scale {
        if manager.is_update {
            manager.api_version = api_version.to_owned();
        }
        // The object knows only the times of what was written to it.
        managers.insert(manager, Owned { set: replicas.clone(), time: None, api_version: api_version.to_owned() });
    }
    let mut metadata = json!({});
    std::mem::swap(&mut metadata, &mut object["metadata"]);
    if let Some(fields) = metadata.as_object_mut() {
        entries::write(fields, managers);
    }
    object["metadata"] = metadata;
}
