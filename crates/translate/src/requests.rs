//! What the pods of a workload count for: defaults applied, resources left out and transformed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kueue_api::core_v1::{PodSpec, ResourceList, ResourceRequirements};
use kueue_api::limit_range::Summary;
use kueue_core::field::{Error, Errors, Path, aggregate};
use kueue_core::quantity::Quantity;
use kueue_core::resource::base_units;
use kueue_core::resource_list::{Keep, merge};

/// Which requests count, by configuration.
#[derive(Clone, Debug, Default)]
pub struct ResourceRules {
    /// Resources whose names start with one of these do not count.
    pub excluded_prefixes: Vec<String>,
    /// What a resource is turned into.
    pub transformations: BTreeMap<String, Transformation>,
}

/// What a resource is turned into.
#[derive(Clone, Debug, Default)]
pub struct Transformation {
    /// The resource itself does not count any more.
    pub replaces: bool,
    /// The amount is multiplied by that of another resource first.
    pub multiply_by: Option<String>,
    /// How much of each other resource one unit is.
    pub outputs: ResourceList,
}

/// Completes a pod as the API server will: what its runtime needs besides, defaults of its namespace, limits as requests.
pub fn adjust(pod: &mut PodSpec, limits: &Summary, overheads: &BTreeMap<String, ResourceList>) {
    if let Some(overhead) = pod.runtime_class_name.as_ref().and_then(|class| overheads.get(class))
        && pod.overhead.is_empty()
    {
        pod.overhead.clone_from(overhead);
    }
    apply_defaults(pod, limits);
    use_limits_as_requests(pod);
}

/// The pod completed in that way; the same one where nothing is missing.
pub(crate) fn adjusted<'p>(
    pod: &'p PodSpec,
    limits: &Summary,
    overheads: &BTreeMap<String, ResourceList>,
) -> Cow<'p, PodSpec> {
    let has_overhead = pod.runtime_class_name.as_ref().is_some_and(|class| overheads.contains_key(class));
    let has_defaults = ["Container", "Pod"].iter().any(|kind| limits.0.contains_key(*kind));
    let lacks = |of: &ResourceRequirements| of.limits.keys().any(|name| !of.requests.contains_key(name));
    let containers = pod.init_containers.iter().chain(&pod.containers).map(|container| &container.resources);
    let mut pod = Cow::Borrowed(pod);
    if has_overhead || has_defaults || containers.chain(&pod.resources).any(lacks) {
        adjust(pod.to_mut(), limits, overheads);
    }
    pod
}

impl ResourceRules {
    /// What one pod counts for.
    pub(crate) fn apply(&self, pod: &PodSpec) -> ResourceList {
        let mut requests = pod.requests();
        requests.retain(|name, _| !self.excluded_prefixes.iter().any(|prefix| name.starts_with(prefix.as_str())));
        if requests.keys().any(|name| self.transformations.contains_key(name)) {
            self.transform(&requests)
        } else {
            requests
        }
    }

    fn transform(&self, requests: &ResourceList) -> ResourceList {
        let mut kept = ResourceList::new();
        let mut made = ResourceList::new();
        for (name, quantity) in requests {
            let Some(rule) = self.transformations.get(name) else {
                kept.insert(name.clone(), quantity.clone());
                continue;
            };
            let factor = rule.multiply_by.as_ref().and_then(|by| requests.get(by));
            let amount = factor.map_or_else(|| quantity.clone(), |factor| quantity.times(factor));
            let outputs: ResourceList =
                rule.outputs.iter().map(|(output, per_unit)| (output.clone(), amount.times(per_unit))).collect();
            merge(&mut made, &outputs, Keep::Sum);
            if !rule.replaces {
                kept.insert(name.clone(), quantity.clone());
            }
        }
        for quantity in made.values_mut().filter(|quantity| quantity.sign() < 0) {
            *quantity = Quantity::default();
        }
        merge(&mut kept, &made, Keep::Sum);
        kept
    }
}

/// Limits stand in for requests that are missing.
fn use_limits_as_requests(pod: &mut PodSpec) {
    let containers =
        pod.init_containers.iter_mut().chain(&mut pod.containers).map(|container| &mut container.resources);
    for resources in containers.chain(&mut pod.resources) {
        merge(&mut resources.requests, &resources.limits, Keep::First);
    }
}

/// Gives requests and limits that are missing the defaults of the namespace.
fn apply_defaults(pod: &mut PodSpec, limits: &Summary) {
    if let Some(defaults) = limits.0.get("Container") {
        for container in pod.init_containers.iter_mut().chain(&mut pod.containers) {
            merge(&mut container.resources.limits, &defaults.default, Keep::First);
            merge(&mut container.resources.requests, &defaults.default_request, Keep::First);
        }
    }
    if let (Some(defaults), Some(resources)) = (limits.0.get("Pod"), &mut pod.resources) {
        merge(&mut resources.limits, &defaults.default, Keep::First);
        merge(&mut resources.requests, &defaults.default_request, Keep::First);
    }
}

/// Why the API server would refuse the pods, in the words a user reads.
pub(crate) fn invalid(pods: &[Cow<'_, PodSpec>], limits: &Summary) -> Option<String> {
    let pods = || pods.iter().map(|pod| &**pod);
    let above = requests_above_limits(pods());
    if !above.is_empty() {
        return Some(format!("resources validation failed: {}", aggregate(&above)));
    }
    let outside = outside_limit_ranges(pods(), limits);
    (!outside.is_empty()).then(|| format!("resources didn't satisfy LimitRange constraints: {}", aggregate(&outside)))
}

/// Requests of a workload's pods, one of each pod set, that exceed their own limits.
pub fn requests_above_limits<'p>(pods: impl IntoIterator<Item = &'p PodSpec>) -> Errors {
    let pods = pods.into_iter().enumerate();
    pods.flat_map(|(index, pod)| pod_requests_above_limits(pod, &template_of(index))).collect()
}

/// What of a workload's pods, one of each pod set, its namespace does not allow.
pub fn outside_limit_ranges<'p>(pods: impl IntoIterator<Item = &'p PodSpec>, limits: &Summary) -> Errors {
    let pods = pods.into_iter().enumerate();
    pods.flat_map(|(index, pod)| limits.validate(pod, &template_of(index))).collect()
}

fn template_of(pod_set: usize) -> Path {
    Path::new("spec").child("podSets").index(pod_set).child("template").child("spec")
}

fn pod_requests_above_limits(pod: &PodSpec, at: &Path) -> Errors {
    let of = |list: &'static str, index: usize| at.child(list).index(index);
    let init = pod
        .init_containers
        .iter()
        .enumerate()
        .map(|(index, container)| (of("initContainers", index), &container.resources));
    let main =
        pod.containers.iter().enumerate().map(|(index, container)| (of("containers", index), &container.resources));
    let whole = pod.resources.iter().map(|resources| (at.child("resources"), resources));
    let exceeding = |(at, resources): (Path, &ResourceRequirements)| {
        let names: Vec<String> = resources
            .requests
            .iter()
            .filter(|(name, request)| {
                resources.limits.get(*name).is_some_and(|limit| base_units(name, request) > base_units(name, limit))
            })
            .map(|(name, _)| name.clone())
            .collect();
        (!names.is_empty()).then(|| Error::invalid(&at, names, "requests must not exceed its limits"))
    };
    init.chain(main).chain(whole).filter_map(exceeding).collect()
}
