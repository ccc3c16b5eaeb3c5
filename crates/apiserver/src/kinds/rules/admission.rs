//! Configurations of admission: webhooks, policies and their bindings.

use std::collections::BTreeSet;

use kueue_core::field::{Error, Errors, Path};
use kueue_core::selector::LabelSelector;
use kueue_core::{label, name};

use super::{Rules, defaults};
use crate::admission::cel::Expression;
use crate::json::Value;
use crate::kinds::text_at;

pub static MUTATING_WEBHOOKS: Rules = Rules {
    default: |object| {
        defaults::fill(defaults::WEBHOOKS, object);
        defaults::fill(defaults::MUTATING_WEBHOOKS, object);
    },
    validate: webhooks,
    ..Rules::STRICT
};
pub static VALIDATING_WEBHOOKS: Rules =
    Rules { default: |object| defaults::fill(defaults::WEBHOOKS, object), validate: webhooks, ..Rules::STRICT };
pub static POLICY: Rules =
    Rules { default: |object| defaults::fill(defaults::POLICY, object), validate: policy, ..Rules::STRICT };
pub static BINDING: Rules =
    Rules { default: |object| defaults::fill(defaults::POLICY, object), validate: binding, ..Rules::STRICT };
/// Policies that change objects are kept and not asked.
pub static OTHER: Rules = Rules { default: |object| defaults::fill(defaults::POLICY, object), ..Rules::STRICT };

const URL_FORM: &str = "; desired format: https://host[/path]";
const CONDITIONS_MAX: usize = 64;

fn webhooks(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let mut names = BTreeSet::new();
    for (index, webhook) in list(&object["webhooks"]).iter().enumerate() {
        let at = Path::new("webhooks").index(index);
        errors.extend(webhook_mistakes(webhook, &at));
        errors.extend(review_versions(&webhook["admissionReviewVersions"], &at.child("admissionReviewVersions")));
        let name = text_at(webhook, &["name"]);
        if !name.is_empty() && !names.insert(name) {
            errors.push(Error::duplicate(&at.child("name"), name));
        }
    }
    errors
}

fn webhook_mistakes(webhook: &Value, at: &Path) -> Errors {
    let mut errors = qualified(text_at(webhook, &["name"]), &at.child("name"));
    for (index, rule) in list(&webhook["rules"]).iter().enumerate() {
        errors.extend(rule_mistakes(rule, &at.child("rules").index(index)));
    }
    errors.extend(one_of(webhook, at, "failurePolicy", &["Fail", "Ignore"]));
    errors.extend(one_of(webhook, at, "matchPolicy", &["Equivalent", "Exact"]));
    let effects = ["None", "NoneOnDryRun"];
    if text_at(webhook, &["sideEffects"]).is_empty() {
        let why = format!("must specify one of {}", effects.join(", "));
        errors.push(Error::required(&at.child("sideEffects"), why));
    }
    errors.extend(one_of(webhook, at, "sideEffects", &effects));
    if let Some(seconds) = webhook["timeoutSeconds"].as_i64().filter(|seconds| !(1..=30).contains(seconds)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.push(Error::invalid(&at.child("timeoutSeconds"), seconds, why));
    }
    errors.extend(selectors(webhook, at));
    errors.extend(one_of(webhook, at, "reinvocationPolicy", &["IfNeeded", "Never"]));
    errors.extend(client_config(&webhook["clientConfig"], &at.child("clientConfig")));
    errors.extend(conditions(&webhook["matchConditions"], &at.child("matchConditions"), &["object", "oldObject"]));
    errors
}

fn policy(object: &Value) -> Errors {
    let (spec, at) = (&object["spec"], Path::new("spec"));
    let mut errors = one_of(spec, &at, "failurePolicy", &["Fail", "Ignore"]);
    let has_params = spec["paramKind"].is_object();
    if has_params {
        errors.extend(param_kind(&spec["paramKind"], &at.child("paramKind")));
    }
    let constraints = at.child("matchConstraints");
    if spec["matchConstraints"].is_object() {
        errors.extend(match_resources(&spec["matchConstraints"], &constraints));
        if list(&spec["matchConstraints"]["resourceRules"]).is_empty() {
            errors.push(Error::required(&constraints.child("resourceRules"), ""));
        }
    } else {
        errors.push(Error::required(&constraints, ""));
    }
    let mut declared = vec!["object", "oldObject", "namespaceObject"];
    if has_params {
        declared.push("params");
    }
    errors.extend(conditions(&spec["matchConditions"], &at.child("matchConditions"), &declared));
    if !list(&spec["variables"]).is_empty() {
        declared.push("variables");
    }
    for (index, variable) in list(&spec["variables"]).iter().enumerate() {
        errors.extend(variable_mistakes(variable, &at.child("variables").index(index), &declared));
    }
    if list(&spec["validations"]).is_empty() && list(&spec["auditAnnotations"]).is_empty() {
        let why = "validations or auditAnnotations must contain at least one item";
        errors.extend(["validations", "auditAnnotations"].map(|name| Error::required(&at.child(name), why)));
    }
    for (index, validation) in list(&spec["validations"]).iter().enumerate() {
        errors.extend(validation_mistakes(validation, &at.child("validations").index(index), &declared));
    }
    errors
}

