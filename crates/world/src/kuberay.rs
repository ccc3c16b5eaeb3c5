//! KubeRay, the operator of Ray, as far as its users and Kueue can tell.
//!
//! | object | gets |
//! |---|---|
//! | RayCluster | [a head and its workers](cluster), none while it is suspended |
//! | RayJob | [a RayCluster, and a Job that submits](job), both gone when it is suspended or over |
//! | RayService | [a RayCluster](service) |
//! | `managedBy` somebody else | nothing |

mod cluster;
mod job;
mod service;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use kueue_api::meta::{Object, ObjectMeta};
use kueue_core::time::Time;
use tokio::task::JoinSet;

use crate::feeds::Feeds;
use crate::kinds::{RayCluster, RayClusterSpec, owned_by};
use crate::{Parts, Start};

const OWN_NAME: &str = "ray.io/kuberay-operator";
const MANAGER: &str = "kuberay-operator";
/// Which cluster a pod belongs to.
const CLUSTER_LABEL: &str = "ray.io/cluster";

/// Listens to whatever is of Ray; returns what begins to look after it.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let starts = [cluster::connect(parts, feeds), job::connect(parts, feeds), service::connect(parts, feeds)];
    Box::new(move |tasks: &mut JoinSet<()>| starts.into_iter().for_each(|start| start(tasks)))
}

fn is_own(managed_by: Option<&str>) -> bool {
    managed_by.is_none_or(|name| name == OWN_NAME)
}

/// A name that nobody has yet: the owner's, and what follows from who it is and when it asks.
fn cluster_name<T: Object>(owner: &T, now: Time) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut hasher = DefaultHasher::new();
    (&owner.metadata().uid, now.to_string()).hash(&mut hasher);
    let mut rest = hasher.finish();
    let mut letter = || {
        let at = usize::try_from(rest % LETTERS.len() as u64).unwrap_or_default();
        rest /= LETTERS.len() as u64;
        char::from(LETTERS[at])
    };
    let ending: String = std::iter::repeat_with(&mut letter).take(5).collect();
    format!("{}-{ending}", owner.metadata().name)
}

/// A cluster for what runs in it. It inherits labels and annotations, as KubeRay lets it.
fn cluster_of<T: Object>(owner: &T, name: &str, spec: RayClusterSpec) -> RayCluster {
    let meta = owner.metadata();
    let mut labels: BTreeMap<String, String> = meta.labels.clone();
    labels.insert("ray.io/originated-from-cr-name".to_owned(), meta.name.clone());
    labels.insert("ray.io/originated-from-crd".to_owned(), T::KIND.to_owned());
    let metadata = ObjectMeta {
        name: name.to_owned(),
        namespace: meta.namespace.clone(),
        labels,
        annotations: meta.annotations.clone(),
        owner_references: vec![owned_by(owner)],
        ..ObjectMeta::default()
    };
    RayCluster { metadata, spec, ..RayCluster::default() }
}
