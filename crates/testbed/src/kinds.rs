//! The built-in kinds as data, for the embedded API server: what a real control plane says of itself.
//!
//! Resources come from discovery, types from OpenAPI (without descriptions), columns from an empty Table, and how Go
//! writes a field, in JSON and in protobuf, from the sources the control plane is built from. `cargo xtask codegen --bed`
//! writes the files; one resource, type or role is one line, so that a new Kubernetes version reads well as a difference.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::http::Request;
use crate::planes::Plane;
use crate::problem::{Problem, Result};

mod go;

use go::Sources;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Where types live in Go, and what is left of their OpenAPI name without that.
const PREFIXES: [&str; 5] = [
    "io.k8s.api.",
    "io.k8s.apimachinery.pkg.apis.",
    "io.k8s.apimachinery.pkg.",
    "io.k8s.apiextensions-apiserver.pkg.apis.",
    "io.k8s.kube-aggregator.pkg.apis.",
];

/// Types of every group: what requests and answers are made of beside the kinds.
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
const ANSWERS: [&str; 8] =
    ["APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "DeleteOptions", "Patch", "Status", "WatchEvent"];

/// Schema keywords that are kept; the others describe, or repeat the type.
const KEYWORDS: [&str; 11] = [
    "type",
    "format",
    "enum",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
];

/// Writes `resources.json`, `types.json`, `policy.json` and `api_services.json` into the folder.
pub fn write(plane: &Plane, folder: &Path) -> Result<()> {
    let mut types = Types { schemas: BTreeMap::new(), sources: Sources::find()? };
    let mut resources = Vec::new();
    for (root, path) in [("/api", "/openapi/v3/api/"), ("/apis", "/openapi/v3/apis/")] {
        // What discovery itself is made of is described beside the groups.
        let document = plane.send(&Request::get(path.trim_end_matches('/')))?.success("OpenAPI")?;
        types.add(&document["components"]["schemas"]);
        let found = plane.send(&Request::get(root).accepting(AGGREGATED))?.success("discovery")?;
        for group in list(&found["items"]) {
            let name = group["metadata"]["name"].as_str().unwrap_or_default();
            for version in list(&group["versions"]) {
                let version_name = version["version"].as_str().unwrap_or_default();
                let place = if name.is_empty() { version_name.to_string() } else { format!("{name}/{version_name}") };
                let document = plane.send(&Request::get(format!("{path}{place}")))?.success("OpenAPI")?;
                types.add(&document["components"]["schemas"]);
                for resource in list(&version["resources"]) {
                    let columns = columns(plane, &format!("{root}/{place}"), resource)?;
                    resources.push(described(name, version_name, resource, &columns));
                }
            }
        }
    }
    let used = types.used(&mut resources)?;
    let lines = |items: Vec<String>| format!("[\n{}\n]\n", items.join(",\n"));
    write_file(&folder.join("resources.json"), &lines(resources.iter().map(Value::to_string).collect()))?;
    let entries: Vec<String> = used.iter().map(|(name, schema)| format!("{}:{schema}", json!(name))).collect();
    write_file(&folder.join("types.json"), &format!("{{\n{}\n}}\n", entries.join(",\n")))?;
    write_file(&folder.join("policy.json"), &lines(policy(plane)?.iter().map(Value::to_string).collect()))?;
    let services = api_services(plane)?;
    write_file(&folder.join("api_services.json"), &lines(services.iter().map(Value::to_string).collect()))
}

/// What the APIServices say that a control plane made when it started.
fn api_services(plane: &Plane) -> Result<Vec<Value>> {
    let path = "/apis/apiregistration.k8s.io/v1/apiservices?labelSelector=kube-aggregator.kubernetes.io/automanaged";
    let found = plane.send(&Request::get(path))?.success("APIServices")?;
    Ok(list(&found["items"]).iter().map(|service| service["spec"].clone()).collect())
}

/// The roles and bindings that a control plane made when it started, without what differs from start to start.
fn policy(plane: &Plane) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for kind in ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"] {
        let path = format!(
            "/apis/rbac.authorization.k8s.io/v1/{}s?labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults",
            kind.to_lowercase()
        );
        let found = plane.send(&Request::get(path))?.success("roles and bindings")?;
        for object in list(&found["items"]) {
            let mut kept = object.clone();
            kept["kind"] = kind.into();
            if let Some(metadata) = kept["metadata"].as_object_mut() {
                metadata.retain(|name, _| ["annotations", "labels", "name", "namespace"].contains(&name.as_str()));
            }
            // A controller fills these; without it they are empty.
            if kept["aggregationRule"].is_object() {
                kept["rules"] = Value::Null;
            }
            objects.push(kept);
        }
    }
    Ok(objects)
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| Problem::file("write", path, &error))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The columns that `kubectl get` shows; none where a kind cannot be listed.
fn columns(plane: &Plane, root: &str, resource: &Value) -> Result<Value> {
    if !list(&resource["verbs"]).contains(&json!("list")) {
        return Ok(json!([]));
    }
    let path = format!("{root}/{}?limit=1", resource["resource"].as_str().unwrap_or_default());
    let table = plane.send(&Request::get(path).accepting(TABLE))?.success("Table")?;
    let column = |column: &Value| {
        let mut kept = json!({"name": column["name"], "type": column["type"]});
        for (key, unset) in [("format", json!("")), ("priority", json!(0)), ("description", json!(""))] {
            if column[key] != unset {
                kept[key] = column[key].clone();
            }
        }
        kept
    };
    Ok(list(&table["columnDefinitions"]).iter().map(column).collect())
}

