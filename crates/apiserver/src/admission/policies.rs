//! ValidatingAdmissionPolicies: expressions that refuse a write, or warn of it, where a binding says so.

use std::collections::HashMap;

use kueue_core::selector::LabelSelector;

use super::Attributes;
use super::cel::{CelValue, Expression, Reads, Scope};
use super::matching::Matcher;
use super::review::Question;
use super::webhooks::{Conditions, scope};
use crate::json::{Value, json};
use crate::kinds::{Resource, group_version, text_at};
use crate::meta;
use crate::rest::service::Server;
use crate::status::{About, Result, Status};
use crate::store::Key;

pub const POLICIES: &str = "validatingadmissionpolicies.admissionregistration.k8s.io";
pub const BINDINGS: &str = "validatingadmissionpolicybindings.admissionregistration.k8s.io";
/// A longer message of an expression is not told.
const MESSAGE_BYTES_MAX: usize = 5 * 1024;

type Parsed = std::result::Result<Expression, String>;

/// What is checked.
#[derive(Debug)]
pub struct Policy {
    name: String,
    matcher: Matcher,
    conditions: Conditions,
    variables: Vec<(String, Parsed)>,
    validations: Vec<Validation>,
    ignores_failure: bool,
    /// Version and kind of the objects that parameters are.
    param_kind: Option<(String, String)>,
}

#[derive(Debug)]
struct Validation {
    expression: Parsed,
    message: String,
    message_expression: Option<Parsed>,
    reason: String,
}

/// Where, with what, and what follows.
#[derive(Debug)]
pub struct Binding {
    name: String,
    policy: String,
    matcher: Matcher,
    param_ref: Value,
    actions: Vec<String>,
}

/// Something that is not as it should be.
struct Mistake {
    message: String,
    /// Empty when it is not known what a client should make of it.
    reason: String,
}

impl Policy {
    pub fn of_objects(objects: &[Value]) -> Vec<Self> {
        objects.iter().map(Self::of).collect()
    }

    fn of(object: &Value) -> Self {
        let spec = &object["spec"];
        let text = |value: &Value, name: &str| text_at(value, &[name]).to_owned();
        let listed = |name: &str| spec[name].as_array().cloned().unwrap_or_default();
        let validation = |one: &Value| Validation {
            expression: Expression::parse(text_at(one, &["expression"])),
            message: text(one, "message"),
            message_expression: one["messageExpression"]
                .as_str()
                .filter(|text| !text.is_empty())
                .map(Expression::parse),
            reason: text(one, "reason"),
        };
        Self {
            name: text_at(object, &["metadata", "name"]).to_owned(),
            matcher: Matcher::of_resources(&spec["matchConstraints"]),
            conditions: Conditions::of(&spec["matchConditions"]),
            variables: listed("variables")
                .iter()
                .map(|one| (text(one, "name"), Expression::parse(text_at(one, &["expression"]))))
                .collect(),
            validations: listed("validations").iter().map(validation).collect(),
            ignores_failure: spec["failurePolicy"] == "Ignore",
            param_kind: spec["paramKind"]
                .is_object()
                .then(|| (text(&spec["paramKind"], "apiVersion"), text(&spec["paramKind"], "kind"))),
        }
    }

    /// What is wrong with a write, given one parameter.
    fn mistakes(&self, question: &Question<'_>, param: Option<&Value>, namespace: Option<&Value>) -> Vec<Mistake> {
        let error = |message: String| Mistake { message, reason: String::new() };
        let mut scope = scope(question, &Reads::whole(["object", "oldObject", "request"]));
        scope.set("params", param.unwrap_or(&Value::Null), &Reads::default());
        scope.set("namespaceObject", namespace.unwrap_or(&Value::Null), &Reads::default());
        match self.conditions.hold(&scope, self.ignores_failure) {
            Ok(true) => {}
            Ok(false) => return Vec::new(),
            Err(why) => return vec![error(why)],
        }
        let failed = self.set_variables(&mut scope);
        let mut mistakes = Vec::new();
        for validation in &self.validations {
            let held = match &validation.expression {
                Ok(expression) => expression.is_true(&scope).map_err(|why| {
                    let why = composited(&failed, why);
                    format!("expression '{}' resulted in error: {why}", expression.text)
                }),
                Err(why) => Err(format!("compilation failed: {why}")),
            };
            match held {
                Ok(true) => {}
                Err(_) if self.ignores_failure => {}
                Err(why) => mistakes.push(error(why)),
                Ok(false) => {
                    let reason = if validation.reason.is_empty() { "Invalid" } else { &validation.reason };
                    mistakes.push(Mistake { message: validation.message(&scope), reason: reason.to_owned() });
                }
            }
        }
        mistakes
    }

