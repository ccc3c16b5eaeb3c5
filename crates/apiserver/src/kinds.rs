//! Which kinds a server has: the built-in ones from committed data, and what CRDs add while it runs.
//!
//! Data says what a kind is called and looks like; [`rules`] says what is special about it, one file per kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use crate::crd::Custom;
use crate::json::Value;
use crate::managed::Recent;
use crate::schema::Schema;
use crate::schema::load::Types;

pub mod pod_resources;
pub mod rules;

pub use rules::Rules;

/// One resource of one version: what lives below `/apis/GROUP/VERSION/PLURAL`.
#[derive(Debug, Clone)]
pub struct Resource {
    pub group: String,
    pub version: String,
    pub plural: String,
    pub kind: String,
    pub singular: String,
    pub list_kind: String,
    pub is_namespaced: bool,
    pub verbs: Vec<String>,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub subresources: Vec<Subresource>,
    pub columns: Vec<Column>,
    pub schema: Arc<Schema>,
    /// The name of a built-in kind's type in the committed data.
    pub type_name: Option<String>,
    pub rules: &'static Rules,
    /// Set for what a CRD defines.
    pub custom: Option<Arc<Custom>>,
    /// Where its objects are stored; several versions, and the two event groups, share a place.
    pub storage: String,
    /// Who owned what of the last new object.
    pub recent: Arc<Recent>,
}

#[derive(Debug, Clone)]
pub struct Subresource {
    pub name: String,
    pub group: String,
    pub version: String,
    pub kind: String,
    pub verbs: Vec<String>,
    pub schema: Option<Arc<Schema>>,
}

/// A column of `kubectl get`.
#[derive(Debug, Clone, Deserialize)]
pub struct Column {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    #[serde(default)]
    pub format: String,
    #[serde(default)]
    pub priority: i64,
    #[serde(default)]
    pub description: String,
}

impl Resource {
    pub fn api_version(&self) -> String {
        group_version(&self.group, &self.version)
    }

    /// Where Go keeps the group's types, as its messages tell it.
    pub fn go_package(&self) -> &str {
        self.group.split('.').next().filter(|name| !name.is_empty()).unwrap_or("core")
    }

    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|sub| sub.name == name)
    }

    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }
}

/// `v1`, `apps/v1`.
pub fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// The kinds that are always there.
#[derive(Debug)]
pub struct BuiltIn {
    pub resources: Vec<Arc<Resource>>,
    /// The schema of `metadata`, which every kind has.
    pub metadata: Arc<Schema>,
    pub delete_options: Arc<Schema>,
}

/// A line of `data/resources.json`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    group: String,
    version: String,
    resource: String,
    kind: String,
    singular: String,
    namespaced: bool,
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    subresources: Vec<SubLine>,
    columns: Vec<Column>,
    #[serde(rename = "type")]
    type_name: Option<String>,
}

#[derive(Deserialize)]
struct SubLine {
    name: String,
    group: String,
    version: String,
    kind: String,
    verbs: Vec<String>,
    #[serde(rename = "type")]
    type_name: Option<String>,
}

/// A kind and the type behind it.
#[derive(Debug)]
pub struct NamedType {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub type_name: String,
}

fn lines() -> Vec<Line> {
    serde_json::from_str(include_str!("../data/resources.json")).expect("the committed resources are as written")
}

impl BuiltIn {
    /// The types behind the built-in kinds.
    pub fn types() -> Types {
        Types::parse(include_str!("../data/types.json")).expect("the committed types are JSON")
    }

    /// The same as they are written down, for OpenAPI.
    pub fn sources() -> BTreeMap<String, Value> {
        serde_json::from_str(include_str!("../data/types.json")).expect("the committed types are JSON")
    }

    /// Every kind that a resource or subresource is written or read as.
    pub fn kinds() -> Vec<NamedType> {
        let mut kinds = Vec::new();
        let mut add = |group, version, kind, type_name: Option<String>| {
            kinds.extend(type_name.map(|type_name| NamedType { group, version, kind, type_name }));
        };
        for line in lines() {
            for sub in line.subresources {
                add(sub.group, sub.version, sub.kind, sub.type_name);
            }
            add(line.group, line.version, line.kind, line.type_name);
        }
        kinds
    }

    pub fn load() -> Self {
        let mut types = Self::types();
        let resources = lines().into_iter().map(|line| Arc::new(resource(line, &mut types))).collect();
        let (metadata, delete_options) = (types.get("meta.v1.ObjectMeta"), types.get("meta.v1.DeleteOptions"));
        Self { resources, metadata, delete_options }
    }
}

