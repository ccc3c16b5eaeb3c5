//! How much of what an object uses, in the names that quotas use.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use kueue_core::quantity::Quantity;
use kueue_core::resource::is_extended;
use kueue_core::resource_list::ResourceList;

use super::scope::has_deadline;
use crate::admission::Operation;
use crate::json::Value;
use crate::kinds::pod_resources::{Side, list, of_container as asked_by, of_pod_with_overhead};
use crate::kinds::{Resource, text_at};

/// What quotas count of pods, beside huge pages and extended resources.
const OF_PODS: [&str; 11] = [
    "count/pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];
const OF_SERVICES: [&str; 4] = ["count/services", "services", "services.nodeports", "services.loadbalancers"];
const OF_CLAIMS: [&str; 3] = ["count/persistentvolumeclaims", "persistentvolumeclaims", "requests.storage"];
const STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";
/// Kinds whose number has a name of old beside `count/KIND`.
const OLD_COUNTS: [&str; 4] = ["configmaps", "replicationcontrollers", "resourcequotas", "secrets"];

/// Whether such a write may be charged. Most kinds only count.
pub fn may_charge(resource: &Resource, operation: Operation) -> bool {
    match operation {
        Operation::Create => true,
        Operation::Update => ["pods", "services", "persistentvolumeclaims"].contains(&resource.storage.as_str()),
        Operation::Delete => false,
    }
}

/// Whether it is. What a pod asks for stays; only its deadline, and with that its scope, may change.
pub fn is_charged(resource: &Resource, operation: Operation, new: &Value, old: Option<&Value>) -> bool {
    let changes_scope = || old.is_some_and(|old| has_deadline(old) != has_deadline(new));
    operation == Operation::Create || resource.storage != "pods" || changes_scope()
}

/// The names of a quota that such objects count for.
pub fn matching(resource: &Resource, hard: &ResourceList) -> BTreeSet<String> {
    let is_its = |name: &str| match resource.storage.as_str() {
        "pods" => {
            let plain = name.strip_prefix("requests.");
            let is_extended = plain.is_some_and(|_| name.contains('/') && !name.contains("kubernetes.io/"));
            OF_PODS.contains(&name) || plain.unwrap_or(name).starts_with("hugepages-") || is_extended
        }
        "services" => OF_SERVICES.contains(&name),
        "persistentvolumeclaims" => {
            let ending = name.split_once(STORAGE_CLASS).map(|(_, ending)| ending);
            OF_CLAIMS.contains(&name) || matches!(ending, Some("requests.storage" | "persistentvolumeclaims"))
        }
        storage => name.strip_prefix("count/") == Some(storage) || name == storage && OLD_COUNTS.contains(&name),
    };
    hard.keys().filter(|name| is_its(name)).cloned().collect()
}

/// Everything an object uses.
pub fn of(resource: &Resource, object: &Value, now: Timestamp) -> ResourceList {
    let mut usage = ResourceList::new();
    let one = || Quantity::from_units(1);
    usage.insert(format!("count/{}", resource.storage), one());
    match resource.storage.as_str() {
        "pods" if is_over(object, now) => {}
        "pods" => {
            let of = |side| of_pod_with_overhead(&object["spec"], side);
            usage.extend(compute(&of(Side::Requests), &of(Side::Limits)));
        }
        "services" => usage.extend(of_service(&object["spec"])),
        "persistentvolumeclaims" => usage.extend(of_claim(object)),
        storage if OLD_COUNTS.contains(&storage) => {
            usage.insert(storage.to_owned(), one());
        }
        _ => {}
    }
    usage
}

/// What one container says it takes.
pub fn of_container(container: &Value) -> ResourceList {
    compute(&asked_by(container, Side::Requests), &asked_by(container, Side::Limits))
}

/// Names that every container must give an amount for when a quota counts them.
pub fn must_be_given(name: &str) -> bool {
    let plain = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits.")).unwrap_or(name);
    ["cpu", "memory"].contains(&plain)
}

/// What the first list has beyond the second.
pub fn beyond(new: &ResourceList, old: &ResourceList) -> ResourceList {
    let zero = Quantity::from_units(0);
    let more = |(name, amount): (&String, &Quantity)| {
        let rest = amount - old.get(name).unwrap_or(&zero);
        (name.clone(), if rest.sign() < 0 { zero.clone() } else { rest })
    };
    new.iter().map(more).collect()
}

/// Requests and limits under the names of quotas.
fn compute(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut usage = ResourceList::from([("pods".to_owned(), Quantity::from_units(1))]);
    for (name, amount) in requests {
        let is_plain = ["cpu", "memory", "ephemeral-storage"].contains(&name.as_str());
        let is_counted = is_plain || name.starts_with("hugepages-");
        if is_counted {
            usage.insert(name.clone(), amount.clone());
        }
        if is_counted || is_extended(name) {
            usage.insert(format!("requests.{name}"), amount.clone());
        }
    }
    for (name, amount) in limits {
        if ["cpu", "memory", "ephemeral-storage"].contains(&name.as_str()) {
            usage.insert(format!("limits.{name}"), amount.clone());
        }
    }
    usage
}

/// A pod that has ended, or should have, takes nothing but its place.
fn is_over(pod: &Value, now: Timestamp) -> bool {
    if ["Failed", "Succeeded"].contains(&text_at(pod, &["status", "phase"])) {
        return true;
    }
    let ends = text_at(pod, &["metadata", "deletionTimestamp"]).parse::<Timestamp>();
    let grace = pod["metadata"]["deletionGracePeriodSeconds"].as_i64();
    match (ends, grace) {
        (Ok(ends), Some(grace)) => now > ends.saturating_add(SignedDuration::from_secs(grace)).unwrap_or(ends),
        _ => false,
    }
}

fn of_service(spec: &Value) -> ResourceList {
    let ports = spec["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let fixed = ports.iter().filter(|port| port["nodePort"].as_i64().unwrap_or_default() != 0).count();
    let (balancers, node_ports) = match spec["type"].as_str() {
        Some("NodePort") => (0, ports.len()),
        Some("LoadBalancer") if spec["allocateLoadBalancerNodePorts"] == false => (1, fixed),
        Some("LoadBalancer") => (1, ports.len()),
        _ => (0, 0),
    };
    let amount = |number: usize| Quantity::from_units(i64::try_from(number).unwrap_or(i64::MAX));
    let pairs = [("services", 1), ("services.loadbalancers", balancers), ("services.nodeports", node_ports)];
    pairs.map(|(name, number)| (name.to_owned(), amount(number))).into()
}

fn of_claim(claim: &Value) -> ResourceList {
    let one = Quantity::from_units(1);
    let storage = list(&claim["spec"]["resources"]["requests"]).remove("storage");
    let old = &claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
    let class = old.as_str().unwrap_or_else(|| text_at(claim, &["spec", "storageClassName"]));
    let mut usage = ResourceList::from([("persistentvolumeclaims".to_owned(), one.clone())]);
    if !class.is_empty() {
        usage.insert(format!("{class}{STORAGE_CLASS}persistentvolumeclaims"), one);
    }
    if let Some(storage) = storage {
        if !class.is_empty() {
            usage.insert(format!("{class}{STORAGE_CLASS}requests.storage"), storage.clone());
        }
        usage.insert("requests.storage".to_owned(), storage);
    }
    usage
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;
    use crate::kinds::BuiltIn;

    fn shown(plural: &str, object: &Value) -> Value {
        let built_in = BuiltIn::load();
        let resource = built_in.resources.iter().find(|found| found.plural == plural).unwrap();
        json!(of(resource, object, Timestamp::UNIX_EPOCH))
    }

    #[test]
    fn an_object_uses_what_its_kind_counts() {
        let pod = json!({"spec": {"containers": [{"resources": {
            "requests": {"cpu": "500m", "example.com/gpu": "1"}, "limits": {"memory": "1Gi"},
        }}]}});
        let cases = [
            (
                "pods",
                pod.clone(),
                json!({
                    "count/pods": "1", "pods": "1", "cpu": "500m", "requests.cpu": "500m", "limits.memory": "1Gi",
                    "requests.example.com/gpu": "1",
                }),
            ),
            ("pods", json!({"spec": pod["spec"], "status": {"phase": "Succeeded"}}), json!({"count/pods": "1"})),
            ("configmaps", json!({}), json!({"count/configmaps": "1", "configmaps": "1"})),
            ("deployments", json!({}), json!({"count/deployments.apps": "1"})),
            (
                "services",
                json!({"spec": {"type": "LoadBalancer", "ports": [{"port": 1}, {"port": 2}]}}),
                json!({
                    "count/services": "1", "services": "1", "services.loadbalancers": "1", "services.nodeports": "2",
                }),
            ),
            (
                "persistentvolumeclaims",
                json!({"spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}),
                json!({
                    "count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1", "requests.storage": "1Gi",
                    "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
                    "fast.storageclass.storage.k8s.io/requests.storage": "1Gi",
                }),
            ),
        ];
        for (plural, object, expected) in cases {
            assert_eq!(shown(plural, &object), expected, "{plural}");
        }
    }

    #[test]
    fn only_growth_is_charged() {
        let of = |cpu: i64| ResourceList::from([("cpu".to_owned(), Quantity::from_units(cpu))]);
        assert_eq!(beyond(&of(3), &of(1)), of(2));
        assert_eq!(beyond(&of(1), &of(3)), of(0));
    }
}
