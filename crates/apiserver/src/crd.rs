//! CustomResourceDefinitions: kinds that come, change and go while the server runs.
//!
//! A definition is an ordinary object of a built-in kind. After every write to one, the custom kinds are made anew from
//! all of them, and the definition's conditions are written.

use std::sync::Arc;

use jiff::Timestamp;
use kueue_core::field::{Errors, Path};

use crate::json::{Value, json};
use crate::kinds::{Column, Resource, Subresource, group_version, rules, storage};
use crate::rest::service::Server;
use crate::schema::{Schema, embedded, load, prune, validate};
use crate::status::Result;
use crate::store::Object;
use crate::table::age;

pub mod cel;
pub mod conversion;
mod definition;
mod json_path;
mod lifecycle;

pub use lifecycle::{check_create, finalizer, mark_terminating, prepare, prepare_update};

use json_path::JsonPath;

pub const STORAGE: &str = "customresourcedefinitions.apiextensions.k8s.io";
const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// What the first column of every custom kind says of itself.
const NAME_DESCRIPTION: &str = "Name must be unique within a namespace. Is required when creating resources, although \
    some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily \
    intended for creation idempotence and configuration definition. Cannot be updated. More info: \
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const CREATED_DESCRIPTION: &str = "CreationTimestamp is a timestamp representing the server time when this object was \
    created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set \
    this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. \
    More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// What a CRD says of one version, beyond what every kind has.
#[derive(Debug)]
pub struct Custom {
    /// The revision of the definition that this was made of.
    pub revision: u64,
    /// Fields that a selector may ask for.
    pub selectable: Vec<String>,
    /// Told with every answer.
    pub deprecation: Option<String>,
    pub scale: Option<Scale>,
    /// The schema as the definition has it.
    pub source: Value,
    /// The schema of the stored version, where that is another one: what it does not know is not stored.
    pub stored_as: Option<Arc<Schema>>,
    columns: Vec<(JsonPath, String)>,
    rules: cel::Rules,
    /// Who converts between versions; without one they only differ in name.
    pub conversion: Option<conversion::Webhook>,
    /// Whether every stored object was written under this very schema, so that reading changes nothing.
    is_uniform: bool,
    /// Whether the definition is being deleted.
    pub is_terminating: bool,
    /// Whether there may be whole resources inside an object.
    pub has_embedded: bool,
}

#[derive(Debug)]
pub struct Scale {
    pub replicas: String,
    pub status_replicas: String,
    pub selector: Option<String>,
}

impl Custom {
    /// A row: the name, then what the columns point at.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let mut cells = vec![object["metadata"]["name"].clone()];
        for (path, type_name) in &self.columns {
            cells.push(cell(path.first(object), type_name, now));
        }
        cells
    }
}

/// A value in a column of a type; null when it does not fit.
fn cell(found: Option<&Value>, type_name: &str, now: Timestamp) -> Value {
    let Some(found) = found.filter(|found| !found.is_null()) else { return Value::Null };
    match type_name {
        "date" => age(found, now).into(),
        "integer" => found.as_i64().map_or(Value::Null, Into::into),
        "number" => found.as_f64().map_or(Value::Null, |_| found.clone()),
        "boolean" => found.as_bool().map_or(Value::Null, Into::into),
        _ => match found {
            Value::String(text) => text.clone().into(),
            other => other.to_string().into(),
        },
    }
}

fn is_definition(resource: &Resource) -> bool {
    resource.storage == STORAGE
}

/// Takes out of a definition what its schemas say and nobody knows; returns where that was.
pub fn drop_unknown_keywords(resource: &Resource, value: &mut Value) -> Vec<String> {
    if is_definition(resource) { definition::drop_unknown(value) } else { Vec::new() }
}

impl Server {
    /// A stored object as this version shows it.
    pub async fn shown(&self, resource: &Resource, object: &Arc<Object>) -> Result<Arc<Object>> {
        if let Some(value) = rules::shown_form(resource, &object.value) {
            return Ok(Arc::new(object.shown_as(value)));
        }
        if resource.custom.as_ref().is_none_or(|custom| custom.is_uniform) {
            return Ok(Arc::clone(object));
        }
        let converted = self.from_storage(resource, std::slice::from_ref(object), false).await?;
        Ok(self.completed(resource, converted.first().unwrap_or(object)))
    }