fn resource(line: Line, types: &mut Types) -> Resource {
    let mut schema = |name: &Option<String>| name.as_ref().map(|name| types.get(name));
    let subresources = line.subresources.into_iter().map(|sub| Subresource {
        schema: schema(&sub.type_name),
        name: sub.name,
        group: sub.group,
        version: sub.version,
        kind: sub.kind,
        verbs: sub.verbs,
    });
    let subresources = subresources.collect();
    Resource {
        schema: schema(&line.type_name).unwrap_or_else(Schema::any),
        type_name: line.type_name,
        rules: rules::of(&line.group, &line.resource),
        storage: storage(&line.group, &line.resource),
        recent: Arc::default(),
        list_kind: format!("{}List", line.kind),
        subresources,
        group: line.group,
        version: line.version,
        plural: line.resource,
        kind: line.kind,
        singular: line.singular,
        is_namespaced: line.namespaced,
        verbs: line.verbs,
        short_names: line.short_names,
        categories: line.categories,
        columns: line.columns,
        custom: None,
    }
}

/// Events of both groups are the same objects.
pub fn storage(group: &str, plural: &str) -> String {
    match (group, plural) {
        ("" | "events.k8s.io", "events") => "events".to_owned(),
        ("", plural) => plural.to_owned(),
        (group, plural) => format!("{plural}.{group}"),
    }
}

/// The kinds at one moment: immutable, replaced as a whole when a CRD comes, changes or goes.
#[derive(Debug, Clone)]
pub struct Registry {
    built_in: Arc<BuiltIn>,
    custom: Vec<Arc<Resource>>,
    by_plural: BTreeMap<String, Vec<Arc<Resource>>>,
}

impl Registry {
    pub fn new(built_in: Arc<BuiltIn>, custom: Vec<Arc<Resource>>) -> Self {
        let mut by_plural: BTreeMap<String, Vec<Arc<Resource>>> = BTreeMap::new();
        for resource in built_in.resources.iter().chain(&custom) {
            let namesakes = by_plural.entry(resource.plural.clone()).or_default();
            // Of two with one path the later one counts.
            namesakes.retain(|known| (&known.group, &known.version) != (&resource.group, &resource.version));
            namesakes.push(Arc::clone(resource));
        }
        Self { built_in, custom, by_plural }
    }

    pub fn built_in(&self) -> &Arc<BuiltIn> {
        &self.built_in
    }

    pub fn custom(&self) -> &[Arc<Resource>] {
        &self.custom
    }

    /// The custom kinds of the definition with that revision.
    pub fn defined_at(&self, revision: u64) -> Vec<Arc<Resource>> {
        let is_it = |custom: &Arc<Custom>| custom.revision == revision;
        self.custom.iter().filter(|resource| resource.custom.as_ref().is_some_and(is_it)).cloned().collect()
    }

    /// Everything there is, built-in kinds first.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.built_in.resources.iter().chain(&self.custom)
    }

    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        let namesakes = self.by_plural.get(plural)?;
        namesakes.iter().find(|known| known.group == group && known.version == version)
    }

    pub fn has_group(&self, group: &str) -> bool {
        self.all().any(|resource| resource.group == group)
    }

    pub fn has_built_in_group(&self, group: &str) -> bool {
        self.built_in.resources.iter().any(|resource| resource.group == group)
    }

    /// Groups in the order discovery shows them, each with its versions.
    pub fn groups(&self) -> Vec<(String, Vec<String>)> {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for resource in self.all().filter(|resource| !resource.group.is_empty()) {
            let index = groups.iter().position(|(name, _)| *name == resource.group).unwrap_or_else(|| {
                groups.push((resource.group.clone(), Vec::new()));
                groups.len() - 1
            });
            let versions = &mut groups[index].1;
            if !versions.contains(&resource.version) {
                versions.push(resource.version.clone());
            }
        }
        groups
    }

    /// The resources of one version, by name.
    pub fn of_version(&self, group: &str, version: &str) -> Vec<&Arc<Resource>> {
        let is_it = |resource: &&Arc<Resource>| resource.group == group && resource.version == version;
        self.by_plural.values().flatten().filter(is_it).collect()
    }
}

/// The text at a path of field names; empty when there is none.
pub fn text_at<'v>(value: &'v Value, path: &[&str]) -> &'v str {
    let found = path.iter().try_fold(value, |value, name| value.get(name));
    found.and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_committed_resource_has_a_type_that_is_known() {
        let built_in = BuiltIn::load();
        let known = |resource: &&Arc<Resource>| resource.schema.field("metadata").is_none();
        let without: Vec<&str> = built_in.resources.iter().filter(known).map(|found| found.plural.as_str()).collect();
        assert!(without.is_empty(), "no schema of metadata: {without:?}");
        let registry = Registry::new(Arc::new(built_in), Vec::new());
        assert_eq!(registry.find("apps", "v1", "deployments").unwrap().kind, "Deployment");
        assert_eq!(registry.groups()[0].0, "apiregistration.k8s.io");
    }

    #[test]
    fn both_event_groups_share_a_place() {
        assert_eq!(storage("", "events"), storage("events.k8s.io", "events"));
        assert_ne!(storage("", "pods"), storage("metrics.k8s.io", "pods"));
    }
}
