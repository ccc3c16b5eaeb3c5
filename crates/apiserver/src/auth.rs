//! Who asks, and whether they may.
//!
//! Tokens are random per start. Members of `system:masters` may do everything; anonymous users may look at health and
//! version.

use http::Method;
use serde_json::json;

use crate::rest::path::{ResourcePath, Target};
use crate::rest::query::Query;
use crate::rest::service::Server;
use crate::status::{About, Result, Status};

pub const MASTERS: &str = "system:masters";
const ANONYMOUS: &str = "system:anonymous";

/// The user behind a request.
#[derive(Debug, Clone)]
pub struct User {
    pub name: String,
    pub groups: Vec<String>,
}

impl User {
    pub fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }
}

/// Knows tokens.
#[derive(Debug)]
pub struct Authentication {
    admin_token: String,
}

impl Authentication {
    pub fn new(admin_token: String) -> Self {
        Self { admin_token }
    }

    pub fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// The user of an `Authorization` header; without one, nobody in particular.
    pub fn user(&self, header: Option<&str>) -> Result<User> {
        // Other schemes are not known here, and count as none.
        let Some(header) = header.filter(|header| header.starts_with("Bearer ")) else {
            return Ok(User { name: ANONYMOUS.into(), groups: vec!["system:unauthenticated".into()] });
        };
        let token = header.strip_prefix("Bearer ").map(str::trim).unwrap_or_default();
        if !is_same(token, &self.admin_token) {
            return Err(Status::new(401, "Unauthorized", "Unauthorized"));
        }
        let groups = [MASTERS, "system:authenticated"].map(str::to_owned).to_vec();
        Ok(User { name: "admin".into(), groups })
    }
}

/// Compares in a time that does not depend on where texts differ.
fn is_same(one: &str, two: &str) -> bool {
    one.len() == two.len() && one.bytes().zip(two.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// Pages that everybody may see.
const OPEN: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];

impl Server {
    pub fn authorize(
        &self,
        user: &User,
        method: &Method,
        path: &ResourcePath,
        other: Option<&Target>,
        query: &Query,
    ) -> Result<()> {
        if user.is_master() {
            return Ok(());
        }
        match other {
            Some(Target::Other(page)) if OPEN.contains(&page.as_str()) => Ok(()),
            Some(target) => {
                let verb = method.as_str().to_lowercase();
                let page = page_path(target);
                let message = format!("forbidden: User \"{}\" cannot {verb} path \"{page}\"", user.name);
                Err(Status::new(403, "Forbidden", message).with_details(json!({})))
            }
            None => Err(refuse(user, method, path, query)),
        }
    }
}

fn page_path(target: &Target) -> String {
    match target {
        Target::CoreVersions => "/api".into(),
        Target::Groups => "/apis".into(),
        Target::Group(group) => format!("/apis/{group}"),
        Target::GroupVersion { group, version } if group.is_empty() => format!("/api/{version}"),
        Target::GroupVersion { group, version } => format!("/apis/{group}/{version}"),
        Target::Other(path) => path.clone(),
        Target::Resource(path) => path.plural.clone(),
    }
}

fn refuse(user: &User, method: &Method, path: &ResourcePath, query: &Query) -> Status {
    let is_watch = path.is_watch || query.flag("watch").unwrap_or_default();
    let verb = match (method.as_str(), path.name.is_empty()) {
        ("GET", _) if is_watch => "watch",
        ("GET", true) => "list",
        ("GET", false) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "deletecollection",
        ("DELETE", false) => "delete",
        _ => "",
    };
    let resource = match path.subresource.as_str() {
        "" => path.plural.clone(),
        sub => format!("{}/{sub}", path.plural),
    };
    let place = match path.namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace \"{namespace}\""),
    };
    let why =
        format!("User \"{}\" cannot {verb} resource \"{resource}\" in API group \"{}\" {place}", user.name, path.group);
    Status::forbidden(About { group: &path.group, kind: &path.plural, name: &path.name }, &why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_token_is_known() {
        let authentication = Authentication::new("secret".into());
        assert!(authentication.user(Some("Bearer secret")).unwrap().is_master());
        assert_eq!(authentication.user(Some("Bearer other")).unwrap_err().code(), 401);
        assert_eq!(authentication.user(None).unwrap().name, ANONYMOUS);
    }
}