fn variable_mistakes(variable: &Value, at: &Path, declared: &[&str]) -> Errors {
    let mut errors = Errors::new();
    let (name, text) = (text_at(variable, &["name"]), text_at(variable, &["expression"]));
    let is_identifier = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    if name.trim().is_empty() {
        errors.push(Error::required(&at.child("name"), "name is not specified"));
    } else if !is_identifier(name) {
        errors.push(Error::invalid(&at.child("name"), name, "must be a valid CEL identifier"));
    }
    if text.trim().is_empty() {
        errors.push(Error::required(&at.child("expression"), "expression is not specified"));
    } else {
        errors.extend(expression(text, &at.child("expression"), declared, None));
    }
    errors
}

fn validation_mistakes(validation: &Value, at: &Path, declared: &[&str]) -> Errors {
    let mut errors = Errors::new();
    let text = |name: &str| text_at(validation, &[name]);
    if text("expression").trim().is_empty() {
        errors.push(Error::required(&at.child("expression"), "expression is not specified"));
    } else {
        errors.extend(expression(text("expression"), &at.child("expression"), declared, Some("bool")));
    }
    for name in ["messageExpression", "message"] {
        if !text(name).is_empty() && text(name).trim().is_empty() {
            errors.push(Error::invalid(&at.child(name), text(name), "must be non-empty if specified"));
        }
    }
    if !text("messageExpression").trim().is_empty() {
        let place = at.child("messageExpression");
        errors.extend(expression(text("messageExpression"), &place, declared, Some("string")));
    }
    if text("message").trim().contains(['\n', '\r']) {
        errors.push(Error::invalid(&at.child("message"), text("message"), "must not contain line breaks"));
    }
    let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"];
    errors.extend(one_of(validation, at, "reason", &reasons));
    errors
}

fn binding(object: &Value) -> Errors {
    let (spec, at) = (&object["spec"], Path::new("spec"));
    let mut errors = Errors::new();
    match text_at(spec, &["policyName"]) {
        "" => errors.push(Error::required(&at.child("policyName"), "")),
        given => {
            let place = at.child("policyName");
            errors.extend(name::dns1123_subdomain(given).into_iter().map(|why| Error::invalid(&place, given, why)));
        }
    }
    if spec["paramRef"].is_object() {
        errors.extend(param_ref(&spec["paramRef"], &at.child("paramRef")));
    }
    if spec["matchResources"].is_object() {
        errors.extend(match_resources(&spec["matchResources"], &at.child("matchResources")));
    }
    errors.extend(actions(&spec["validationActions"], &at.child("validationActions")));
    errors
}

fn actions(value: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let mut seen = BTreeSet::new();
    for (index, action) in list(value).iter().enumerate() {
        let action = action.as_str().unwrap_or_default();
        if !["Audit", "Deny", "Warn"].contains(&action) {
            errors.push(Error::not_supported(&at.index(index), action, &["Audit", "Deny", "Warn"]));
        }
        if !seen.insert(action) {
            errors.push(Error::duplicate(&at.index(index), action));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                   response and headers serves no purpose)";
        errors.push(Error::invalid(at, value.clone(), why));
    }
    if seen.is_empty() {
        errors.push(Error::required(at, "at least one validation action is required"));
    }
    errors
}

fn param_kind(kind: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    for field in ["apiVersion", "kind"] {
        if text_at(kind, &[field]).is_empty() {
            errors.push(Error::required(&at.child(field), ""));
        }
    }
    errors
}

fn param_ref(params: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let (has_name, has_selector) = (!text_at(params, &["name"]).is_empty(), params["selector"].is_object());
    match (has_name, has_selector) {
        (true, true) => {
            errors.push(Error::forbidden(&at.child("name"), "name and selector are mutually exclusive"));
        }
        (false, false) => errors.push(Error::required(at, "one of name or selector must be specified")),
        _ => {}
    }
    if text_at(params, &["parameterNotFoundAction"]).is_empty() {
        errors.push(Error::required(&at.child("parameterNotFoundAction"), ""));
    }
    errors.extend(one_of(params, at, "parameterNotFoundAction", &["Deny", "Allow"]));
    errors
}

