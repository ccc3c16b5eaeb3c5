//! The finalizer that keeps an object while something uses it.

use std::collections::BTreeSet;
use std::sync::Arc;

use kueue_api::kueue::names::{FIELD_MANAGER_KUEUE, FINALIZER_RESOURCE_IN_USE};
use kueue_api::kueue::v1beta2::{AdmissionCheck, ClusterQueue, ResourceFlavor, Topology};
use kueue_api::meta::Object;
use kueue_engine::Engine;
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::informer::Store;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{Next, Reconciler};

use crate::owner::Handle;

/// The object with the finalizer, or without it if it is being deleted and nothing uses it.
pub fn guarded<T: Object + Clone>(object: &T, is_in_use: bool) -> T {
    let meta = object.metadata();
    let mut wanted = object.clone();
    let finalizers = &mut wanted.metadata_mut().finalizers;
    let is_guarded = finalizers.iter().any(|finalizer| finalizer == FINALIZER_RESOURCE_IN_USE);
    match (meta.deletion_timestamp.is_some(), is_in_use) {
        (false, _) if !is_guarded => finalizers.push(FINALIZER_RESOURCE_IN_USE.to_owned()),
        (true, false) => finalizers.retain(|finalizer| finalizer != FINALIZER_RESOURCE_IN_USE),
        _ => {}
    }
    wanted
}

/// Writes the finalizer as [`guarded`] has it. Says whether the object was written, or is on its way out.
pub(crate) async fn guard<T: Object + Clone>(client: &Client, object: &T, is_in_use: bool) -> Result<bool, Failure> {
    match Patch::between(object, &guarded(object, is_in_use), FIELD_MANAGER_KUEUE) {
        None => Ok(false),
        Some(patch) => {
            let written = client.patch::<T>(&Key::of(object), &patch).await;
            written.map(|_| true).or_else(|failure| if failure.is_not_found() { Ok(true) } else { Err(failure) })
        }
    }
}

/// The flavors and checks that a ClusterQueue refers to.
pub fn references(queue: &ClusterQueue) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let flavors = queue.spec.resource_groups.iter().flat_map(|group| &group.flavors);
    let checks = queue.spec.admission_checks_strategy.iter().flat_map(|strategy| &strategy.admission_checks);
    (flavors.map(|flavor| flavor.name.as_str()).collect(), checks.map(|check| check.name.as_str()).collect())
}

/// Whether a change of a ClusterQueue may let go of something: it refers to other things than before.
pub fn has_other_references(old: Option<&ClusterQueue>, new: Option<&ClusterQueue>) -> bool {
    old.is_some_and(|old| new.map(references) != Some(references(old)))
}

/// A kind that is kept while queues, or flavors, refer to it.
pub trait Guarded: Object + Clone + Send + Sync + 'static {
    /// Its controller's name in logs.
    const CONTROLLER: &'static str;

    /// Whether anything refers to the object of that name.
    fn is_in_use(name: &str, engine: &Engine, flavors: &Store<ResourceFlavor>) -> bool;
}

impl Guarded for ResourceFlavor {
    const CONTROLLER: &'static str = "resourceflavor_controller";

    fn is_in_use(name: &str, engine: &Engine, _: &Store<ResourceFlavor>) -> bool {
        !engine.queues_with_flavor(name).is_empty()
    }
}

impl Guarded for AdmissionCheck {
    const CONTROLLER: &'static str = "admissioncheck_controller";

    fn is_in_use(name: &str, engine: &Engine, _: &Store<ResourceFlavor>) -> bool {
        !engine.queues_with_check(name).is_empty()
    }
}

impl Guarded for Topology {
    const CONTROLLER: &'static str = "tas_topology_controller";

    fn is_in_use(name: &str, _: &Engine, flavors: &Store<ResourceFlavor>) -> bool {
        flavors.all().iter().any(|flavor| flavor.spec.topology_name.as_deref() == Some(name))
    }
}

/// Guards objects of one kind.
#[derive(Debug)]
pub struct Guards<T> {
    pub client: Client,
    pub engine: Handle,
    pub objects: Arc<Store<T>>,
    pub flavors: Arc<Store<ResourceFlavor>>,
}

impl<T: Guarded> Reconciler<Key> for Guards<T> {
    fn name(&self) -> &'static str {
        T::CONTROLLER
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(object) = self.objects.get(key).map(|stored| stored.object) else { return Ok(Next::Done) };
        let (name, flavors) = (Arc::clone(&key.name), Arc::clone(&self.flavors));
        let is_in_use = self.engine.ask(move |engine| T::is_in_use(&name, engine, &flavors)).await;
        if let Some(is_in_use) = is_in_use {
            guard(&self.client, &*object, is_in_use).await?;
        }
        Ok(Next::Done)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_finalizer_stays_while_something_uses_the_object() {
        let flavor = |is_deleted: bool, finalizers: &[&str]| -> ResourceFlavor {
            let deleted = is_deleted.then_some("2026-01-01T00:00:00Z");
            let metadata = json!({"name": "f", "finalizers": finalizers, "deletionTimestamp": deleted});
            serde_json::from_value(json!({"metadata": metadata, "spec": {}})).unwrap()
        };
        let left = |object: &ResourceFlavor, is_in_use| guarded(object, is_in_use).metadata.finalizers;
        assert_eq!(left(&flavor(false, &[]), false), [FINALIZER_RESOURCE_IN_USE]);
        assert_eq!(left(&flavor(true, &[FINALIZER_RESOURCE_IN_USE]), true), [FINALIZER_RESOURCE_IN_USE]);
        assert_eq!(left(&flavor(true, &["other", FINALIZER_RESOURCE_IN_USE]), false), ["other"]);
    }

    #[test]
    fn only_other_references_let_go_of_anything() {
        let queue = |flavor: &str, pending: i32| -> ClusterQueue {
            let groups = json!([{"coveredResources": [], "flavors": [{"name": flavor, "resources": []}]}]);
            let status = json!({"pendingWorkloads": pending, "reservingWorkloads": 0, "admittedWorkloads": 0});
            serde_json::from_value(json!({"spec": {"resourceGroups": groups}, "status": status})).unwrap()
        };
        let (one, same, other) = (queue("a", 1), queue("a", 2), queue("b", 1));
        assert!(!has_other_references(None, Some(&one)) && !has_other_references(Some(&one), Some(&same)));
        assert!(has_other_references(Some(&one), Some(&other)) && has_other_references(Some(&one), None));
    }
}
