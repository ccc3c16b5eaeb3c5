//! Kinds of KubeRay: a RayCluster, and RayJobs and RayServices, which have a RayCluster of their own. KubeRay 1.3 and newer.
//!
//! A cluster is a head and groups of workers, each a pod set. KubeRay adds containers to the head when it makes the pod;
//! they stand in the head's pod set, so that quota counts them, and never in the template.

mod autoscaler;
mod cluster;
pub mod raycluster;
pub mod rayjob;
pub mod rayservice;
#[cfg(test)]
mod tests;

use kueue_api::core_v1::{Container, ResourceList, ResourceRequirements};
use kueue_core::field::Errors;
use kueue_core::gates::Gate;

pub use autoscaler::{notes, resize};
pub use cluster::{RayClusterSpec, WorkerGroup, layout_errors, mistakes};

use crate::job::Job;
use crate::webhook::{Around, validation};
use crate::workload::queue_name;

const GROUP: &str = "ray.io";
const VERSION: &str = "v1";
/// Who runs what does not say who does.
const OPERATOR: &str = "ray.io/kuberay-operator";
/// The pod set of the head. No group of workers may have its name.
const HEAD: &str = "head";

/// Whether the object waits for quota: what does not may be as it likes.
fn is_managed<J: Job>(job: &J, around: &Around<'_>) -> bool {
    around.settings.manages_without_queue || !queue_name(job.metadata()).is_empty()
}

/// Every mistake in a change. One that was never managed may change as it likes; so, without the gate, may one that no
/// longer is.
fn validate_update<J: Job>(new: &J, old: &J, around: &Around<'_>) -> Errors {
    let gates = around.settings.gates;
    let was_managed = gates.enabled(Gate::ValidateRayAndSparkJobUpdates) && !queue_name(old.metadata()).is_empty();
    if !is_managed(new, around) && !was_managed {
        return Errors::new();
    }
    let mut errors = validation::update(new, old, around.has_default_queue, gates);
    errors.extend(new.validate_create(around));
    errors
}

/// A container that KubeRay adds, as far as quota is concerned.
fn added_container(name: &str, resources: ResourceRequirements) -> Container {
    Container { name: name.to_owned(), resources, ..Container::default() }
}

fn resources(cpu: &'static str, memory: &'static str) -> ResourceList {
    let quantity = |text: &str| text.parse().expect("a quantity of ours is one");
    [("cpu".to_owned(), quantity(cpu)), ("memory".to_owned(), quantity(memory))].into()
}
