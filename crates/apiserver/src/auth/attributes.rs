//! What a request wants, in the words of roles: a verb, and a path or a resource.

use http::Method;

use crate::rest::path::{ResourcePath, Target};
use crate::rest::query::Query;

/// What somebody wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    pub verb: String,
    pub what: Wanted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A page that is no resource.
    Path(String),
    Resource(Place),
}

/// A resource, or one object of it; what is empty is not said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    pub group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
}

impl Place {
    /// `pods`, `pods/status`.
    pub fn combined(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            sub => format!("{}/{sub}", self.resource),
        }
    }
}

impl Attributes {
    pub fn resource(verb: &str, place: Place) -> Self {
        Self { verb: verb.to_owned(), what: Wanted::Resource(place) }
    }

    /// The same with another verb.
    pub fn with_verb(&self, verb: String) -> Self {
        Self { verb, what: self.what.clone() }
    }

    /// What a request asks for. Whether there is such a thing does not matter yet.
    pub fn of_request(method: &Method, path: &str, target: &Target, query: &Query) -> Self {
        match target {
            Target::Resource(resource) => of_resource(method, resource, query),
            _ => Self { verb: method.as_str().to_lowercase(), what: Wanted::Path(path.to_owned()) },
        }
    }
}

fn of_resource(method: &Method, path: &ResourcePath, query: &Query) -> Attributes {
    let mut name = path.name.clone();
    let verb = match method.as_str() {
        _ if path.is_watch => "watch",
        "GET" | "HEAD" if name.is_empty() => {
            // A list of the one object of a name may be allowed where a list of all is not.
            name = exact_name(query.get("fieldSelector")).unwrap_or_default();
            if query.flag("watch").unwrap_or_default() { "watch" } else { "list" }
        }
        "GET" | "HEAD" => "get",
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" if name.is_empty() => "deletecollection",
        "DELETE" => "delete",
        _ => "",
    };
    // A namespace lies in itself.
    let is_namespace = path.group.is_empty() && path.plural == "namespaces";
    let namespace = if is_namespace { path.name.clone() } else { path.namespace.clone() };
    let subresource = path.subresource.split('/').next().unwrap_or_default().to_owned();
    let place = Place { group: path.group.clone(), resource: path.plural.clone(), subresource, namespace, name };
    Attributes::resource(verb, place)
}

/// The name that a field selector asks for, if it asks for one.
fn exact_name(selector: &str) -> Option<String> {
    let name = selector.split(',').find_map(|term| {
        let (field, name) = term.split_once("==").or_else(|| term.split_once('='))?;
        (field == "metadata.name").then_some(name)
    })?;
    is_path_segment(name).then(|| name.to_owned())
}

/// Whether a name can be a part of a path.
fn is_path_segment(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '%'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::path::parse;

    fn wanted(line: &str) -> String {
        let (method, uri) = line.split_once(' ').unwrap();
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let method: Method = method.parse().unwrap();
        let found = Attributes::of_request(&method, path, &parse(path), &Query::parse(query));
        match found.what {
            Wanted::Path(path) => format!("{} {path}", found.verb),
            Wanted::Resource(place) => {
                format!("{} {}.{} {}|{}", found.verb, place.combined(), place.group, place.namespace, place.name)
            }
        }
    }

    #[test]
    fn a_request_is_a_verb_and_a_place() {
        let cases = [
            ("GET /api/v1/pods", "list pods. |"),
            ("GET /api/v1/pods?watch=1", "watch pods. |"),
            ("GET /api/v1/namespaces/n/pods?fieldSelector=metadata.name%3Dp", "list pods. n|p"),
            ("GET /api/v1/namespaces/n/pods?fieldSelector=a%3Db,metadata.name%3D%3Dp&watch=true", "watch pods. n|p"),
            ("GET /api/v1/namespaces/n/pods?fieldSelector=metadata.name!%3Dp", "list pods. n|"),
            ("GET /apis/apps/v1/namespaces/n/deployments/d/scale", "get deployments/scale.apps n|d"),
            ("GET /api/v1/namespaces/n", "get namespaces. n|n"),
            ("PUT /api/v1/namespaces/n/finalize", "update namespaces/finalize. n|n"),
            ("DELETE /api/v1/namespaces/n/pods", "deletecollection pods. n|"),
            ("GET /api/v1/watch/namespaces/n/pods/p", "watch pods. n|p"),
            ("GET /apis/none.example.com/v1/things", "list things.none.example.com |"),
            ("POST /version", "post /version"),
            ("GET /api/v1", "get /api/v1"),
        ];
        for (line, expected) in cases {
            assert_eq!(wanted(line), expected, "{line}");
        }
    }
}
