//! `delete` and `deletecollection`: preconditions, grace, finalizers, and what becomes of dependents.

use std::sync::Arc;

use kueue_core::field::{Error, Path};
use kueue_core::time::Time;

use super::list::typed;
use super::query::{dry_run, options};
use super::reply::Reply;
use super::select::Selection;
use super::service::{Call, Server};
use crate::admission::{Attributes, Operation};
use crate::json::{Value, json};
use crate::kinds::Resource;
use crate::meta;
use crate::schema::object_at;
use crate::status::{About, Result, Status};
use crate::store::{Key, Object, Refusal};

pub const ORPHAN: &str = "orphan";
pub const FOREGROUND: &str = "foregroundDeletion";

/// What a client says about a deletion, in the body or in the query.
#[derive(Debug, Clone, Default)]
pub struct DeleteOptions {
    pub grace_seconds: Option<i64>,
    uid: Option<String>,
    resource_version: Option<String>,
    orphans: Option<bool>,
    propagation: Option<String>,
    pub is_dry_run: bool,
}

/// What a deletion did.
#[derive(Debug)]
pub enum Outcome {
    /// It is gone; this is what it was last.
    Removed(Arc<Object>),
    /// It stays for now.
    Stays(Arc<Object>),
}

impl DeleteOptions {
    fn read(server: &Server, call: &Call) -> Result<Self> {
        // Who says something in the body says nothing in the query.
        if !call.body.is_empty() {
            let mut found = Self::default();
            found.read_body(&server.decode_options(call, "DeleteOptions")?)?;
            return Ok(found);
        }
        let query = &call.query;
        let found = Self {
            grace_seconds: query.get("gracePeriodSeconds").parse().ok(),
            orphans: query.flag("orphanDependents"),
            propagation: query.find("propagationPolicy").map(str::to_owned),
            is_dry_run: query.dry_run("DeleteOptions")?,
            ..Self::default()
        };
        found.validate()?;
        Ok(found)
    }

    /// Takes over what an object says; the rest stays.
    pub fn read_body(&mut self, value: &Value) -> Result<()> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        self.grace_seconds = value["gracePeriodSeconds"].as_i64().or(self.grace_seconds);
        self.uid = text(&value["preconditions"]["uid"]);
        self.resource_version = text(&value["preconditions"]["resourceVersion"]);
        self.orphans = value["orphanDependents"].as_bool().or(self.orphans);
        self.propagation = text(&value["propagationPolicy"]).or(self.propagation.take());
        let dry: Vec<&str> = value["dryRun"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        self.is_dry_run |= dry_run(&dry, "DeleteOptions")?;
        self.validate()
    }

