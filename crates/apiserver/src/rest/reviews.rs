//! Reviews: questions about users and their rights. They are created, answered, and never stored.

use std::collections::BTreeMap;

use kueue_core::field::{Error, Errors, Path};

use super::list::typed;
use super::reply::Reply;
use super::service::{Call, Server};
use crate::auth::attributes::Place;
use crate::auth::tokens::ISSUER;
use crate::auth::{Attributes, User, Wanted};
use crate::json::{Map, Name, Value, json};
use crate::kinds::{Resource, text_at};
use crate::meta;
use crate::status::{About, Result, Status};

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// Whether creating such an object asks a question.
pub fn is_review(resource: &Resource) -> bool {
    [AUTHENTICATION, AUTHORIZATION].contains(&resource.group.as_str())
}

impl Server {
    pub async fn review(&self, call: &Call, resource: &Resource) -> Result<Reply> {
        let is_dry_run = call.query.dry_run("CreateOptions")?;
        let mut review = self.decode(call, resource)?;
        meta::settle_namespace(&mut review, &call.path.namespace)?;
        self.admit(call, resource, is_dry_run, &mut review).await?;
        let answered = match resource.kind.as_str() {
            "TokenReview" => self.review_token(review)?,
            "SelfSubjectReview" => json!({
                "metadata": {"creationTimestamp": self.clock.time().to_string()},
                "status": {"userInfo": call.user.to_value()},
            }),
            "SelfSubjectRulesReview" => self.review_rules(call, &review)?,
            _ => self.review_access(call, resource, review)?,
        };
        Ok(Reply::created(typed(resource, &answered)))
    }

    fn review_token(&self, mut review: Value) -> Result<Value> {
        let token = text_at(&review, &["spec", "token"]);
        if token.is_empty() {
            return Err(Status::bad_request("token is required for TokenReview in authentication"));
        }
        let audiences = texts(&review["spec"]["audiences"]);
        let audiences = if audiences.is_empty() { vec![ISSUER.to_owned()] } else { audiences };
        review["status"] = match self.authenticate(token, &audiences) {
            Ok(found) => json!({"authenticated": true, "user": found.user.to_value(), "audiences": found.audiences}),
            Err(why) => json!({"user": {}, "error": why}),
        };
        Ok(review)
    }

    fn review_rules(&self, call: &Call, review: &Value) -> Result<Value> {
        let namespace = text_at(review, &["spec", "namespace"]);
        if namespace.is_empty() {
            return Err(Status::bad_request("no namespace on request"));
        }
        let (rules, missing) = self.rbac.rules_of(&self.store, &call.user, namespace);
        let (mut resources, mut paths) = (Vec::new(), Vec::new());
        for rule in &rules {
            let mut shown = rule.to_value();
            if !rule.urls.is_empty() {
                paths.push(json!({"verbs": rule.verbs, "nonResourceURLs": rule.urls}));
            }
            if !rule.resources.is_empty() {
                shown.as_object_mut().map(|rule| rule.remove("nonResourceURLs"));
                resources.push(shown);
            }
        }
        let mut status = json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false});
        match missing.as_slice() {
            [] => {}
            [one] => status["evaluationError"] = one.as_str().into(),
            several => status["evaluationError"] = format!("[{}]", several.join(", ")).into(),
        }
        Ok(json!({"metadata": {}, "spec": {}, "status": status}))
    }

    /// The three reviews of access differ in whom they ask about and where.
    fn review_access(&self, call: &Call, resource: &Resource, mut review: Value) -> Result<Value> {
        let is_own = resource.kind == "SelfSubjectAccessReview";
        let errors = validate(&review, is_own, resource.is_namespaced);
        if !errors.is_empty() {
            return Err(Status::invalid(About { group: AUTHORIZATION, kind: "", name: "" }, &errors));
        }
        let spec = &review["spec"];
        let wanted = wanted(spec);
        let decision = if is_own { self.decide(&call.user, &wanted) } else { self.decide(&subject(spec), &wanted) };
        let mut status = json!({"allowed": decision.is_allowed});
        if !decision.reason.is_empty() {
            status["reason"] = decision.reason.into();
        }
        review["status"] = status;
        Ok(review)
    }
}

fn texts(value: &Value) -> Vec<String> {
    crate::json::read(value).unwrap_or_default()
}

/// The user that a review asks about.
fn subject(spec: &Value) -> User {
    let extra: BTreeMap<String, Vec<String>> = crate::json::read(&spec["extra"]).unwrap_or_default();
    let text = |name: &str| text_at(spec, &[name]).to_owned();
    User { name: text("user"), uid: text("uid"), groups: texts(&spec["groups"]), extra }
}

/// What a review asks for.
fn wanted(spec: &Value) -> Attributes {
    let resource = &spec["resourceAttributes"];
    if !resource.is_object() {
        let path = &spec["nonResourceAttributes"];
        let text = |name: &str| text_at(path, &[name]).to_owned();
        return Attributes { verb: text("verb"), what: Wanted::Path(text("path")) };
    }
    let text = |name: &str| text_at(resource, &[name]).to_owned();
    let place = Place {
        group: text("group"),
        resource: text("resource"),
        subresource: text("subresource"),
        namespace: text("namespace"),
        name: text("name"),
    };
    Attributes { verb: text("verb"), what: Wanted::Resource(place) }
}

