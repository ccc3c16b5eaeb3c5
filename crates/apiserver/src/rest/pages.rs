//! Pages that are no objects: health, version, discovery, OpenAPI, the index of paths.

use std::fmt::Write as _;

use http::Method;

use super::discovery;
use super::openapi;
use super::path::Target;
use super::query::Query;
use super::reply::{Page, Reply, ReplyBody};
use super::service::Server;
use crate::auth::tokens::ISSUER;
use crate::json::json;
use crate::status::{Result, Status};

/// The Kubernetes whose answers this server gives.
const VERSION: &str = "v1.36.3";
/// Checks that can be asked for one by one.
const CHECKS: [&str; 3] = ["ping", "log", "etcd"];
const JSON: &str = "application/json";

/// What a request for a page says beside its path.
#[derive(Debug)]
pub struct Asked<'a> {
    pub method: &'a Method,
    pub accept: &'a str,
    /// The tags of what the client already has.
    pub known: Option<&'a str>,
    pub query: &'a Query,
}

fn nowhere() -> Reply {
    Reply::text(404, "404 page not found\n")
}

impl Server {
    pub fn page_of(&self, target: &Target, asked: &Asked<'_>) -> Result<Reply> {
        let registry = self.registry();
        if let Target::Other(path) = target {
            return Ok(self.other_page(path, asked));
        }
        if asked.method != Method::GET {
            return match target {
                Target::Group(group) | Target::GroupVersion { group, .. } if !registry.has_group(group) => {
                    Ok(nowhere())
                }
                _ => Err(Status::method_not_allowed()),
            };
        }
        let aggregated = discovery::aggregated_type(asked.accept);
        match (target, aggregated) {
            (Target::CoreVersions | Target::Groups, Some(media_type)) => {
                let groups = match *target == Target::CoreVersions {
                    true => vec![(String::new(), vec!["v1".to_owned()])],
                    false => self.groups(true),
                };
                let value = discovery::aggregated(&registry, &groups, &self.aggregated);
                Ok(Page::kept(&value, media_type).answer(asked.known))
            }
            (Target::CoreVersions, None) => Ok(Reply::ok(discovery::core_versions())),
            (Target::Groups, None) => Ok(Reply::ok(discovery::groups(&self.groups(false)))),
            (Target::Group(group), _) => {
                Ok(discovery::group(&self.groups(false), group).map_or_else(nowhere, Reply::ok))
            }
            (Target::GroupVersion { group, version }, _) => match discovery::resources(&registry, group, version) {
                Some(value) => Ok(Reply::ok(value)),
                // A group of CRDs knows no more than their versions.
                None if registry.has_built_in_group(group) => Err(Status::unknown_resource()),
                None => Ok(nowhere()),
            },
            (Target::Resource(_) | Target::Other(_), _) => Ok(nowhere()),
        }
    }

    fn other_page(&self, path: &str, asked: &Asked<'_>) -> Reply {
        let registry = self.registry();
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        match segments.as_slice() {
            [page @ ("healthz" | "livez" | "readyz")] => Reply::text(200, health(page, asked.query)),
            ["healthz" | "livez" | "readyz", check] if CHECKS.contains(check) => Reply::text(200, "ok"),
            ["metrics"] => Reply::text(200, self.metrics()),
            ["openapi", "v2"] => openapi::v2(&registry, asked.accept).answer(asked.known),
            ["openapi", "v3"] => {
                Page::kept(&openapi::index(&registry), "text/plain; charset=utf-8").answer(asked.known)
            }
            ["openapi", "v3", rest @ ..] => match openapi::document(&registry, &rest.join("/")) {
                Some(document) => Page::kept(&document, JSON).answer(asked.known),
                None => {
                    let nothing = Page { bytes: bytes::Bytes::new(), content_type: "", etag: None };
                    Reply { code: 404, body: ReplyBody::Page(nothing) }
                }
            },
            [".well-known", "openid-configuration"] => Reply::ok(json!({
                "issuer": ISSUER, "jwks_uri": format!("{ISSUER}/openid/v1/jwks"), "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["EdDSA"],
            })),
            ["openid", "v1", "jwks"] => {
                Page::kept(&self.authentication.public_keys(), "application/jwk-set+json").answer(asked.known)
            }
            ["version"] => Reply::ok(json!({
                "major": "1", "minor": "36", "gitVersion": VERSION, "gitCommit": "", "gitTreeState": "clean",
                "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "linux/amd64",
            })),
            [""] => Reply::ok(self.index_of_paths()),
            _ => nowhere(),
        }
    }

    fn index_of_paths(&self) -> crate::json::Value {
        let mut paths: Vec<String> = [
            "/api",
            "/api/v1",
            "/apis",
            "/apis/",
            "/healthz",
            "/livez",
            "/metrics",
            "/openapi/v2",
            "/openapi/v3",
            "/readyz",
            "/version",
        ]
        .map(str::to_owned)
        .to_vec();
        for (group, versions) in self.registry().groups() {
            paths.push(format!("/apis/{group}"));
            paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
        }
        paths.sort();
        json!({"paths": paths})
    }

    /// The one thing that can be counted here as in a cluster: how many objects there are.
    fn metrics(&self) -> String {
        let name = "apiserver_resource_objects";
        let mut text =
            format!("# HELP {name} Number of stored objects at the time of the request.\n# TYPE {name} gauge\n");
        let mut seen = std::collections::BTreeSet::new();
        for resource in self.registry().all() {
            if !seen.insert(resource.storage.clone()) {
                continue;
            }
            if let Ok(listed) = self.store.list(&resource.storage, "", None) {
                let (group, plural, count) = (&resource.group, &resource.plural, listed.objects.len());
                writeln!(text, "{name}{{group=\"{group}\",resource=\"{plural}\"}} {count}")
                    .expect("writing to a string does not fail");
            }
        }
        text
    }
}

/// `ok`, or every check when somebody wants to see them.
fn health(page: &str, query: &Query) -> String {
    if query.find("verbose").is_none() {
        return "ok".to_owned();
    }
    let excluded = query.all("exclude");
    let line = |check: &&str| match excluded.contains(check) {
        true => format!("[+]{check} excluded: ok\n"),
        false => format!("[+]{check} ok\n"),
    };
    format!("{}{page} check passed\n", CHECKS.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_shows_its_checks_when_asked() {
        assert_eq!(health("livez", &Query::parse("")), "ok");
        let shown = "[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\nlivez check passed\n";
        assert_eq!(health("livez", &Query::parse("verbose&exclude=etcd")), shown);
    }
}
