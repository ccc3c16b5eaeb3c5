//! For which pods nodes are asked.

use kueue_api::core_v1::{Container, PodSpec};
use kueue_api::kueue::v1beta2::{
    PodSet, PodSetAssignment, ProvisioningRequestConfigPodSetMergePolicy as MergePolicy, ProvisioningRequestConfigSpec,
    Workload,
};

/// The Workload's pod sets and their assignments do not fit together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("inconsistent podSet assignments: missing assignment for PodSet {0:?}")]
pub struct Inconsistent(pub String);

/// Pods that are asked for as one.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// The first of the pod sets, after which the others are taken to be alike.
    pub pod_set: &'a PodSet,
    pub assignment: &'a PodSetAssignment,
    pub count: i32,
}

/// Whether the check has anything to ask for.
pub fn is_needed(workload: &Workload, config: &ProvisioningRequestConfigSpec) -> Result<bool, Inconsistent> {
    for pod_set in concerned(workload, config) {
        let assignment = assignment_of(workload, pod_set)?;
        if assignment.count.unwrap_or(pod_set.count) > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What to ask for: those pod sets that have pods, alike ones together where the policy says so.
pub fn wanted<'a>(
    workload: &'a Workload,
    config: &ProvisioningRequestConfigSpec,
) -> Result<Vec<Wanted<'a>>, Inconsistent> {
    let mut all: Vec<Wanted<'a>> = Vec::new();
    for pod_set in concerned(workload, config) {
        let assignment = assignment_of(workload, pod_set)?;
        let count = assignment.count.unwrap_or(pod_set.count);
        if count <= 0 {
            continue;
        }
        let policy = config.pod_set_merge_policy.as_ref();
        match all.iter_mut().find(|wanted| policy.is_some_and(|policy| are_alike(policy, wanted.pod_set, pod_set))) {
            Some(wanted) => wanted.count = wanted.count.saturating_add(count),
            None => all.push(Wanted { pod_set, assignment, count }),
        }
    }
    Ok(all)
}

/// Pod sets that use one of the resources that the check is about; all of them if it names none.
fn concerned<'a>(
    workload: &'a Workload,
    config: &ProvisioningRequestConfigSpec,
) -> impl Iterator<Item = &'a PodSet> + use<'a> {
    let managed = config.managed_resources.clone();
    let is_concerned =
        move |pod_set: &&PodSet| pod_set.count > 0 && (managed.is_empty() || uses(&pod_set.template.spec, &managed));
    workload.spec.pod_sets.iter().filter(is_concerned)
}

fn assignment_of<'a>(workload: &'a Workload, pod_set: &PodSet) -> Result<&'a PodSetAssignment, Inconsistent> {
    let mut assignments = workload.status.admission.iter().flat_map(|admission| &admission.pod_set_assignments);
    assignments.find(|assignment| assignment.name == pod_set.name).ok_or_else(|| Inconsistent(pod_set.name.clone()))
}

fn uses(pod: &PodSpec, managed: &[String]) -> bool {
    let mut containers = pod.init_containers.iter().chain(&pod.containers);
    containers.any(|container| {
        let resources = &container.resources;
        resources.requests.keys().chain(resources.limits.keys()).any(|name| managed.contains(name))
    })
}

fn are_alike(policy: &MergePolicy, one: &PodSet, other: &PodSet) -> bool {
    match policy {
        MergePolicy::IdenticalPodTemplates => one.template == other.template,
        MergePolicy::IdenticalWorkloadSchedulingRequirements => {
            schedules_like(&one.template.spec, &other.template.spec)
        }
        MergePolicy::Other(_) => false,
    }
}

/// Whether two pods are the same to the scheduler.
fn schedules_like(one: &PodSpec, other: &PodSpec) -> bool {
    let ask_the_same = |one: &[Container], other: &[Container]| {
        let requests = |containers: &[Container]| -> Vec<_> {
            containers.iter().map(|container| container.resources.requests.clone()).collect()
        };
        requests(one) == requests(other)
    };
    ask_the_same(&one.containers, &other.containers)
        && ask_the_same(&one.init_containers, &other.init_containers)
        && one.resources == other.resources
        && one.node_selector == other.node_selector
        && one.tolerations == other.tolerations
        && one.affinity == other.affinity
        && one.resource_claims == other.resource_claims
}
