//! Which objects a quota with scopes covers: pods of a certain sort.

use crate::json::Value;
use crate::kinds::rules::qos_class;
use crate::kinds::{Resource, text_at};

/// Whether a quota's scopes, all of them, cover an object. Without scopes it covers everything.
pub fn covers(spec: &Value, resource: &Resource, object: &Value) -> bool {
    let scopes = spec["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let is_pod = resource.storage == "pods";
    let mut terms = spec["scopeSelector"]["matchExpressions"].as_array().into_iter().flatten();
    scopes.into_iter().all(|scope| is_pod && matches(scope, "Exists", &[], object))
        && terms.all(|term| {
            let values: Vec<&str> = term["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            is_pod && matches(text_at(term, &["scopeName"]), text_at(term, &["operator"]), &values, object)
        })
}

/// Whether a pod is to end by itself.
pub fn has_deadline(pod: &Value) -> bool {
    pod["spec"]["activeDeadlineSeconds"].as_i64().is_some_and(|seconds| seconds >= 0)
}

fn matches(scope: &str, operator: &str, values: &[&str], pod: &Value) -> bool {
    match scope {
        "Terminating" => has_deadline(pod),
        "NotTerminating" => !has_deadline(pod),
        "BestEffort" => qos_class(&pod["spec"]) == "BestEffort",
        "NotBestEffort" => qos_class(&pod["spec"]) != "BestEffort",
        "CrossNamespacePodAffinity" => looks_elsewhere(&pod["spec"]["affinity"]),
        "PriorityClass" => {
            let class = text_at(pod, &["spec", "priorityClassName"]);
            match operator {
                "Exists" => !class.is_empty(),
                "DoesNotExist" => class.is_empty(),
                "In" => !class.is_empty() && values.contains(&class),
                // A pod without a class is not in any of them.
                "NotIn" => !values.contains(&class),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Whether a pod wants to be near, or far from, pods of other namespaces.
fn looks_elsewhere(affinity: &Value) -> bool {
    let terms = |of: &Value| -> Vec<Value> {
        let required = of["requiredDuringSchedulingIgnoredDuringExecution"].as_array().into_iter().flatten().cloned();
        let preferred = of["preferredDuringSchedulingIgnoredDuringExecution"].as_array().into_iter().flatten();
        required.chain(preferred.map(|term| term["podAffinityTerm"].clone())).collect()
    };
    let is_wide = |term: &Value| {
        term["namespaces"].as_array().is_some_and(|names| !names.is_empty()) || term["namespaceSelector"].is_object()
    };
    ["podAffinity", "podAntiAffinity"].iter().any(|side| terms(&affinity[*side]).iter().any(is_wide))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;
    use crate::kinds::BuiltIn;

    #[test]
    fn scopes_choose_pods() {
        let built_in = BuiltIn::load();
        let of = |plural: &str| built_in.resources.iter().find(|found| found.plural == plural).unwrap();
        let term = |operator: &str, values: Value| {
            let term = json!({"scopeName": "PriorityClass", "operator": operator, "values": values});
            json!({"scopeSelector": {"matchExpressions": [term]}})
        };
        let high = json!({"spec": {"priorityClassName": "high", "activeDeadlineSeconds": 5, "containers": []}});
        let plain = json!({"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}});
        let cases = [
            (json!({}), true, true),
            (json!({"scopes": ["Terminating"]}), true, false),
            (json!({"scopes": ["NotTerminating"]}), false, true),
            (json!({"scopes": ["BestEffort"]}), true, false),
            (json!({"scopes": ["Terminating", "NotBestEffort"]}), false, false),
            (term("In", json!(["high"])), true, false),
            (term("NotIn", json!(["high"])), false, true),
            (term("Exists", json!([])), true, false),
            (term("DoesNotExist", json!([])), false, true),
        ];
        for (spec, of_high, of_plain) in cases {
            let found = (covers(&spec, of("pods"), &high), covers(&spec, of("pods"), &plain));
            assert_eq!(found, (of_high, of_plain), "{spec}");
        }
        assert!(!covers(&json!({"scopes": ["BestEffort"]}), of("configmaps"), &json!({})));
        let near = json!({"namespaceSelector": {}});
        let affinity = json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}});
        assert!(looks_elsewhere(&affinity));
        assert!(!looks_elsewhere(&json!({})));
    }
}
