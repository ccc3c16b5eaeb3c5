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

/// A flavor with some of each resource.
fn offer(flavor: &str, resources: &[&str]) -> FlavorQuotaSpec {
    let nominal = kueue_core::amount::Amount::new(3);
    let quota = |resource: &&str| QuotaSpec { resource: (*resource).into(), nominal, ..QuotaSpec::default() };
    FlavorQuotaSpec { flavor: flavor.into(), resources: resources.iter().map(quota).collect() }
}

fn group(resources: &[&str], flavors: &[&str]) -> ResourceGroupSpec {
    ResourceGroupSpec {
        resources: resources.iter().map(|resource| (*resource).into()).collect(),
        flavors: flavors.iter().map(|flavor| offer(flavor, resources)).collect(),
    }
}

fn pod_set(name: &str, requests: &[(&str, i64)], group: Option<&str>) -> PodSetSpec {
    PodSetSpec {
        name: name.into(),
        count: 1,
        requests: requests.iter().map(|(resource, amount)| ((*resource).into(), *amount)).collect(),
        group: group.map(Into::into),
        ..PodSetSpec::default()
    }
}

/// Which flavors the pod sets get in a ClusterQueue with these groups.
fn given(groups: Vec<ResourceGroupSpec>, pod_sets: Vec<PodSetSpec>) -> Vec<String> {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut engine = Engine::new(Settings::default());
    let namespaces = Some(kueue_core::selector::LabelSelector::default());
    let queue = QueueSpec { name: "a".into(), groups, namespaces, weight: 1.0, ..QueueSpec::default() };
    let local = LocalQueueSpec { namespace: "ns".into(), name: "a".into(), queue: "a".into(), ..Default::default() };
    let job = WorkloadSpec {
        namespace: "ns".into(),
        name: "job".into(),
        local_queue: "a".into(),
        is_active: true,
        pod_sets,
        ..WorkloadSpec::default()
    };
    for change in [
        Change::Namespace { name: "ns".into(), labels: [].into() },
        Change::Flavor(FlavorSpec { name: "f".into(), nodes: FlavorNodes::default() }),
        Change::Flavor(FlavorSpec { name: "g".into(), nodes: FlavorNodes::default() }),
        Change::Queue(Box::new(queue)),
        Change::LocalQueue(local),
        Change::Workload(Box::new(job)),
    ] {
        engine.apply(change, now);
    }
    engine.cycle(now);
    engine.check_invariants();
    let key = Key { namespace: "ns".into(), name: "job".into() };
    let admission = engine.status(&key).unwrap().admission.clone().unwrap();
    let flavors = admission.pod_sets.iter().flat_map(|set| set.flavors.iter().map(move |flavor| (&set.name, flavor)));
    flavors.map(|(pod_set, (resource, flavor))| format!("{pod_set} {resource} in {flavor}")).collect()
}

#[test]
fn pod_sets_of_a_group_need_not_stand_side_by_side() {
    let pod_sets = vec![
        pod_set("first", &[("cpu", 2)], Some("g")),
        pod_set("alone", &[("cpu", 2)], None),
        pod_set("last", &[("cpu", 1)], Some("g")),
    ];
    let given = given(vec![group(&["cpu"], &["f", "g"])], pod_sets);
    assert_eq!(given, ["first cpu in f", "alone cpu in g", "last cpu in f"]);
}

#[test]
fn a_resource_that_stands_in_two_groups_gets_one_flavor() {
    let groups = vec![group(&["cpu"], &["f"]), group(&["cpu", "gpu"], &["g"])];
    let given = given(groups, vec![pod_set("main", &[("cpu", 1), ("gpu", 1)], None)]);
    assert_eq!(given, ["main cpu in g", "main gpu in g"]);
}
