//! LimitRanger: what containers get when they say nothing, and what containers, pods and claims may ask for.

use kueue_core::quantity::Quantity;
use kueue_core::resource_list::ResourceList;

use super::{Plugin, aggregated, creates_pod, forbidden, is_whole};
use crate::admission::{Attributes, Operation};
use crate::json::Value;
use crate::kinds::pod_resources::{self, Side, containers, list};
use crate::kinds::text_at;
use crate::rest::service::Server;
use crate::schema::object_at;
use crate::status::Result;

const ANNOTATION: &str = "kubernetes.io/limit-ranger";
/// Numbers up to here are compared in thousandths.
const MILLI_MAX: i64 = i64::MAX / 1000;

pub const PLUGIN: Plugin = Plugin {
    applies: |attributes| {
        let is_claim = is_whole(attributes, "persistentvolumeclaims") && attributes.operation != Operation::Delete;
        creates_pod(attributes) || is_claim
    },
    mutate: Some(mutate),
    validate: Some(validate),
    ..Plugin::NONE
};

/// The limits of all LimitRanges of a namespace, by name of their range.
fn limits(server: &Server, namespace: &str) -> Vec<Vec<Value>> {
    let found = server.store.list("limitranges", namespace, None).map(|found| found.objects).unwrap_or_default();
    let of = |range: &Value| range["spec"]["limits"].as_array().cloned().unwrap_or_default();
    found.iter().map(|(_, range)| of(&range.value)).collect()
}

fn mutate(server: &Server, attributes: &Attributes<'_>, object: Option<&mut Value>, _: Option<&Value>) -> Result<()> {
    let Some(pod) = object.filter(|_| creates_pod(attributes)) else { return Ok(()) };
    for range in limits(server, attributes.namespace) {
        default_pod(pod, &range);
    }
    Ok(())
}

/// Gives containers what a range says for those that say nothing, and tells so in an annotation.
fn default_pod(pod: &mut Value, range: &[Value]) {
    let mut told = Vec::new();
    for (which, what) in [("containers", "container"), ("initContainers", "init container")] {
        for container in pod["spec"].get_mut(which).and_then(Value::as_array_mut).into_iter().flatten() {
            let name = text_at(container, &["name"]).to_owned();
            let mut set = |from: &str, to: &str| {
                let mut names: Vec<String> = Vec::new();
                for limit in range.iter().filter(|limit| limit["type"] == "Container") {
                    for (resource, amount) in limit[from].as_object().into_iter().flatten() {
                        let target = object_at(container, &["resources", to]);
                        if let Some(target) = target.filter(|target| !target.contains_key(resource)) {
                            target.insert(resource.clone(), amount.clone());
                            names.push(resource.to_string());
                        }
                    }
                }
                names.sort();
                names.join(", ")
            };
            let (limits, requests) = (set("default", "limits"), set("defaultRequest", "requests"));
            for (names, side) in [(requests, "request"), (limits, "limit")] {
                if !names.is_empty() {
                    told.push(format!("{names} {side} for {what} {name}"));
                }
            }
        }
    }
    if let Some(annotations) = object_at(pod, &["metadata", "annotations"]).filter(|_| !told.is_empty()) {
        annotations.insert(ANNOTATION, format!("LimitRanger plugin set: {}", told.join("; ")).into());
    }
}

fn validate(server: &Server, attributes: &Attributes<'_>, object: Option<&Value>, old: Option<&Value>) -> Result<()> {
    let Some(object) = object else { return Ok(()) };
    if old.is_some_and(crate::rest::write::is_deleted) {
        return Ok(());
    }
    for range in limits(server, attributes.namespace) {
        let mistakes: Vec<String> = match attributes.resource.storage.as_str() {
            "pods" => range.iter().flat_map(|limit| check_pod(&object["spec"], limit)).collect(),
            _ => range.iter().flat_map(|limit| check_claim(&object["spec"], limit)).collect(),
        };
        if let Some(why) = aggregated(&mistakes) {
            return Err(forbidden(attributes, &why));
        }
    }
    Ok(())
}