fn validate(review: &Value, is_own: bool, is_local: bool) -> Errors {
    let mut errors = Errors::new();
    let spec = &review["spec"];
    let at = Path::new("spec");
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let shown_path = || json!({"Path": text_at(path, &["path"]), "Verb": text_at(path, &["verb"])});
    match (resource.is_object(), path.is_object()) {
        (true, true) => {
            let why = "cannot be specified in combination with resourceAttributes";
            errors.push(Error::invalid(&at.child("nonResourceAttributes"), shown_path(), why));
        }
        (false, false) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.push(Error::invalid(&at.child("resourceAttributes"), Value::Null, why));
        }
        _ => {}
    }
    if !is_own && text_at(spec, &["user"]).is_empty() && texts(&spec["groups"]).is_empty() {
        errors.push(Error::invalid(&at.child("user"), "", "at least one of user or group must be specified"));
    }
    for selector in ["fieldSelector", "labelSelector"] {
        let at = at.child("resourceAttributes").child(selector);
        errors.extend(validate_selector(&resource[selector], &at));
    }
    errors.extend(validate_metadata(&review["metadata"], is_local));
    if is_local {
        let namespace = text_at(resource, &["namespace"]);
        if resource.is_object() && namespace != text_at(review, &["metadata", "namespace"]) {
            let at = at.child("resourceAttributes").child("namespace");
            errors.push(Error::invalid(&at, namespace, "must match metadata.namespace"));
        }
        if path.is_object() {
            let why = "disallowed on this kind of request";
            errors.push(Error::invalid(&at.child("nonResourceAttributes"), shown_path(), why));
        }
    }
    errors
}

fn validate_selector(selector: &Value, at: &Path) -> Errors {
    if !selector.is_object() {
        return Errors::new();
    }
    let raw = text_at(selector, &["rawSelector"]);
    let has_terms = selector["requirements"].as_array().is_some_and(|terms| !terms.is_empty());
    match (raw.is_empty(), has_terms) {
        (false, true) => {
            let why = "may not specified at the same time as requirements";
            vec![Error::invalid(&at.child("rawSelector"), raw, why)]
        }
        (true, false) => {
            let why = format!("when {at} is specified, requirements or rawSelector is required");
            vec![Error::required(&at.child("requirements"), why)]
        }
        _ => Errors::new(),
    }
}

/// A question has no name.
fn validate_metadata(metadata: &Value, is_local: bool) -> Option<Error> {
    let is_told = |(name, _): &(&Name, &Value)| **name != *"managedFields" && !(is_local && **name == *"namespace");
    let told: Map = metadata
        .as_object()
        .into_iter()
        .flatten()
        .filter(is_told)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let why = if is_local { "must be empty except for namespace" } else { "must be empty" };
    (!told.is_empty()).then(|| Error::invalid(&Path::new("metadata"), metadata.clone(), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(review: &Value, is_own: bool, is_local: bool) -> String {
        validate(review, is_own, is_local).iter().map(Error::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_question_is_about_somebody_and_something() {
        let pods = json!({"resource": "pods", "verb": "get", "namespace": "n"});
        let cases = [
            (json!({"spec": {"user": "u", "resourceAttributes": pods}}), false, ""),
            (json!({"spec": {"resourceAttributes": pods}}), true, ""),
            (
                json!({"spec": {"resourceAttributes": pods}}),
                false,
                "spec.user: Invalid value: \"\": at least one of user or group must be specified",
            ),
            (
                json!({"spec": {"groups": ["g"]}}),
                false,
                "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes \
                 must be specified",
            ),
            (
                json!({"spec": {"resourceAttributes": pods, "nonResourceAttributes": {"path": "/x", "verb": "get"}}}),
                true,
                "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/x\",\"Verb\":\"get\"}: cannot be specified in \
                 combination with resourceAttributes",
            ),
            (
                json!({"metadata": {"name": "x"}, "spec": {"resourceAttributes": pods}}),
                true,
                "metadata: Invalid value: {\"name\":\"x\"}: must be empty",
            ),
            (
                json!({"spec": {"resourceAttributes": {"fieldSelector": {}}}}),
                true,
                "spec.resourceAttributes.fieldSelector.requirements: Required value: when \
                 spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required",
            ),
        ];
        for (review, is_own, expected) in cases {
            assert_eq!(mistakes(&review, is_own, false), expected, "{review}");
        }
    }

    #[test]
    fn a_local_question_stays_in_its_namespace() {
        let review = |space: &str| json!({"metadata": {"namespace": "n"}, "spec": {"user": "u", "resourceAttributes": {"namespace": space}}});
        assert_eq!(mistakes(&review("n"), false, true), "");
        assert_eq!(
            mistakes(&review("m"), false, true),
            "spec.resourceAttributes.namespace: Invalid value: \"m\": must match metadata.namespace"
        );
    }
}
