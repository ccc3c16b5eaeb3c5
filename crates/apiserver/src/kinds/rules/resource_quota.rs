//! ResourceQuotas: what they count, and the scopes that they stay with.

use std::collections::BTreeSet;

use kueue_core::field::{Error, Errors, Path};
use kueue_core::resource_list::ResourceList;

use super::resource_names::{is_of_quotas, validate_for_quota};
use super::{Rules, Update};
use crate::json::Value;
use crate::kinds::text_at;

pub static RULES: Rules = Rules { answers_deleted: true, validate, validate_update, ..Rules::PLAIN };

const SCOPES: [&str; 7] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];
/// Scopes that exclude each other.
const OPPOSITES: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["NotTerminating", "Terminating"]];
const COMPUTE: [&str; 6] = ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];

fn validate(quota: &Value) -> Errors {
    let spec = &quota["spec"];
    let at = Path::new("spec");
    let hard = crate::json::read::<ResourceList>(&spec["hard"]).unwrap_or_default();
    let mut errors: Errors =
        hard.iter().flat_map(|(name, amount)| validate_for_quota(name, amount, &at.child("hard").key(name))).collect();
    errors.extend(validate_scopes(&spec["scopes"], &hard, &at.child("scopes")));
    errors.extend(validate_selector(spec, &hard, &at.child("scopeSelector").child("matchExpressions")));
    errors
}

/// Whether a quota with a scope can count a resource: scopes are about pods, and the humblest pods ask for nothing.
fn can_count(scope: &str, name: &str) -> bool {
    match scope {
        "BestEffort" => name == "pods",
        "CrossNamespacePodAffinity" | "NotBestEffort" | "NotTerminating" | "PriorityClass" | "Terminating" => {
            name == "pods" || COMPUTE.contains(&name)
        }
        _ => true,
    }
}

fn contradicts(scopes: &[&str]) -> bool {
    OPPOSITES.iter().any(|pair| pair.iter().all(|scope| scopes.contains(scope)))
}

fn validate_scopes(scopes: &Value, hard: &ResourceList, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let names: Vec<&str> = scopes.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut refuse = |why: &str| errors.push(Error::invalid(at, scopes.clone(), why));
    for scope in &names {
        if !SCOPES.contains(scope) {
            refuse("unsupported scope");
        }
        for _ in hard.keys().filter(|name| is_of_quotas(name) && !can_count(scope, name)) {
            refuse("unsupported scope applied to resource");
        }
    }
    if contradicts(&names) {
        refuse("conflicting scopes");
    }
    errors
}

fn validate_selector(spec: &Value, hard: &ResourceList, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let selector = &spec["scopeSelector"];
    let mut names = Vec::new();
    for term in selector["matchExpressions"].as_array().into_iter().flatten() {
        let (scope, operator) = (text_at(term, &["scopeName"]), text_at(term, &["operator"]));
        let has_values = term["values"].as_array().is_some_and(|values| !values.is_empty());
        if !SCOPES.contains(&scope) {
            errors.push(Error::invalid(&at.child("scopeName"), scope, "unsupported scope"));
        }
        for _ in hard.keys().filter(|name| is_of_quotas(name) && !can_count(scope, name)) {
            errors.push(Error::invalid(at, selector.clone(), "unsupported scope applied to resource"));
        }
        let takes_values = ["PriorityClass", "VolumeAttributesClass"].contains(&scope);
        if SCOPES.contains(&scope) && !takes_values && operator != "Exists" {
            let why = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                       ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort \
                       or ResourceQuotaScopeCrossNamespacePodAffinity";
            errors.push(Error::invalid(&at.child("operator"), operator, why));
        }
        match operator {
            "In" | "NotIn" if !has_values => {
                let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                errors.push(Error::required(&at.child("values"), why));
            }
            "Exists" | "DoesNotExist" if has_values => {
                let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                errors.push(Error::invalid(&at.child("values"), term["values"].clone(), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.push(Error::invalid(&at.child("operator"), operator, "not a valid selector operator")),
        }
        names.push(scope);
    }
    if contradicts(&names) {
        errors.push(Error::invalid(at, spec["scopes"].clone(), "conflicting scopes"));
    }
    errors
}

fn validate_update(update: Update<'_>) -> Errors {
    let scopes = |quota: &Value| -> BTreeSet<String> {
        let scopes = quota["spec"]["scopes"].as_array().into_iter().flatten();
        scopes.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    if scopes(update.new) == scopes(update.old) {
        return Errors::new();
    }
    let at = Path::new("spec").child("scopes");
    vec![Error::invalid(&at, update.new["spec"]["scopes"].clone(), "field is immutable")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn a_scope_is_known_and_can_be_counted() {
        let term = |scope: &str, operator: &str, values: Value| json!({"scopeSelector": {"matchExpressions": [{"scopeName": scope, "operator": operator, "values": values}]}});
        let cases = [
            (json!({"hard": {"pods": "1"}, "scopes": ["BestEffort"]}), ""),
            (json!({"scopes": ["Odd"]}), "spec.scopes: Invalid value: [\"Odd\"]: unsupported scope"),
            (
                json!({"hard": {"cpu": "1"}, "scopes": ["BestEffort"]}),
                "spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource",
            ),
            (
                json!({"scopes": ["BestEffort", "NotBestEffort"]}),
                "spec.scopes: Invalid value: [\"BestEffort\",\"NotBestEffort\"]: conflicting scopes",
            ),
            (term("PriorityClass", "In", json!(["high"])), ""),
            (
                term("PriorityClass", "In", json!([])),
                "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is \
                 'In' or 'NotIn' for scope selector",
            ),
            (
                term("PriorityClass", "Odd", json!([])),
                "spec.scopeSelector.matchExpressions.operator: Invalid value: \"Odd\": not a valid selector operator",
            ),
        ];
        for (spec, expected) in cases {
            let said: Vec<String> = validate(&json!({"spec": spec})).iter().map(Error::to_string).collect();
            assert_eq!(said.join("; "), expected, "{spec}");
        }
    }

    #[test]
    fn scopes_stay() {
        let quota = |scopes: Value| json!({"spec": {"scopes": scopes}});
        let (one, two) = (quota(json!(["BestEffort"])), quota(json!(["Terminating"])));
        assert_eq!(
            validate_update(Update { new: &two, old: &one })[0].to_string(),
            "spec.scopes: Invalid value: [\"Terminating\"]: field is immutable"
        );
        assert!(validate_update(Update { new: &one, old: &one }).is_empty());
    }
}
