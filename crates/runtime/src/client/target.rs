//! Where objects are found.

use kueue_api::meta::Object;

use crate::key::Key;

/// The path of all objects of a kind, in one namespace or in all.
pub(super) fn collection<T: Object>(namespace: &str) -> String {
    let group = collection_of(&T::api_version());
    match T::NAMESPACED && !namespace.is_empty() {
        true => format!("{group}/namespaces/{}/{}", escape(namespace), T::PLURAL),
        false => format!("{group}/{}", T::PLURAL),
    }
}

/// The path of one object, or of a part of it.
pub(super) fn object<T: Object>(key: &Key, subresource: &str) -> String {
    let path = format!("{}/{}", collection::<T>(&key.namespace), escape(&key.name));
    if subresource.is_empty() { path } else { format!("{path}/{subresource}") }
}

/// The path of everything that a version of a group serves.
pub(super) fn collection_of(api_version: &str) -> String {
    match api_version.split_once('/') {
        Some((group, version)) => format!("/apis/{}/{}", escape(group), escape(version)),
        None => format!("/api/{}", escape(api_version)),
    }
}

/// The path of one object of a kind that is known only by name.
pub(super) fn object_of(api_version: &str, plural: &str, key: &Key) -> String {
    let (namespace, name) = (escape(&key.namespace), escape(&key.name));
    format!("{}/namespaces/{namespace}/{}/{name}", collection_of(api_version), escape(plural))
}

/// What follows the question mark.
#[derive(Debug, Default)]
pub(super) struct Query(String);

impl Query {
    /// Adds a parameter; an empty one says nothing.
    pub(super) fn push(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.0.push(if self.0.is_empty() { '?' } else { '&' });
            self.0.push_str(&format!("{name}={}", escape(value)));
        }
    }

    pub(super) fn after(self, path: String) -> String {
        path + &self.0
    }
}

/// Escapes what has a meaning in an address.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => escaped.push(char::from(byte)),
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use kueue_api::core_v1::{LimitRange, PriorityClass};

    use super::*;

    #[test]
    fn paths_are_those_of_the_kind() {
        assert_eq!(collection::<LimitRange>(""), "/api/v1/limitranges");
        assert_eq!(collection::<LimitRange>("a"), "/api/v1/namespaces/a/limitranges");
        assert_eq!(object::<LimitRange>(&Key::new("a", "x"), ""), "/api/v1/namespaces/a/limitranges/x");
        let class = object::<PriorityClass>(&Key::cluster("../x y"), "status");
        assert_eq!(class, "/apis/scheduling.k8s.io/v1/priorityclasses/..%2Fx%20y/status");
        assert_eq!(object_of("v1", "pods", &Key::new("a", "x")), "/api/v1/namespaces/a/pods/x");
        assert_eq!(object_of("b/v1", "jobs", &Key::new("a", "x")), "/apis/b/v1/namespaces/a/jobs/x");
    }

    #[test]
    fn queries_leave_out_what_is_empty() {
        let mut query = Query::default();
        query.push("a", "");
        assert_eq!(query.after("/x".to_owned()), "/x");
        let mut query = Query::default();
        query.push("a", "1&2");
        query.push("b", "c");
        assert_eq!(query.after("/x".to_owned()), "/x?a=1%262&b=c");
    }
}
