//! Garbage collection by owner references: background, foreground and orphan, as the real collector does it.
//!
//! An object goes when none of its owners is there any more. An owner is found by kind and name in the namespace of its
//! dependent (or nowhere, for kinds without namespaces) and must have the uid of the reference. An owner that is deleted
//! in the foreground stays until the dependents that block it are gone; one that orphans loses its dependents first.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::client::Client;
use super::{Failed, Place};
use crate::json::{Value, json};
use crate::meta;
use crate::rest::delete::{FOREGROUND, ORPHAN};
use crate::rest::write::is_deleted;
use crate::store::Key;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Who depends on whom.
#[derive(Debug, Default)]
pub struct Owners {
    /// Dependents by the uid of an owner.
    dependents: HashMap<String, BTreeSet<Place>>,
    /// Owners that wait for their dependents to go, by uid.
    waiting: HashMap<String, Place>,
    /// Objects with an owner of a kind that nobody knows, yet.
    puzzling: BTreeSet<Place>,
}

/// What became of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Solid,
    Dangling,
    /// It waits for its dependents to go.
    Waiting,
}

/// Why references could not be judged.
enum Unclear {
    UnknownKind,
    /// An object without a namespace cannot be owned by one that has one.
    Impossible,
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

fn references(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn has_finalizer(object: &Value, name: &str) -> bool {
    meta::finalizers(object).contains(&name)
}

/// It stays until its dependents are gone.
fn is_waiting(object: &Value) -> bool {
    is_deleted(object) && has_finalizer(object, FOREGROUND)
}

impl Owners {
    /// Keeps the index true to a change, and says what it makes necessary to look at.
    pub fn note(&mut self, place: Place, old: Option<&Value>, new: Option<&Value>, mut look: impl FnMut(Place)) {
        let owners = |object: Option<&Value>| object.map(references).unwrap_or_default().to_vec();
        let (before, after) = (owners(old), owners(new));
        if before != after || new.is_none() {
            self.reindex(&place, &before, &after, &mut look);
        }
        let Some(object) = new else {
            self.puzzling.remove(&place);
            let gone = old.map(uid).unwrap_or_default();
            self.waiting.remove(gone);
            self.dependents.get(gone).into_iter().flatten().cloned().for_each(look);
            return;
        };
        let begins_to_wait = is_waiting(object) && !self.waiting.contains_key(uid(object));
        if begins_to_wait {
            self.waiting.insert(uid(object).to_owned(), place.clone());
            self.dependents.get(uid(object)).into_iter().flatten().cloned().for_each(&mut look);
        }
        if &*place.collection == DEFINITIONS {
            self.puzzling.iter().cloned().for_each(&mut look);
        }
        let is_to_orphan = is_deleted(object) && has_finalizer(object, ORPHAN);
        if begins_to_wait || is_to_orphan || before != after {
            look(place);
        }
    }

    fn reindex(&mut self, place: &Place, before: &[Value], after: &[Value], look: &mut impl FnMut(Place)) {
        let owner = |reference: &Value| reference["uid"].as_str().unwrap_or_default().to_owned();
        for uid in before.iter().map(owner) {
            if let Some(known) = self.dependents.get_mut(&uid) {
                known.remove(place);
                if known.is_empty() {
                    self.dependents.remove(&uid);
                }
            }
        }
        for uid in after.iter().map(owner) {
            self.dependents.entry(uid).or_default().insert(place.clone());
        }
        // Who waits may wait no more, or for one more.
        for uid in before.iter().chain(after).map(owner) {
            if let Some(waiting) = self.waiting.get(&uid) {
                look(waiting.clone());
            }
        }
    }

    /// Does what has to be done about one object, as it is now.
    pub async fn look_at(&mut self, client: &Client, place: &Place, mut look: impl FnMut(Place)) -> Result<(), Failed> {
        let (Some(object), Some(path)) = (client.read(place), client.path(place)) else { return Ok(()) };
        let object = &object.value;
        if is_deleted(object) {
            return match (has_finalizer(object, ORPHAN), has_finalizer(object, FOREGROUND)) {
                (true, _) => self.orphan(client, object, &path).await,
                (false, true) => self.wait_for_dependents(client, object, &path, &mut look).await,
                (false, false) => Ok(()),
            };
        }
        self.puzzling.remove(place);
        match classify(client, place, object) {
            Ok(owners) if owners.is_empty() || owners.iter().all(|owner| *owner == Owner::Solid) => Ok(()),
            Ok(owners) if owners.contains(&Owner::Solid) => {
                let is_kept = |(_, owner): &(&Value, &Owner)| **owner == Owner::Solid;
                let kept: Vec<Value> =
                    references(object).iter().zip(&owners).filter(is_kept).map(|(kept, _)| kept.clone()).collect();
                disown(client, object, &path, &kept).await
            }
            Ok(owners) => {
                let is_awaited = owners.contains(&Owner::Waiting);
                self.collect(client, object, &path, is_awaited).await
            }
            Err(Unclear::UnknownKind) => {
                self.puzzling.insert(place.clone());
                Ok(())
            }
            Err(Unclear::Impossible) => Ok(()),
        }
    }

    /// Deletes an object that has no owner left.
    async fn collect(&self, client: &Client, object: &Value, path: &str, is_awaited: bool) -> Result<(), Failed> {
        let dependents = self.dependents.get(uid(object)).into_iter().flatten();
        let dependents: Vec<Arc<crate::store::Object>> = dependents.filter_map(|place| client.read(place)).collect();
        let policy = match is_awaited && !dependents.is_empty() {
            true => {
                // In a circle everybody would wait for everybody.
                if dependents.iter().any(|dependent| is_waiting(&dependent.value)) {
                    unblock(client, object, path).await?;
                }
                "Foreground"
            }
            false if has_finalizer(object, ORPHAN) => "Orphan",
            false if has_finalizer(object, FOREGROUND) => "Foreground",
            false => "Background",
        };
        let options = json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid(object)},
            "propagationPolicy": policy,
        });
        client.send("DELETE", path, JSON, &options).await.settled()
    }

    /// Lets an owner go when no dependent blocks it, else sees to those that do.
    async fn wait_for_dependents(
        &self,
        client: &Client,
        object: &Value,
        path: &str,
        look: &mut impl FnMut(Place),
    ) -> Result<(), Failed> {
        let mut is_blocked = false;
        for place in self.dependents.get(uid(object)).into_iter().flatten() {
            let Some(dependent) = client.read(place) else { continue };
            let blocks = |reference: &Value| reference["uid"] == uid(object) && reference["blockOwnerDeletion"] == true;
            is_blocked |= references(&dependent.value).iter().any(blocks);
            if !is_deleted(&dependent.value) {
                look(place.clone());
            }
        }
        if is_blocked { Ok(()) } else { drop_finalizer(client, object, path, FOREGROUND).await }
    }

    /// Takes an owner away from its dependents, then lets it go.
    async fn orphan(&self, client: &Client, object: &Value, path: &str) -> Result<(), Failed> {
        for place in self.dependents.get(uid(object)).into_iter().flatten() {
            let (Some(dependent), Some(path)) = (client.read(place), client.path(place)) else { continue };
            let others = references(&dependent.value).iter().filter(|reference| reference["uid"] != uid(object));
            let others: Vec<Value> = others.cloned().collect();
            if others.len() < references(&dependent.value).len() {
                disown(client, &dependent.value, &path, &others).await?;
            }
        }
        drop_finalizer(client, object, path, ORPHAN).await
    }
}

