//! Acting as somebody else: the `Impersonate-*` headers, and who may use them.
//!
//! Since 1.36 there are two ways. In the constrained one a user needs `impersonate-on:MODE:VERB` on what they ask for and
//! `impersonate:MODE` on whom they want to be; in the old one, `impersonate` on the user is enough for everything.

use std::collections::BTreeMap;

use http::HeaderMap;
use kueue_core::name;

use super::attributes::{Attributes, Place};
use super::{ANONYMOUS, AUTHENTICATED, Account, MASTERS, UNAUTHENTICATED, User, refusal};
use crate::rest::path::unescape;
use crate::rest::service::Server;
use crate::status::{Result, Status};

const AUTHENTICATION: &str = "authentication.k8s.io";
const NODE_OF_ACCOUNT: &str = "authentication.kubernetes.io/node-name";
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// A way to become somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The node that the asking account's pod runs on.
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    /// The way of old.
    Plain,
}

impl Mode {
    const ALL: [Self; 5] =
        [Self::AssociatedNode, Self::ArbitraryNode, Self::ServiceAccount, Self::UserInfo, Self::Plain];

    /// How verbs name it; the old way has no name.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::AssociatedNode => Some("associated-node"),
            Self::ArbitraryNode => Some("arbitrary-node"),
            Self::ServiceAccount => Some("serviceaccount"),
            Self::UserInfo => Some("user-info"),
            Self::Plain => None,
        }
    }

    /// Whether this is a way for one user to become another.
    fn is_for(self, wanted: &User, asking: &User) -> bool {
        let is_bare = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = node_of(&wanted.name);
        match self {
            Self::AssociatedNode => {
                let own = asking.extra.get(NODE_OF_ACCOUNT).map(Vec::as_slice);
                is_bare
                    && Account::of(&asking.name).is_some()
                    && node.is_some_and(|node| own.is_some_and(|own| own == [node]))
            }
            Self::ArbitraryNode => is_bare && node.is_some(),
            Self::ServiceAccount => is_bare && Account::of(&wanted.name).is_some(),
            Self::UserInfo => node.is_none() && Account::of(&wanted.name).is_none(),
            Self::Plain => true,
        }
    }
}

fn node_of(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:").filter(|node| name::dns1123_subdomain(node).is_empty())
}

impl Server {
    /// The user that a request is to be made as: the one who asks, or the one they may and want to be.
    pub fn impersonated(&self, asking: User, headers: &HeaderMap, request: &Attributes) -> Result<User> {
        let Some(wanted) = wanted_user(headers)? else { return Ok(asking) };
        let mut refused = None;
        for mode in Mode::ALL.into_iter().filter(|mode| mode.is_for(&wanted, &asking)) {
            match self.become_in(mode, &asking, &wanted, request) {
                Ok(user) => return Ok(user),
                Err(status) => {
                    refused.get_or_insert(status);
                }
            }
        }
        Err(refused.unwrap_or_else(|| Status::internal("all impersonation modes failed")))
    }

    fn become_in(&self, mode: Mode, asking: &User, wanted: &User, request: &Attributes) -> Result<User> {
        let verb = match mode.name() {
            Some(name) => {
                let on = request.with_verb(format!("impersonate-on:{name}:{}", request.verb));
                self.require(asking, &on)?;
                format!("impersonate:{name}")
            }
            None => "impersonate".to_owned(),
        };
        for place in places(mode, asking, &verb, wanted)? {
            self.require(asking, &Attributes::resource(&verb, place))?;
        }
        Ok(completed(mode, wanted))
    }
}

/// Everything that one must be allowed to impersonate in order to be this user.
fn places(mode: Mode, asking: &User, verb: &str, wanted: &User) -> Result<Vec<Place>> {
    // In the old way users and groups were resources of the core group.
    let group = if mode == Mode::Plain { "" } else { AUTHENTICATION };
    let at = |group: &str, resource: &str, name: &str| Place {
        group: group.to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..Place::default()
    };
    let mut places = vec![match (Account::of(&wanted.name), node_of(&wanted.name)) {
        (Some(account), _) => {
            Place { namespace: account.namespace.to_owned(), ..at(group, "serviceaccounts", account.name) }
        }
        // The association was checked already; the right is to be any of one's own nodes.
        (None, Some(_)) if mode == Mode::AssociatedNode => at(group, "nodes", "*"),
        (None, Some(node)) if mode == Mode::ArbitraryNode => at(group, "nodes", node),
        _ => at(group, "users", &wanted.name),
    }];
    if !wanted.uid.is_empty() {
        places.push(at(AUTHENTICATION, "uids", &wanted.uid));
    }
    for name in &wanted.groups {
        let place = at(group, "groups", name);
        let refuse = |why: &str| Err(refusal(asking, &Attributes::resource(verb, place.clone()), why));
        match name.as_str() {
            "" if mode != Mode::Plain => return refuse("impersonating the empty string group is not allowed"),
            MASTERS if mode != Mode::Plain => return refuse("impersonating the system:masters group is not allowed"),
            _ => places.push(place),
        }
    }
    for (key, values) in &wanted.extra {
        let value = |value: &String| Place { subresource: key.clone(), ..at(AUTHENTICATION, "userextras", value) };
        places.extend(values.iter().map(value));
    }
    Ok(places)
}

