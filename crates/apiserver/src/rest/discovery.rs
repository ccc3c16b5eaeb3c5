//! What there is: groups, versions and resources, plain and aggregated.
//!
//! Groups come in the order of their APIServices; some of them are answered for by other servers.

use crate::aggregate::Aggregated;
use crate::json::{Value, json};
use crate::kinds::{Registry, Resource, group_version, text_at};

/// `/api`.
pub fn core_versions() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}],
    })
}

/// `/apis`.
pub fn groups(groups: &[(String, Vec<String>)]) -> Value {
    let groups: Vec<Value> = groups.iter().map(|(name, versions)| group_body(name, versions)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`.
pub fn group(groups: &[(String, Vec<String>)], wanted: &str) -> Option<Value> {
    let (name, versions) = groups.iter().find(|(name, _)| name == wanted)?;
    let mut value = group_body(name, versions);
    value["kind"] = "APIGroup".into();
    value["apiVersion"] = "v1".into();
    Some(value)
}

fn group_body(name: &str, versions: &[String]) -> Value {
    let version = |version: &String| json!({"groupVersion": group_version(name, version), "version": version});
    let versions: Vec<Value> = versions.iter().map(version).collect();
    json!({"name": name, "preferredVersion": versions.first(), "versions": versions})
}

/// `/apis/GROUP/VERSION`.
pub fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let found = registry.of_version(group, version);
    if found.is_empty() {
        return None;
    }
    let mut listed = Vec::new();
    for resource in found {
        let mut line = json!({
            "name": resource.plural, "singularName": resource.singular, "namespaced": resource.is_namespaced,
            "kind": resource.kind, "verbs": resource.verbs,
        });
        for (key, names) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
            if !names.is_empty() {
                line[key] = json!(names);
            }
        }
        listed.push(line);
        for sub in &resource.subresources {
            let mut line = json!({
                "name": format!("{}/{}", resource.plural, sub.name), "singularName": "",
                "namespaced": resource.is_namespaced, "kind": sub.kind, "verbs": sub.verbs,
            });
            if (sub.group.as_str(), sub.version.as_str()) != (group, version) {
                line["group"] = sub.group.clone().into();
                line["version"] = sub.version.clone().into();
            }
            listed.push(line);
        }
    }
    let group_version = group_version(group, version);
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed,
    }))
}

/// Whether a client asks for everything in one answer, and in which media type it then comes.
pub fn aggregated_type(accept: &str) -> Option<&'static str> {
    let clauses = accept.split(',').map(|clause| clause.replace(' ', ""));
    for clause in clauses.filter(|clause| clause.contains("as=APIGroupDiscoveryList")) {
        let is_json = clause.starts_with("application/json");
        if is_json
            && clause.contains("g=apidiscovery.k8s.io")
            && clause.contains("v=v2")
            && !clause.contains("v=v2beta1")
        {
            return Some("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
        }
    }
    None
}

/// `/api` or `/apis` in one answer.
pub fn aggregated(registry: &Registry, groups: &[(String, Vec<String>)], others: &Aggregated) -> Value {
    let version = |group: &str, version: &String| {
        let own = registry.of_version(group, version);
        if !own.is_empty() {
            let resources: Vec<Value> = own.iter().map(|found| aggregated_resource(found)).collect();
            return json!({"version": version, "resources": resources, "freshness": "Current"});
        }
        match others.resources(group, version) {
            Some(listed) => {
                json!({"version": version, "resources": nested(group, version, &listed), "freshness": "Current"})
            }
            None => json!({"version": version, "freshness": "Stale"}),
        }
    };
    let items: Vec<Value> = groups
        .iter()
        .map(|(name, versions)| {
            let versions: Vec<Value> = versions.iter().map(|known| version(name, known)).collect();
            let metadata = if name.is_empty() { json!({}) } else { json!({"name": name}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

/// The lines of another server's list as resources with their subresources.
fn nested(group: &str, version: &str, listed: &Value) -> Vec<Value> {
    let mut resources: Vec<Value> = Vec::new();
    for line in listed["resources"].as_array().into_iter().flatten() {
        let own = |field: &str| Some(text_at(line, &[field])).filter(|text| !text.is_empty());
        let kind = json!({"group": own("group").unwrap_or(group), "version": own("version").unwrap_or(version), "kind": line["kind"]});
        let Some((parent, sub)) = text_at(line, &["name"]).split_once('/') else {
            let scope = if line["namespaced"] == true { "Namespaced" } else { "Cluster" };
            let mut resource = json!({
                "resource": line["name"], "responseKind": kind, "scope": scope,
                "singularResource": line["singularName"], "verbs": line["verbs"],
            });
            for names in ["shortNames", "categories"] {
                if let Some(given) = line.get(names) {
                    resource[names] = given.clone();
                }
            }
            resources.push(resource);
            continue;
        };
        let parent = resources.iter_mut().find(|resource| resource["resource"] == parent);
        if let Some(parent) = parent.and_then(Value::as_object_mut) {
            let subs = parent.entry("subresources").or_insert_with(|| json!([]));
            if let Some(subs) = subs.as_array_mut() {
                subs.push(json!({"subresource": sub, "responseKind": kind, "verbs": line["verbs"]}));
            }
        }
    }
    resources
}

fn aggregated_resource(resource: &Resource) -> Value {
    let kind = |group: &str, version: &str, kind: &str| match (group, version) == (&resource.group, &resource.version) {
        true if resource.custom.is_none() => json!({"group": "", "version": "", "kind": kind}),
        _ => json!({"group": group, "version": version, "kind": kind}),
    };
    let mut value = json!({
        "resource": resource.plural, "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": if resource.is_namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular, "verbs": resource.verbs,
    });
    for (key, names) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !names.is_empty() {
            value[key] = json!(names);
        }
    }
    let subresource = |sub: &crate::kinds::Subresource| {
        json!({
            "subresource": sub.name, "responseKind": kind(&sub.group, &sub.version, &sub.kind), "verbs": sub.verbs,
        })
    };
    if !resource.subresources.is_empty() {
        value["subresources"] = resource.subresources.iter().map(subresource).collect();
    }
    value
}