    /// Computes the variables in order; returns why some could not be.
    fn set_variables(&self, scope: &mut Scope) -> HashMap<String, String> {
        let mut failed = HashMap::new();
        let mut values: HashMap<String, CelValue> = HashMap::new();
        scope.set_all("variables", &values);
        for (name, expression) in &self.variables {
            let computed = match expression {
                Ok(expression) => expression.evaluate(scope).map_err(|why| {
                    format!("composited variable {name:?} fails to evaluate: {}", composited(&failed, why))
                }),
                Err(why) => Err(format!("composited variable {name:?} fails to compile: {why}")),
            };
            match computed {
                Ok(value) => {
                    values.insert(name.clone(), value);
                    scope.set_all("variables", &values);
                }
                Err(why) => {
                    failed.insert(name.clone(), why);
                }
            }
        }
        failed
    }
}

/// A variable that could not be computed looks like a missing key to whoever uses it.
fn composited(failed: &HashMap<String, String>, why: String) -> String {
    let name = why.strip_prefix("no such key: ");
    name.and_then(|name| failed.get(name)).cloned().unwrap_or(why)
}

impl Validation {
    fn message(&self, scope: &Scope) -> String {
        let computed = match &self.message_expression {
            Some(Ok(expression)) => expression.evaluate(scope).ok(),
            _ => None,
        };
        if let Some(CelValue::String(text)) = computed {
            let text = text.trim();
            if !text.is_empty() && text.len() <= MESSAGE_BYTES_MAX && !text.contains('\n') {
                return text.to_owned();
            }
        }
        match (self.message.trim(), &self.expression) {
            ("", Ok(expression)) => format!("failed expression: {}", expression.text.trim()),
            (message, _) => message.to_owned(),
        }
    }
}

impl Binding {
    pub fn of_objects(objects: &[Value]) -> Vec<Self> {
        let of = |object: &Value| {
            let spec = &object["spec"];
            let actions = spec["validationActions"].as_array().into_iter().flatten();
            Self {
                name: text_at(object, &["metadata", "name"]).to_owned(),
                policy: text_at(spec, &["policyName"]).to_owned(),
                matcher: Matcher::of_resources(&spec["matchResources"]),
                param_ref: spec["paramRef"].clone(),
                actions: actions.filter_map(Value::as_str).map(str::to_owned).collect(),
            }
        };
        objects.iter().map(of).collect()
    }
}

impl Server {
    /// Checks a write against all policies; the first that refuses is told.
    /// Whether there is a policy for such a write.
    pub fn has_policy(&self, attributes: &Attributes<'_>) -> bool {
        let policies = self.admission.policies(&self.store);
        !policies.is_empty() && {
            let registry = self.registry();
            policies.iter().any(|policy| policy.matcher.seen(&registry, attributes).is_some())
        }
    }

    pub async fn check_policies(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        let policies = self.admission.policies(&self.store);
        if policies.is_empty() {
            return Ok(());
        }
        let bindings = self.admission.bindings(&self.store);
        let registry = self.registry();
        let mut refusal = None;
        for policy in policies.iter() {
            let Some(seen) = policy.matcher.seen(&registry, attributes) else { continue };
            if !policy.matcher.selects(self, attributes, object, old)? {
                continue;
            }
            let versions = self.versions(attributes, &seen, object, old).await?;
            let question = versions.question(attributes, &seen, object, old);
            for binding in bindings.iter().filter(|binding| binding.policy == policy.name) {
                let is_chosen = !binding.matcher.has_rules() || binding.matcher.seen(&registry, attributes).is_some();
                if !is_chosen || !binding.matcher.selects(self, attributes, object, old)? {
                    continue;
                }
                for mistake in self.policy_mistakes(policy, binding, &question) {
                    let told = format!("'{}' with binding '{}'", policy.name, binding.name);
                    if binding.actions.iter().any(|action| action == "Warn") {
                        let text =
                            format!("Validation failed for ValidatingAdmissionPolicy {told}: {}", mistake.message);
                        attributes.call.warn(text);
                    }
                    if binding.actions.iter().any(|action| action == "Deny") {
                        refusal.get_or_insert_with(|| refused(attributes, &told, &mistake));
                    }
                }
            }
        }
        refusal.map_or(Ok(()), Err)
    }

