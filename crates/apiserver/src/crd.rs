//! CustomResourceDefinitions: kinds that come, change and go while the server runs.
//!
//! A definition is an ordinary object of a built-in kind. After every write to one, the custom kinds are made anew from
//! all of them, and the definition's conditions are written.

use std::sync::Arc;

use jiff::Timestamp;
use kueue_core::field::{Errors, Path};
use kueue_core::time::Time;
use serde_json::{Value, json};

use crate::kinds::{Column, Registry, Resource, Subresource, group_version, rules, storage};
use crate::rest::service::Server;
use crate::schema::{Schema, load, object_at, prune, validate};
use crate::status::Result;
use crate::store::{Key, Object};
use crate::table::age;

mod cel;
pub mod conversion;
mod json_path;

use json_path::JsonPath;

const STORAGE: &str = "customresourcedefinitions.apiextensions.k8s.io";
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
    /// Whether every stored object was written under this very schema, so that reading changes nothing.
    is_uniform: bool,
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

/// What keeps a definition until its objects are gone.
pub fn finalizer(resource: &Resource) -> Option<&'static str> {
    is_definition(resource).then_some(FINALIZER)
}

/// Fills in what a new definition has from the start.
pub fn prepare(resource: &Resource, value: &mut Value) {
    if !is_definition(resource) {
        return;
    }
    let kind = value["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
    if let Some(names) = object_at(value, &["spec", "names"]) {
        let is_unset = |name: Option<&Value>| name.and_then(Value::as_str).is_none_or(str::is_empty);
        if is_unset(names.get("singular")) {
            names.insert("singular".into(), kind.to_lowercase().into());
        }
        if is_unset(names.get("listKind")) {
            names.insert("listKind".into(), format!("{kind}List").into());
        }
    }
    if let Some(spec) = object_at(value, &["spec"]) {
        spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    }
    let versions = value["spec"]["versions"].as_array().cloned().unwrap_or_default();
    let stored = versions.iter().find(|version| version["storage"] == true).map(|version| version["name"].clone());
    let names = json!({"kind": "", "plural": ""});
    value["status"] =
        json!({"conditions": null, "acceptedNames": names, "storedVersions": stored.into_iter().collect::<Vec<_>>()});
}

/// Remembers every version that objects may have been stored in.
pub fn prepare_update(resource: &Resource, value: &mut Value) {
    if !is_definition(resource) {
        return;
    }
    let versions = value["spec"]["versions"].as_array().cloned().unwrap_or_default();
    let stored = versions.iter().find(|version| version["storage"] == true).map(|version| version["name"].clone());
    let known = object_at(value, &["status"]).map(|status| status.entry("storedVersions").or_insert_with(|| json!([])));
    if let Some(list) = known.and_then(Value::as_array_mut)
        && let Some(stored) = stored.filter(|stored| !list.contains(stored))
    {
        list.push(stored);
    }
}

/// A definition that is being deleted says so.
pub fn mark_terminating(resource: &Resource, value: &mut Value, now: Time) {
    if is_definition(resource) {
        let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        set_condition(value, "Terminating", "InstanceDeletionPending", message, now);
    }
}

fn set_condition(value: &mut Value, kind: &str, reason: &str, message: &str, now: Time) {
    let Some(status) = object_at(value, &["status"]) else { return };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if conditions.is_null() {
        *conditions = json!([]);
    }
    if let Some(list) = conditions.as_array_mut()
        && !list.iter().any(|known| known["type"] == kind)
    {
        list.push(json!({
            "type": kind, "status": "True", "lastTransitionTime": now.to_string(), "reason": reason, "message": message,
        }));
    }
}

impl Server {
    /// What follows from a write: definitions change the kinds there are.
    pub async fn after_write(&self, resource: &Resource, key: &Key) {
        if is_definition(resource) {
            self.settle_definition(key);
        }
    }

    /// Accepts, serves or ends a definition, in the steps that a watcher of it expects.
    fn settle_definition(&self, key: &Key) {
        let now = self.clock.time();
        if let Some(read) = self.store.get(STORAGE, key)
            && read.value["metadata"].get("deletionTimestamp").is_some()
        {
            self.end_definition(key, &read);
        }
        let steps = [
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ];
        for (kind, reason, message) in steps {
            let Some(read) = self.store.get(STORAGE, key) else { break };
            let mut value = read.value.clone();
            let names = value["spec"]["names"].clone();
            if let Some(status) = object_at(&mut value, &["status"]) {
                status.insert("acceptedNames".into(), names);
            }
            set_condition(&mut value, kind, reason, message, now);
            if value != read.value {
                // Somebody else may have been faster; their write comes here as well.
                let _ = self.store.update(STORAGE, key.clone(), &read, value);
            }
        }
        self.replace_registry(|registry| {
            let definitions = self.store.list(STORAGE, "", None).map(|found| found.objects).unwrap_or_default();
            let built_in = Arc::clone(registry.built_in());
            let custom = definitions.iter().flat_map(|(_, crd)| resources(&crd.value, &built_in.metadata));
            let custom: Vec<Arc<Resource>> = custom.map(Arc::new).collect();
            custom.iter().for_each(|resource| self.store.open(&resource.storage));
            Registry::new(built_in, custom)
        });
    }

    /// Deletes all objects of a definition, then what keeps it.
    fn end_definition(&self, key: &Key, read: &Arc<Object>) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let place = storage(&text(&read.value["spec"]["group"]), &text(&read.value["spec"]["names"]["plural"]));
        for (key, object) in self.store.list(&place, "", None).map(|found| found.objects).unwrap_or_default() {
            let _ = self.store.delete(&place, key, &object, object.value.clone());
        }
        let mut value = read.value.clone();
        let mut is_free = true;
        if let Some(finalizers) = value["metadata"]["finalizers"].as_array_mut() {
            finalizers.retain(|name| name != FINALIZER);
            is_free = finalizers.is_empty();
        }
        let _ = match is_free {
            true => self.store.delete(STORAGE, key.clone(), read, value),
            false => self.store.update(STORAGE, key.clone(), read, value),
        };
    }

    /// A stored object as this version shows it.
    pub async fn shown(&self, resource: &Resource, object: &Arc<Object>) -> Result<Arc<Object>> {
        if resource.storage == "events" {
            let other = crate::kinds::rules::event_form(&resource.group, &object.value);
            return Ok(
                other.map_or_else(|| Arc::clone(object), |value| Arc::new(Object::shown_as(value, object.revision)))
            );
        }
        if resource.custom.as_ref().is_none_or(|custom| custom.is_uniform) {
            return Ok(Arc::clone(object));
        }
        let mut value = object.value.clone();
        prune::prune(&resource.schema, &mut value);
        crate::schema::defaults::apply(&resource.schema, &mut value);
        if value == object.value {
            return Ok(Arc::clone(object));
        }
        Ok(Arc::new(Object::shown_as(value, object.revision)))
    }

    /// What the schema and the rules of a custom resource have to say.
    pub fn judge(&self, resource: &Resource, value: &Value, old: Option<&Value>) -> Errors {
        let Some(custom) = &resource.custom else { return Errors::new() };
        let errors = validate::validate(&resource.schema, value, old, &Path::default());
        let (version, kind) = (group_version(&resource.group, &resource.version), resource.kind.as_str());
        custom.rules.judge(value, old, &version, kind, errors)
    }
}

