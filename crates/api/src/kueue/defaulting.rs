//! What the mutating webhooks fill in when an object is created. Defaults of fields are in the CRDs' schemas.

use kueue_core::gates::{Gate, Gates};

use super::names::FINALIZER_RESOURCE_IN_USE;
use super::v1beta2::{ClusterQueue, ResourceFlavor, Workload};
use crate::meta::ObjectMeta;

/// Without partial admission a workload needs all its pods.
pub fn default_workload(workload: &mut Workload, gates: Gates) {
    if !gates.enabled(Gate::PartialAdmission) {
        for pod_set in &mut workload.spec.pod_sets {
            pod_set.min_count = None;
        }
    }
}

/// A queue stays until nothing uses it.
pub fn default_cluster_queue(queue: &mut ClusterQueue) {
    add_in_use_finalizer(&mut queue.metadata);
}

/// A flavor stays until nothing uses it.
pub fn default_resource_flavor(flavor: &mut ResourceFlavor) {
    add_in_use_finalizer(&mut flavor.metadata);
}

fn add_in_use_finalizer(metadata: &mut ObjectMeta) {
    if !metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER_RESOURCE_IN_USE) {
        metadata.finalizers.push(FINALIZER_RESOURCE_IN_USE.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kueue::v1beta2::{PodSet, WorkloadSpec};

    #[test]
    fn minimum_counts_go_unless_partial_admission_is_on() {
        let pod_sets = vec![PodSet { min_count: Some(1), ..PodSet::default() }];
        let workload = Workload { spec: WorkloadSpec { pod_sets, ..WorkloadSpec::default() }, ..Workload::default() };
        for (is_on, expected) in [(true, Some(1)), (false, None)] {
            let mut workload = workload.clone();
            default_workload(&mut workload, Gates::default().with(Gate::PartialAdmission, is_on));
            assert_eq!(workload.spec.pod_sets[0].min_count, expected);
        }
    }

    #[test]
    fn the_finalizer_is_added_once_and_last() {
        let mut queue = ClusterQueue::default();
        queue.metadata.finalizers.push("example.com/mine".to_owned());
        default_cluster_queue(&mut queue);
        default_cluster_queue(&mut queue);
        assert_eq!(queue.metadata.finalizers, ["example.com/mine", "kueue.x-k8s.io/resource-in-use"]);
        let mut flavor = ResourceFlavor::default();
        default_resource_flavor(&mut flavor);
        assert_eq!(flavor.metadata.finalizers, ["kueue.x-k8s.io/resource-in-use"]);
    }
}
