//! Bearer tokens: those of users who are known from the start, and those of ServiceAccounts, which this server signs.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;

use super::jwt::{self, SigningKey};
use super::{AUTHENTICATED, Account, MASTERS, User};
use crate::json::{Value, json};
use crate::kinds::text_at;
use crate::rest::service::Server;
use crate::status::{About, Result, Status};
use crate::store::{Key, Object};

/// Who signs, and whom tokens are for when nothing is said.
pub const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// How far clocks may be apart, in seconds.
const LEEWAY_S: i64 = 60;
const INVALID: &str = "invalid bearer token";

/// A user who is known from the start.
#[derive(Debug, Clone)]
pub struct StaticUser {
    pub name: String,
    pub groups: Vec<String>,
    pub token: String,
}

/// Knows tokens.
#[derive(Debug)]
pub struct Authentication {
    /// The administrator first.
    users: Vec<StaticUser>,
    key: SigningKey,
}

/// An object that a token dies with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    pub name: String,
    pub uid: String,
}

/// What a token is to say of an account.
#[derive(Debug)]
pub struct TokenClaims<'a> {
    pub account: Account<'a>,
    pub uid: &'a str,
    pub audiences: &'a [String],
    pub seconds: i64,
    /// `pod`, `node`, `secret`, with the object.
    pub bound: Vec<(&'static str, Bound)>,
}

/// Somebody whose token is good, and whom it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticated {
    pub user: User,
    pub audiences: Vec<String>,
}

impl Authentication {
    pub fn new(admin_token: String, others: Vec<StaticUser>, seed: &[u8; 32]) -> Self {
        let admin = StaticUser { name: "admin".into(), groups: vec![MASTERS.into()], token: admin_token };
        let users = std::iter::once(admin).chain(others).collect();
        Self { users, key: SigningKey::from_seed(seed) }
    }

    pub fn admin_token(&self) -> &str {
        &self.users[0].token
    }

    /// The user of a token that was given at the start.
    fn known(&self, token: &str) -> Option<User> {
        let found = self.users.iter().find(|user| is_same(&user.token, token))?;
        // In the token file of a real server a user has a uid; here it is the name.
        let (name, uid) = (found.name.clone(), found.name.clone());
        Some(User { name, uid, groups: found.groups.clone(), ..User::default() })
    }

    /// The keys that check tokens.
    pub fn public_keys(&self) -> Value {
        json!({"keys": [self.key.public()]})
    }

    pub fn issue(&self, claims: &TokenClaims<'_>, now: Timestamp, id: &str) -> String {
        let mut own = json!({
            "namespace": claims.account.namespace,
            "serviceaccount": {"name": claims.account.name, "uid": claims.uid},
        });
        for (kind, bound) in &claims.bound {
            own[*kind] = json!({"name": bound.name, "uid": bound.uid});
        }
        let now = now.as_second();
        self.key.sign(&json!({
            "aud": claims.audiences, "exp": now + claims.seconds, "iat": now, "iss": ISSUER, "jti": id,
            "kubernetes.io": own, "nbf": now, "sub": claims.account.user_name(),
        }))
    }
}