fn check_pod(spec: &Value, limit: &Value) -> Vec<String> {
    match limit["type"].as_str() {
        Some("Container") => {
            let all = containers(spec, "containers").chain(containers(spec, "initContainers"));
            let check = |container: &Value| {
                let of = |side| pod_resources::of_container(container, side);
                Asked { requests: of(Side::Requests), limits: of(Side::Limits) }.check("Container", limit)
            };
            all.flat_map(check).collect()
        }
        Some("Pod") => {
            let of = |side| pod_resources::of_pod(spec, side);
            Asked { requests: of(Side::Requests), limits: of(Side::Limits) }.check("Pod", limit)
        }
        _ => Vec::new(),
    }
}

/// A claim asks for storage, and there is no limit to it but this.
fn check_claim(spec: &Value, limit: &Value) -> Vec<String> {
    const KIND: &str = "PersistentVolumeClaim";
    if limit["type"] != KIND {
        return Vec::new();
    }
    let asked = Asked { requests: list(&spec["resources"]["requests"]), limits: ResourceList::new() };
    let mut mistakes: Vec<String> =
        list(&limit["min"]).iter().filter_map(|(name, least)| asked.below(KIND, name, least)).collect();
    mistakes.extend(list(&limit["max"]).iter().filter_map(|(name, most)| asked.requests_above(KIND, name, most)));
    mistakes
}

/// What a container or pod asks for.
struct Asked {
    requests: ResourceList,
    limits: ResourceList,
}

/// Numbers that can be compared: thousandths, unless one of them is too large for that.
fn comparable<const N: usize>(quantities: [Option<&Quantity>; N]) -> [i64; N] {
    let whole = quantities.map(|quantity| quantity.map_or(0, Quantity::value));
    if whole.iter().all(|value| *value <= MILLI_MAX) {
        quantities.map(|quantity| quantity.map_or(0, Quantity::milli_value))
    } else {
        whole
    }
}

impl Asked {
    fn check(&self, kind: &str, limit: &Value) -> Vec<String> {
        let mut mistakes: Vec<String> =
            list(&limit["min"]).iter().filter_map(|(name, least)| self.below(kind, name, least)).collect();
        mistakes.extend(list(&limit["max"]).iter().filter_map(|(name, most)| self.above(kind, name, most)));
        let ratios = list(&limit["maxLimitRequestRatio"]);
        mistakes.extend(ratios.iter().filter_map(|(name, ratio)| self.too_far_apart(kind, name, ratio)));
        mistakes
    }

    fn below(&self, kind: &str, name: &str, least: &Quantity) -> Option<String> {
        let (request, limit) = (self.requests.get(name), self.limits.get(name));
        let [asked, capped, bound] = comparable([request, limit, Some(least)]);
        let rule = format!("minimum {name} usage per {kind} is {least}");
        match (request, limit) {
            (None, _) => Some(format!("{rule}.  No request is specified")),
            (Some(request), _) if asked < bound => Some(format!("{rule}, but request is {request}")),
            (_, Some(limit)) if capped < bound => Some(format!("{rule}, but limit is {limit}")),
            _ => None,
        }
    }

    fn above(&self, kind: &str, name: &str, most: &Quantity) -> Option<String> {
        let (request, limit) = (self.requests.get(name), self.limits.get(name));
        let [asked, capped, bound] = comparable([request, limit, Some(most)]);
        let rule = format!("maximum {name} usage per {kind} is {most}");
        match (request, limit) {
            (_, None) => Some(format!("{rule}.  No limit is specified")),
            (_, Some(limit)) if capped > bound => Some(format!("{rule}, but limit is {limit}")),
            (Some(request), _) if asked > bound => Some(format!("{rule}, but request is {request}")),
            _ => None,
        }
    }

