//! What the limit ranges of a namespace ask of a pod, checked before its workload is queued: a pod that the API server
//! would refuse must not hold quota.

use std::collections::BTreeMap;

use kueue_core::field::{Error, Errors, Path};
use kueue_core::resource::base_units;
use kueue_core::resource_list::{Keep, ResourceList, merge};

use crate::core_v1::{Container, LimitRange, LimitRangeItem, PodSpec};

/// The limits of a namespace taken together, by type of object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary(pub BTreeMap<String, LimitRangeItem>);

const CONTAINER: &str = "Container";
const POD: &str = "Pod";

const ABOVE_MAX: &str = "requests must not be above the limitRange max";
const BELOW_MIN: &str = "requests must not be below the limitRange min";

impl Summary {
    /// The strictest bounds, and the first default of each resource.
    pub fn of<'r>(ranges: impl IntoIterator<Item = &'r LimitRange>) -> Self {
        let mut summary = Self::default();
        for item in ranges.into_iter().flat_map(|range| &range.spec.limits) {
            let all = summary.0.entry(item.r#type.clone()).or_default();
            merge(&mut all.max, &item.max, Keep::Smaller);
            merge(&mut all.min, &item.min, Keep::Larger);
            merge(&mut all.default, &item.default, Keep::First);
            merge(&mut all.default_request, &item.default_request, Keep::First);
            merge(&mut all.max_limit_request_ratio, &item.max_limit_request_ratio, Keep::Smaller);
        }
        summary
    }

    /// Every container and then the pod as a whole against its bounds.
    pub fn validate(&self, pod: &PodSpec, at: &Path) -> Errors {
        let mut errors = self.validate_containers(&pod.init_containers, &at.child("initContainers"));
        errors.extend(self.validate_containers(&pod.containers, &at.child("containers")));
        if let Some(bounds) = self.0.get(POD) {
            let total = pod.requests();
            errors.extend(within(bounds, &total, &total, at));
        }
        errors
    }

    fn validate_containers(&self, containers: &[Container], at: &Path) -> Errors {
        let Some(bounds) = self.0.get(CONTAINER) else { return Errors::new() };
        let validate = |(index, container): (usize, &Container)| {
            let resources = &container.resources;
            let (mut least, mut most) = (resources.requests.clone(), resources.requests.clone());
            merge(&mut least, &resources.limits, Keep::Smaller);
            merge(&mut most, &resources.limits, Keep::Larger);
            within(bounds, &least, &most, &at.index(index))
        };
        containers.iter().enumerate().flat_map(validate).collect()
    }
}

fn within(bounds: &LimitRangeItem, least: &ResourceList, most: &ResourceList, at: &Path) -> Errors {
    let above = Some(greater(most, &bounds.max)).filter(|names| !names.is_empty());
    let below = Some(greater(&bounds.min, least)).filter(|names| !names.is_empty());
    let above = above.map(|names| Error::invalid(at, names, ABOVE_MAX));
    above.into_iter().chain(below.map(|names| Error::invalid(at, names, BELOW_MIN))).collect()
}

/// The resources that are in both lists and of which the first has more.
fn greater(list: &ResourceList, other: &ResourceList) -> Vec<String> {
    let exceeds = |name: &str, quantity| {
        other.get(name).is_some_and(|bound| base_units(name, quantity) > base_units(name, bound))
    };
    list.iter().filter(|(name, quantity)| exceeds(name, quantity)).map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::*;

    /// Each range is given by its list of limits.
    fn summary(ranges: &[&str]) -> Summary {
        let range = |limits| serde_json::from_str(&format!(r#"{{"spec": {{"limits": {limits}}}}}"#)).unwrap();
        Summary::of(&ranges.iter().map(range).collect::<Vec<_>>())
    }

    #[test]
    fn of_several_ranges_the_strictest_bounds_and_first_defaults_count() {
        let summary = summary(&[
            r#"[{"type": "Pod", "max": {"cpu": 4, "gpu": 1}, "min": {"cpu": 1}, "default": {"cpu": 3}}]"#,
            r#"[{"type": "Pod", "max": {"cpu": 2}, "min": {"cpu": "500m", "gpu": 1}, "default": {"cpu": 2},
                 "maxLimitRequestRatio": {"cpu": 2}},
                {"type": "Container", "defaultRequest": {"cpu": 1}}]"#,
        ]);
        let shown = |kind: &str| serde_json::to_value(&summary.0[kind]).unwrap();
        assert_eq!(
            shown("Pod"),
            json!({"type": "", "max": {"cpu": "2", "gpu": "1"}, "min": {"cpu": "1", "gpu": "1"},
                   "default": {"cpu": "3"}, "maxLimitRequestRatio": {"cpu": "2"}})
        );
        assert_eq!(shown("Container"), json!({"type": "", "defaultRequest": {"cpu": "1"}}));
    }

    fn check(limits: &str, pod: Value, expected: &Expect) {
        let pod: PodSpec = serde_json::from_value(pod).unwrap();
        let errors = summary(&[limits]).validate(&pod, &Path::new("spec"));
        expected.assert_eq(&errors.iter().map(|error| format!("=> {error}\n")).collect::<String>());
    }

    #[test]
    fn every_container_and_the_pod_are_checked() {
        check(
            r#"[{"type": "Container", "max": {"cpu": 2}, "min": {"cpu": 1, "memory": "1Gi"}},
                {"type": "Pod", "max": {"cpu": 3}, "min": {"gpu": 1}}]"#,
            json!({
                "initContainers": [{"resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "3"}}}],
                "containers": [{"resources": {"requests": {"cpu": "2", "memory": "1Gi"}}},
                               {"resources": {"requests": {"cpu": "2", "gpu": "0"}}}],
            }),
            &expect![[r#"
                => spec.initContainers[0]: Invalid value: ["cpu"]: requests must not be above the limitRange max
                => spec.initContainers[0]: Invalid value: ["cpu"]: requests must not be below the limitRange min
                => spec: Invalid value: ["cpu"]: requests must not be above the limitRange max
                => spec: Invalid value: ["gpu"]: requests must not be below the limitRange min
            "#]],
        );
    }

    #[test]
    fn resources_that_only_one_side_names_are_not_compared() {
        check(
            r#"[{"type": "Container", "max": {"gpu": 1}, "min": {"gpu": 1}}, {"type": "Pod", "min": {"gpu": 1}}]"#,
            json!({"containers": [{"resources": {"requests": {"cpu": "2"}}}]}),
            &expect![],
        );
    }
}
