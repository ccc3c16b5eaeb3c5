//! Admission: everybody who may change or refuse a write, in the order of a real server.
//!
//! A write asks twice. [`Server::mutate`] runs before the object gets its form and is judged: built-in plugins, then
//! mutating webhooks. [`Server::approve`] runs on what would be stored: plugins, policies, validating webhooks, and last
//! what counts usage. Deletions ask both at once.

use std::borrow::Cow;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use crate::json::{Map, Value, json};
use crate::kinds::Resource;
use crate::managed::{self, Managers};
use crate::rest::service::{Call, Server};
use crate::status::Result;
use crate::store::{Object, Store};

pub mod cel;
mod matching;
pub mod plugins;
mod policies;
mod review;
mod webhooks;

use plugins::PLUGINS;
use policies::{Binding, Policy};
use webhooks::{Rounds, Webhooks};

/// What is done to an object, as webhooks and policies name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
        }
    }
}

/// What a write is about, apart from the objects themselves.
#[derive(Debug)]
pub struct Attributes<'a> {
    /// Who asks, and where to put warnings.
    pub call: &'a Call,
    /// The resource of the path; for a subresource its parent.
    pub resource: &'a Resource,
    pub operation: Operation,
    /// Empty for the object itself.
    pub subresource: &'a str,
    /// Group, version and kind of the object: those of the resource, or of what a subresource takes.
    pub kind: [&'a str; 3],
    /// For a namespace its own name.
    pub namespace: &'a str,
    /// Empty when a whole collection is deleted.
    pub name: &'a str,
    /// `CreateOptions`, `UpdateOptions` or `DeleteOptions`, as a client would write them.
    pub options: Value,
    pub is_dry_run: bool,
}

impl<'a> Attributes<'a> {
    /// A write of the object or subresource that the path of a call names.
    pub fn of_write(call: &'a Call, resource: &'a Resource, operation: Operation, is_dry_run: bool) -> Self {
        let subresource = call.path.subresource.as_str();
        let kind = match resource.subresource(subresource) {
            Some(sub) => [sub.group.as_str(), &sub.version, &sub.kind],
            None => [resource.group.as_str(), &resource.version, &resource.kind],
        };
        let options = match operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
        };
        Self {
            call,
            resource,
            operation,
            subresource,
            kind,
            namespace: if resource.storage == "namespaces" { &call.path.name } else { &call.path.namespace },
            name: &call.path.name,
            options: options_of(call, options),
            is_dry_run,
        }
    }
}

/// The options of a query, as an object.
fn options_of(call: &Call, kind: &str) -> Value {
    let mut options = Map::new();
    options.insert("kind", kind.into());
    options.insert("apiVersion", "meta.k8s.io/v1".into());
    let dry_run = call.query.all("dryRun");
    if !dry_run.is_empty() {
        options.insert("dryRun", json!(dry_run));
    }
    for name in ["fieldManager", "fieldValidation"] {
        let given = call.query.get(name);
        if !given.is_empty() {
            options.insert(name, given.into());
        }
    }
    options.into()
}

/// What configurations say, read once for every change of them.
#[derive(Debug, Default)]
pub struct Admission {
    mutating: Cached<Webhooks>,
    validating: Cached<Webhooks>,
    policies: Cached<Vec<Policy>>,
    bindings: Cached<Vec<Binding>>,
}

impl Admission {
    fn mutating(&self, store: &Store) -> Arc<Webhooks> {
        self.mutating.get(store, webhooks::MUTATING, Webhooks::of_configurations)
    }

    fn validating(&self, store: &Store) -> Arc<Webhooks> {
        self.validating.get(store, webhooks::VALIDATING, Webhooks::of_configurations)
    }

    fn policies(&self, store: &Store) -> Arc<Vec<Policy>> {
        self.policies.get(store, policies::POLICIES, Policy::of_objects)
    }

    fn bindings(&self, store: &Store) -> Arc<Vec<Binding>> {
        self.bindings.get(store, policies::BINDINGS, Binding::of_objects)
    }
}

/// What was made of a collection, and of which of its states.
#[derive(Debug, Default)]
struct Cached<T>(Mutex<(u64, Arc<T>)>);

