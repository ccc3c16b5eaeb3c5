//! The managed fields of a scale are those of its object that are about the number of replicas.

use super::Managers;
use super::entries::Entry;
use super::set::{FieldSet, Step};

pub const SUBRESOURCE: &str = "scale";
/// The type of every scale.
pub const VERSION: &str = "autoscaling/v1";

/// Where the number of replicas is in the object, as a set.
fn replicas_of(path: &[String]) -> FieldSet {
    let steps: Vec<Step> = path.iter().map(|name| format!("f:{name}").into()).collect();
    let mut set = FieldSet::default();
    set.insert(&steps);
    set
}

fn replicas_in_scale() -> FieldSet {
    replicas_of(&["spec".to_owned(), "replicas".to_owned()])
}

/// The entries of an object that own the number of replicas, as its scale has them.
pub fn lend(of_object: &Managers, path: &[String]) -> Managers {
    let replicas = replicas_of(path);
    let mut of_scale = Managers::default();
    for entry in of_object.iter().filter(|entry| !entry.set.intersection(&replicas).is_empty()) {
        let mut manager = entry.manager.clone();
        if manager.is_update {
            manager.api_version = VERSION.into();
        }
        of_scale.insert(Entry {
            manager,
            set: replicas_in_scale(),
            time: entry.time.clone(),
            api_version: VERSION.into(),
        });
    }
    of_scale
}

/// The entries of an object after a write of its scale: who lost the number of replicas there loses it here.
pub fn take_back(of_object: &Managers, path: &[String], api_version: &str, mut of_scale: Managers) -> Managers {
    let replicas = replicas_of(path);
    let mut managers = Managers::default();
    for entry in of_object.iter() {
        let mut there = entry.manager.clone();
        if there.is_update {
            there.api_version = VERSION.into();
        }
        let mut entry = entry.clone();
        if !entry.set.intersection(&replicas).is_empty() && of_scale.remove(&there).is_none() {
            entry.set.subtract(&replicas);
        }
        managers.insert(entry);
    }
    for entry in of_scale.iter() {
        let mut manager = entry.manager.clone();
        if manager.is_update {
            manager.api_version = api_version.into();
        }
        // The object knows only the times of what was written to it.
        managers.insert(Entry { manager, set: replicas.clone(), time: None, api_version: api_version.into() });
    }
    managers.drop_idle();
    managers
}
