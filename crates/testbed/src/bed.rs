//! What a scenario needs of the thing it runs on: answers like an API server's, and time that passes.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::http::{Client, Request, Response};
use crate::planes::Plane;
use crate::problem::{Problem, Result};

/// Something that answers as a Kubernetes API server: a real control plane, or an embedded one under virtual time.
pub trait Bed {
    /// Sends one request as administrator.
    fn send(&self, request: &Request) -> Result<Response>;

    /// Lets time pass: by waiting where time is real, at once where it is virtual.
    fn pass(&self, duration: Duration);

    /// Whether something plays this beside the API server.
    fn has(&self, need: Need) -> bool;

    /// Stops the manager as if its machine were gone, or starts it and waits until it is ready.
    fn switch_manager(&self, _is_on: bool) -> Result<()> {
        Err(Problem::new("this bed has no manager that could be stopped and started"))
    }

    /// How many times as long as usual things may take, because something goes wrong all the time.
    fn patience(&self) -> u32 {
        1
    }
}

/// What a scenario may need beside an API server that collects garbage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// Controllers that make pods, a scheduler, and nodes on which they run.
    Workloads,
    /// Webhooks that are called over TLS.
    Certificates,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Need::Workloads => f.write_str("workloads"),
            Need::Certificates => f.write_str("certificates"),
        }
    }
}

impl Bed for Client {
    fn send(&self, request: &Request) -> Result<Response> {
        Client::send(self, request)
    }

    fn pass(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    /// Scenarios are for the full profile.
    fn has(&self, need: Need) -> bool {
        match need {
            Need::Workloads | Need::Certificates => true,
        }
    }
}

impl Bed for Plane {
    fn send(&self, request: &Request) -> Result<Response> {
        self.client().send(request)
    }

    fn pass(&self, duration: Duration) {
        Bed::pass(self.client(), duration);
    }

    fn has(&self, need: Need) -> bool {
        self.client().has(need)
    }
}

/// Where the objects of one kind live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// `/api/v1` or `/apis/GROUP/VERSION`.
    pub root: String,
    pub plural: String,
    pub is_namespaced: bool,
}

impl Resource {
    /// The path of the objects in a namespace, or of all when the kind has none.
    pub fn collection(&self, namespace: &str) -> String {
        match self.is_namespaced {
            true => format!("{}/namespaces/{namespace}/{}", self.root, self.plural),
            false => format!("{}/{}", self.root, self.plural),
        }
    }

    /// The path of one object.
    pub fn object(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }
}

/// Finds resources by kind as a client does, asking once per group and version.
#[derive(Debug, Default)]
pub struct Discovery {
    lists: BTreeMap<String, Value>,
}

impl Discovery {
    /// The resource of a kind.
    pub fn resource(&mut self, bed: &dyn Bed, api_version: &str, kind: &str) -> Result<Resource> {
        let root =
            if api_version.contains('/') { format!("/apis/{api_version}") } else { format!("/api/{api_version}") };
        if !self.lists.contains_key(&root) {
            let list = bed.send(&Request::get(root.as_str()))?.success(&format!("no API {api_version}"))?;
            self.lists.insert(root.clone(), list);
        }
        let resources = self.lists[&root]["resources"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_it = |resource: &&Value| {
            resource["kind"] == kind && resource["name"].as_str().is_some_and(|name| !name.contains('/'))
        };
        match resources.iter().find(is_it) {
            Some(found) => Ok(Resource {
                root,
                plural: found["name"].as_str().unwrap_or_default().to_string(),
                is_namespaced: found["namespaced"] == true,
            }),
            None => {
                // A CRD may be installed a moment later: ask again then.
                self.lists.remove(&root);
                Err(Problem::new(format!("{api_version} has no kind {kind}")))
            }
        }
    }
}