/// Compares in a time that does not depend on where texts differ.
fn is_same(one: &str, two: &str) -> bool {
    one.len() == two.len() && one.bytes().zip(two.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// The token of an `Authorization` header; other schemes are not known here, and count as none.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let mut parts = header.trim().splitn(3, ' ');
    let (scheme, token) = (parts.next()?, parts.next()?);
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

impl Server {
    /// The user of a request; without a token, nobody in particular.
    pub fn identify(&self, headers: &HeaderMap) -> Result<User> {
        let Some(token) = bearer(headers) else { return Ok(User::anonymous()) };
        match self.authenticate(token, &[ISSUER.to_owned()]) {
            Ok(found) => Ok(found.user),
            Err(_) => Err(Status::new(401, "Unauthorized", "Unauthorized")),
        }
    }

    /// Whose token it is, if it is for one of the audiences; otherwise, why it is nobody's.
    pub fn authenticate(&self, token: &str, audiences: &[String]) -> std::result::Result<Authenticated, String> {
        let is_own = |claims: &Value| claims["iss"] == ISSUER;
        let mut found = match self.authentication.known(token) {
            Some(user) => Authenticated { user, audiences: audiences.to_vec() },
            None => match self.authentication.key.verify(token) {
                Some(claims) if is_own(&claims) => self.authenticate_account(&claims, audiences),
                None if jwt::claims(token).as_ref().is_some_and(is_own) => Err("invalid signature".to_owned()),
                _ => return Err(INVALID.to_owned()),
            }
            .map_err(|why| format!("[{INVALID}, {why}]"))?,
        };
        found.user.join(AUTHENTICATED);
        Ok(found)
    }

    fn authenticate_account(&self, claims: &Value, wanted: &[String]) -> std::result::Result<Authenticated, String> {
        let given: Vec<String> = crate::json::read(&claims["aud"]).unwrap_or_default();
        let audiences: Vec<String> = given.iter().filter(|one| wanted.contains(one)).cloned().collect();
        if audiences.is_empty() {
            let shown = |list: &[String]| list.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(" ");
            return Err(format!(
                "token audiences [{}] is invalid for the target audiences [{}]",
                shown(&given),
                shown(wanted)
            ));
        }
        let now = self.clock.now().as_second();
        if claims["exp"].as_i64().unwrap_or_default() + LEEWAY_S < now {
            return Err("service account token has expired".into());
        }
        let own = &claims["kubernetes.io"];
        let namespace = text_at(own, &["namespace"]);
        let account = Account { namespace, name: text_at(own, &["serviceaccount", "name"]) };
        let uid = text_at(own, &["serviceaccount", "uid"]);
        let about = About { group: "", kind: "serviceaccounts", name: account.name };
        let found = self.store.get("serviceaccounts", &Key::new(namespace, account.name));
        let found = found.ok_or_else(|| Status::not_found(about).message().to_owned())?;
        if uid_of(&found) != uid {
            return Err(format!("service account UID ({}) does not match claim ({uid})", uid_of(&found)));
        }
        if self.ended(&found) {
            return Err(format!("service account {namespace}/{} has been deleted", account.name));
        }
        self.check_bound(own, namespace)?;
        let mut user =
            User { name: account.user_name(), uid: uid.to_owned(), groups: account.groups(), ..User::default() };
        let mut tell = |key: &str, value: &str| {
            if !value.is_empty() {
                user.extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value.to_owned()]);
            }
        };
        tell("credential-id", &format!("JTI={}", text_at(claims, &["jti"])));
        for kind in ["node", "pod"] {
            tell(&format!("{kind}-name"), text_at(own, &[kind, "name"]));
            tell(&format!("{kind}-uid"), text_at(own, &[kind, "uid"]));
        }
        Ok(Authenticated { user, audiences })
    }

    /// A token that is bound to an object ends with it. The node of a bound pod is only told.
    fn check_bound(&self, own: &Value, namespace: &str) -> std::result::Result<(), String> {
        for kind in ["secret", "pod", "node"] {
            if own.get(kind).is_none() || kind == "node" && own.get("pod").is_some() {
                continue;
            }
            let (name, uid) = (text_at(own, &[kind, "name"]), text_at(own, &[kind, "uid"]));
            let namespace = if kind == "node" { "" } else { namespace };
            let gone = || "service account token has been invalidated".to_owned();
            let found = self.store.get(&format!("{kind}s"), &Key::new(namespace, name)).ok_or_else(gone)?;
            if uid_of(&found) != uid {
                let found = uid_of(&found);
                return Err(format!("{kind} UID ({found}) does not match service account {kind} ref claim ({uid})"));
            }
            if self.ended(&found) {
                return Err(gone());
            }
        }
        Ok(())
    }

    /// Whether an object should have been gone for some time.
    fn ended(&self, object: &Object) -> bool {
        let ends = object.metadata().get("deletionTimestamp").and_then(Value::as_str);
        let ends = ends.and_then(|text| text.parse::<Timestamp>().ok());
        ends.is_some_and(|ends| ends.as_second() + LEEWAY_S < self.clock.now().as_second())
    }
}

fn uid_of(object: &Object) -> &str {
    object.metadata().get("uid").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_carries_a_bearer_token() {
        let token = |header: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, header.parse().unwrap());
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(token("Bearer x"), Some("x".into()));
        assert_eq!(token("bearer x"), Some("x".into()));
        for none in ["Bearer", "Bearer ", "Basic x", "Bearer  x"] {
            assert_eq!(token(none), None, "{none}");
        }
    }

    #[test]
    fn users_of_the_start_are_known_by_their_tokens() {
        let other = StaticUser { name: "eve".into(), groups: vec!["g".into()], token: "t".into() };
        let authentication = Authentication::new("secret".into(), vec![other], &[0; 32]);
        assert!(authentication.known("secret").unwrap().is_master());
        assert_eq!(authentication.known("t").unwrap().name, "eve");
        assert_eq!(authentication.known("other"), None);
    }
}
