//! Requests that the API server hands on: it proves itself with a certificate, and says in headers who asks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use kueue_api::meta::object;
use kueue_runtime::client::Client;
use kueue_runtime::clock::Clock;
use kueue_runtime::key::Key;
use kueue_runtime::server::Peer;
use tokio::time::Instant;
use tracing::warn;

use super::access::User;

const CORE_GROUP: &str = "";
const V1: &str = "v1";
/// Where the API server says how it proves itself.
const NAMESPACE: &str = "kube-system";
const CONFIG_MAP: &str = "extension-apiserver-authentication";
/// Everybody is in one of these groups, also those whom the API server invents for itself.
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";
/// How often that is read again.
const READ_AGAIN: Duration = Duration::from_secs(60);
/// How soon, when somebody comes whom it does not know.
const READ_SOON: Duration = Duration::from_secs(1);

object! {
    pub struct ConfigMap in CORE_GROUP/V1/"configmaps", namespaced: true {
        pub data?: BTreeMap<String, String>,
    }
}

/// Whom to believe, and where they say who asks.
#[derive(Debug)]
pub(super) struct Rules {
    /// In PEM.
    authorities: String,
    /// The names that their certificates may have; any when empty.
    names: Vec<String>,
    user_headers: Vec<String>,
    group_headers: Vec<String>,
    extra_prefixes: Vec<String>,
}

impl Default for Rules {
    /// The usual headers, and nobody to believe.
    fn default() -> Self {
        let one = |name: &str| vec![name.to_owned()];
        Self {
            authorities: String::new(),
            names: Vec::new(),
            user_headers: one("x-remote-user"),
            group_headers: one("x-remote-group"),
            extra_prefixes: one("x-remote-extra-"),
        }
    }
}

impl Rules {
    fn read(data: &BTreeMap<String, String>) -> Self {
        let list = |key: &str| -> Vec<String> {
            data.get(key).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
        };
        Self {
            authorities: data.get("requestheader-client-ca-file").cloned().unwrap_or_default(),
            names: list("requestheader-allowed-names"),
            user_headers: list("requestheader-username-headers"),
            group_headers: list("requestheader-group-headers"),
            extra_prefixes: list("requestheader-extra-headers-prefix"),
        }
    }

    fn believe(&self, peer: &Peer, clock: Clock) -> bool {
        let is_named = || peer.common_name().is_some_and(|name| self.names.contains(&name));
        !self.authorities.is_empty()
            && peer.is_known_to(self.authorities.as_bytes(), clock.now())
            && (self.names.is_empty() || is_named())
    }

    /// Who asks, as the headers say.
    pub(super) fn user(&self, headers: &HeaderMap) -> Option<User> {
        let texts = |name: &str| {
            let all = headers.get_all(name).iter();
            all.filter_map(|value| value.to_str().ok().map(str::to_owned)).collect::<Vec<_>>()
        };
        let username = self.user_headers.iter().flat_map(|name| texts(name)).find(|name| !name.is_empty())?;
        let mut extra = BTreeMap::new();
        for prefix in &self.extra_prefixes {
            let prefix = prefix.to_lowercase();
            for name in headers.keys() {
                if let Some(key) = name.as_str().strip_prefix(&prefix) {
                    extra.insert(unescaped(key), texts(name.as_str()));
                }
            }
        }
        let mut groups: Vec<String> = self.group_headers.iter().flat_map(|name| texts(name)).collect();
        let is_told = groups.iter().any(|group| [AUTHENTICATED, UNAUTHENTICATED].contains(&group.as_str()));
        if username != ANONYMOUS && !is_told {
            groups.push(AUTHENTICATED.to_owned());
        }
        Some(User { username, uid: String::new(), groups, extra })
    }
}

/// Names of headers are escaped like parts of a URL.
fn unescaped(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *byte == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(meant) => {
                bytes.push(meant);
                rest = &after[2..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Tells the API server from those who only say that they are.
pub(super) struct Front {
    client: Client,
    clock: Clock,
    read: Mutex<Option<(Arc<Rules>, Instant)>>,
}

impl Front {
    pub(super) fn new(client: Client, clock: Clock) -> Self {
        Self { client, clock, read: Mutex::default() }
    }

    /// Who asks, if it is the API server that says so.
    pub(super) async fn user(&self, headers: &HeaderMap, peer: Option<&Peer>) -> Option<User> {
        let peer = peer?;
        let mut rules = self.rules(READ_AGAIN).await?;
        if !rules.believe(peer, self.clock) {
            rules = self.rules(READ_SOON).await.filter(|rules| rules.believe(peer, self.clock))?;
        }
        rules.user(headers)
    }

    /// The rules as they were at most so long ago; older ones when they cannot be read.
    async fn rules(&self, age: Duration) -> Option<Arc<Rules>> {
        let known = self.read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((rules, at)) = &known
            && at.elapsed() < age
        {
            return Some(Arc::clone(rules));
        }
        match self.client.get::<ConfigMap>(&Key::new(NAMESPACE, CONFIG_MAP)).await {
            Ok(found) => {
                let rules = Arc::new(Rules::read(&found.data));
                *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some((Arc::clone(&rules), Instant::now()));
                Some(rules)
            }
            Err(error) => {
                warn!(%error, "cannot read how the API server proves itself");
                known.map(|(rules, _)| rules)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn the_headers_say_who_asks() {
        let mut headers = HeaderMap::new();
        let said = [
            ("x-remote-user", "ann"),
            ("x-remote-group", "a"),
            ("x-remote-group", "b"),
            ("x-remote-extra-example.com%2fscope", "all"),
        ];
        for (name, value) in said {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let user = Rules::default().user(&headers).unwrap();
        let extra = BTreeMap::from([("example.com/scope".to_owned(), vec!["all".to_owned()])]);
        let groups = ["a", "b", AUTHENTICATED].map(str::to_owned).to_vec();
        assert_eq!(user, User { username: "ann".to_owned(), uid: String::new(), groups, extra });
        assert_eq!(Rules::default().user(&HeaderMap::new()), None);
        assert_eq!(Rules::read(&BTreeMap::new()).user(&headers), None, "nobody said which headers count");
    }
}
