//! OpenAPI v3, as much of it as clients look at: which operations take which parameters, and the types with their list keys.
//!
//! kubectl asks for it before every write. Descriptions of built-in types are left out.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::LazyLock;

use super::reply::Page;
use crate::json::{Map, Value, json};
use crate::kinds::{BuiltIn, NamedType, Registry, Resource};
use crate::protobuf::wire;

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

/// What requests and answers are made of beside the kinds.
const ANSWERS: [&str; 5] = ["APIResourceList", "DeleteOptions", "Patch", "Status", "WatchEvent"];

/// The committed types, read once.
static TYPES: LazyLock<BTreeMap<String, Value>> = LazyLock::new(BuiltIn::sources);

static KINDS: LazyLock<Vec<NamedType>> = LazyLock::new(BuiltIn::kinds);

/// `/openapi/v3`: where the documents are. A hash changes with what its document says.
pub fn index(registry: &Registry) -> Value {
    let mut hashes: BTreeMap<String, DefaultHasher> = BTreeMap::new();
    hashes.insert("version".into(), DefaultHasher::new());
    for resource in registry.all() {
        let hasher = hashes.entry(root(&resource.group, &resource.version)).or_default();
        (&resource.plural, &resource.kind, &resource.verbs).hash(hasher);
        if let Some(custom) = &resource.custom {
            custom.source.to_string().hash(hasher);
        }
    }
    let place = |(path, hash): (String, DefaultHasher)| {
        let url = format!("/openapi/v3/{path}?hash={:016X}", hash.finish());
        (path, json!({"serverRelativeURL": url}))
    };
    json!({"paths": hashes.into_iter().map(place).collect::<Map>()})
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
    let mut types = Collected { schemas: Map::new(), form: &V3 };
    for name in ANSWERS {
        types.collect(&format!("meta.v1.{name}"));
    }
    for resource in found {
        operations(resource, path, &mut paths);
        types.add(resource);
    }
    let info = json!({"title": "Kubernetes", "version": VERSION});
    Some(json!({"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": types.schemas}}))
}

/// `/openapi/v2`, which clients before 1.27 read, and newer ones when a kind is in no document of v3. In protobuf, where
/// nobody looks for a type that v3 has, it says that there is nothing more to know.
pub fn v2(registry: &Registry, accept: &str) -> Page {
    if accept.contains("+protobuf") {
        let mut info = Vec::new();
        wire::put_bytes(&mut info, 1, b"Kubernetes");
        wire::put_bytes(&mut info, 2, VERSION.as_bytes());
        let mut document = Vec::new();
        wire::put_bytes(&mut document, 1, b"2.0");
        wire::put_bytes(&mut document, 2, &info);
        wire::put_bytes(&mut document, 8, b"");
        return Page { bytes: document.into(), content_type: PROTOBUF, etag: None };
    }
    let mut types = Collected { schemas: Map::new(), form: &V2 };
    for resource in registry.all() {
        types.add(resource);
    }
    let info = json!({"title": "Kubernetes", "version": VERSION});
    let document = json!({"swagger": "2.0", "info": info, "paths": {}, "definitions": types.schemas});
    Page::kept(&document, "application/json")
}

const VERSION: &str = "v1.36.3";
/// Clients ask for it with an `@`, which no media type may have.
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

fn gvk(resource: &Resource) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}

/// `com.example.v1.Widget` for `widgets.example.com`.
fn custom_name(resource: &Resource) -> String {
    let group: Vec<&str> = resource.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), resource.version, resource.kind)
}

/// The forms of a patch; custom resources have no strategic ones.
const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
    "application/strategic-merge-patch+json",
];