fn match_resources(value: &Value, at: &Path) -> Errors {
    let mut errors = one_of(value, at, "matchPolicy", &["Equivalent", "Exact"]);
    errors.extend(selectors(value, at));
    for name in ["resourceRules", "excludeResourceRules"] {
        for (index, rule) in list(&value[name]).iter().enumerate() {
            errors.extend(rule_mistakes(rule, &at.child(name).index(index)));
        }
    }
    errors
}

fn selectors(value: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    for name in ["namespaceSelector", "objectSelector"] {
        if let Ok(selector) = crate::json::read::<LabelSelector>(&value[name]) {
            errors.extend(selector.validate(&at.child(name)));
        }
    }
    errors
}

fn rule_mistakes(rule: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    let texts = |name: &str| list(&rule[name]).iter().filter_map(Value::as_str).collect::<Vec<&str>>();
    let given = texts("operations");
    if given.is_empty() {
        errors.push(Error::required(&at.child("operations"), ""));
    }
    if given.len() > 1 && given.contains(&"*") {
        let why = "if '*' is present, must not specify other operations";
        errors.push(Error::invalid(&at.child("operations"), rule["operations"].clone(), why));
    }
    for (index, operation) in given.iter().enumerate().filter(|(_, operation)| !operations.contains(operation)) {
        errors.push(Error::not_supported(&at.child("operations").index(index), *operation, &operations));
    }
    for (field, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let given = texts(field);
        if given.is_empty() {
            errors.push(Error::required(&at.child(field), ""));
        }
        if given.len() > 1 && given.contains(&"*") {
            let why = format!("if '*' is present, must not specify other {what}");
            errors.push(Error::invalid(&at.child(field), rule[field].clone(), why));
        }
    }
    for (index, _) in texts("apiVersions").iter().enumerate().filter(|(_, version)| version.is_empty()) {
        errors.push(Error::required(&at.child("apiVersions").index(index), ""));
    }
    errors.extend(resources(&rule["resources"], &at.child("resources")));
    errors.extend(one_of(rule, at, "scope", &["*", "Cluster", "Namespaced"]));
    errors
}

fn resources(value: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let given: Vec<&str> = list(value).iter().filter_map(Value::as_str).collect();
    if given.is_empty() {
        errors.push(Error::required(at, ""));
    }
    let (mut whole, mut everywhere) = (BTreeSet::new(), BTreeSet::new());
    for (index, named) in given.iter().enumerate() {
        if named.is_empty() {
            errors.push(Error::required(&at.index(index), ""));
        }
        let Some((resource, sub)) = named.split_once('/') else { continue };
        if whole.contains(resource) {
            let why = format!("if '{resource}/*' is present, must not specify {named}");
            errors.push(Error::invalid(&at.index(index), *named, why));
        }
        if everywhere.contains(sub) {
            let why = format!("if '*/{sub}' is present, must not specify {named}");
            errors.push(Error::invalid(&at.index(index), *named, why));
        }
        if sub == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            everywhere.insert(sub);
        }
    }
    if given.len() > 1 && given.contains(&"*/*") {
        errors.push(Error::invalid(at, value.clone(), "if '*/*' is present, must not specify other resources"));
    }
    if given.contains(&"*") && given.iter().any(|named| *named != "*" && !named.contains('/')) {
        let why = "if '*' is present, must not specify other resources without subresources";
        errors.push(Error::invalid(at, value.clone(), why));
    }
    errors
}

fn review_versions(value: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let given: Vec<&str> = list(value).iter().filter_map(Value::as_str).collect();
    if given.is_empty() {
        errors.push(Error::required(at, "must specify one of v1, v1beta1"));
        return errors;
    }
    let mut seen = BTreeSet::new();
    for (index, version) in given.iter().enumerate() {
        if !seen.insert(*version) {
            errors.push(Error::invalid(&at.index(index), *version, "duplicate version"));
            continue;
        }
        let mistakes = name::dns1035_label(version);
        errors.extend(mistakes.into_iter().map(|why| Error::invalid(&at.index(index), *version, why)));
    }
    if !given.iter().any(|version| ["v1", "v1beta1"].contains(version)) {
        errors.push(Error::invalid(at, value.clone(), "must include at least one of v1, v1beta1"));
    }
    errors
}

fn client_config(config: &Value, at: &Path) -> Errors {
    match (config["url"].as_str(), config["service"].is_object()) {
        (Some(url), false) => url_mistakes(url, &at.child("url")),
        (None, true) => service_mistakes(&config["service"], &at.child("service")),
        _ => vec![Error::required(at, "exactly one of url or service is required")],
    }
}

