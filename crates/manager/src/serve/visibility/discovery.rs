//! What the server says of itself: groups, resources, and their shapes as OpenAPI.

use serde_json::{Map, Value, json};

use super::{GROUP, PART, VERSIONS};

const TITLE: &str = "Kueue visibility-server";
const BUILD: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// What is answered to anybody who looks around; nothing where there is nothing to see.
pub(super) fn answer(path: &str) -> Option<Value> {
    let path = path.trim_end_matches('/');
    match path {
        "/apis" => return Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group()]})),
        "/version" => return Some(json!({"gitVersion": BUILD})),
        "/openapi/v2" => return Some(openapi_v2()),
        "/openapi/v3" => {
            let documents = VERSIONS.map(|version| {
                let folder = format!("apis/{GROUP}/{version}");
                let url = json!({"serverRelativeURL": format!("/openapi/v3/{folder}?hash={BUILD}")});
                (folder, url)
            });
            return Some(json!({"paths": Map::from_iter(documents)}));
        }
        _ => {}
    }
    if let Some(rest) = path.strip_prefix("/openapi/v3/apis/") {
        return version_of(rest).map(openapi_v3);
    }
    match path.strip_prefix("/apis/")? {
        GROUP => {
            let mut group = group();
            (group["kind"], group["apiVersion"]) = ("APIGroup".into(), "v1".into());
            Some(group)
        }
        rest => version_of(rest).map(resources),
    }
}

/// The version that a path names after the group.
fn version_of(path: &str) -> Option<&'static str> {
    let version = path.strip_prefix(GROUP)?.strip_prefix('/')?;
    VERSIONS.into_iter().find(|known| *known == version)
}

fn group() -> Value {
    let versions = VERSIONS.map(|version| json!({"groupVersion": format!("{GROUP}/{version}"), "version": version}));
    json!({"name": GROUP, "versions": versions, "preferredVersion": versions[0]})
}

/// Queues themselves can only be named: nobody can get one here.
fn resources(version: &str) -> Value {
    let queue = |name: &str, singular: &str, is_namespaced: bool| {
        [
            json!({"name": name, "singularName": singular, "namespaced": is_namespaced,
                "kind": "PendingWorkloadsSummary", "verbs": []}),
            json!({"name": format!("{name}/{PART}"), "singularName": "", "namespaced": is_namespaced,
                "kind": "PendingWorkloadsSummary", "verbs": ["get"]}),
        ]
    };
    let all = [queue("clusterqueues", "clusterqueue", false), queue("localqueues", "localqueue", true)].concat();
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{GROUP}/{version}"),
        "resources": all})
}

fn openapi_v2() -> Value {
    let info = json!({"title": TITLE, "version": BUILD});
    let parameter = |name: &str, place: &str, mut schema: Value| {
        (schema["name"], schema["in"]) = (name.into(), place.into());
        schema["required"] = (place == "path").into();
        schema
    };
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for version in VERSIONS {
        let at = "#/definitions/";
        let response = json!({"description": "OK", "schema": {"$ref": format!("{at}{}", summary(version))}});
        paths.extend(operations(version, &json!({"200": response}), parameter));
        definitions.extend(schemas(version, at));
    }
    json!({"swagger": "2.0", "info": info, "paths": paths, "definitions": definitions})
}

fn openapi_v3(version: &'static str) -> Value {
    let at = "#/components/schemas/";
    let schema = json!({"$ref": format!("{at}{}", summary(version))});
    let response = json!({"description": "OK", "content": {"application/json": {"schema": schema}}});
    let parameter = |name: &str, place: &str, schema: Value| json!({"name": name, "in": place, "required": place == "path", "schema": schema});
    let paths = Map::from_iter(operations(version, &json!({"200": response}), parameter));
    json!({"openapi": "3.0.0", "info": {"title": TITLE, "version": BUILD}, "paths": paths,
        "components": {"schemas": Map::from_iter(schemas(version, at))}})
}

/// What can be asked, by path.
fn operations(
    version: &'static str,
    responses: &Value,
    parameter: impl Fn(&str, &str, Value) -> Value,
) -> [(String, Value); 2] {
    let kind = json!({"group": GROUP, "version": version, "kind": "PendingWorkloadsSummary"});
    let operation = |id: &str, about: &str, named: &[&str]| {
        let named = named.iter().map(|name| parameter(name, "path", json!({"type": "string"})));
        let paging = ["limit", "offset"].map(|name| parameter(name, "query", json!({"type": "integer"})));
        let parameters: Vec<Value> = named.chain(paging).collect();
        json!({"get": {"operationId": format!("read{version}{id}"), "description": about, "parameters": parameters,
            "responses": responses, "x-kubernetes-action": "get", "x-kubernetes-group-version-kind": kind}})
    };
    let root = format!("/apis/{GROUP}/{version}");
    let cluster_wide = operation("ClusterQueuePendingworkloads", "who waits in a ClusterQueue", &["name"]);
    let local = operation("LocalQueuePendingworkloads", "who waits in a LocalQueue", &["name", "namespace"]);
    [
        (format!("{root}/clusterqueues/{{name}}/{PART}"), cluster_wide),
        (format!("{root}/namespaces/{{namespace}}/localqueues/{{name}}/{PART}"), local),
    ]
}

fn summary(version: &str) -> String {
    format!("io.x-k8s.kueue.visibility.{version}.PendingWorkloadsSummary")
}

/// The shapes of what is answered, with references that begin with `at`.
fn schemas(version: &'static str, at: &str) -> [(String, Value); 2] {
    let item = format!("io.x-k8s.kueue.visibility.{version}.PendingWorkload");
    let number = || json!({"type": "integer", "format": "int32"});
    let text = || json!({"type": "string"});
    let workload = json!({
        "type": "object", "description": "A workload that waits.",
        "required": ["priority", "localQueueName", "positionInClusterQueue", "positionInLocalQueue"],
        "properties": {
            "metadata": {"type": "object", "description": "Name, namespace, owners and age of the Workload."},
            "priority": number(), "localQueueName": text(),
            "positionInClusterQueue": number(), "positionInLocalQueue": number(),
        },
    });
    let list = json!({
        "type": "object", "description": "The workloads that wait in a queue, in the order they are tried.",
        "required": ["items"],
        "properties": {
            "apiVersion": text(), "kind": text(), "metadata": {"type": "object"},
            "items": {"type": "array", "items": {"$ref": format!("{at}{item}")}},
        },
        "x-kubernetes-group-version-kind": [{"group": GROUP, "version": version, "kind": "PendingWorkloadsSummary"}],
    });
    [(item, workload), (summary(version), list)]
}