fn described(group: &str, version: &str, resource: &Value, columns: &Value) -> Value {
    let kind = |of: &Value| {
        let own = |key: &str, or: &str| {
            let found = of["responseKind"][key].as_str().unwrap_or_default();
            if found.is_empty() && of["responseKind"]["version"] == "" { or.to_string() } else { found.to_string() }
        };
        (own("group", group), own("version", version), own("kind", ""))
    };
    let mut line = json!({
        "group": group, "version": version, "resource": resource["resource"], "kind": kind(resource).2,
        "singular": resource["singularResource"], "namespaced": resource["scope"] == "Namespaced",
        "verbs": resource["verbs"], "columns": columns,
    });
    for key in ["shortNames", "categories"] {
        if let Some(names) = resource.get(key) {
            line[key] = names.clone();
        }
    }
    let subresources: Vec<Value> = list(&resource["subresources"])
        .iter()
        .map(|sub| {
            let (group, version, kind) = kind(sub);
            json!({"name": sub["subresource"], "group": group, "version": version, "kind": kind, "verbs": sub["verbs"]})
        })
        .collect();
    if !subresources.is_empty() {
        line["subresources"] = subresources.into();
    }
    line
}

/// Schemas by their full OpenAPI name.
struct Types {
    schemas: BTreeMap<String, Value>,
    sources: Sources,
}

impl Types {
    fn add(&mut self, schemas: &Value) {
        for (name, schema) in schemas.as_object().into_iter().flatten() {
            self.schemas.entry(name.clone()).or_insert_with(|| schema.clone());
        }
    }

    /// Names each kind's type in its resource; returns the types that these reach, under their short names.
    fn used(&self, resources: &mut [Value]) -> Result<BTreeMap<String, Value>> {
        let mut open: Vec<String> = ANSWERS.iter().map(|name| format!("{META}{name}")).collect();
        for resource in resources.iter_mut() {
            let mut gvk = json!({"group": resource["group"], "version": resource["version"], "kind": resource["kind"]});
            resource["type"] = self.open_kind(&gvk, &mut open).into();
            if list(&resource["verbs"]).contains(&json!("list")) {
                gvk["kind"] = format!("{}List", resource["kind"].as_str().unwrap_or_default()).into();
                self.open_kind(&gvk, &mut open);
            }
            let subresources = resource.get_mut("subresources").and_then(Value::as_array_mut);
            for sub in subresources.into_iter().flatten() {
                let gvk = json!({"group": sub["group"], "version": sub["version"], "kind": sub["kind"]});
                sub["type"] = self.open_kind(&gvk, &mut open).into();
            }
        }
        let mut used = BTreeMap::new();
        let mut seen = BTreeSet::new();
        while let Some(name) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let schema = self.schemas.get(&name).ok_or_else(|| Problem::new(format!("OpenAPI has no {name}")))?;
            used.insert(short(&name).to_string(), self.compact(&name, schema, &mut open)?);
        }
        Ok(used)
    }

    fn open_kind(&self, gvk: &Value, open: &mut Vec<String>) -> Option<String> {
        let is_it = |schema: &Value| list(&schema["x-kubernetes-group-version-kind"]).contains(gvk);
        let (name, _) = self.schemas.iter().find(|(_, schema)| is_it(schema))?;
        open.push(name.clone());
        Some(short(name).to_string())
    }

    /// A schema without what is not needed, and with how Go treats each property.
    fn compact(&self, owner: &str, schema: &Value, open: &mut Vec<String>) -> Result<Value> {
        let reference = schema.get("$ref").or_else(|| schema["allOf"].get(0).and_then(|only| only.get("$ref")));
        let mut kept = Map::new();
        if let Some(name) = reference.and_then(Value::as_str) {
            let name = name.trim_start_matches("#/components/schemas/");
            open.push(name.to_string());
            kept.insert("ref".into(), short(name).into());
        }
        for key in KEYWORDS {
            if let Some(value) = schema.get(key) {
                kept.insert(key.to_string(), value.clone());
            }
        }
        // OpenAPI repeats Go's zero values as defaults; only the others are defaults.
        let is_zero = |value: &Value| [json!(""), json!(0), json!(false), json!({}), json!([])].contains(value);
        if let Some(default) = schema.get("default").filter(|value| !is_zero(value)) {
            kept.insert("default".into(), default.clone());
        }
        if list(&schema["oneOf"]).iter().any(|one| one["type"] == "integer") {
            kept.insert("x-kubernetes-int-or-string".into(), true.into());
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(key).filter(|inner| inner.is_object()) {
                kept.insert(key.into(), self.compact(owner, inner, open)?);
            }
        }
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let mut fields = Map::new();
            for (name, property) in properties {
                let mut field = self.compact(owner, property, open)?;
                let source = self.sources.field(owner, name)?;
                if let Some(unset) = source.unset() {
                    field["go"] = unset.into();
                }
                match source.numbers.as_slice() {
                    [] => {}
                    [number] => field["number"] = json!(number),
                    numbers => field["number"] = json!(numbers),
                }
                fields.insert(name.clone(), field);
            }
            kept.insert("properties".into(), fields.into());
        }
        Ok(kept.into())
    }
}

/// The name without the Go module it is in.
fn short(name: &str) -> &str {
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}
