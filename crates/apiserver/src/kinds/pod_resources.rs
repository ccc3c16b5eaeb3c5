//! What a pod asks for in all: sums over containers, and the most that starting it takes.

use kueue_core::resource_list::{Keep, ResourceList, merge};

use crate::json::Value;

/// `requests` or `limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Requests,
    Limits,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Requests => "requests",
            Side::Limits => "limits",
        }
    }
}

/// A list of quantities; what cannot be read counts as nothing, for validation tells of it.
pub fn list(value: &Value) -> ResourceList {
    crate::json::read::<ResourceList>(value).unwrap_or_default()
}

/// The containers of a pod's spec: `containers` or `initContainers`.
pub fn containers<'v>(spec: &'v Value, which: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    spec.get(which).and_then(Value::as_array).into_iter().flatten()
}

/// What one container asks for.
pub fn of_container(container: &Value, side: Side) -> ResourceList {
    list(&container["resources"][side.name()])
}

/// What a pod asks for: what its containers do together, unless it says something for all of them.
pub fn of_pod(spec: &Value, side: Side) -> ResourceList {
    let mut total = of_containers(spec, side);
    for (name, quantity) in list(&spec["resources"][side.name()]) {
        if ["cpu", "memory"].contains(&name.as_str()) || name.starts_with("hugepages-") {
            total.insert(name, quantity);
        }
    }
    total
}

/// What the containers of a pod ask for together. Containers that start one after another share; those that keep
/// running do not.
pub fn of_containers(spec: &Value, side: Side) -> ResourceList {
    let mut total = ResourceList::new();
    for container in containers(spec, "containers") {
        merge(&mut total, &of_container(container, side), Keep::Sum);
    }
    let (mut running, mut starting) = (ResourceList::new(), ResourceList::new());
    for container in containers(spec, "initContainers") {
        let mut own = of_container(container, side);
        if container["restartPolicy"] == "Always" {
            merge(&mut total, &own, Keep::Sum);
            merge(&mut running, &own, Keep::Sum);
            own = running.clone();
        } else {
            merge(&mut own, &running, Keep::Sum);
        }
        merge(&mut starting, &own, Keep::Larger);
    }
    merge(&mut total, &starting, Keep::Larger);
    total
}

/// The same with what running a pod costs beside its containers; there is no limit where none was.
pub fn of_pod_with_overhead(spec: &Value, side: Side) -> ResourceList {
    let mut total = of_pod(spec, side);
    let mut overhead = list(&spec["overhead"]);
    if side == Side::Limits {
        overhead.retain(|name, _| total.get(name).is_some_and(|limit| !limit.is_zero()));
    }
    merge(&mut total, &overhead, Keep::Sum);
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn starting_takes_the_most_of_its_steps() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let sidecar = |cpu: &str| json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}});
        let cases = [
            (json!({"containers": [container("1"), container("500m")]}), "1500m"),
            (json!({"containers": [container("1")], "initContainers": [container("3")]}), "3"),
            (json!({"containers": [container("1")], "initContainers": [sidecar("1"), container("3")]}), "4"),
            (json!({"containers": [container("1")], "initContainers": [container("1"), sidecar("2")]}), "3"),
            (json!({"containers": [container("1")], "resources": {"requests": {"cpu": "5"}}}), "5"),
        ];
        for (spec, expected) in cases {
            assert_eq!(of_pod(&spec, Side::Requests)["cpu"].to_string(), expected, "{spec}");
        }
    }

    #[test]
    fn overhead_adds_to_limits_that_are_there() {
        let spec = json!({
            "overhead": {"cpu": "1", "memory": "1Gi"},
            "containers": [{"resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}}}],
        });
        let shown = |side| Value::from(serde_json::to_value(of_pod_with_overhead(&spec, side)).unwrap());
        assert_eq!(shown(Side::Requests), json!({"cpu": "2", "memory": "1Gi"}));
        assert_eq!(shown(Side::Limits), json!({"memory": "2Gi"}));
    }
}
