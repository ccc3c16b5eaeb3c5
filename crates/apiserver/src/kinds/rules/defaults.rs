//! Defaults of kinds that have little else: a path and a value each, or a few lines where one field depends on another.

use super::set_default;
use crate::json::{Value, json};

/// Where a default goes, and its JSON text. `[*]` is every element of a list; what is not there is not made.
pub type Table = &'static [(&'static str, &'static str)];

pub const CLAIM: Table = &[("spec.volumeMode", "\"Filesystem\"")];
pub const PRIORITY_CLASS: Table = &[("preemptionPolicy", "\"PreemptLowerPriority\"")];
pub const API_SERVICE: Table = &[("spec.service.port", "443")];
pub const DEFINITION: Table =
    &[("spec.conversion.strategy", "\"None\""), ("spec.conversion.webhook.clientConfig.service.port", "443")];
pub const WEBHOOKS: Table = &[
    ("webhooks[*].failurePolicy", "\"Fail\""),
    ("webhooks[*].matchPolicy", "\"Equivalent\""),
    ("webhooks[*].namespaceSelector", "{}"),
    ("webhooks[*].objectSelector", "{}"),
    ("webhooks[*].timeoutSeconds", "10"),
    ("webhooks[*].rules[*].scope", "\"*\""),
    ("webhooks[*].clientConfig.service.port", "443"),
];
pub const MUTATING_WEBHOOKS: Table = &[("webhooks[*].reinvocationPolicy", "\"Never\"")];
pub const POLICY: Table = &[
    ("spec.failurePolicy", "\"Fail\""),
    ("spec.matchConstraints.matchPolicy", "\"Equivalent\""),
    ("spec.matchConstraints.namespaceSelector", "{}"),
    ("spec.matchConstraints.objectSelector", "{}"),
    ("spec.matchConstraints.resourceRules[*].scope", "\"*\""),
    ("spec.matchResources.matchPolicy", "\"Equivalent\""),
    ("spec.matchResources.namespaceSelector", "{}"),
    ("spec.matchResources.objectSelector", "{}"),
];
pub const RESOURCE_CLAIM: Table = &[
    ("spec.devices.requests[*].exactly.allocationMode", "\"ExactCount\""),
    ("spec.devices.requests[*].exactly.count", "1"),
    ("spec.spec.devices.requests[*].exactly.allocationMode", "\"ExactCount\""),
    ("spec.spec.devices.requests[*].exactly.count", "1"),
];
pub const ENDPOINT_SLICE: Table = &[("ports[*].name", "\"\""), ("ports[*].protocol", "\"TCP\"")];

/// Fills in what a table says.
pub fn fill(table: Table, object: &mut Value) {
    for (path, text) in table {
        let default: Value = serde_json::from_str(text).expect("defaults in tables are JSON");
        let parts: Vec<&str> = path.split('.').collect();
        fill_at(object, &parts, &default);
    }
}

fn fill_at(value: &mut Value, path: &[&str], default: &Value) {
    match path {
        [] => {}
        [last] => set_default(value, last, default.clone()),
        [first, rest @ ..] => match first.strip_suffix("[*]") {
            Some(list) => {
                let items = value.get_mut(list).and_then(Value::as_array_mut);
                items.into_iter().flatten().for_each(|item| fill_at(item, rest, default));
            }
            None => {
                if let Some(inner) = value.get_mut(*first).filter(|inner| inner.is_object()) {
                    fill_at(inner, rest, default);
                }
            }
        },
    }
}

/// A policy is about what comes in, and about what goes out where it says so.
pub fn network_policy(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    let has_egress = spec.get("egress").is_some_and(Value::is_array);
    set_default(spec, "policyTypes", if has_egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
    for list in ["ingress", "egress"] {
        for rule in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            fill(&[("ports[*].protocol", "\"TCP\"")], rule);
        }
    }
}

/// What is the most is also the default, and what is the default is also requested.
pub fn limit_range(object: &mut Value) {
    for limit in object.pointer_mut("/spec/limits").and_then(Value::as_array_mut).into_iter().flatten() {
        if limit["type"] != "Container" {
            continue;
        }
        for (to, from) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
            let Some(amounts) = limit.get(from).and_then(Value::as_object).cloned() else { continue };
            if let Some(target) = crate::schema::object_at(limit, &[to]) {
                for (resource, amount) in amounts {
                    target.entry(resource).or_insert(amount);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_appears_where_its_parent_is() {
        let mut object = json!({"webhooks": [{"rules": [{}, {"scope": "Cluster"}]}]});
        fill(WEBHOOKS, &mut object);
        assert_eq!(object["webhooks"][0]["rules"], json!([{"scope": "*"}, {"scope": "Cluster"}]));
        assert!(object["webhooks"][0].get("clientConfig").is_none());
    }

    #[test]
    fn every_default_in_a_table_is_json() {
        for table in [
            CLAIM,
            PRIORITY_CLASS,
            API_SERVICE,
            DEFINITION,
            WEBHOOKS,
            MUTATING_WEBHOOKS,
            POLICY,
            RESOURCE_CLAIM,
            ENDPOINT_SLICE,
        ] {
            fill(table, &mut json!({}));
        }
    }

    #[test]
    fn limits_follow_from_each_other() {
        let mut object =
            json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1"}}]}});
        limit_range(&mut object);
        let limit = &object["spec"]["limits"][0];
        assert_eq!(
            (&limit["default"], &limit["defaultRequest"]),
            (&json!({"cpu": "2"}), &json!({"cpu": "2", "memory": "1"}))
        );
    }
}
