//! PodResize: what a pod that is bound asks for after a resize must fit its node, which must be able to resize at all.

use super::{Plugin, forbidden};
use crate::admission::{Attributes, Operation};
use crate::json::{Value, json};
use crate::kinds::pod_resources::{Side, list, of_pod_with_overhead};
use crate::kinds::text_at;
use crate::rest::service::Server;
use crate::status::{Result, Status};
use crate::store::Key;

pub const PLUGIN: Plugin = Plugin {
    applies: |attributes| {
        attributes.operation == Operation::Update
            && attributes.resource.storage == "pods"
            && attributes.subresource == "resize"
    },
    validate: Some(validate),
    ..Plugin::NONE
};

fn validate(server: &Server, attributes: &Attributes<'_>, object: Option<&Value>, old: Option<&Value>) -> Result<()> {
    let (Some(pod), Some(old)) = (object, old) else { return Ok(()) };
    let name = text_at(pod, &["spec", "nodeName"]);
    if name.is_empty() || pod["metadata"]["generation"] == old["metadata"]["generation"] {
        return Ok(());
    }
    let Some(node) = server.store.get("nodes", &Key::new("", name)) else {
        return Err(forbidden(attributes, &format!("node {name:?} not found")));
    };
    let system = text_at(&node.value, &["metadata", "labels", "kubernetes.io/os"]);
    if !["", "linux"].contains(&system) {
        let why = format!("pod resize is only supported on linux nodes, node {name:?} is {system:?}");
        return Err(refused(attributes, &why, "UnsupportedPlatform"));
    }
    let lacking = lacking(&pod["spec"], &node.value["status"]["allocatable"]);
    if lacking.is_empty() {
        return Ok(());
    }
    let why = format!("node didn't have enough allocatable resources: {}", lacking.join("; "));
    Err(refused(attributes, &why, "NodeCapacity"))
}

/// What a node has too little of: processors in thousandths, memory in bytes.
fn lacking(spec: &Value, allocatable: &Value) -> Vec<String> {
    let (wanted, there) = (of_pod_with_overhead(spec, Side::Requests), list(allocatable));
    let mut lacking = Vec::new();
    for name in ["cpu", "memory"] {
        let (wanted, there) =
            (wanted.get(name).cloned().unwrap_or_default(), there.get(name).cloned().unwrap_or_default());
        if wanted > there {
            let shown = |quantity: &kueue_core::quantity::Quantity| match name {
                "cpu" => quantity.milli_value(),
                _ => quantity.value(),
            };
            lacking.push(format!("{name}, requested: {}, allocatable: {}", shown(&wanted), shown(&there)));
        }
    }
    lacking
}

fn refused(attributes: &Attributes<'_>, why: &str, reason: &str) -> Status {
    let status = forbidden(attributes, why);
    let mut details = status.to_value()["details"].clone();
    details["causes"] = json!([{"reason": reason}]);
    status.with_details(details)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_that_lacks_is_told() {
        let spec = json!({"containers": [{"resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}}}]});
        let cases = [
            (json!({"cpu": "2", "memory": "1Gi"}), vec![]),
            (json!({"cpu": "1", "memory": "1Gi"}), vec!["cpu, requested: 1500, allocatable: 1000"]),
            (json!({}), vec!["cpu, requested: 1500, allocatable: 0", "memory, requested: 1073741824, allocatable: 0"]),
        ];
        for (allocatable, expected) in cases {
            assert_eq!(lacking(&spec, &allocatable), expected, "{allocatable}");
        }
    }
}
