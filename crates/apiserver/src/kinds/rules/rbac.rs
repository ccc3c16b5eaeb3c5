//! Roles and bindings: what a rule must name, whom a binding may be for, and that it stays with its role.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::name;
use kueue_core::selector::LabelSelector;

use super::{Rules, Update};
use crate::json::{Value, json};
use crate::kinds::text_at;

const GROUP: &str = "rbac.authorization.k8s.io";

pub static ROLE: Rules =
    Rules { check_name: path_segment, validate: |role| validate_rules(role, true), ..Rules::PLAIN };
pub static CLUSTER_ROLE: Rules = Rules { check_name: path_segment, validate: validate_cluster_role, ..Rules::PLAIN };
pub static BINDING: Rules = Rules {
    check_name: path_segment,
    default: default_binding,
    validate: |binding| validate_binding(binding, true),
    validate_update: keeps_role,
    ..Rules::PLAIN
};
pub static CLUSTER_BINDING: Rules = Rules { validate: |binding| validate_binding(binding, false), ..BINDING };

/// Anything that can stand in a URL is a name here.
pub fn path_segment(name: &str) -> Vec<String> {
    if [".", ".."].contains(&name) {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"].iter().filter(|odd| name.contains(*odd)).map(|odd| format!("may not contain '{odd}'")).collect()
}

fn is_empty(list: &Value) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}

fn validate_rules(role: &Value, is_namespaced: bool) -> Errors {
    let rules = role["rules"].as_array().into_iter().flatten().enumerate();
    rules.flat_map(|(index, rule)| validate_rule(rule, is_namespaced, &Path::new("rules").index(index))).collect()
}

fn validate_rule(rule: &Value, is_namespaced: bool, at: &Path) -> Errors {
    let mut errors = Errors::new();
    if is_empty(&rule["verbs"]) {
        errors.push(Error::required(&at.child("verbs"), "verbs must contain at least one value"));
    }
    if !is_empty(&rule["nonResourceURLs"]) {
        let mut refuse =
            |why: &str| errors.push(Error::invalid(&at.child("nonResourceURLs"), rule["nonResourceURLs"].clone(), why));
        if is_namespaced {
            refuse("namespaced rules cannot apply to non-resource URLs");
        }
        if ["apiGroups", "resources", "resourceNames"].iter().any(|list| !is_empty(&rule[*list])) {
            refuse("rules cannot apply to both regular resources and non-resource URLs");
        }
        return errors;
    }
    for (list, what) in [("apiGroups", "api group"), ("resources", "resource")] {
        if is_empty(&rule[list]) {
            errors.push(Error::required(&at.child(list), format!("resource rules must supply at least one {what}")));
        }
    }
    errors
}

fn validate_cluster_role(role: &Value) -> Errors {
    let mut errors = validate_rules(role, false);
    if role["aggregationRule"].is_object() {
        let at = Path::new("aggregationRule").child("clusterRoleSelectors");
        let selectors = &role["aggregationRule"]["clusterRoleSelectors"];
        if is_empty(selectors) {
            let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            errors.push(Error::required(&at, why));
        }
        for (index, selector) in selectors.as_array().into_iter().flatten().enumerate() {
            let selector = crate::json::read::<LabelSelector>(selector).unwrap_or_default();
            let mistakes = selector.validate(&at.index(index));
            let is_unusable = !mistakes.is_empty();
            errors.extend(mistakes);
            if is_unusable {
                errors.push(Error::invalid(&at.index(index), Value::Null, "invalid label selector."));
            }
        }
    }
    errors
}

/// Roles, users and groups belong to RBAC's own group, accounts to the core one.
fn default_binding(binding: &mut Value) {
    let settle = |reference: &mut Value| {
        if text_at(reference, &["apiGroup"]).is_empty()
            && let Some(reference) = reference.as_object_mut()
        {
            reference.insert("apiGroup", GROUP.into());
        }
    };
    if let Some(role) = binding.get_mut("roleRef") {
        settle(role);
    }
    let subjects = binding.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten();
    subjects.filter(|subject| subject["kind"] == "User" || subject["kind"] == "Group").for_each(settle);
}

fn validate_binding(binding: &Value, is_namespaced: bool) -> Errors {
    let mut errors = Errors::new();
    let at = Path::new("roleRef");
    let text = |field: &str| text_at(binding, &["roleRef", field]);
    if text("apiGroup") != GROUP {
        errors.push(Error::not_supported(&at.child("apiGroup"), text("apiGroup"), &[GROUP]));
    }
    let kinds: &[&str] = if is_namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&text("kind")) {
        errors.push(Error::not_supported(&at.child("kind"), text("kind"), kinds));
    }
    if text("name").is_empty() {
        errors.push(Error::required(&at.child("name"), ""));
    }
    errors
        .extend(path_segment(text("name")).into_iter().map(|why| Error::invalid(&at.child("name"), text("name"), why)));
    for (index, subject) in binding["subjects"].as_array().into_iter().flatten().enumerate() {
        errors.extend(validate_subject(subject, is_namespaced, &Path::new("subjects").index(index)));
    }
    errors
}

