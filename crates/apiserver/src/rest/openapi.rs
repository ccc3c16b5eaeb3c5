//! OpenAPI v3, as much of it as clients look at: which operations take which parameters, and the types with their list keys.
//!
//! kubectl asks for it before every write. Descriptions of built-in types are left out.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::kinds::{BuiltIn, Registry, Resource, group_version};

/// Where types live in Go, by how their short names begin.
const PREFIXES: [(&str, &str); 7] = [
    ("meta.v1.", "io.k8s.apimachinery.pkg.apis."),
    ("api.resource.", "io.k8s.apimachinery.pkg."),
    ("runtime.", "io.k8s.apimachinery.pkg."),
    ("util.", "io.k8s.apimachinery.pkg."),
    ("version.", "io.k8s.apimachinery.pkg."),
    ("apiextensions.", "io.k8s.apiextensions-apiserver.pkg.apis."),
    ("apiregistration.", "io.k8s.kube-aggregator.pkg.apis."),
];

/// `/openapi/v3`: where the documents are. The hash changes with the kinds there are.
pub fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    let mut add = |path: String, hash: usize| {
        let url = format!("/openapi/v3/{path}?hash={hash:X}");
        paths.insert(path, json!({"serverRelativeURL": url}));
    };
    add("version".into(), 0);
    for resource in registry.all() {
        let hash = registry.of_version(&resource.group, &resource.version).len();
        add(root(&resource.group, &resource.version), hash);
    }
    json!({"paths": paths})
}

fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// The document of a path below `/openapi/v3/`.
pub fn document(registry: &Registry, path: &str) -> Option<Value> {
    let found: Vec<&Resource> =
        registry.all().map(|known| &**known).filter(|known| root(&known.group, &known.version) == path).collect();
    if found.is_empty() {
        return None;
    }
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let types = BuiltIn::sources();
    for resource in found {
        operations(resource, path, &mut paths);
        match &resource.custom {
            Some(custom) => {
                let mut schema = custom.source.clone();
                schema["x-kubernetes-group-version-kind"] = json!([gvk(resource)]);
                schemas.insert(custom_name(resource), schema);
            }
            None => {
                if let Some(name) = &resource.type_name {
                    collect(&types, name, &mut schemas);
                    if let Some(schema) = schemas.get_mut(&long(name)) {
                        schema["x-kubernetes-group-version-kind"] = json!([gvk(resource)]);
                    }
                }
            }
        }
    }
    let info = json!({"title": "Kubernetes", "version": group_version("", "v1.36.3")});
    Some(json!({"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}))
}

fn gvk(resource: &Resource) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}

/// `com.example.v1.Widget` for `widgets.example.com`.
fn custom_name(resource: &Resource) -> String {
    let group: Vec<&str> = resource.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), resource.version, resource.kind)
}

/// What can be done with a resource; kubectl looks for the parameter of patches.
fn operations(resource: &Resource, root: &str, paths: &mut Map<String, Value>) {
    let place = match resource.is_namespaced {
        true => format!("/{root}/namespaces/{{namespace}}/{}", resource.plural),
        false => format!("/{root}/{}", resource.plural),
    };
    let operation = |action: &str, is_write: bool| {
        let query =
            |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
        let parameters = match is_write {
            true => vec![query("dryRun"), query("fieldManager"), query("fieldValidation")],
            false => Vec::new(),
        };
        json!({
            "parameters": parameters, "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk(resource),
        })
    };
    let mut add = |path: String, verbs: &[(&str, &str, bool)]| {
        let mut methods = Map::new();
        for (verb, method, is_write) in verbs.iter().filter(|(verb, ..)| resource.allows(verb)) {
            methods.insert((*method).to_owned(), operation(verb, *is_write));
        }
        paths.insert(path, methods.into());
    };
    add(place.clone(), &[("list", "get", false), ("create", "post", true), ("deletecollection", "delete", false)]);
    let one = [("get", "get", false), ("update", "put", true), ("patch", "patch", true), ("delete", "delete", false)];
    add(format!("{place}/{{name}}"), &one);
}

/// The name that OpenAPI gives a type.
fn long(name: &str) -> String {
    let prefix = PREFIXES.iter().find(|(start, _)| name.starts_with(start)).map_or("io.k8s.api.", |(_, prefix)| prefix);
    format!("{prefix}{name}")
}

/// Adds a type and all that it refers to.
fn collect(types: &BTreeMap<String, Value>, name: &str, schemas: &mut Map<String, Value>) {
    if schemas.contains_key(&long(name)) {
        return;
    }
    let Some(source) = types.get(name) else { return };
    // Put there before its parts, so that a type that contains itself ends.
    schemas.insert(long(name), Value::Null);
    let schema = plain(types, source, schemas);
    schemas.insert(long(name), schema);
}

/// A schema in OpenAPI's form: references by their long names, nothing about Go.
fn plain(types: &BTreeMap<String, Value>, source: &Value, schemas: &mut Map<String, Value>) -> Value {
    let mut kept = Map::new();
    for (key, value) in source.as_object().into_iter().flatten() {
        match key.as_str() {
            "go" | "number" => {}
            "ref" => {
                let name = value.as_str().unwrap_or_default();
                collect(types, name, schemas);
                kept.insert("allOf".into(), json!([{"$ref": format!("#/components/schemas/{}", long(name))}]));
            }
            "items" | "additionalProperties" => {
                kept.insert(key.clone(), plain(types, value, schemas));
            }
            "properties" => {
                let fields = value.as_object().into_iter().flatten();
                let fields: Map<String, Value> =
                    fields.map(|(name, field)| (name.clone(), plain(types, field, schemas))).collect();
                kept.insert(key.clone(), fields.into());
            }
            _ => {
                kept.insert(key.clone(), value.clone());
            }
        }
    }
    kept.into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_document_names_what_kubectl_looks_for() {
        let registry = Registry::new(Arc::new(BuiltIn::load()), Vec::new());
        assert!(index(&registry)["paths"].get("apis/batch/v1").is_some());
        let document = document(&registry, "apis/batch/v1").unwrap();
        let patch = &document["paths"]["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"]["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Job");
        assert_eq!(patch["parameters"][2]["name"], "fieldValidation");
        let schemas = &document["components"]["schemas"];
        let template = &schemas["io.k8s.api.batch.v1.JobSpec"]["properties"]["template"]["allOf"][0]["$ref"];
        assert_eq!(template, "#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec");
        assert!(schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"].is_object());
        assert!(super::document(&registry, "apis/none/v1").is_none());
    }
}