    fn policy_mistakes(&self, policy: &Policy, binding: &Binding, question: &Question<'_>) -> Vec<Mistake> {
        let attributes = question.attributes;
        let namespace = match attributes.resource.storage.as_str() {
            "namespaces" => None,
            _ => self.store.get("namespaces", &Key::new("", attributes.namespace)),
        };
        let namespace = namespace.map(|found| {
            let mut value = found.value.clone();
            value["apiVersion"] = "v1".into();
            value["kind"] = "Namespace".into();
            value
        });
        match self.params(policy, binding, attributes.namespace) {
            Ok(params) => {
                let of = |param: &Option<Value>| policy.mistakes(question, param.as_ref(), namespace.as_ref());
                params.iter().flat_map(of).collect()
            }
            Err(_) if policy.ignores_failure => Vec::new(),
            Err(why) => vec![Mistake { message: why, reason: String::new() }],
        }
    }

    /// The parameters of a binding; a policy without them is checked once with none.
    fn params(
        &self,
        policy: &Policy,
        binding: &Binding,
        namespace: &str,
    ) -> std::result::Result<Vec<Option<Value>>, String> {
        let Some((version, kind)) = &policy.param_kind else { return Ok(vec![None]) };
        let registry = self.registry();
        let mut known = registry.all();
        let resource = known.find(|known| known.api_version() == *version && known.kind == *kind).ok_or_else(|| {
            format!(
                "failed to configure policy: failed to find resource referenced by paramKind: '{version}, Kind={kind}'"
            )
        })?;
        let wanted = &binding.param_ref;
        if !wanted.is_object() {
            return Ok(vec![None]);
        }
        let wrong = |why: &str| format!("failed to configure binding: {why}");
        let place = text_at(wanted, &["namespace"]);
        if !resource.is_namespaced && !place.is_empty() {
            return Err(wrong("paramRef.namespace must not be provided for a cluster-scoped `paramKind`"));
        }
        let place = match (resource.is_namespaced, place) {
            (false, _) => "",
            (true, "") if namespace.is_empty() => {
                return Err(wrong(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
                ));
            }
            (true, "") => namespace,
            (true, place) => place,
        };
        let found = self.find_params(resource, place, wanted);
        if found.is_empty() && wanted["parameterNotFoundAction"] == "Deny" {
            return Err(wrong("no params found for policy binding with `Deny` parameterNotFoundAction"));
        }
        Ok(found.into_iter().map(Some).collect())
    }

    fn find_params(&self, resource: &Resource, namespace: &str, wanted: &Value) -> Vec<Value> {
        let typed = |value: &Value| {
            let mut value = value.clone();
            value["apiVersion"] = group_version(&resource.group, &resource.version).into();
            value["kind"] = resource.kind.clone().into();
            value
        };
        let name = text_at(wanted, &["name"]);
        if !name.is_empty() {
            let found = self.store.get(&resource.storage, &Key::new(namespace, name));
            return found.into_iter().map(|found| typed(&found.whole())).collect();
        }
        let selector: LabelSelector = crate::json::read(&wanted["selector"]).unwrap_or_default();
        let listed = self.store.list(&resource.storage, namespace, None).map(|found| found.objects).unwrap_or_default();
        let chosen =
            listed.iter().filter(|(_, found)| selector.matches(&meta::strings(&found.value["metadata"]["labels"])));
        chosen.map(|(_, found)| typed(&found.whole())).collect()
    }
}

fn refused(attributes: &Attributes<'_>, told: &str, mistake: &Mistake) -> Status {
    let resource = attributes.resource;
    let about = About { group: &resource.group, kind: &resource.plural, name: attributes.name };
    let message = format!("ValidatingAdmissionPolicy {told} denied request: {}", mistake.message);
    let forbidden = Status::forbidden(about, &message);
    let code = match mistake.reason.as_str() {
        "Forbidden" => 403,
        "Unauthorized" => 401,
        "RequestEntityTooLarge" => 413,
        _ => 422,
    };
    let reason = if mistake.reason.is_empty() { "Invalid".to_owned() } else { mistake.reason.clone() };
    let mut details = forbidden.to_value()["details"].clone();
    details["causes"] = json!([{"message": message}]);
    Status::new(code, reason, forbidden.message()).with_details(details)
}
