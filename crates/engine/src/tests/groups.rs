//! Groups of pod sets: they get the same flavors, or none.

use expect_test::expect;

use super::story::check;
use crate::*;

#[test]
fn pod_sets_of_a_group_share_one_flavor_that_has_room_for_all_of_them() {
    let queue = "queue a cpu=5 spare=10\n";
    check(
        &format!(
            "{queue}
             job apart cpu=2 count=2 and=2
             cycle
             uses a"
        ),
        &expect![[r#"
            cycle
              apart QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: more: f(NoFit;insufficient quota for cpu in flavor f, previously considered podsets requests (4) + current podset request (4) > maximum capacity (5))
              apart Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              a uses f=4000 g=4000
        "#]],
    );
    check(
        &format!(
            "{queue}
             job together cpu=2 count=2 and=2 group=g
             cycle
             uses a"
        ),
        &expect![[r#"
            cycle
              together QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: main: f(NoFit;insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (8) > maximum capacity (5)) | more: f(NoFit;insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (8) > maximum capacity (5))
              together Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              a uses g=8000
        "#]],
    );
}

#[test]
fn a_group_that_fits_nowhere_says_so_for_each_of_its_pod_sets() {
    check(
        "queue a cpu=5 spare=5
         job wide cpu=2 count=2 and=2 group=g
         cycle",
        &expect![[r#"
            cycle
              wide ExceedsMaxQuota couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (8) > maximum capacity (5), insufficient quota for cpu in flavor g, previously considered podsets requests (0) + current podset request (8) > maximum capacity (5); couldn't assign flavors to pod set more: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (8) > maximum capacity (5), insufficient quota for cpu in flavor g, previously considered podsets requests (0) + current podset request (8) > maximum capacity (5)
            a: parked wide
        "#]],
    );
}

#[test]
fn pod_sets_of_a_group_need_not_stand_side_by_side() {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut engine = Engine::new(Settings::default());
    engine.apply(Change::Namespace { name: "ns".into(), labels: [].into() }, now);
    for name in ["f", "g"] {
        engine.apply(Change::Flavor(FlavorSpec { name: name.into(), nodes: FlavorNodes::default() }), now);
    }
    let flavor = |name: &str| FlavorQuotaSpec {
        flavor: name.into(),
        resources: vec![QuotaSpec {
            resource: "cpu".into(),
            nominal: kueue_core::amount::Amount::new(3),
            ..QuotaSpec::default()
        }],
    };
    let group = ResourceGroupSpec { resources: vec!["cpu".into()], flavors: vec![flavor("f"), flavor("g")] };
    let namespaces = Some(kueue_core::selector::LabelSelector::default());
    let queue = QueueSpec { name: "a".into(), groups: vec![group], namespaces, weight: 1.0, ..QueueSpec::default() };
    engine.apply(Change::Queue(Box::new(queue)), now);
    let local = LocalQueueSpec { namespace: "ns".into(), name: "a".into(), queue: "a".into(), ..Default::default() };
    engine.apply(Change::LocalQueue(local), now);
    let pod_set = |name: &str, cpu, group: Option<&str>| PodSetSpec {
        name: name.into(),
        count: 1,
        requests: vec![("cpu".into(), cpu)],
        group: group.map(Into::into),
        ..PodSetSpec::default()
    };
    engine.apply(
        Change::Workload(Box::new(WorkloadSpec {
            namespace: "ns".into(),
            name: "job".into(),
            local_queue: "a".into(),
            is_active: true,
            pod_sets: vec![pod_set("first", 2, Some("g")), pod_set("alone", 2, None), pod_set("last", 1, Some("g"))],
            ..WorkloadSpec::default()
        })),
        now,
    );
    engine.cycle(now);
    let key = Key { namespace: "ns".into(), name: "job".into() };
    let admission = engine.status(&key).unwrap().admission.clone().unwrap();
    let given: Vec<_> = admission.pod_sets.iter().map(|set| format!("{} in {}", set.name, set.flavors[0].1)).collect();
    assert_eq!(given, ["first in f", "alone in g", "last in f"]);
}