fn url_mistakes(url: &str, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{URL_FORM}");
        errors.push(Error::invalid(at, scheme, why));
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    if host.is_empty() {
        errors.push(Error::invalid(at, "", format!("host must be specified{URL_FORM}")));
    }
    if let Some(user) = user {
        errors.push(Error::invalid(at, user, "user information is not permitted in the URL"));
    }
    if !fragment.is_empty() {
        errors.push(Error::invalid(at, fragment, "fragments are not permitted in the URL"));
    }
    if !query.is_empty() {
        errors.push(Error::invalid(at, query, "query parameters are not permitted in the URL"));
    }
    errors
}

fn service_mistakes(service: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    for field in ["namespace", "name"] {
        if text_at(service, &[field]).is_empty() {
            errors.push(Error::required(&at.child(field), ""));
        }
    }
    if let Some(port) = service["port"].as_i64().filter(|port| !(1..=65535).contains(port)) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(Error::invalid(&at.child("port"), port, why));
    }
    let path = text_at(service, &["path"]);
    let at = at.child("path");
    if ["", "/"].contains(&path) {
        return errors;
    }
    if path == "//" {
        errors.push(Error::invalid(&at, path, "segment[0] may not be empty"));
        return errors;
    }
    if !path.starts_with('/') {
        errors.push(Error::invalid(&at, path, "must start with a '/'"));
    }
    let inner = path.get(1..).unwrap_or_default();
    for (index, step) in inner.strip_suffix('/').unwrap_or(inner).split('/').enumerate() {
        if step.is_empty() {
            errors.push(Error::invalid(&at, path, format!("segment[{index}] may not be empty")));
        } else {
            let mistakes = name::dns1123_subdomain(step).into_iter();
            errors.extend(mistakes.map(|why| Error::invalid(&at, path, format!("segment[{index}]: {why}"))));
        }
    }
    errors
}

fn conditions(value: &Value, at: &Path, declared: &[&str]) -> Errors {
    let mut errors = Errors::new();
    let given = list(value);
    if given.len() > CONDITIONS_MAX {
        errors.push(Error::too_many(at, given.len(), CONDITIONS_MAX));
    }
    let mut names = BTreeSet::new();
    for (index, condition) in given.iter().enumerate() {
        let at = at.index(index);
        let (name, text) = (text_at(condition, &["name"]), text_at(condition, &["expression"]).trim());
        if text.is_empty() {
            errors.push(Error::required(&at.child("expression"), ""));
        } else {
            errors.extend(expression(text, &at.child("expression"), declared, Some("bool")));
        }
        if name.is_empty() {
            errors.push(Error::required(&at.child("name"), ""));
            continue;
        }
        errors.extend(label::qualified_name(name).into_iter().map(|why| Error::invalid(&at.child("name"), name, why)));
        if !names.insert(name) {
            errors.push(Error::duplicate(&at.child("name"), name));
        }
    }
    errors
}

/// An expression must be readable, name only what there is, and give what is wanted.
fn expression(text: &str, at: &Path, declared: &[&str], wanted: Option<&str>) -> Errors {
    let mut known = declared.to_vec();
    known.extend(["request", "authorizer"]);
    let why = match Expression::parse(text) {
        Err(why) => format!("compilation failed: {why}"),
        Ok(read) => match (read.undeclared(&known).first(), read.literal_type(), wanted) {
            (Some(unknown), _, _) => {
                let column = text.find(unknown.as_str()).unwrap_or_default();
                let place = format!("ERROR: <input>:1:{}", column + 1);
                let dots = ".".repeat(column);
                let told = format!("undeclared reference to '{unknown}' (in container '')");
                format!("compilation failed: {place}: {told}\n | {text}\n | {dots}^")
            }
            (None, Some(found), Some(wanted)) if found != wanted => {
                format!("must evaluate to {wanted} but got {found}")
            }
            _ => return Errors::new(),
        },
    };
    vec![Error::invalid(at, text, why)]
}

/// A name with a domain in it: at least three parts.
fn qualified(given: &str, at: &Path) -> Errors {
    if given.is_empty() {
        return vec![Error::required(at, "")];
    }
    let mistakes = name::dns1123_subdomain(given);
    if !mistakes.is_empty() {
        return mistakes.into_iter().map(|why| Error::invalid(at, given, why)).collect();
    }
    if given.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        return vec![Error::invalid(at, given, why)];
    }
    Errors::new()
}

