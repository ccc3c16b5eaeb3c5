//! What a URL path names.

/// A path, taken apart; whether there is such a thing is for the registry to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Below `/api` or `/apis`, a resource of a group and version.
    Resource(ResourcePath),
    /// `/api`: the versions of the core group.
    CoreVersions,
    /// `/apis`: all groups.
    Groups,
    Group(String),
    GroupVersion {
        group: String,
        version: String,
    },
    /// Anything else: `/version`, `/healthz`, `/openapi/v3`.
    Other(String),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourcePath {
    pub group: String,
    pub version: String,
    pub namespace: String,
    pub plural: String,
    pub name: String,
    pub subresource: String,
    /// The old form `/api/v1/watch/pods`.
    pub is_watch: bool,
}

/// Takes a path apart. Empty segments at the end do not count, and an escaped slash separates as any other.
pub fn parse(path: &str) -> Target {
    let path = unescape(path);
    let trimmed = path.strip_prefix('/').unwrap_or(&path).trim_end_matches('/');
    let segments: Vec<&str> = if trimmed.is_empty() { Vec::new() } else { trimmed.split('/').collect() };
    match segments.as_slice() {
        ["api"] => Target::CoreVersions,
        ["api", version] => Target::GroupVersion { group: String::new(), version: (*version).to_owned() },
        ["api", version, rest @ ..] => resource("", version, rest),
        ["apis"] => Target::Groups,
        ["apis", group] => Target::Group((*group).to_owned()),
        ["apis", group, version] => Target::GroupVersion { group: (*group).to_owned(), version: (*version).to_owned() },
        ["apis", group, version, rest @ ..] => resource(group, version, rest),
        _ => Target::Other(format!("/{trimmed}")),
    }
}

fn resource(group: &str, version: &str, rest: &[&str]) -> Target {
    let (is_watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    // `status` and `finalize` belong to the namespace itself; anything else below one lives in it.
    let (namespace, rest) = match rest {
        ["namespaces", _, "status" | "finalize"] | ["namespaces"] | ["namespaces", _] => ("", rest),
        ["namespaces", namespace, rest @ ..] => (*namespace, rest),
        rest => ("", rest),
    };
    let at = |index: usize| rest.get(index).map(|part| (*part).to_owned()).unwrap_or_default();
    Target::Resource(ResourcePath {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace: namespace.to_owned(),
        plural: at(0),
        name: at(1),
        subresource: rest.get(2..).unwrap_or_default().join("/"),
        is_watch,
    })
}

/// `%2F` and the like.
pub fn unescape(text: &str) -> String {
    if !text.contains(['%', '+']) {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let code = (bytes[index] == b'%').then(|| text.get(index + 1..index + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                index += 3;
            }
            None => {
                plain.push(bytes[index]);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> String {
        match parse(path) {
            Target::Resource(found) => format!(
                "{}|{}|{}|{}|{}|{}{}",
                found.group,
                found.version,
                found.namespace,
                found.plural,
                found.name,
                found.subresource,
                if found.is_watch { "|watch" } else { "" }
            ),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_path_names_a_resource() {
        let cases = [
            ("/api/v1/pods", "|v1||pods||"),
            ("/api/v1/namespaces/n/pods/p/status", "|v1|n|pods|p|status"),
            ("/api/v1/namespaces/n", "|v1||namespaces|n|"),
            ("/api/v1/namespaces/n/finalize", "|v1||namespaces|n|finalize"),
            ("/apis/batch/v1/namespaces/n/jobs", "batch|v1|n|jobs||"),
            ("/api/v1/watch/namespaces/n/pods", "|v1|n|pods|||watch"),
            ("/apis/batch/v1/jobs/a%20b", "batch|v1||jobs|a b|"),
        ];
        for (path, wanted) in cases {
            assert_eq!(found(path), wanted, "{path}");
        }
    }

    #[test]
    fn pages_of_discovery_may_end_with_a_slash() {
        assert_eq!(parse("/api/"), Target::CoreVersions);
        assert_eq!(parse("/apis/"), Target::Groups);
        assert_eq!(parse("/version/"), Target::Other("/version".into()));
        assert_eq!(parse("/apis/a.b"), Target::Group("a.b".into()));
    }
}