    fn requests_above(&self, kind: &str, name: &str, most: &Quantity) -> Option<String> {
        let request = self.requests.get(name);
        let [asked, bound] = comparable([request, Some(most)]);
        let rule = format!("maximum {name} usage per {kind} is {most}");
        match request {
            None => Some(format!("{rule}.  No request is specified")),
            Some(request) if asked > bound => Some(format!("{rule}, but request is {request}")),
            Some(_) => None,
        }
    }

    fn too_far_apart(&self, kind: &str, name: &str, most: &Quantity) -> Option<String> {
        let [asked, capped, _] = comparable([self.requests.get(name), self.limits.get(name), Some(most)]);
        let rule = format!("{name} max limit to request ratio per {kind} is {most}");
        if asked == 0 {
            return Some(format!("{rule}, but no request is specified or request is 0"));
        }
        if capped == 0 {
            return Some(format!("{rule}, but no limit is specified or limit is 0"));
        }
        let ratio = capped as f64 / asked as f64;
        let (shown, bound) = if most.value() <= MILLI_MAX {
            (ratio * 1000.0, most.milli_value() as f64)
        } else {
            (ratio, most.value() as f64)
        };
        (shown > bound).then(|| format!("{rule}, but provided ratio is {ratio:.6}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    fn container(requests: &Value, limits: &Value) -> Value {
        json!({"containers": [{"name": "c", "resources": {"requests": requests, "limits": limits}}]})
    }

    #[test]
    fn each_bound_is_told_in_its_words() {
        let range = json!({
            "type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "4"},
        });
        let cases = [
            (container(&json!({"cpu": "500m"}), &json!({"cpu": "1"})), ""),
            (
                container(&json!({"cpu": "1"}), &json!({"cpu": "3"})),
                "maximum cpu usage per Container is 2, but limit is 3",
            ),
            (
                container(&json!({"cpu": "50m"}), &json!({"cpu": "1"})),
                "[minimum cpu usage per Container is 100m, but request is 50m, cpu max limit to request ratio per \
                 Container is 4, but provided ratio is 20.000000]",
            ),
            (
                container(&json!({"cpu": "1"}), &json!({})),
                "[maximum cpu usage per Container is 2.  No limit is specified, cpu max limit to request ratio per \
                 Container is 4, but no limit is specified or limit is 0]",
            ),
            (
                container(&json!({}), &json!({"cpu": "1"})),
                "[minimum cpu usage per Container is 100m.  No request is specified, cpu max limit to request ratio per \
                 Container is 4, but no request is specified or request is 0]",
            ),
        ];
        for (spec, expected) in cases {
            assert_eq!(aggregated(&check_pod(&spec, &range)).unwrap_or_default(), expected, "{spec}");
        }
        let pod = json!({"type": "Pod", "max": {"cpu": "3"}});
        let one = json!({"resources": {"limits": {"cpu": "2"}}});
        assert_eq!(
            check_pod(&json!({"containers": [one, one]}), &pod),
            ["maximum cpu usage per Pod is 3, but limit is 4"]
        );
    }

    #[test]
    fn a_claim_is_judged_by_its_requests() {
        let range = json!({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}});
        let said = |size: &str| check_claim(&json!({"resources": {"requests": {"storage": size}}}), &range).join("");
        assert_eq!(said("2Gi"), "");
        assert_eq!(said("1Mi"), "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi");
        assert_eq!(said("6Gi"), "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi");
    }

    #[test]
    fn what_is_not_said_is_filled_in_and_told() {
        let range =
            [json!({"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "500m"}})];
        let mut pod = json!({"metadata": {}, "spec": {
            "containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}], "initContainers": [{"name": "i"}],
        }});
        default_pod(&mut pod, &range);
        assert_eq!(
            pod["spec"]["containers"][0]["resources"],
            json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "500m"}})
        );
        assert_eq!(
            pod["metadata"]["annotations"][ANNOTATION],
            "LimitRanger plugin set: cpu request for container c; memory limit for container c; cpu request for init \
             container i; cpu, memory limit for init container i"
        );
    }
}
