//! Back to a clean control plane between two tests, in less than a second and without a restart.
//!
//! A [`Snapshot`] knows which objects there were; a reset deletes all others. Namespaces take more than five seconds to
//! finish (the controller waits first), so their contents are deleted one by one and the empty shells are left to it:
//! tests use namespaces with new names. What a test changed in an object that was there before stays changed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::http::{Connection, Request};
use crate::planes::Plane;
use crate::problem::Result;

/// Connections at once: more only compete for the API server's cores.
const WORKERS: usize = 6;

/// The objects of a control plane, by uid.
#[derive(Debug, Clone)]
pub struct Snapshot {
    objects: BTreeMap<String, Found>,
}

#[derive(Debug, Clone)]
struct Found {
    path: String,
    is_namespace: bool,
    is_going: bool,
    has_finalizers: bool,
}

impl Plane {
    /// Notes which objects there are.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let kinds = self.kinds()?;
        let found = self.in_parallel(&kinds, objects)?;
        Ok(Snapshot { objects: found.into_iter().flatten().collect() })
    }

    /// Deletes what was not there, finalizers or not. Returns how many objects that were.
    pub fn reset(&self, to: &Snapshot) -> Result<usize> {
        let now = self.snapshot()?;
        let extra = |(uid, found): (String, Found)| (!to.objects.contains_key(&uid)).then_some(found);
        let (namespaces, others): (Vec<Found>, Vec<Found>) =
            now.objects.into_iter().filter_map(extra).partition(|found| found.is_namespace);
        // Namespaces first: in one that is terminating no controller can create anything again.
        let namespaces: Vec<Found> = namespaces.into_iter().filter(|found| !found.is_going).collect();
        self.in_parallel(&namespaces, remove)?;
        self.in_parallel(&others, remove)?;
        Ok(namespaces.len() + others.len())
    }

    /// Does the same to every item on a few connections; the results come in no particular order.
    fn in_parallel<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&mut Connection, &T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let next = AtomicUsize::new(0);
        let worker = || {
            let mut server = self.client().connect()?;
            let mut results = Vec::new();
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                results.push(work(&mut server, item)?);
            }
            Ok(results)
        };
        let results: Result<Vec<Vec<R>>> = thread::scope(|scope| {
            let workers: Vec<_> = (0..WORKERS.min(items.len())).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().map(|worker| worker.join().expect("a worker does not panic")).collect()
        });
        Ok(results?.into_iter().flatten().collect())
    }

    /// Paths of all collections whose objects can be listed and deleted, each kind in one version.
    fn kinds(&self) -> Result<Vec<String>> {
        let mut paths = Vec::new();
        for root in ["/api", "/apis"] {
            let groups = self.send(&Request::get(root).accepting(AGGREGATED))?.success("no discovery")?;
            for group in groups["items"].as_array().into_iter().flatten() {
                let name = group["metadata"]["name"].as_str().unwrap_or_default();
                // The same events are in the core group, too.
                if name == "events.k8s.io" {
                    continue;
                }
                let version = &group["versions"][0];
                let api = [root, name, version["version"].as_str().unwrap_or_default()];
                let api = api.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
                for resource in version["resources"].as_array().into_iter().flatten() {
                    let can =
                        |verb: &str| resource["verbs"].as_array().is_some_and(|all| all.iter().any(|one| one == verb));
                    if can("list") && can("delete") {
                        paths.push(format!("{api}/{}", resource["resource"].as_str().unwrap_or_default()));
                    }
                }
            }
        }
        Ok(paths)
    }
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

fn remove(server: &mut Connection, found: &Found) -> Result<()> {
    if found.has_finalizers && !found.is_namespace {
        server.send(&Request::merge(found.path.as_str(), json!({"metadata": {"finalizers": null}})))?;
    }
    // That the object is gone meanwhile is what we want; that it may not be deleted is for the next test to see.
    server.send(&Request::delete(format!("{}?gracePeriodSeconds=0&propagationPolicy=Background", found.path)))?;
    Ok(())
}

fn objects(server: &mut Connection, collection: &String) -> Result<Vec<(String, Found)>> {
    let answer = server.send(&Request::get(collection.as_str()).accepting(METADATA))?;
    // A kind can vanish between discovery and listing; its objects are gone with it.
    let mut body = if answer.status == 404 { Value::Null } else { answer.success(collection)? };
    let items = body["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let (root, plural) = collection.rsplit_once('/').unwrap_or(("", collection));
    let found = items.into_iter().filter_map(|item| {
        let meta = &item["metadata"];
        let name = meta["name"].as_str()?;
        let path = match meta["namespace"].as_str() {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}/{name}"),
            None => format!("{collection}/{name}"),
        };
        let found = Found {
            path,
            is_namespace: collection == "/api/v1/namespaces",
            is_going: !meta["deletionTimestamp"].is_null(),
            has_finalizers: meta["finalizers"].as_array().is_some_and(|all| !all.is_empty()),
        };
        Some((meta["uid"].as_str()?.to_string(), found))
    });
    Ok(found.collect())
}