    /// Stored objects as this version shows them; what must be converted is converted at once.
    pub async fn shown_all(&self, resource: &Resource, objects: &[Arc<Object>]) -> Result<Vec<Arc<Object>>> {
        if resource.custom.as_ref().is_none_or(|custom| custom.conversion.is_none()) {
            let mut shown = Vec::with_capacity(objects.len());
            for object in objects {
                shown.push(self.shown(resource, object).await?);
            }
            return Ok(shown);
        }
        let converted = self.from_storage(resource, objects, true).await?;
        Ok(converted.iter().map(|object| self.completed(resource, object)).collect())
    }

    /// An object with the fields and defaults of its version's schema.
    fn completed(&self, resource: &Resource, object: &Arc<Object>) -> Arc<Object> {
        let mut value = object.value.clone();
        // What is stored is completed by the schema it is stored under; another version only shows less of it.
        let custom = resource.custom.as_ref();
        let stored = custom.and_then(|custom| custom.stored_as.as_ref()).unwrap_or(&resource.schema);
        prune::prune(stored, &mut value, None);
        crate::schema::defaults::apply(stored, &mut value, None);
        prune::prune(&resource.schema, &mut value, None);
        if value == object.value {
            return Arc::clone(object);
        }
        Arc::new(object.shown_as(value))
    }

    /// What the schema and the rules of a custom resource have to say, or others of its definition.
    pub fn judge(&self, resource: &Resource, value: &Value, old: Option<&Value>) -> Errors {
        let Some(custom) = &resource.custom else {
            return match (is_definition(resource), old) {
                (false, _) => Errors::new(),
                // A write that leaves the specification alone is one of the status.
                (true, Some(old)) if old["spec"] == value["spec"] => definition::validate_status(value),
                (true, old) => definition::validate(value, old),
            };
        };
        let mut errors = validate::validate(&resource.schema, value, old, &Path::default());
        if custom.has_embedded {
            errors.extend(embedded::validate(&resource.schema, value, &Path::default()));
        }
        let api_version = group_version(&resource.group, &resource.version);
        let of = cel::TypeOf { api_version: &api_version, kind: &resource.kind };
        custom.rules.judge(value, old, of, errors)
    }
}

/// The kinds of a definition: one per version that is served.
fn resources(definition: &Object, metadata: &Arc<Schema>) -> Vec<Resource> {
    let crd = &definition.value;
    let spec = &crd["spec"];
    let established = crd["status"]["conditions"].as_array().into_iter().flatten();
    let is_established = established.into_iter().any(|one| one["type"] == "Established" && one["status"] == "True");
    if !is_established {
        return Vec::new();
    }
    let mut versions: Vec<&Value> = spec["versions"].as_array().into_iter().flatten().collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version_rank(version["name"].as_str().unwrap_or_default())));
    let is_converted = spec["conversion"]["strategy"] == "Webhook";
    let is_uniform = versions.len() == 1 && crd["metadata"]["generation"] == 1 && !is_converted;
    let served = versions.into_iter().filter(|version| version["served"] == true);
    served.map(|version| resource(definition, version, metadata, is_uniform)).collect()
}

/// Stable versions before beta before alpha, higher numbers first; other names last.
fn version_rank(name: &str) -> (u8, u64, u64) {
    let Some(rest) = name.strip_prefix('v') else { return (0, 0, 0) };
    let digits = rest.len() - rest.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let (major, rest) = rest.split_at(digits);
    let Ok(major) = major.parse() else { return (0, 0, 0) };
    match rest {
        "" => (3, major, 0),
        rest => match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            (Some(minor), _) => (2, major, minor.parse().unwrap_or_default()),
            (_, Some(minor)) => (1, major, minor.parse().unwrap_or_default()),
            _ => (0, 0, 0),
        },
    }
}