/// What became of each owner of an object.
fn classify(client: &Client, place: &Place, object: &Value) -> Result<Vec<Owner>, Unclear> {
    let judge = |reference: &Value| {
        let text = |name: &str| reference[name].as_str().unwrap_or_default();
        let kind = client.kind(text("apiVersion"), text("kind")).ok_or(Unclear::UnknownKind)?;
        if kind.is_namespaced && place.key.namespace.is_empty() {
            return Err(Unclear::Impossible);
        }
        let namespace = if kind.is_namespaced { place.key.namespace.as_str() } else { "" };
        let owner = Place { collection: kind.storage.as_str().into(), key: Key::new(namespace, text("name")) };
        Ok(match client.read(&owner) {
            Some(owner) if uid(&owner.value) != text("uid") => Owner::Dangling,
            Some(owner) if is_waiting(&owner.value) => Owner::Waiting,
            Some(_) => Owner::Solid,
            None => Owner::Dangling,
        })
    };
    references(object).iter().map(judge).collect()
}

/// Writes metadata of an object that is still the one that was read.
async fn patch(client: &Client, object: &Value, path: &str, name: &str, value: &[Value]) -> Result<(), Failed> {
    let value = if value.is_empty() { Value::Null } else { value.into() };
    let mut patch = json!({"metadata": {"uid": uid(object), "resourceVersion": object["metadata"]["resourceVersion"]}});
    patch["metadata"][name] = value;
    client.send("PATCH", path, MERGE, &patch).await.settled()
}

async fn disown(client: &Client, object: &Value, path: &str, kept: &[Value]) -> Result<(), Failed> {
    patch(client, object, path, "ownerReferences", kept).await
}

async fn drop_finalizer(client: &Client, object: &Value, path: &str, name: &str) -> Result<(), Failed> {
    let others = meta::finalizers(object).into_iter().filter(|known| *known != name);
    patch(client, object, path, "finalizers", &others.map(Value::from).collect::<Vec<_>>()).await
}

/// Lets nobody wait for this object.
async fn unblock(client: &Client, object: &Value, path: &str) -> Result<(), Failed> {
    let mut owners = references(object).to_vec();
    for owner in &mut owners {
        if owner["blockOwnerDeletion"] == true {
            owner["blockOwnerDeletion"] = false.into();
        }
    }
    patch(client, object, path, "ownerReferences", &owners).await
}