fn validate_subject(subject: &Value, is_namespaced: bool, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let text = |field: &str| text_at(subject, &[field]);
    if text("name").is_empty() {
        errors.push(Error::required(&at.child("name"), ""));
    }
    let group = at.child("apiGroup");
    match text("kind") {
        "ServiceAccount" => {
            if !text("name").is_empty() {
                let mistakes = name::dns1123_subdomain(text("name")).into_iter();
                errors.extend(mistakes.map(|why| Error::invalid(&at.child("name"), text("name"), why)));
            }
            if !text("apiGroup").is_empty() {
                errors.push(Error::not_supported(&group, text("apiGroup"), &[""]));
            }
            if !is_namespaced && text("namespace").is_empty() {
                errors.push(Error::required(&at.child("namespace"), ""));
            }
        }
        "User" | "Group" if text("apiGroup") == GROUP => {}
        "User" | "Group" => errors.push(Error::not_supported(&group, text("apiGroup"), &[GROUP])),
        other => errors.push(Error::not_supported(&at.child("kind"), other, &["ServiceAccount", "User", "Group"])),
    }
    errors
}

/// A binding that changed its role would silently give its subjects something else.
fn keeps_role(update: Update<'_>) -> Errors {
    if update.new["roleRef"] == update.old["roleRef"] {
        return Errors::new();
    }
    let text = |field: &str| text_at(update.new, &["roleRef", field]);
    let shown = json!({"APIGroup": text("apiGroup"), "Kind": text("kind"), "Name": text("name")});
    vec![Error::invalid(&Path::new("roleRef"), shown, "cannot change roleRef")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(errors: &Errors) -> String {
        errors.iter().map(Error::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_rule_names_verbs_and_either_resources_or_paths() {
        let cases = [
            (json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}), ""),
            (
                json!({"apiGroups": [""], "resources": ["pods"]}),
                "rules[0].verbs: Required value: verbs must contain at least one value",
            ),
            (
                json!({"verbs": ["get"]}),
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group; \
                 rules[0].resources: Required value: resource rules must supply at least one resource",
            ),
            (
                json!({"verbs": ["get"], "nonResourceURLs": ["/x"]}),
                "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
            ),
        ];
        for (rule, expected) in cases {
            assert_eq!(shown(&validate_rules(&json!({"rules": [rule]}), true)), expected);
        }
        let both = json!({"rules": [{"verbs": ["get"], "resources": ["pods"], "nonResourceURLs": ["/x"]}]});
        assert_eq!(
            shown(&validate_cluster_role(&both)),
            "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both regular resources and \
             non-resource URLs"
        );
        assert_eq!(
            shown(&validate_cluster_role(&json!({"aggregationRule": {}}))),
            "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if \
             aggregationRule is non-nil"
        );
        let term = json!({"key": "a", "operator": "Odd"});
        let odd = json!({"aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [term]}]}});
        assert!(
            shown(&validate_cluster_role(&odd))
                .ends_with("aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.")
        );
    }

    #[test]
    fn a_binding_is_of_a_role_to_known_subjects() {
        let role = json!({"apiGroup": GROUP, "kind": "Role", "name": "r"});
        let with = |subject: Value| json!({"roleRef": role, "subjects": [subject]});
        let cases = [
            (with(json!({"kind": "User", "apiGroup": GROUP, "name": "u"})), true, ""),
            (with(json!({"kind": "ServiceAccount", "name": "a"})), true, ""),
            (
                with(json!({"kind": "User", "name": ""})),
                true,
                "subjects[0].name: Required value; subjects[0].apiGroup: Unsupported value: \"\": supported values: \
                 \"rbac.authorization.k8s.io\"",
            ),
            (
                with(json!({"kind": "Odd", "name": "x"})),
                true,
                "subjects[0].kind: Unsupported value: \"Odd\": supported values: \"ServiceAccount\", \"User\", \"Group\"",
            ),
            (
                with(json!({"kind": "ServiceAccount", "name": "a"})),
                false,
                "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"; subjects[0].namespace: \
                 Required value",
            ),
            (
                json!({"roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "a/b"}}),
                true,
                "roleRef.name: Invalid value: \"a/b\": may not contain '/'",
            ),
        ];
        for (binding, is_namespaced, expected) in cases {
            assert_eq!(shown(&validate_binding(&binding, is_namespaced)), expected, "{binding}");
        }
    }

    #[test]
    fn users_and_groups_belong_to_the_group_of_roles() {
        let mut binding =
            json!({"roleRef": {"apiGroup": ""}, "subjects": [{"kind": "User"}, {"kind": "ServiceAccount"}]});
        default_binding(&mut binding);
        assert_eq!(binding["roleRef"]["apiGroup"], GROUP);
        assert_eq!(binding["subjects"], json!([{"kind": "User", "apiGroup": GROUP}, {"kind": "ServiceAccount"}]));
    }

    #[test]
    fn names_need_not_be_domain_names() {
        assert!(path_segment("system:Node_x").is_empty());
        assert_eq!(path_segment(".."), ["may not be '..'"]);
        assert_eq!(path_segment("a%b"), ["may not contain '%'"]);
    }

    #[test]
    fn a_binding_stays_with_its_role() {
        let binding = |name: &str| json!({"roleRef": {"apiGroup": GROUP, "kind": "Role", "name": name}});
        let errors = keeps_role(Update { new: &binding("b"), old: &binding("a") });
        assert!(shown(&errors).ends_with("cannot change roleRef"), "{errors:?}");
        assert!(keeps_role(Update { new: &binding("a"), old: &binding("a") }).is_empty());
    }
}
