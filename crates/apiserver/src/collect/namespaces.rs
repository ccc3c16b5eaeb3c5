//! The end of a namespace: everything in it is deleted, pods first; what finalizers keep is waited for and told in the
//! namespace's conditions; then its own finalizer goes.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::Failed;
use super::client::{Answer, Client, collection_path};
use crate::json::{Value, json};
use crate::kinds::Resource;
use crate::meta;
use crate::rest::write::is_deleted;
use crate::store::{Key, Snapshot};

const JSON: &str = "application/json";
/// The finalizer in a namespace's spec that stands for its content.
const CONTENT: &str = "kubernetes";

/// Conditions in the order they are written, with reason and message of one that is not true.
const CONDITIONS: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (CONTENT_FAILURE, "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    (CONTENT_REMAINING, "ContentRemoved", "All content successfully removed"),
    (FINALIZERS_REMAINING, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];
const CONTENT_FAILURE: &str = "NamespaceDeletionContentFailure";
const CONTENT_REMAINING: &str = "NamespaceContentRemaining";
const FINALIZERS_REMAINING: &str = "NamespaceFinalizersRemaining";

/// What is left of a namespace after everything was told to go.
#[derive(Debug, Default)]
struct Remains {
    /// Objects by resource.
    objects: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
    failures: Vec<String>,
}

/// Whether the namespace waits for its content to go.
pub fn is_ending(namespace: &Value) -> bool {
    let finalizers = namespace["spec"]["finalizers"].as_array().into_iter().flatten();
    is_deleted(namespace) && finalizers.into_iter().any(|name| name == CONTENT)
}

/// Goes one step: what is left afterwards calls for the next one by going.
pub async fn end(client: &Client, name: &str) -> Result<(), Failed> {
    let read = |client: &Client| client.server().server().store.get("namespaces", &Key::new("", name));
    if !read(client).is_some_and(|namespace| is_ending(&namespace.value)) {
        return Ok(());
    }
    let (pods, others): (Vec<_>, Vec<_>) =
        contents(client).into_iter().partition(|resource| resource.storage == "pods");
    let mut remains = Remains::default();
    remove_all(client, name, &pods, &mut remains).await;
    let has_pods = !remains.objects.is_empty();
    if has_pods {
        // The real controller tells of what is left only when the pods are gone.
        remains = Remains { failures: remains.failures, ..Remains::default() };
    } else {
        remove_all(client, name, &others, &mut remains).await;
    }
    let Some(namespace) = read(client) else { return Ok(()) };
    let mut value = namespace.value.clone();
    let now = client.server().server().clock.time().to_string();
    if tell(&mut value, &remains, &now) {
        let path = format!("/api/v1/namespaces/{name}/status");
        client.send("PUT", &path, JSON, &value).await.settled()?;
    }
    if !remains.failures.is_empty() {
        return Err(Failed);
    }
    if has_pods || !remains.objects.is_empty() {
        return Ok(());
    }
    let Some(namespace) = read(client) else { return Ok(()) };
    let mut value = namespace.value.clone();
    if let Some(finalizers) = value["spec"]["finalizers"].as_array_mut() {
        finalizers.retain(|name| name != CONTENT);
    }
    client.send("PUT", &format!("/api/v1/namespaces/{name}/finalize"), JSON, &value).await.settled()
}

/// The kinds that can be in a namespace, each place once.
fn contents(client: &Client) -> Vec<Arc<Resource>> {
    let mut seen = HashSet::new();
    let registry = client.server().server().registry();
    let namespaced = registry.all().filter(|resource| resource.is_namespaced && resource.allows("delete"));
    namespaced.filter(|resource| seen.insert(resource.storage.clone())).cloned().collect()
}

async fn remove_all(client: &Client, namespace: &str, resources: &[Arc<Resource>], remains: &mut Remains) {
    let list = |resource: &Resource| -> Option<Snapshot> {
        let found = client.server().server().store.list(&resource.storage, namespace, None).ok()?;
        (!found.objects.is_empty()).then_some(found)
    };
    for resource in resources {
        let Some(found) = list(resource) else { continue };
        let answers = remove(client, namespace, resource, &found).await;
        remains.failures.extend(answers.into_iter().filter(|answer| answer.code != 404).map(|answer| answer.message));
        let Some(left) = list(resource) else { continue };
        *remains.objects.entry(format!("{}.{}", resource.plural, resource.group)).or_default() += left.objects.len();
        for (_, object) in &left.objects {
            for finalizer in meta::finalizers(&object.value) {
                *remains.finalizers.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
    }
}

/// Deletes the objects of one kind; returns what went wrong.
async fn remove(client: &Client, namespace: &str, resource: &Resource, found: &Snapshot) -> Vec<Answer> {
    let collection = collection_path(resource, namespace);
    let paths: Vec<String> = match resource.allows("deletecollection") {
        true => vec![collection],
        false => found.objects.iter().map(|(key, _)| format!("{collection}/{}", key.name)).collect(),
    };
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
    let mut failed = Vec::new();
    for path in paths {
        let answer = client.send("DELETE", &path, JSON, &options).await;
        if !answer.is_success() {
            failed.push(answer);
        }
    }
    failed
}

/// Writes what is left into the conditions. Returns whether they changed.
fn tell(namespace: &mut Value, remains: &Remains, now: &str) -> bool {
    let told: Vec<Value> = CONDITIONS.iter().map(|known| condition(known, remains, now)).collect();
    let status = &mut namespace["status"];
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(present) = status["conditions"].as_array_mut() else { return false };
    let mut has_changed = false;
    for new in told {
        let Some(old) = present.iter_mut().find(|old| old["type"] == new["type"]) else {
            present.push(new);
            has_changed = true;
            continue;
        };
        if old["status"] != new["status"] {
            old["lastTransitionTime"] = new["lastTransitionTime"].clone();
        }
        for field in ["status", "reason", "message"] {
            has_changed |= old[field] != new[field];
            old[field] = new[field].clone();
        }
    }
    has_changed
}

fn condition((kind, reason, message): &(&str, &str, &str), remains: &Remains, now: &str) -> Value {
    let listed = |counts: &BTreeMap<String, usize>, between: &str| {
        let lines: Vec<String> =
            counts.iter().map(|(name, count)| format!("{name} {between} {count} resource instances")).collect();
        lines.join(", ")
    };
    let is_true = match *kind {
        CONTENT_FAILURE if !remains.failures.is_empty() => {
            let mut failures = remains.failures.clone();
            failures.sort();
            let (count, failures) = (failures.len(), failures.join(", "));
            let message = format!("Failed to delete all resource types, {count} remaining: {failures}");
            Some(("ContentDeletionFailed", message))
        }
        CONTENT_REMAINING if !remains.objects.is_empty() => {
            let message = format!("Some resources are remaining: {}", listed(&remains.objects, "has"));
            Some(("SomeResourcesRemain", message))
        }
        FINALIZERS_REMAINING if !remains.finalizers.is_empty() => {
            let listed = listed(&remains.finalizers, "in");
            Some(("SomeFinalizersRemain", format!("Some content in the namespace has finalizers remaining: {listed}")))
        }
        _ => None,
    };
    let status = if is_true.is_some() { "True" } else { "False" };
    let (reason, message) = is_true.unwrap_or((reason, (*message).to_owned()));
    json!({"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message})
}