fn one_of(value: &Value, at: &Path, field: &str, allowed: &[&str]) -> Errors {
    let given = text_at(value, &[field]);
    if given.is_empty() || allowed.contains(&given) {
        return Errors::new();
    }
    vec![Error::not_supported(&at.child(field), given, allowed)]
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    fn told(errors: &Errors) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    /// The mistakes of a webhook that is good but for this.
    fn of_webhook(change: &Value) -> Vec<String> {
        let mut webhook = json!({
            "name": "a.example.com", "clientConfig": {"url": "https://127.0.0.1:1/x"}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
        });
        webhook.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        told(&webhooks(&json!({"webhooks": [webhook]})))
    }

    #[test]
    fn a_webhook_has_its_rules() {
        let rule = |change: Value| {
            let mut rule =
                json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]});
            rule.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            json!({"rules": [rule]})
        };
        let config = |config: Value| json!({"clientConfig": config});
        let cases = [
            (
                json!({"name": "x"}),
                "webhooks[0].name: Invalid value: \"x\": should be a domain with at least three segments separated by dots",
            ),
            (
                json!({"sideEffects": null}),
                "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
            ),
            (
                json!({"sideEffects": "Some"}),
                "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
            ),
            (
                json!({"timeoutSeconds": 31}),
                "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
            ),
            (
                json!({"failurePolicy": "X"}),
                "webhooks[0].failurePolicy: Unsupported value: \"X\": supported values: \"Fail\", \"Ignore\"",
            ),
            (
                json!({"admissionReviewVersions": ["v0"]}),
                "webhooks[0].admissionReviewVersions: Invalid value: [\"v0\"]: must include at least one of v1, v1beta1",
            ),
            (
                config(json!({"url": "http://127.0.0.1/x"})),
                "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
            ),
            (
                config(json!({"url": "https://x/?a=b"})),
                "webhooks[0].clientConfig.url: Invalid value: \"a=b\": query parameters are not permitted in the URL",
            ),
            (config(json!({})), "webhooks[0].clientConfig: Required value: exactly one of url or service is required"),
            (
                config(json!({"service": {"name": "a", "namespace": "b", "path": "x"}})),
                "webhooks[0].clientConfig.service.path: Invalid value: \"x\": must start with a '/'",
            ),
            (
                rule(json!({"operations": ["X"]})),
                "webhooks[0].rules[0].operations[0]: Unsupported value: \"X\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"",
            ),
            (
                rule(json!({"apiGroups": ["*", "a"]})),
                "webhooks[0].rules[0].apiGroups: Invalid value: [\"*\",\"a\"]: if '*' is present, must not specify other API groups",
            ),
            (rule(json!({"resources": []})), "webhooks[0].rules[0].resources: Required value"),
            (
                rule(json!({"resources": ["pods/*", "pods/status"]})),
                "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, must not specify pods/status",
            ),
            (
                json!({"matchConditions": [{"name": "c", "expression": "foo == 1"}]}),
                "webhooks[0].matchConditions[0].expression: Invalid value: \"foo == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo == 1\n | ^",
            ),
        ];
        assert!(of_webhook(&json!({})).is_empty());
        for (change, wanted) in cases {
            let found = of_webhook(&change);
            assert_eq!(found.first().map(String::as_str), Some(wanted), "{found:?}");
        }
    }

    #[test]
    fn a_policy_and_its_binding_have_theirs() {
        let constraints = json!({"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}]});
        let of = |expression: &str| {
            told(&policy(
                &json!({"spec": {"matchConstraints": constraints, "validations": [{"expression": expression}]}}),
            ))
        };
        assert!(of("object.a == 1").is_empty());
        assert_eq!(
            of("'a'"),
            ["spec.validations[0].expression: Invalid value: \"'a'\": must evaluate to bool but got string"]
        );
        assert!(of("params.x == 1")[0].contains("undeclared reference to 'params'"));
        assert_eq!(
            told(&policy(&json!({"spec": {"validations": [{"expression": "true"}]}}))),
            ["spec.matchConstraints: Required value"]
        );
        let of = |actions: Value| told(&binding(&json!({"spec": {"policyName": "p", "validationActions": actions}})));
        assert!(of(json!(["Deny"])).is_empty());
        assert_eq!(
            of(json!([])),
            ["spec.validationActions: Required value: at least one validation action is required"]
        );
        assert_eq!(
            of(json!(["X"])),
            ["spec.validationActions[0]: Unsupported value: \"X\": supported values: \"Audit\", \"Deny\", \"Warn\""]
        );
        assert!(of(json!(["Deny", "Warn"]))[0].contains("must not contain both Deny and Warn"));
    }
}