/// The user with the groups that follow from their name.
fn completed(mode: Mode, wanted: &User) -> User {
    let mut user = wanted.clone();
    if user.groups.is_empty() {
        if let Some(account) = Account::of(&wanted.name) {
            user.groups = account.groups();
        } else if matches!(mode, Mode::AssociatedNode | Mode::ArbitraryNode) {
            user.groups = vec!["system:nodes".into()];
        }
    }
    if user.name == ANONYMOUS {
        user.join(UNAUTHENTICATED);
    } else if !user.is_in(UNAUTHENTICATED) {
        user.join(AUTHENTICATED);
    }
    user
}

/// The user that headers ask for. Groups, uid or extra without a name are a mistake.
fn wanted_user(headers: &HeaderMap) -> Result<Option<User>> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let one = |name: &str| headers.get(name).map(text).unwrap_or_default();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        if let Some(key) = name.as_str().strip_prefix(EXTRA_PREFIX) {
            extra.entry(unescape(key)).or_default().push(text(value));
        }
    }
    let wanted = User {
        name: one("impersonate-user"),
        uid: one("impersonate-uid"),
        groups: headers.get_all("impersonate-group").iter().map(text).collect(),
        extra,
    };
    if wanted == User::default() {
        return Ok(None);
    }
    if wanted.name.is_empty() {
        let message = format!("requested {} without impersonating a user name", go_syntax(&wanted));
        return Err(Status::bad_request(message));
    }
    Ok(Some(wanted))
}

/// A user as Go writes one in its own syntax.
fn go_syntax(user: &User) -> String {
    let list = |texts: &[String]| {
        let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
        format!("[]string{{{}}}", quoted.join(", "))
    };
    let groups = if user.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&user.groups) };
    let extra = if user.extra.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        let entries: Vec<String> = user.extra.iter().map(|(key, texts)| format!("{key:?}:{}", list(texts))).collect();
        format!("map[string][]string{{{}}}", entries.join(", "))
    };
    format!("&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{groups}, Extra:{extra}}}", user.name, user.uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name: http::HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn headers_describe_a_user() {
        let user = wanted_user(&headers(&[
            ("Impersonate-User", "u"),
            ("Impersonate-Group", "a"),
            ("Impersonate-Group", "b"),
            ("Impersonate-Extra-Example.com%2fScopes", "view"),
        ]));
        let user = user.unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.groups), ("u", vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(user.extra["example.com/scopes"], ["view"]);
        assert_eq!(wanted_user(&HeaderMap::new()), Ok(None));
    }

    #[test]
    fn a_group_without_a_user_is_a_mistake() {
        let refused = wanted_user(&headers(&[("Impersonate-Group", "x")])).unwrap_err();
        assert_eq!(
            refused.message(),
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"x\"}, Extra:map[string][]string(nil)} \
             without impersonating a user name"
        );
        let refused = wanted_user(&headers(&[("Impersonate-Extra-A", "x")])).unwrap_err();
        assert!(refused.message().contains("Groups:[]string(nil), Extra:map[string][]string{\"a\":[]string{\"x\"}}}"));
    }

    #[test]
    fn groups_follow_from_the_name() {
        let named = |name: &str| User { name: name.into(), ..User::default() };
        let groups = |mode, name| completed(mode, &named(name)).groups.join(" ");
        assert_eq!(
            groups(Mode::ServiceAccount, "system:serviceaccount:n:a"),
            "system:serviceaccounts system:serviceaccounts:n system:authenticated"
        );
        assert_eq!(groups(Mode::ArbitraryNode, "system:node:x"), "system:nodes system:authenticated");
        assert_eq!(groups(Mode::Plain, "system:node:x"), "system:authenticated");
        assert_eq!(groups(Mode::UserInfo, ANONYMOUS), "system:unauthenticated");
    }
}
