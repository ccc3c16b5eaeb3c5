//! Who asks, and whether they may.
//!
//! A request passes three gates, as on a real server: authentication ([`tokens`]) tells the user, impersonation makes
//! another one of them, authorization ([`rbac`]) compares what they want with the rules they were given.

use std::collections::BTreeMap;

use http::HeaderMap;

use crate::json::{Map, Value, json};
use crate::rest::service::Server;
use crate::status::{About, Result, Status};

pub mod attributes;
mod escalation;
mod impersonation;
mod jwt;
pub mod policy;
pub mod rbac;
pub mod tokens;

pub use attributes::{Attributes, Wanted};
pub use tokens::{Authentication, StaticUser};

pub const MASTERS: &str = "system:masters";
pub const AUTHENTICATED: &str = "system:authenticated";
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
pub const ANONYMOUS: &str = "system:anonymous";

/// The user behind a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Somebody who showed nothing.
    pub fn anonymous() -> Self {
        Self { name: ANONYMOUS.into(), groups: vec![UNAUTHENTICATED.into()], ..Self::default() }
    }

    pub fn is_master(&self) -> bool {
        self.is_in(MASTERS)
    }

    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|known| known == group)
    }

    fn join(&mut self, group: &str) {
        if !self.is_in(group) {
            self.groups.push(group.to_owned());
        }
    }

    /// The user as reviews and webhooks are told: `{username, uid, groups, extra}`, without what is empty.
    pub fn to_value(&self) -> Value {
        let mut info = Map::new();
        for (key, text) in [("username", &self.name), ("uid", &self.uid)] {
            if !text.is_empty() {
                info.insert(key, text.as_str().into());
            }
        }
        if !self.groups.is_empty() {
            info.insert("groups", json!(self.groups));
        }
        if !self.extra.is_empty() {
            info.insert("extra", json!(self.extra));
        }
        info.into()
    }
}

/// A ServiceAccount as a user: `system:serviceaccount:NAMESPACE:NAME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
}

impl<'a> Account<'a> {
    /// The account that a user name names, if it is one of an account.
    pub fn of(user: &'a str) -> Option<Self> {
        let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
        let is_good = kueue_core::name::dns1123_label(namespace).is_empty()
            && kueue_core::name::dns1123_subdomain(name).is_empty();
        is_good.then_some(Self { namespace, name })
    }

    pub fn user_name(self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    pub fn groups(self) -> Vec<String> {
        vec!["system:serviceaccounts".into(), format!("system:serviceaccounts:{}", self.namespace)]
    }
}

/// What an authorizer says, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub is_allowed: bool,
    /// Which binding allowed it, or what went wrong while looking; often empty.
    pub reason: String,
}

impl Server {
    /// Whom a request is made as, if that user may make it.
    pub fn admitted_user(&self, headers: &HeaderMap, wanted: &Attributes) -> Result<User> {
        let user = self.impersonated(self.identify(headers)?, headers, wanted)?;
        self.require(&user, wanted)?;
        Ok(user)
    }

    /// Whether a user may do something.
    pub fn decide(&self, user: &User, wanted: &Attributes) -> Decision {
        if user.is_master() {
            return Decision { is_allowed: true, reason: String::new() };
        }
        self.rbac.decide(&self.store, user, wanted)
    }

    /// Refuses what a user may not do.
    pub fn require(&self, user: &User, wanted: &Attributes) -> Result<()> {
        let decision = self.decide(user, wanted);
        if decision.is_allowed { Ok(()) } else { Err(refusal(user, wanted, &decision.reason)) }
    }
}

/// `pods "x" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "n"`.
fn refusal(user: &User, wanted: &Attributes, reason: &str) -> Status {
    let (name, verb) = (&user.name, &wanted.verb);
    let ending = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    match &wanted.what {
        Wanted::Path(path) => {
            let why = without_markup(&format!("User \"{name}\" cannot {verb} path \"{path}\""));
            Status::new(403, "Forbidden", format!("forbidden: {why}{ending}")).with_details(json!({}))
        }
        Wanted::Resource(place) => {
            let resource = place.combined();
            let scope = match place.namespace.as_str() {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace \"{namespace}\""),
            };
            let group = &place.group;
            let why = without_markup(&format!(
                "User \"{name}\" cannot {verb} resource \"{resource}\" in API group \"{group}\" {scope}"
            ));
            let about = About { group, kind: &place.resource, name: &place.name };
            Status::forbidden(about, &format!("{why}{ending}"))
        }
    }
}

/// A browser must not take a refusal for a page.
fn without_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::attributes::Place;

    #[test]
    fn a_refusal_names_user_verb_resource_and_scope() {
        let user = User { name: "u".into(), ..User::default() };
        let place = Place {
            group: "apps".into(),
            resource: "deployments".into(),
            subresource: "scale".into(),
            namespace: "n".into(),
            name: "d".into(),
        };
        let said = |what: Wanted, reason: &str| {
            refusal(&user, &Attributes { verb: "get".into(), what }, reason).message().to_owned()
        };
        assert_eq!(
            said(Wanted::Resource(place.clone()), ""),
            "deployments.apps \"d\" is forbidden: User \"u\" cannot get resource \"deployments/scale\" in API group \
             \"apps\" in the namespace \"n\""
        );
        let nodes = Place { resource: "nodes".into(), ..Place::default() };
        assert_eq!(
            said(Wanted::Resource(nodes), "RBAC: lost"),
            "nodes is forbidden: User \"u\" cannot get resource \"nodes\" in API group \"\" at the cluster scope: RBAC: \
             lost"
        );
        assert_eq!(said(Wanted::Path("/<x>".into()), ""), "forbidden: User \"u\" cannot get path \"/&lt;x&gt;\"");
    }

    #[test]
    fn only_whole_names_are_accounts() {
        assert_eq!(Account::of("system:serviceaccount:n:a"), Some(Account { namespace: "n", name: "a" }));
        for other in ["alice", "system:serviceaccount:n", "system:serviceaccount:n:", "system:serviceaccount:n:a:b"] {
            assert_eq!(Account::of(other), None, "{other}");
        }
    }
}
