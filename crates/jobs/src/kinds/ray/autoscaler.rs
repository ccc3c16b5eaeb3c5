//! Clusters whose autoscaler changes their size behind the back of the job or service they belong to.

use std::collections::BTreeMap;

use kueue_api::kueue::names::annotation;
use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::slices::is_elastic;
use kueue_core::gates::Gates;

use super::raycluster::RayCluster;
use crate::job::{BadPodSets, Job};

/// Gives the pod sets of an elastic job the sizes that the autoscaler of its cluster chose, where it may choose any. A
/// cluster that is not there changes nothing.
pub fn resize<J: Job>(
    job: &J,
    pod_sets: &mut [PodSet],
    cluster: Option<&RayCluster>,
    gates: Gates,
) -> Result<(), BadPodSets> {
    let is_followed = is_elastic(job.metadata(), gates) && job.is_autoscaled();
    let Some(cluster) = cluster.filter(|_| is_followed) else { return Ok(()) };
    for group in &cluster.spec.worker_group_specs {
        let name = group.pod_set_name();
        let Some(pod_set) = pod_sets.iter_mut().find(|pod_set| pod_set.name == name) else {
            return Err(BadPodSets::UnknownGroup {
                cluster: cluster.metadata.name.clone(),
                group: group.group_name.clone(),
                job: job.metadata().name.clone(),
            });
        };
        if group.replicas.is_some() {
            pod_set.count = group.pods();
        }
    }
    Ok(())
}

/// The annotations by which an elastic job remembers its cluster: each size of that has a slice with a name of its own.
pub fn notes<J: Job>(job: &J, cluster: Option<&RayCluster>, gates: Gates) -> BTreeMap<String, String> {
    if !J::RUNS_IN_RAY_CLUSTER || !is_elastic(job.metadata(), gates) {
        return BTreeMap::new();
    }
    let generation = cluster.map(|cluster| cluster.metadata.generation.to_string()).unwrap_or_default();
    [(annotation::RAY_CLUSTER_GENERATION.to_owned(), generation)].into()
}

/// What tells the slices of a job apart that has a cluster of its own: the change of either.
pub(super) fn slice_name_extra<J: Job>(job: &J) -> String {
    let meta = job.metadata();
    match meta.annotations.get(annotation::RAY_CLUSTER_GENERATION).filter(|generation| !generation.is_empty()) {
        Some(generation) => format!("{}_{generation}", meta.generation),
        None => meta.generation.to_string(),
    }
}
