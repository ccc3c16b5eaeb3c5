//! Admission: everybody who may change or refuse a write, in the order of a real server.
//!
//! A write asks twice. [`Server::mutate`] runs before the object gets its form and is judged: built-in plugins, then
//! mutating webhooks. [`Server::approve`] runs on what would be stored: plugins, policies, validating webhooks, and last
//! what counts usage. Deletions ask both at once.

use serde_json::{Map, Value, json};

use crate::kinds::Resource;
use crate::rest::service::{Call, Server};
use crate::status::Result;

pub mod plugins;

use plugins::PLUGINS;

/// What is done to an object, as webhooks and policies name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
            namespace: &call.path.namespace,
            name: &call.path.name,
            options: options_of(call, options),
            is_dry_run,
        }
    }
}

/// The options of a query, as an object.
fn options_of(call: &Call, kind: &str) -> Value {
    let mut options = Map::new();
    options.insert("kind".into(), kind.into());
    options.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    let dry_run = call.query.all("dryRun");
    if !dry_run.is_empty() {
        options.insert("dryRun".into(), json!(dry_run));
    }
    for name in ["fieldManager", "fieldValidation"] {
        let given = call.query.get(name);
        if !given.is_empty() {
            options.insert(name.into(), given.into());
        }
    }
    options.into()
}

impl Server {
    /// Whether anybody may want to change such an object. Asked first, because getting ready for it costs.
    pub fn may_mutate(&self, attributes: &Attributes<'_>) -> bool {
        PLUGINS.iter().any(|plugin| plugin.mutate.is_some() && (plugin.applies)(attributes))
    }

    /// Lets everybody change what is about to be written; `object` is nothing for a deletion.
    pub async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Value>,
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
