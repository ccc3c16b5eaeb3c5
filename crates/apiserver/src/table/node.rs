//! The row of a node.

use jiff::Timestamp;

use super::age;
use crate::json::Value;

pub fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let info = |name: &str| {
        let found = object["status"]["nodeInfo"][name].as_str().unwrap_or_default();
        if found.is_empty() { "<unknown>".to_owned() } else { found.to_owned() }
    };
    vec![
        object["metadata"]["name"].clone(),
        status(object).into(),
        roles(object).into(),
        age(&object["metadata"]["creationTimestamp"], now).into(),
        object["status"]["nodeInfo"]["kubeletVersion"].as_str().unwrap_or_default().into(),
        address(object, "InternalIP").into(),
        address(object, "ExternalIP").into(),
        info("osImage").into(),
        kernel(&object["status"]["nodeInfo"], &info("kernelVersion")).into(),
        info("containerRuntimeVersion").into(),
    ]
}

fn kernel(info: &Value, version: &str) -> String {
    match info["architecture"].as_str().filter(|name| !name.is_empty()) {
        Some(architecture) if version != "<unknown>" => format!("{version} ({architecture})"),
        _ => version.to_owned(),
    }
}

fn status(object: &Value) -> String {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready");
    let word = match ready {
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let closed = if object["spec"]["unschedulable"] == true { ",SchedulingDisabled" } else { "" };
    format!("{word}{closed}")
}

fn roles(object: &Value) -> String {
    let mut roles: Vec<&str> = Vec::new();
    for (label, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        if let Some(role) = label.strip_prefix("node-role.kubernetes.io/").filter(|role| !role.is_empty()) {
            roles.push(role);
        } else if label == "kubernetes.io/role" {
            roles.extend(value.as_str().filter(|role| !role.is_empty()));
        }
    }
    roles.sort_unstable();
    roles.dedup();
    if roles.is_empty() { "<none>".to_owned() } else { roles.join(",") }
}

fn address(object: &Value, kind: &str) -> String {
    let addresses = object["status"]["addresses"].as_array().into_iter().flatten();
    let found = addresses.into_iter().find(|address| address["type"] == kind);
    found.and_then(|address| address["address"].as_str()).unwrap_or("<none>").to_owned()
}
