//! Which writes a webhook or policy has to do with: its rules, and the labels of namespace and object.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_core::selector::LabelSelector;

use super::Attributes;
use crate::json::Value;
use crate::kinds::{Registry, Resource, text_at};
use crate::meta;
use crate::rest::service::Server;
use crate::status::{About, Result, Status};
use crate::store::Key;

/// What a configuration says of the writes it is for.
#[derive(Debug, Default)]
pub struct Matcher {
    rules: Vec<Rule>,
    /// Rules whose writes are left out; only policies have them.
    excluded: Vec<Rule>,
    namespaces: Option<LabelSelector>,
    objects: Option<LabelSelector>,
    /// Whether a write through another version counts as well.
    is_equivalent: bool,
}

/// One of the `rules`, or `resourceRules`.
#[derive(Debug)]
struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    /// Any when there are none.
    names: Vec<String>,
    scope: String,
}

/// The resource as which a write is seen.
#[derive(Debug, Clone)]
pub enum Seen {
    AsAsked,
    /// In another version, because the rules only name that.
    As(Arc<Resource>),
}

impl Matcher {
    /// Reads a webhook.
    pub fn of_webhook(webhook: &Value) -> Self {
        Self { rules: rules(&webhook["rules"]), ..Self::of_selectors(webhook) }
    }

    /// Reads `matchConstraints` of a policy, or `matchResources` of a binding.
    pub fn of_resources(resources: &Value) -> Self {
        Self {
            rules: rules(&resources["resourceRules"]),
            excluded: rules(&resources["excludeResourceRules"]),
            ..Self::of_selectors(resources)
        }
    }

    fn of_selectors(value: &Value) -> Self {
        let selector = |name: &str| {
            let selector: LabelSelector = crate::json::read(value.get(name)?).ok()?;
            let is_empty = selector.match_labels.is_empty() && selector.match_expressions.is_empty();
            (!is_empty).then_some(selector)
        };
        Self {
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            is_equivalent: text_at(value, &["matchPolicy"]) != "Exact",
            ..Self::default()
        }
    }

    /// Whether it has rules at all: a binding without them takes what its policy takes.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether it depends on the name of an object what the rules say of it.
    pub fn has_names(&self) -> bool {
        self.rules.iter().chain(&self.excluded).any(|rule| !rule.names.is_empty())
    }

    /// How the rules see a write; nothing when they do not.
    pub fn seen(&self, registry: &Registry, attributes: &Attributes<'_>) -> Option<Seen> {
        if is_exempt(attributes) {
            return None;
        }
        let found = first(&self.rules, registry, attributes, self.is_equivalent)?;
        match first(&self.excluded, registry, attributes, self.is_equivalent) {
            Some(_) => None,
            None => Some(found),
        }
    }

    /// Whether namespace and object have the labels that are asked for.
    pub fn selects(
        &self,
        server: &Server,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<bool> {
        let has =
            |selector: &LabelSelector, value: &Value| selector.matches(&meta::strings(&value["metadata"]["labels"]));
        if let Some(objects) = &self.objects
            && !object.into_iter().chain(old).any(|value| has(objects, value))
        {
            return Ok(false);
        }
        let Some(namespaces) = &self.namespaces else { return Ok(true) };
        Ok(match namespace_labels(server, attributes, object)? {
            // What lives in no namespace is never left out by one.
            None => true,
            Some(labels) => namespaces.matches(&labels),
        })
    }
}

/// Configurations of admission are not subject to it, or a bad one could never be removed.
fn is_exempt(attributes: &Attributes<'_>) -> bool {
    attributes.resource.group == "admissionregistration.k8s.io"
}

fn namespace_labels(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
) -> Result<Option<BTreeMap<String, String>>> {
    let is_namespace = attributes.resource.storage == "namespaces";
    if attributes.namespace.is_empty() && !is_namespace {
        return Ok(None);
    }
    if let Some(object) = object.filter(|_| is_namespace && attributes.subresource.is_empty()) {
        return Ok(Some(meta::strings(&object["metadata"]["labels"])));
    }
    let name = attributes.namespace;
    let namespace = server.store.get("namespaces", &Key::new("", name));
    let namespace = namespace.ok_or_else(|| Status::not_found(About { group: "", kind: "namespaces", name }))?;
    Ok(Some(meta::strings(&namespace.value["metadata"]["labels"])))
}

/// The first rule that sees a write as it is, else the first that sees it in another version.
fn first(rules: &[Rule], registry: &Registry, attributes: &Attributes<'_>, is_equivalent: bool) -> Option<Seen> {
    let asked = attributes.resource;
    if rules.iter().any(|rule| rule.matches(asked, attributes)) {
        return Some(Seen::AsAsked);
    }
    if !is_equivalent {
        return None;
    }
    let equivalents: Vec<&Arc<Resource>> = registry
        .all()
        .filter(|known| {
            known.storage == asked.storage && (&known.group, &known.version) != (&asked.group, &asked.version)
        })
        .collect();
    let found = rules.iter().find_map(|rule| equivalents.iter().find(|known| rule.matches(known, attributes)));
    found.map(|found| Seen::As(Arc::clone(found)))
}

impl Rule {
    fn matches(&self, resource: &Resource, attributes: &Attributes<'_>) -> bool {
        let is_in_cluster = attributes.namespace.is_empty() || resource.storage == "namespaces";
        let scope = match self.scope.as_str() {
            "Namespaced" => !is_in_cluster,
            "Cluster" => is_in_cluster,
            _ => true,
        };
        scope
            && has(&self.operations, attributes.operation.name())
            && has(&self.groups, &resource.group)
            && has(&self.versions, &resource.version)
            && self.resources.iter().any(|named| {
                let (plural, sub) = named.split_once('/').unwrap_or((named, ""));
                (plural == "*" || plural == resource.plural) && (sub == "*" || sub == attributes.subresource)
            })
            && (self.names.is_empty() || self.names.iter().any(|name| name == attributes.name))
    }
}

fn has(listed: &[String], wanted: &str) -> bool {
    listed.iter().any(|one| one == "*" || one == wanted)
}

fn rules(value: &Value) -> Vec<Rule> {
    let texts = |value: &Value| {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let rule = |rule: &Value| Rule {
        operations: texts(&rule["operations"]),
        groups: texts(&rule["apiGroups"]),
        versions: texts(&rule["apiVersions"]),
        resources: texts(&rule["resources"]),
        names: texts(&rule["resourceNames"]),
        scope: text_at(rule, &["scope"]).to_owned(),
    };
    value.as_array().into_iter().flatten().map(rule).collect()
}
