//! `serviceaccounts/token`: a signed token for an account, for as long as it is asked for.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::time::Time;

use super::reply::Reply;
use super::service::{Call, Server};
use crate::auth::Account;
use crate::auth::tokens::{Bound, ISSUER, TokenClaims};
use crate::json::{Value, json};
use crate::kinds::{Resource, group_version, text_at};
use crate::meta;
use crate::status::{About, Result, Status};
use crate::store::Key;

const SECONDS_DEFAULT: i64 = 3600;
const SECONDS_MIN: i64 = 600;
const SECONDS_MAX: i64 = 1 << 32;
const KIND: &str = "TokenRequest";
const GROUP: &str = "authentication.k8s.io";

impl Server {
    pub async fn token(&self, call: &Call, resource: &Resource) -> Result<Reply> {
        let is_dry_run = call.query.dry_run("CreateOptions")?;
        let request_kind = as_resource(resource).ok_or_else(Status::unknown_resource)?;
        let mut request = self.decode(call, &request_kind)?;
        let name = call.path.name.as_str();
        let namespace = call.path.namespace.as_str();
        meta::settle_namespace(&mut request, namespace)?;
        let given = text_at(&request, &["metadata", "name"]);
        if !given.is_empty() && given != name {
            let why = "must match the service account name if specified";
            let error = Error::invalid(&Path::new("metadata").child("name"), given, why);
            return Err(Status::invalid(About { group: GROUP, kind: KIND, name }, &[error]));
        }
        let account = self.store.get(&resource.storage, &call.key()).ok_or_else(|| call.not_found(resource))?;
        let uid = text_at(&account.value, &["metadata", "uid"]);
        let given = text_at(&request, &["metadata", "uid"]);
        if !given.is_empty() && given != uid {
            let why =
                format!("the UID in the token request ({given}) does not match the UID of the service account ({uid})");
            return Err(Status::conflict(About { group: GROUP, kind: KIND, name }, &why));
        }
        let now = self.clock.now();
        request["metadata"] = json!({
            "name": name, "namespace": namespace, "uid": uid, "creationTimestamp": Time::new(now).to_string(),
        });
        complete(&mut request["spec"]);
        let errors = validate(&request["spec"]);
        if !errors.is_empty() {
            return Err(Status::invalid(About { group: GROUP, kind: KIND, name: "" }, &errors));
        }
        self.admit(call, resource, is_dry_run, &mut request).await?;
        let spec = &request["spec"];
        let bound = self.bound_objects(&spec["boundObjectRef"], Account { namespace, name })?;
        let seconds = spec["expirationSeconds"].as_i64().unwrap_or(SECONDS_DEFAULT);
        let audiences: Vec<String> = crate::json::read(&spec["audiences"]).unwrap_or_default();
        let account = Account { namespace, name };
        let claims = TokenClaims { account, uid, audiences: &audiences, seconds, bound };
        let token = self.authentication.issue(&claims, now, &self.random.uid());
        let until = Time::new(now + jiff::SignedDuration::from_secs(seconds));
        request["status"] = json!({"token": token, "expirationTimestamp": until.to_string()});
        request["kind"] = KIND.into();
        request["apiVersion"] = group_version(GROUP, "v1").into();
        Ok(Reply::created(request))
    }

    /// What a token is to end with: the object that is named, and the node of a pod, which is only told.
    fn bound_objects(&self, reference: &Value, account: Account<'_>) -> Result<Vec<(&'static str, Bound)>> {
        if !reference.is_object() {
            return Ok(Vec::new());
        }
        let text = |field: &str| text_at(reference, &[field]);
        let (version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
        let (claim, plural, namespace) = match (version.contains('/'), kind) {
            (false, "Pod") => ("pod", "pods", account.namespace),
            (false, "Secret") => ("secret", "secrets", account.namespace),
            (false, "Node") => ("node", "nodes", ""),
            _ => {
                let (group, version) = version.split_once('/').unwrap_or(("", version));
                let message = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
                return Err(Status::bad_request(message));
            }
        };
        let missing = || Status::not_found(About { group: "", kind: plural, name });
        let found = self.store.get(plural, &Key::new(namespace, name)).ok_or_else(missing)?;
        let mut bound = Vec::new();
        if claim == "pod" {
            if text_at(&found.value, &["spec", "serviceAccountName"]) != account.name {
                return Err(Status::bad_request(format!(
                    "cannot bind token for serviceaccount \"{}\" to pod running with different serviceaccount name.",
                    account.name
                )));
            }
            let node = text_at(&found.value, &["spec", "nodeName"]);
            if !node.is_empty() {
                let uid = self.store.get("nodes", &Key::new("", node));
                let uid = uid.map(|node| text_at(&node.value, &["metadata", "uid"]).to_owned()).unwrap_or_default();
                bound.push(("node", Bound { name: node.to_owned(), uid }));
            }
        }
        let uid = text_at(&found.value, &["metadata", "uid"]);
        if !text("uid").is_empty() && text("uid") != uid {
            let why = format!(
                "the UID in the bound object reference ({}) does not match the UID in record. The object might have been \
                 deleted and then recreated",
                text("uid")
            );
            return Err(Status::conflict(About { group: "", kind, name }, &why));
        }
        bound.push((claim, Bound { name: name.to_owned(), uid: uid.to_owned() }));
        Ok(bound)
    }
}

/// What the subresource takes, as if it were a resource.
fn as_resource(resource: &Resource) -> Option<Resource> {
    let sub = resource.subresource("token")?;
    Some(Resource {
        group: sub.group.clone(),
        version: sub.version.clone(),
        kind: sub.kind.clone(),
        schema: sub.schema.clone()?,
        rules: crate::kinds::rules::of("", ""),
        recent: std::sync::Arc::default(),
        ..resource.clone()
    })
}

/// Fills in what was left out.
fn complete(spec: &mut Value) {
    if spec["audiences"].as_array().is_none_or(Vec::is_empty) {
        spec["audiences"] = json!([ISSUER]);
    }
    if spec["expirationSeconds"].is_null() {
        spec["expirationSeconds"] = SECONDS_DEFAULT.into();
    }
    if spec.get("boundObjectRef").is_none() {
        spec["boundObjectRef"] = Value::Null;
    }
}

fn validate(spec: &Value) -> Errors {
    let at = Path::new("spec").child("expirationSeconds");
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or_default();
    let why = match seconds {
        ..SECONDS_MIN => "may not specify a duration less than 10 minutes",
        SECONDS_MIN..=SECONDS_MAX => return Errors::new(),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    vec![Error::invalid(&at, seconds, why)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_lives_ten_minutes_at_least() {
        let said = |seconds: i64| {
            validate(&json!({"expirationSeconds": seconds})).iter().map(Error::to_string).collect::<String>()
        };
        assert_eq!(
            said(599),
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"
        );
        assert_eq!((said(600), said(SECONDS_MAX)), (String::new(), String::new()));
        assert_eq!(
            said(SECONDS_MAX + 1),
            "spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"
        );
    }

    #[test]
    fn what_is_left_out_is_an_hour_with_this_server() {
        let mut spec = json!({"audiences": null});
        complete(&mut spec);
        assert_eq!(spec, json!({"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": null}));
    }
}