fn resource(definition: &Object, version: &Value, metadata: &Arc<Schema>, is_uniform: bool) -> Resource {
    let crd = &definition.value;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &crd["spec"];
    let names = &crd["status"]["acceptedNames"];
    let strings = |value: &Value| value.as_array().into_iter().flatten().map(&text).collect::<Vec<String>>();
    let (group, name, kind) = (text(&spec["group"]), text(&version["name"]), text(&names["kind"]));
    let source = &version["schema"]["openAPIV3Schema"];
    let schema = load::custom_resource(source, metadata);
    let mut subresources = Vec::new();
    let verbs = || ["get", "patch", "update"].map(str::to_owned).to_vec();
    if version["subresources"]["status"].is_object() {
        subresources.push(Subresource {
            name: "status".into(),
            group: group.clone(),
            version: name.clone(),
            kind: kind.clone(),
            verbs: verbs(),
            schema: None,
        });
    }
    let scale = version["subresources"].get("scale").filter(|scale| scale.is_object()).map(|scale| {
        subresources.push(Subresource {
            name: "scale".into(),
            group: "autoscaling".into(),
            version: "v1".into(),
            kind: "Scale".into(),
            verbs: verbs(),
            schema: None,
        });
        Scale {
            replicas: text(&scale["specReplicasPath"]),
            status_replicas: text(&scale["statusReplicasPath"]),
            selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
        }
    });
    let (columns, paths) = columns(version);
    let deprecation = (version["deprecated"] == true).then(|| {
        let own = version["deprecationWarning"].as_str().map(str::to_owned);
        own.unwrap_or_else(|| format!("{group}/{name} {kind} is deprecated"))
    });
    let selectable = version["selectableFields"].as_array().into_iter().flatten();
    Resource {
        custom: Some(Arc::new(Custom {
            revision: definition.revision,
            selectable: selectable.map(|one| text(&one["jsonPath"]).trim_start_matches('.').to_owned()).collect(),
            deprecation,
            scale,
            source: source.clone(),
            stored_as: stored_as(spec, version, metadata),
            columns: paths,
            rules: cel::Rules::compile(source),
            conversion: conversion::Webhook::of(crd),
            is_uniform,
            has_embedded: source.to_string().contains("\"x-kubernetes-embedded-resource\":true"),
            is_terminating: crd["metadata"].get("deletionTimestamp").is_some(),
        })),
        storage: storage(&group, &text(&names["plural"])),
        recent: Arc::default(),
        plural: text(&names["plural"]),
        singular: text(&names["singular"]),
        list_kind: text(&names["listKind"]),
        short_names: strings(&names["shortNames"]),
        categories: strings(&names["categories"]),
        is_namespaced: spec["scope"] == "Namespaced",
        verbs: VERBS.map(str::to_owned).to_vec(),
        schema: Arc::new(schema),
        type_name: None,
        rules: &rules::CUSTOM,
        version: name,
        group,
        kind,
        subresources,
        columns,
    }
}

/// The schema of the version that is stored, unless it is this one.
fn stored_as(spec: &Value, version: &Value, metadata: &Arc<Schema>) -> Option<Arc<Schema>> {
    // What a webhook makes of an object has the form of the stored version anyway.
    if spec["conversion"]["strategy"] == "Webhook" {
        return None;
    }
    let mut versions = spec["versions"].as_array().into_iter().flatten();
    let stored = versions.find(|version| version["storage"] == true)?;
    (stored["name"] != version["name"])
        .then(|| Arc::new(load::custom_resource(&stored["schema"]["openAPIV3Schema"], metadata)))
}

/// The name, then what the definition wants, or the age.
fn columns(version: &Value) -> (Vec<Column>, Vec<(JsonPath, String)>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut columns = vec![Column {
        name: "Name".into(),
        type_name: "string".into(),
        format: "name".into(),
        priority: 0,
        description: NAME_DESCRIPTION.into(),
    }];
    let mut paths = Vec::new();
    let age = [json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"})];
    let wanted = version["additionalPrinterColumns"].as_array().filter(|listed| !listed.is_empty());
    let is_default = wanted.is_none();
    for column in wanted.map_or(&age[..], Vec::as_slice) {
        let type_name = text(&column["type"]);
        columns.push(Column {
            name: text(&column["name"]),
            type_name: type_name.clone(),
            format: text(&column["format"]),
            priority: column["priority"].as_i64().unwrap_or_default(),
            description: match column["description"].as_str().filter(|text| !text.is_empty()) {
                Some(text) => text.to_owned(),
                None if is_default => CREATED_DESCRIPTION.to_owned(),
                None => {
                    format!("Custom resource definition column (in JSONPath format): {}", text(&column["jsonPath"]))
                }
            },
        });
        paths.push((JsonPath::parse(&text(&column["jsonPath"])), type_name));
    }
    (columns, paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first() {
        let mut names = ["v1alpha1", "v1", "v10", "v2beta1", "v2", "foo"];
        names.sort_by_key(|name| std::cmp::Reverse(version_rank(name)));
        assert_eq!(names, ["v10", "v2", "v1", "v2beta1", "v1alpha1", "foo"]);
    }

    #[test]
    fn a_value_that_does_not_fit_its_column_is_not_shown() {
        let now = Timestamp::from_second(0).unwrap();
        assert_eq!(cell(Some(&json!("x")), "integer", now), Value::Null);
        assert_eq!(cell(Some(&json!(["a"])), "string", now), json!("[\"a\"]"));
        assert_eq!(cell(None, "string", now), Value::Null);
    }
}
