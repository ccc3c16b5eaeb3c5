//! Pages that are no objects: health, version, discovery, the index of paths.

use http::Method;
use serde_json::json;

use super::discovery;
use super::openapi;
use super::path::Target;
use super::reply::{Reply, ReplyBody};
use super::service::Server;
use crate::status::{Result, Status};

/// The Kubernetes whose answers this server gives.
const VERSION: &str = "v1.36.3";
/// Checks that can be asked for one by one.
const CHECKS: [&str; 3] = ["ping", "etcd", "log"];

fn nowhere() -> Reply {
    Reply::text(404, "404 page not found\n")
}

impl Server {
    pub fn page_of(&self, method: &Method, target: &Target, accept: Option<&str>) -> Result<Reply> {
        let registry = self.registry();
        if let Target::Other(path) = target {
            return Ok(self.other_page(path));
        }
        if method != Method::GET {
            return match target {
                Target::Group(group) | Target::GroupVersion { group, .. } if !registry.has_group(group) => {
                    Ok(nowhere())
                }
                _ => Err(Status::method_not_allowed()),
            };
        }
        let aggregated = discovery::aggregated_type(accept);
        match (target, aggregated) {
            (Target::CoreVersions | Target::Groups, Some(media_type)) => {
                let value = discovery::aggregated(&registry, *target == Target::CoreVersions);
                Ok(Reply { code: 200, body: ReplyBody::Typed(value, media_type) })
            }
            (Target::CoreVersions, None) => Ok(Reply::ok(discovery::core_versions())),
            (Target::Groups, None) => Ok(Reply::ok(discovery::groups(&registry))),
            (Target::Group(group), _) => Ok(discovery::group(&registry, group).map_or_else(nowhere, Reply::ok)),
            (Target::GroupVersion { group, version }, _) => match discovery::resources(&registry, group, version) {
                Some(value) => Ok(Reply::ok(value)),
                // A group of CRDs knows no more than their versions.
                None if registry.has_built_in_group(group) => Err(Status::unknown_resource()),
                None => Ok(nowhere()),
            },
            (Target::Resource(_) | Target::Other(_), _) => Ok(nowhere()),
        }
    }

    fn other_page(&self, path: &str) -> Reply {
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        match segments.as_slice() {
            ["healthz" | "livez" | "readyz"] => Reply::text(200, "ok"),
            ["healthz" | "livez" | "readyz", check] if CHECKS.contains(check) => Reply::text(200, "ok"),
            ["openapi", "v3"] => {
                let body = ReplyBody::Typed(openapi::index(&self.registry()), "text/plain; charset=utf-8");
                Reply { code: 200, body }
            }
            ["openapi", "v3", rest @ ..] => match openapi::document(&self.registry(), &rest.join("/")) {
                Some(document) => Reply::ok(document),
                None => nowhere(),
            },
            ["version"] => Reply::ok(json!({
                "major": "1", "minor": "36", "gitVersion": VERSION, "gitCommit": "", "gitTreeState": "clean",
                "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "linux/amd64",
            })),
            [""] => {
                let mut paths: Vec<String> =
                    ["/api", "/api/v1", "/apis", "/apis/", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]
                        .map(str::to_owned)
                        .to_vec();
                for (group, versions) in self.registry().groups() {
                    paths.push(format!("/apis/{group}"));
                    paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
                }
                paths.sort();
                Reply::ok(json!({"paths": paths}))
            }
            _ => nowhere(),
        }
    }
}
