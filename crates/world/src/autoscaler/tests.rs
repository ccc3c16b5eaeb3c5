use kueue_api::meta::Condition;
use serde_json::{Value, json};

use super::answer::{Class, Found, Told, answer};
use super::machines::{machines, request_of};
use super::*;

const CREATED: &str = "2026-01-01T00:00:00Z";

fn request(name: &str, class: &str, parameters: &Value) -> ProvisioningRequest {
    serde_json::from_value(json!({"metadata": {"name": name, "namespace": "ns", "creationTimestamp": CREATED},
        "spec": {"provisioningClassName": class, "parameters": parameters}}))
    .unwrap()
}

fn shown(conditions: &[Condition]) -> String {
    let one = |known: &Condition| format!("{}={}", known.r#type, json!(known.status).as_str().unwrap_or_default());
    conditions.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn told(request: &ProvisioningRequest, found: Found, now: &str) -> (String, Option<u64>) {
    let class = Class::named(&request.spec.provisioning_class_name).unwrap();
    let (conditions, again) = answer(request, &Told { class, found, now: now.parse().unwrap() });
    (shown(&conditions), again.map(|wait| wait.as_secs()))
}

#[test]
fn a_request_is_provisioned_as_soon_as_there_is_room() {
    let queued = "queued-provisioning.gke.io";
    let later = "2026-01-01T00:00:20Z";
    for (parameters, found, expected, again) in [
        (json!({}), Found::Room, "Accepted=True Failed=False Provisioned=True", None),
        (json!({}), Found::NoRoom, "Accepted=True Failed=False Provisioned=False", Some(10)),
        (json!({"stock-out": "30s"}), Found::Room, "Accepted=True Failed=False Provisioned=False", Some(10)),
        (json!({"stock-out": "10s"}), Found::Room, "Accepted=True Failed=False Provisioned=True", None),
        (json!({"stock-out": "forever"}), Found::Room, "Accepted=True Failed=False Provisioned=False", None),
        (json!({"failures": "2"}), Found::Room, "Accepted=True Failed=True", None),
        (json!({"failures": "1"}), Found::Room, "Accepted=True Failed=False Provisioned=True", None),
        (json!({}), Found::Wrong("gone".to_owned()), "Failed=True", None),
    ] {
        let told = told(&request("wl-check-2", queued, &parameters), found.clone(), later);
        assert_eq!(told, (expected.to_owned(), again), "{parameters} {found:?}");
    }
}

#[test]
fn capacity_that_was_given_is_taken_back_when_told_to() {
    let mut given = request("wl-check-1", "check-capacity.autoscaling.x-k8s.io", &json!({"revoked-after": "1m"}));
    let class = Class::CheckCapacity;
    given.status.conditions = answer(&given, &Told { class, found: Found::Room, now: CREATED.parse().unwrap() }).0;
    assert!(is_provisioned(&given));
    let before = "Accepted=True Failed=False Provisioned=True";
    assert_eq!(told(&given, Found::NoRoom, "2026-01-01T00:00:20Z"), (before.to_owned(), Some(40)));
    let after = format!("{before} CapacityRevoked=True");
    assert_eq!(told(&given, Found::NoRoom, "2026-01-01T00:01:00Z"), (after, None));
}

#[test]
fn classes_of_others_are_left_to_them() {
    assert_eq!(Class::named("example.com/other"), None);
}

#[test]
fn each_pod_gets_a_machine_that_it_fits_on() {
    let pod: Pod = serde_json::from_value(json!({"spec": {"nodeSelector": {"gpu": "l4"}, "containers": [
        {"name": "a", "resources": {"requests": {"cpu": "2"}, "limits": {"nvidia.com/gpu": "1"}}},
        {"name": "b", "resources": {"requests": {"cpu": "500m"}}}]}}))
    .unwrap();
    let nodes = machines(&request("r-1", "", &json!({})), &[pod.clone(), pod], &Defaults::default());
    assert_eq!(nodes.len(), 2);
    assert_eq!(nodes[1].metadata.labels["gpu"], "l4");
    assert_eq!(request_of(&nodes[1]).as_deref(), Some("ns/r-1"));
    assert_eq!(
        json!(nodes[0].status.capacity),
        json!({"cpu": "3500m", "memory": "1Gi", "nvidia.com/gpu": "1", "pods": "110"})
    );
}