/// What can be done with a resource; kubectl looks for the parameter of patches.
fn operations(resource: &Resource, root: &str, paths: &mut Map) {
    let place = match resource.is_namespaced {
        true => format!("/{root}/namespaces/{{namespace}}/{}", resource.plural),
        false => format!("/{root}/{}", resource.plural),
    };
    let patches = match resource.custom {
        Some(_) => &PATCHES[..3],
        None => &PATCHES[..],
    };
    let operation = |action: &str, is_write: bool| {
        let query =
            |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
        let parameters = match is_write {
            true => vec![query("dryRun"), query("fieldManager"), query("fieldValidation")],
            false => Vec::new(),
        };
        let mut operation = json!({
            "parameters": parameters, "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk(resource),
        });
        if action == "patch" {
            let schema = json!({"schema": {"$ref": format!("{}{}", V3.references, long("meta.v1.Patch"))}});
            let content: Map = patches.iter().map(|kind| ((*kind).to_owned(), schema.clone())).collect();
            operation["requestBody"] = json!({"content": content, "required": true});
        }
        operation
    };
    let mut add = |path: String, verbs: &[(&str, &str, bool)]| {
        let mut methods = Map::new();
        for (verb, method, is_write) in verbs.iter().filter(|(verb, ..)| resource.allows(verb)) {
            methods.insert(*method, operation(verb, *is_write));
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

/// How a version of OpenAPI refers to a type.
struct Form {
    references: &'static str,
    /// Whether something can stand beside a reference only when it is wrapped.
    is_wrapped: bool,
}

const V2: Form = Form { references: "#/definitions/", is_wrapped: false };
const V3: Form = Form { references: "#/components/schemas/", is_wrapped: true };

/// The types of a document so far.
struct Collected<'f> {
    schemas: Map,
    form: &'f Form,
}

impl Collected<'_> {
    fn reference(&self, name: &str) -> Value {
        let to = json!({"$ref": format!("{}{name}", self.form.references)});
        if self.form.is_wrapped { json!({"allOf": [to]}) } else { to }
    }

    /// The types of a resource and of its list.
    fn add(&mut self, resource: &Resource) {
        if let Some(custom) = &resource.custom {
            let (one, many) = (custom_name(resource), custom_name(resource) + "List");
            let schema = self.custom(resource, &custom.source);
            self.schemas.insert(one.clone(), schema);
            let items = json!({"type": "array", "items": self.reference(&one), "description": format!("List of {}.", resource.plural)});
            let mut list = json!({"type": "object", "required": ["items"], "properties": {"items": items}});
            self.describe_type(&mut list, "meta.v1.ListMeta", "Standard list metadata.");
            list[GVK] = json!([{"group": resource.group, "version": resource.version, "kind": resource.list_kind}]);
            self.schemas.insert(many, list);
        } else if let Some(name) = &resource.type_name {
            for sub in &resource.subresources {
                let is_it = |known: &&NamedType| {
                    (&known.group, &known.version, &known.kind) == (&sub.group, &sub.version, &sub.kind)
                };
                if let Some(known) = KINDS.iter().find(is_it) {
                    self.collect(&known.type_name);
                }
            }
            for (name, kind) in [(name.clone(), &resource.kind), (format!("{name}List"), &resource.list_kind)] {
                self.collect(&name);
                if let Some(schema) = self.schemas.get_mut(&long(&name)) {
                    schema[GVK] = json!([{"group": resource.group, "version": resource.version, "kind": kind}]);
                }
            }
        }
    }

    /// A CRD's schema with what every object has.
    fn custom(&mut self, resource: &Resource, source: &Value) -> Value {
        let mut schema = source.clone();
        if schema["type"] == "object" {
            if !schema["properties"].is_object() {
                schema["properties"] = json!({});
            }
            self.describe_type(&mut schema, "meta.v1.ObjectMeta", "Standard object's metadata.");
        }
        schema[GVK] = json!([gvk(resource)]);
        schema
    }

    fn describe_type(&mut self, schema: &mut Value, metadata: &str, what: &str) {
        self.collect(metadata);
        let mut reference = self.reference(&long(metadata));
        reference["description"] = format!("{what} More info: {CONVENTIONS}#metadata").into();
        schema["properties"]["metadata"] = reference;
        for (name, description) in [("apiVersion", API_VERSION), ("kind", KIND)] {
            let anchor = if name == "kind" { "types-kinds" } else { "resources" };
            let description = format!("{description} More info: {CONVENTIONS}#{anchor}");
            schema["properties"][name] = json!({"type": "string", "description": description});
        }
    }

    /// Adds a type and all that it refers to.
    fn collect(&mut self, name: &str) {
        if self.schemas.contains_key(&long(name)) {
            return;
        }
        let Some(source) = TYPES.get(name) else { return };
        // Put there before its parts, so that a type that contains itself ends.
        self.schemas.insert(long(name), Value::Null);
        let schema = self.plain(source);
        self.schemas.insert(long(name), schema);
    }

    /// A schema in OpenAPI's form: references by their long names, nothing about Go.
    fn plain(&mut self, source: &Value) -> Value {
        let mut kept = Map::new();
        for (key, value) in source.as_object().into_iter().flatten() {
            match key.as_str() {
                "go" | "number" => {}
                "ref" => {
                    let name = value.as_str().unwrap_or_default();
                    self.collect(name);
                    if let Value::Object(reference) = self.reference(&long(name)) {
                        kept.extend(reference);
                    }
                }
                "items" | "additionalProperties" => {
                    kept.insert(key.clone(), self.plain(value));
                }
                "properties" => {
                    let fields = value.as_object().into_iter().flatten();
                    let fields: Map = fields.map(|(name, field)| (name.clone(), self.plain(field))).collect();
                    kept.insert(key.clone(), fields.into());
                }
                _ => {
                    kept.insert(key.clone(), value.clone());
                }
            }
        }
        kept.into()
    }
}

const GVK: &str = "x-kubernetes-group-version-kind";
/// What `kubectl explain` says of the type of every custom object.
const CONVENTIONS: &str = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should \
    convert recognized schemas to the latest internal value, and may reject unrecognized values.";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer \
    this from the endpoint the client submits requests to. Cannot be updated. In CamelCase.";

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
        assert!(patch["requestBody"]["content"].get("application/strategic-merge-patch+json").is_some());
        let schemas = &document["components"]["schemas"];
        let template = &schemas["io.k8s.api.batch.v1.JobSpec"]["properties"]["template"]["allOf"][0]["$ref"];
        assert_eq!(template, "#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec");
        assert!(schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"].is_object());
        assert_eq!(schemas["io.k8s.api.batch.v1.JobList"][GVK][0]["kind"], "JobList");
        let core = super::document(&registry, "api/v1").unwrap();
        assert!(core["components"]["schemas"].get("io.k8s.api.authentication.v1.TokenRequestSpec").is_some());
        assert!(super::document(&registry, "apis/none/v1").is_none());
    }
}
