//! Questions about the pod sets of a workload.

use std::collections::BTreeMap;

use crate::core_v1::PodSpec;
use crate::kueue::v1beta2::{PodSet, ReclaimablePod};

/// Whether tolerations count when pod sets are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerations {
    Compare,
    /// A running job has been given those of its flavors.
    Ignore,
}

/// The pod set of that name.
pub fn find<'p>(pod_sets: &'p [PodSet], name: &str) -> Option<&'p PodSet> {
    pod_sets.iter().find(|pod_set| pod_set.name == name)
}

/// How many pods each pod set has, by name.
pub fn counts(pod_sets: &[PodSet]) -> BTreeMap<String, i32> {
    pod_sets.iter().map(|pod_set| (pod_set.name.clone(), pod_set.count)).collect()
}

/// Gives the pod sets that are named other counts.
pub fn set_counts(pod_sets: &mut [PodSet], counts: &BTreeMap<String, i32>) {
    for pod_set in pod_sets {
        if let Some(count) = counts.get(&pod_set.name) {
            pod_set.count = *count;
        }
    }
}

/// Whether a pod set that is in both has fewer pods in the first.
pub fn has_fewer(these: &BTreeMap<String, i32>, those: &BTreeMap<String, i32>) -> bool {
    these.iter().any(|(name, count)| those.get(name).is_some_and(|other| count < other))
}

/// The pods that are no longer needed, none of them counted more often than its pod set has pods: a job that was scaled
/// down may have finished more than it has left.
pub fn limit_reclaimable(reclaimable: &mut [ReclaimablePod], pod_sets: &[PodSet]) {
    for pods in reclaimable {
        if let Some(pod_set) = find(pod_sets, &pods.name) {
            pods.count = pods.count.min(pod_set.count);
        }
    }
}

/// Whether somebody asked for a topology, as opposed to being given one by the queue.
pub fn ask_for_topology(pod_sets: &[PodSet]) -> bool {
    pod_sets.iter().filter_map(|pod_set| pod_set.topology_request.as_ref()).any(|request| {
        request.unconstrained.is_some()
            || request.required.is_some()
            || request.preferred.is_some()
            || request.pod_set_slice_required_topology.is_some()
            || request.pod_set_slice_size.is_some()
            || !request.podset_slice_required_topology_constraints.is_empty()
    })
}

/// Whether a workload with pod sets `a` still fits a job that has `b` now: one by one the same counts and the same
/// containers. Names, node selectors and all that admission changes do not count.
pub fn are_equivalent(a: &[PodSet], b: &[PodSet], tolerations: Tolerations) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equivalent(a, b, tolerations))
}

fn is_equivalent(a: &PodSet, b: &PodSet, tolerations: Tolerations) -> bool {
    a.count == b.count && a.min_count == b.min_count && is_same_pod(&a.template.spec, &b.template.spec, tolerations)
}

fn is_same_pod(a: &PodSpec, b: &PodSpec, tolerations: Tolerations) -> bool {
    (tolerations == Tolerations::Ignore || a.tolerations == b.tolerations)
        && a.init_containers == b.init_containers
        && a.containers == b.containers
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod_set(patch: Value) -> PodSet {
        let mut pod_set = json!({"name": "main", "count": 2, "template": {"spec": {"containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}});
        merge(&mut pod_set, patch);
        serde_json::from_value(pod_set).unwrap()
    }

    fn merge(target: &mut Value, patch: Value) {
        match (target, patch) {
            (Value::Object(target), Value::Object(patch)) => {
                for (key, value) in patch {
                    merge(target.entry(key).or_insert(Value::Null), value);
                }
            }
            (target, patch) => *target = patch,
        }
    }

    fn equivalent(patch: Value, tolerations: Tolerations) -> bool {
        are_equivalent(&[pod_set(json!({}))], &[pod_set(patch)], tolerations)
    }

    #[test]
    fn what_admission_changes_does_not_count() {
        for patch in [
            json!({"name": "other"}),
            json!({"template": {"metadata": {"labels": {"a": "b"}}}}),
            json!({"template": {"spec": {"nodeSelector": {"a": "b"}}}}),
            json!({"template": {"spec": {"containers": [
                {"name": "c", "image": "i", "env": [], "resources": {"limits": {}, "requests": {"cpu": "1000m"}}}]}}}),
        ] {
            assert!(equivalent(patch.clone(), Tolerations::Compare), "{patch}");
        }
    }

    #[test]
    fn counts_and_containers_do() {
        for patch in [
            json!({"count": 3}),
            json!({"minCount": 1}),
            json!({"template": {"spec": {"tolerations": [{"key": "a"}]}}}),
            json!({"template": {"spec": {"initContainers": [{"name": "c"}]}}}),
            json!({"template": {"spec": {"containers": [{"name": "c", "image": "other"}]}}}),
        ] {
            assert!(!equivalent(patch.clone(), Tolerations::Compare), "{patch}");
        }
        assert!(!are_equivalent(&[], &[pod_set(json!({}))], Tolerations::Compare));
    }

    #[test]
    fn tolerations_of_a_running_job_are_ignored() {
        assert!(equivalent(json!({"template": {"spec": {"tolerations": [{"key": "a"}]}}}), Tolerations::Ignore));
    }
}