/// The kinds of a definition: one per version that is served.
fn resources(crd: &Value, metadata: &Arc<Schema>) -> Vec<Resource> {
    let spec = &crd["spec"];
    let established = crd["status"]["conditions"].as_array().into_iter().flatten();
    let is_established = established.into_iter().any(|one| one["type"] == "Established" && one["status"] == "True");
    if !is_established {
        return Vec::new();
    }
    let mut versions: Vec<&Value> = spec["versions"].as_array().into_iter().flatten().collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version_rank(version["name"].as_str().unwrap_or_default())));
    let is_uniform = versions.len() == 1 && crd["metadata"]["generation"] == 1;
    let served = versions.into_iter().filter(|version| version["served"] == true);
    served.map(|version| resource(crd, version, metadata, is_uniform)).collect()
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

fn resource(crd: &Value, version: &Value, metadata: &Arc<Schema>, is_uniform: bool) -> Resource {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &crd["spec"];
    let names = &spec["names"];
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
            selectable: selectable.map(|one| text(&one["jsonPath"]).trim_start_matches('.').to_owned()).collect(),
            deprecation,
            scale,
            source: source.clone(),
            stored_as: stored_as(spec, version, metadata),
            columns: paths,
            rules: cel::Rules::compile(source),
            is_uniform,
        })),
        storage: storage(&group, &text(&names["plural"])),
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