    /// Demands the object's present version, unless another one is already demanded.
    pub fn require_version(&mut self, object: &Value) {
        let version = object["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        self.resource_version = self.resource_version.take().or(version);
    }

    /// Lets a demand for a version follow a write of our own.
    pub fn renew(&mut self, before: &Object, after: &Object) {
        let version = |object: &Object| object.value["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        if self.resource_version == version(before) {
            self.resource_version = version(after);
        }
    }

    fn validate(&self) -> Result<()> {
        let at = Path::new("propagationPolicy");
        let mut errors = Vec::new();
        match self.propagation.as_deref() {
            Some(_) if self.orphans.is_some() => {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                errors.push(Error::invalid(&at, self.propagation.clone().unwrap_or_default(), why));
            }
            Some("Background" | "Foreground" | "Orphan") | None => {}
            Some(other) => {
                errors.push(Error::not_supported(&at, other, &["Foreground", "Background", "Orphan", "nil"]));
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(Status::invalid(options("DeleteOptions"), &errors)) }
    }

    /// Whether nothing is said of dependents.
    fn leaves_it_open(&self) -> bool {
        self.propagation.is_none() && self.orphans.is_none()
    }

    /// The finalizer that keeps an object until its dependents are dealt with.
    fn finalizer(&self, resource: &Resource) -> Option<&'static str> {
        match (self.propagation.as_deref(), self.orphans) {
            (Some("Orphan"), _) | (None, Some(true)) => Some(ORPHAN),
            (Some("Foreground"), _) => Some(FOREGROUND),
            (None, None) if resource.rules.orphans_dependents => Some(ORPHAN),
            _ => None,
        }
    }

    /// Writes the options as admission sees them. How long a pod may take is already decided then.
    fn tell(&self, options: &mut Value, resource: &Resource, read: &Object) {
        let grace = match resource.storage.as_str() {
            "pods" => Some(grace_seconds(resource, &read.value, self.grace_seconds)),
            _ => self.grace_seconds,
        };
        if let Some(grace) = grace {
            options["gracePeriodSeconds"] = grace.into();
        }
        for (name, given) in [("uid", &self.uid), ("resourceVersion", &self.resource_version)] {
            if let Some(given) = given {
                options["preconditions"][name] = given.as_str().into();
            }
        }
        if let Some(orphans) = self.orphans {
            options["orphanDependents"] = orphans.into();
        }
        if let Some(propagation) = &self.propagation {
            options["propagationPolicy"] = propagation.as_str().into();
        }
        if self.is_dry_run {
            options["dryRun"] = json!(["All"]);
        }
    }

    pub fn check(&self, resource: &Resource, object: &Object) -> Result<()> {
        let metadata = object.metadata();
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default();
        let about = About { group: &resource.group, kind: &resource.kind, name: text("name") };
        let refuse = |what: &str, wanted: &str, found: &str, ending: &str| {
            let why = format!(
                "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). {ending}"
            );
            Err(Status::conflict(about, &why))
        };
        match (&self.uid, &self.resource_version) {
            (Some(uid), _) if uid != text("uid") => {
                refuse("UID", uid, text("uid"), "The object might have been deleted and then recreated")
            }
            (_, Some(version)) if version != text("resourceVersion") => {
                refuse("ResourceVersion", version, text("resourceVersion"), "The object might have been modified")
            }
            _ => Ok(()),
        }
    }
}

impl Server {
    pub async fn delete(&self, call: &Call, resource: &Resource) -> Result<Reply> {
        let options = DeleteOptions::read(self, call)?;
        self.protect(resource, &call.path.name)?;
        if let Some(warning) = resource.rules.orphan_warning.filter(|_| options.leaves_it_open()) {
            call.warn(warning);
        }
        let outcome = self.delete_one(call, resource, &call.key(), &options, || call.not_found(resource)).await?;
        Ok(match outcome {
            Outcome::Stays(object) => {
                let object = self.shown(resource, &object).await?;
                Reply::ok(typed(resource, &object.whole()))
            }
            Outcome::Removed(object) if resource.rules.answers_deleted => Reply::ok(typed(resource, &object.whole())),
            Outcome::Removed(object) => {
                let mut details =
                    json!({"name": call.path.name, "kind": resource.plural, "uid": object.value["metadata"]["uid"]});
                if !resource.group.is_empty() {
                    details["group"] = resource.group.clone().into();
                }
                Reply::ok(json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
                }))
            }
        })
    }

    pub async fn delete_collection(&self, call: &Call, resource: &Resource) -> Result<Reply> {
        let options = DeleteOptions::read(self, call)?;
        let list = call.query.list_options()?;
        let selection = Selection::parse(&list, resource, "")?;
        let forgotten = |_| Status::internal("the present state is always known");
        let found = self.store.list(&resource.storage, &call.path.namespace, None).map_err(forgotten)?;
        let mut items = Vec::new();
        for (key, object) in found.objects.iter().filter(|(key, object)| selection.matches(key, object)) {
            // Whoever deleted it before us did what was wanted.
            let gone = Status::not_found(About { group: &resource.group, kind: &resource.plural, name: &key.name });
            match self.delete_one(call, resource, key, &options, || gone).await {
                Ok(_) => {}
                Err(status) if status.code() == 404 => continue,
                Err(status) => return Err(status),
            }
            let shown = self.shown(resource, object).await?;
            items.push(if resource.custom.is_some() { typed(resource, &shown.whole()) } else { shown.whole() });
        }
        let mut metadata = json!({"resourceVersion": found.revision.to_string()});
        if resource.custom.is_some() {
            metadata["continue"] = "".into();
        }
        Ok(Reply::ok(json!({
            "kind": resource.list_kind, "apiVersion": resource.api_version(), "metadata": metadata, "items": items,
        })))
    }

    /// What a cluster cannot be without.
    fn protect(&self, resource: &Resource, name: &str) -> Result<()> {
        let why = match (resource.storage.as_str(), name) {
            ("namespaces", "default" | "kube-system" | "kube-public") => "this namespace may not be deleted",
            ("priorityclasses.scheduling.k8s.io", "system-cluster-critical" | "system-node-critical") => {
                "this is a system priority class and cannot be deleted"
            }
            _ => return Ok(()),
        };
        Err(Status::forbidden(About { group: &resource.group, kind: &resource.plural, name }, why))
    }

    pub async fn delete_one(
        &self,
        call: &Call,
        resource: &Resource,
        key: &Key,
        options: &DeleteOptions,
        gone: impl FnOnce() -> Status,
    ) -> Result<Outcome> {
        loop {
            let Some(read) = self.store.get(&resource.storage, key) else { return Err(gone()) };
            options.check(resource, &read)?;
            let mut attributes = Attributes::of_write(call, resource, Operation::Delete, options.is_dry_run);
            options.tell(&mut attributes.options, resource, &read);
            let shown = self.shown(resource, &read).await?;
            let seen = self.seen(&attributes, &shown.value, &shown.managed);
            self.mutate(&attributes, None, Some(&seen)).await?;
            self.approve(&attributes, None, Some(&seen)).await?;
            let marked = self.marked(resource, &read, options);
            let stays = keeps_it(resource, &marked);
            let changes = marked != read.value;
            let written = match (stays, options.is_dry_run) {
                (_, true) => Ok(Arc::clone(&read)),
                (true, false) if !changes => Ok(Arc::clone(&read)),
                (true, false) => self.store.update(&resource.storage, key.clone(), &read, marked),
                (false, false) => self.remove(resource, key, &read, marked),
            };
            match written {
                Ok(object) => {
                    self.after_write(resource, key).await;
                    return Ok(if stays { Outcome::Stays(object) } else { Outcome::Removed(object) });
                }
                Err(Refusal::Changed | Refusal::Exists) => {}
            }
        }
    }

    /// Takes an object out of the store. Watchers of a pod see first that it was told to end.
    fn remove(
        &self,
        resource: &Resource,
        key: &Key,
        read: &Arc<Object>,
        marked: Value,
    ) -> std::result::Result<Arc<Object>, Refusal> {
        if resource.storage != "pods" || marked == read.value {
            return self.store.delete(&resource.storage, key.clone(), read, read.value.clone());
        }
        let told = self.store.update(&resource.storage, key.clone(), read, marked)?;
        self.store.delete(&resource.storage, key.clone(), &told, told.value.clone())
    }

    /// The object as it is while something keeps it: with the time of its deletion and the finalizers asked for.
    fn marked(&self, resource: &Resource, read: &Object, options: &DeleteOptions) -> Value {
        let mut value = read.value.clone();
        let grace = grace_seconds(resource, &read.value, options.grace_seconds);
        let now = self.clock.time();
        let Some(metadata) = object_at(&mut value, &["metadata"]) else { return value };
        let is_first = !metadata.contains_key("deletionTimestamp");
        if is_first || !options.leaves_it_open() {
            let mut finalizers: Vec<Value> =
                metadata.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
            if !options.leaves_it_open() || options.finalizer(resource).is_some() {
                finalizers.retain(|name| name != ORPHAN && name != FOREGROUND);
                finalizers.extend(options.finalizer(resource).map(Value::from));
            }
            if let Some(own) = crate::crd::finalizer(resource).filter(|_| is_first) {
                finalizers.push(own.into());
            }
            match finalizers.is_empty() {
                true => metadata.remove("finalizers"),
                false => metadata.insert("finalizers", finalizers.into()),
            };
            let generation = metadata.get("generation").and_then(Value::as_i64).filter(|_| is_first);
            if let Some(generation) = generation.filter(|_| crate::crd::finalizer(resource).is_none()) {
                metadata.insert("generation", (generation + 1).into());
            }
        }
        let was = metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64);
        if is_first || was.is_some_and(|was| grace < was) {
            let until = Time::new(now.timestamp() + jiff::SignedDuration::from_secs(grace));
            metadata.insert("deletionTimestamp", until.to_string().into());
            // Kinds that end in a way of their own do not show a grace period.
            if resource.storage != "namespaces" && crate::crd::finalizer(resource).is_none() {
                metadata.insert("deletionGracePeriodSeconds", grace.into());
            }
        }
        if resource.storage == "namespaces" {
            value["status"]["phase"] = "Terminating".into();
        }
        crate::crd::mark_terminating(resource, &mut value, now);
        value
    }
}

