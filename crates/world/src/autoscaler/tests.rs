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
    let fate = Fate::of(request, &Temper::default());
    let (conditions, again) = answer(request, &Told { class, found, fate, now: now.parse().unwrap() });
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
        (json!({"silent-for": "30s"}), Found::Room, "", Some(10)),
        (json!({"silent-for": "forever"}), Found::Room, "", None),
        (json!({"silent-for": "20s"}), Found::Room, "Accepted=True Failed=False Provisioned=True", None),
        (json!({"machines-after": "15s"}), Found::Room, "Accepted=True Failed=False Provisioned=True", Some(15)),
        (json!({"flaps-for": "21s"}), Found::Room, "Accepted=True Failed=False Provisioned=True", Some(5)),
        (json!({"flaps-for": "20s"}), Found::Room, "Accepted=True Failed=False Provisioned=True", None),
        (json!({}), Found::Wrong("gone".to_owned()), "Failed=True", None),
    ] {
        let told = told(&request("wl-check-2", queued, &parameters), found.clone(), later);
        assert_eq!(told, (expected.to_owned(), again), "{parameters} {found:?}");
    }
}

#[test]
fn capacity_that_was_given_is_taken_back_when_told_to() {
    let mut given = request("wl-check-1", "check-capacity.autoscaling.x-k8s.io", &json!({"revoked-after": "1m"}));
    let (class, fate) = (Class::CheckCapacity, Fate::of(&given, &Temper::default()));
    let now = CREATED.parse().unwrap();
    given.status.conditions = answer(&given, &Told { class, found: Found::Room, fate, now }).0;
    assert!(is_provisioned(&given));
    let before = "Accepted=True Failed=False Provisioned=True";
    assert_eq!(told(&given, Found::NoRoom, "2026-01-01T00:00:20Z"), (before.to_owned(), Some(40)));
    let after = format!("{before} CapacityRevoked=True");
    assert_eq!(told(&given, Found::NoRoom, "2026-01-01T00:01:00Z"), (after, None));
}

#[test]
fn capacity_that_flaps_goes_and_comes_until_it_stays() {
    let mut flapping = request("wl-check-1", "queued-provisioning.gke.io", &json!({"flaps-for": "12s"}));
    let mut seen = String::new();
    for second in 0..20 {
        let now = format!("2026-01-01T00:00:{second:02}Z").parse().unwrap();
        let told =
            Told { class: Class::Queued, found: Found::Room, fate: Fate::of(&flapping, &Temper::default()), now };
        flapping.status.conditions = answer(&flapping, &told).0;
        seen.push(if is_provisioned(&flapping) { '+' } else { '-' });
    }
    assert_eq!(seen, "+++++-----++++++++++");
}

#[test]
fn an_autoscaler_with_a_temper_does_the_same_to_the_same_request() {
    let temper = |seed| Temper { seed, silent: 50, failing: 50, lying: 50, flapping: 50, ..Temper::default() };
    let fates = |seed| {
        let one = |number| Fate::of(&request(&format!("w{number}-check-1"), "", &json!({})), &temper(seed));
        (0..20).map(one).collect::<Vec<_>>()
    };
    assert_eq!(fates(1), fates(1));
    assert_ne!(fates(1), fates(2));
    let calm = |fate: &&Fate| **fate == Fate::default();
    assert!((1..10).contains(&fates(1).iter().filter(calm).count()), "some are left alone, and not most");
    let told = request("w1-check-1", "", &json!({"failures": "0"}));
    assert!(
        (0..20).all(|seed| Fate::of(&told, &temper(seed)).failures == 0),
        "a request that asks gets what it asks for"
    );
}

#[test]
fn a_dead_autoscaler_lives_again() {
    let dead = Some((Duration::from_secs(60), Duration::from_secs(20)));
    let temper = Temper { dead, ..Temper::default() };
    let left = |now: &str| temper.dead_for(now.parse().unwrap()).map(|left| left.as_secs());
    assert_eq!(left(CREATED), None);
    assert_eq!(left("2026-01-01T00:00:40Z"), Some(20));
    assert_eq!(left("2026-01-01T00:00:59Z"), Some(1));
    assert_eq!(left("2026-01-01T00:01:00Z"), None);
}

#[test]
fn an_autoscaler_that_calms_down_does_what_it_should_from_then_on() {
    let dead = Some((Duration::from_secs(60), Duration::from_secs(20)));
    let until = |at: &str| Temper { silent: 100, dead, until: Some(at.parse().unwrap()), ..Temper::default() };
    let is_calm = |at: &str| Fate::of(&request("w1-check-1", "", &json!({})), &until(at)) == Fate::default();
    assert_eq!((is_calm(CREATED), is_calm("2026-01-01T00:00:01Z")), (true, false));
    let is_dead = |at: &str| until(at).dead_for("2026-01-01T00:00:40Z".parse().unwrap()).is_some();
    assert_eq!((is_dead("2026-01-01T00:00:40Z"), is_dead("2026-01-01T00:00:41Z")), (false, true));
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