impl<T> Cached<T> {
    fn get(&self, store: &Store, collection: &str, make: impl FnOnce(&[Value]) -> T) -> Arc<T> {
        let changed_at = store.changed_at(collection);
        let mut cached = self.0.lock().expect("nobody panics while reading configurations");
        if cached.0 != changed_at {
            let listed = store.list(collection, "", None).map(|found| found.objects).unwrap_or_default();
            let values: Vec<Value> = listed.into_iter().map(|(_, object)| object.value.clone()).collect();
            *cached = (changed_at, Arc::new(make(&values)));
        }
        Arc::clone(&cached.1)
    }
}

/// Waits for all of them at once; answers come in the order of the questions.
async fn concurrently<T>(futures: Vec<Pin<Box<dyn Future<Output = T> + Send + '_>>>) -> Vec<T> {
    let mut pending: Vec<_> = futures.into_iter().map(|future| (future, None)).collect();
    poll_fn(|context| {
        for (future, output) in pending.iter_mut().filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(ready) = future.as_mut().poll(context) {
                *output = Some(ready);
            }
        }
        if pending.iter().all(|(_, output)| output.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    pending.into_iter().filter_map(|(_, output)| output).collect()
}

impl Server {
    /// Whether anybody may want to change such an object. Asked first, because getting ready for it costs.
    pub fn may_mutate(&self, attributes: &Attributes<'_>) -> bool {
        PLUGINS.iter().any(|plugin| plugin.mutate.is_some() && (plugin.applies)(attributes))
            || self.has_mutating_webhook(attributes)
    }

    /// Lets everybody change what is about to be written; `object` is nothing for a deletion.
    pub async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        self.run_mutating_plugins(attributes, &mut object, old)?;
        let mut rounds = Rounds::default();
        if self.call_mutating(attributes, &mut object, old, &mut rounds).await? {
            // Whoever came before a change may want to see it.
            let left = object.as_deref().cloned();
            self.run_mutating_plugins(attributes, &mut object, old)?;
            rounds.again(object.as_deref() != left.as_ref());
            self.call_mutating(attributes, &mut object, old, &mut rounds).await?;
        }
        Ok(())
    }

    /// The same for an object whose managed fields are kept apart: webhooks see them in it, and may change them.
    pub async fn mutate_whole(
        &self,
        attributes: &Attributes<'_>,
        value: &mut Value,
        managed: &mut Managers,
        old: Option<&Object>,
    ) -> Result<()> {
        if !self.has_mutating_webhook(attributes) {
            return self.mutate(attributes, Some(value), old.map(|old| &old.value)).await;
        }
        managed::put(value, managed);
        let old = old.map(Object::whole);
        self.mutate(attributes, Some(value), old.as_ref()).await?;
        managed::take_changed(value, managed);
        Ok(())
    }

    /// An object as those see it who are asked about a write: with managed fields, if anybody outside looks.
    pub fn seen<'v>(&self, attributes: &Attributes<'_>, value: &'v Value, managed: &Managers) -> Cow<'v, Value> {
        let is_shown = self.has_policy(attributes)
            || self.has_mutating_webhook(attributes)
            || self.has_validating_webhook(attributes);
        if !is_shown {
            return Cow::Borrowed(value);
        }
        let mut whole = value.clone();
        managed::put(&mut whole, managed);
        Cow::Owned(whole)
    }

    fn run_mutating_plugins(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Option<&mut Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        for plugin in PLUGINS.iter().filter(|plugin| (plugin.applies)(attributes)) {
            if let Some(mutate) = plugin.mutate {
                mutate(self, attributes, object.as_deref_mut(), old)?;
            }
        }
        Ok(())
    }

    /// Asks everybody who may refuse what would be stored.
    pub async fn approve(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        for plugin in PLUGINS.iter().filter(|plugin| (plugin.applies)(attributes)) {
            if let Some(validate) = plugin.validate {
                validate(self, attributes, object, old)?;
            }
        }
        self.check_policies(attributes, object, old).await?;
        self.call_validating(attributes, object, old).await?;
        for plugin in PLUGINS.iter().filter(|plugin| (plugin.applies)(attributes)) {
            if let Some(account) = plugin.account {
                account(self, attributes, object, old)?;
            }
        }
        Ok(())
    }

    /// Both at once, for what a subresource takes and does not store: a binding, an eviction.
    pub async fn admit(&self, call: &Call, resource: &Resource, is_dry_run: bool, object: &mut Value) -> Result<()> {
        let attributes = Attributes::of_write(call, resource, Operation::Create, is_dry_run);
        self.mutate(&attributes, Some(object), None).await?;
        self.approve(&attributes, Some(object), None).await
    }
}

#[cfg(test)]
mod tests;