/// How long a pod may take to end; everything else goes at once.
fn grace_seconds(resource: &Resource, object: &Value, asked: Option<i64>) -> i64 {
    if resource.storage != "pods" {
        return 0;
    }
    let is_bound = object["spec"]["nodeName"].as_str().is_some_and(|name| !name.is_empty());
    let is_over = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if !is_bound || is_over {
        return 0;
    }
    let own = object["spec"]["terminationGracePeriodSeconds"].as_i64();
    match asked.or(own).unwrap_or_default() {
        grace if grace < 0 => 1,
        grace => grace,
    }
}

/// Whether something still keeps the object: a finalizer, a grace period, or what is in a namespace.
pub fn keeps_it(resource: &Resource, object: &Value) -> bool {
    let has_grace = object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default() > 0;
    let has_content = resource.storage == "namespaces"
        && object["spec"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
    has_grace || has_content || !meta::finalizers(object).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_running_pod_has_a_grace_period() {
        let built_in = crate::kinds::BuiltIn::load();
        let pods = built_in.resources.iter().find(|found| found.plural == "pods").unwrap();
        let pod = |node: &str, phase: &str| json!({"spec": {"nodeName": node, "terminationGracePeriodSeconds": 30}, "status": {"phase": phase}});
        assert_eq!(grace_seconds(pods, &pod("n", "Running"), None), 30);
        assert_eq!(grace_seconds(pods, &pod("n", "Running"), Some(5)), 5);
        assert_eq!(grace_seconds(pods, &pod("n", "Running"), Some(-1)), 1);
        assert_eq!(grace_seconds(pods, &pod("", "Pending"), None), 0);
        assert_eq!(grace_seconds(pods, &pod("n", "Failed"), Some(5)), 0);
    }
}
