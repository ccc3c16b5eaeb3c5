//! Where pods go in the course of a cluster's life: nodes and topologies that come, change and go under them.

use expect_test::expect;

use super::story::{brief, check};

const TWO_RACKS: &str = "topology t rack host
    place f in t
    node x1 rack=r1 cpu=2
    node x2 rack=r1 cpu=1
    node x3 rack=r2 cpu=2
    queue a cpu=100
";

fn story(lines: &str) -> String {
    format!("{TWO_RACKS}{lines}")
}

#[test]
fn an_explanation_says_which_level_and_domain_came_closest_and_what_was_left_out() {
    brief(
        &story(
            "node x4 rack=r2 cpu=9 taint=sick
             job runs cpu=1 count=2 required=host
             cycle
             job waits cpu=1 count=4 required=rack
             cycle
             why waits
             why runs",
        ),
        &expect![[r#"
            cycle
              start runs: cpu in f at x1:2
            cycle
              wait waits (TopologyPlacementFailed)
            ns/waits in ClusterQueue a waits for something to change
              TopologyPlacementFailed: couldn't assign flavors to pod set main: topology "t" allows to fit only 2 out of 4 pod(s). Total nodes: 4; excluded: resource "cpu": 1, taint "sick:NoSchedule": 1
              a cycle looked at it at 2026-01-01T00:00:00Z
                main: flavor f: NoFit
                main: topology "t" allows to fit only 2 out of 4 pod(s). Total nodes: 4; excluded: resource "cpu": 1, taint "sick:NoSchedule": 1
                main: room for 2 of 4 at level rack in r2; 4 lowest domains, excluded 1 by taint "sick:NoSchedule", 1 by resource "cpu"
            ns/runs in ClusterQueue a holds quota
              QuotaReserved: Quota reserved in ClusterQueue a
              main is placed by kubernetes.io/hostname: 2 in x1
            a: parked waits
        "#]],
    );
}

#[test]
fn nodes_without_a_level_are_no_places() {
    brief(
        "topology t rack host
         place f in t
         queue a cpu=100
         node x1 cpu=8
         job one cpu=1 required=host
         cycle
         node x1 cpu=8 rack=r1
         flush
         cycle
         domains f",
        &expect![[r#"
            cycle
              wait one (TopologyPlacementFailed)
            cycle
              start one: cpu in f at x1:1
              r1/x1: 1000 of 8000
        "#]],
    );
}

#[test]
fn a_node_that_changes_its_rack_takes_what_is_used_there_with_it() {
    brief(
        &story(
            "job one cpu=2 required=rack
             cycle
             node x1 rack=r2 cpu=2
             domains f
             job two cpu=1 count=3 required=rack
             cycle
             node x1 cpu=2
             domains f
             finish one
             node x1 rack=r1 cpu=2
             domains f",
        ),
        &expect![[r#"
            cycle
              start one: cpu in f at x1:1
              r1/x2: 0 of 1000
              r2/x1: 2000 of 2000
              r2/x3: 0 of 2000
            cycle
              wait two (WaitingForQuota)
              r1/x2: 0 of 1000
              r2/x3: 0 of 2000
              r1/x1: 0 of 2000
              r1/x2: 0 of 1000
              r2/x3: 0 of 2000
            a: parked two
        "#]],
    );
}

#[test]
fn a_topology_that_is_edited_in_use_keeps_account_of_the_nodes() {
    brief(
        &story(
            "job one cpu=2 required=host
             cycle
             topology t host
             domains f
             job two cpu=2 required=rack
             job three cpu=2 count=2 required=host
             cycle
             cycle
             topology t rack
             domains f",
        ),
        &expect![[r#"
            cycle
              start one: cpu in f at x1:1
              x1: 2000 of 2000
              x2: 0 of 1000
              x3: 0 of 2000
            cycle
              wait three (TopologyPlacementFailed)
            cycle
              wait two (NoMatchingFlavor)
              r1: 2000 of 3000
              r2: 0 of 2000
            a: parked three two
        "#]],
    );
}

#[test]
fn without_its_topology_nobody_is_placed_and_with_it_everything_is_as_before() {
    brief(
        &story(
            "job one cpu=2 required=host
             cycle
             lose topology t
             domains f
             job two cpu=1 required=host
             cycle
             topology t rack host
             flush
             cycle
             domains f",
        ),
        &expect![[r#"
            cycle
              start one: cpu in f at x1:1
            cycle
            cycle
              start two: cpu in f at x2:1
              r1/x1: 2000 of 2000
              r1/x2: 1000 of 1000
              r2/x3: 0 of 2000
        "#]],
    );
}

#[test]
fn places_on_nodes_that_are_gone_count_when_the_nodes_come_back() {
    brief(
        &story(
            "job one cpu=2 required=host
             cycle
             job two cpu=2 required=host
             cycle
             lose node x1
             lose node x3
             domains f
             node x1 rack=r1 cpu=2
             domains f",
        ),
        &expect![[r#"
            cycle
              start one: cpu in f at x1:1
            cycle
              start two: cpu in f at x3:1
              r1/x2: 0 of 1000
              r1/x1: 2000 of 2000
              r1/x2: 0 of 1000
        "#]],
    );
}

#[test]
fn a_place_on_a_node_that_went_while_nobody_looked_is_replaced() {
    brief(
        &story(
            "job one cpu=1 required=rack
             delete one
             holds one a f 1 at=gone:1
             status one
             advance 1
             cycle
             status one
             domains f",
        ),
        &expect![[r#"
              one: +QuotaReserved(Elsewhere) +Admitted(Elsewhere)
            cycle
              place one at x3:1
              one: +QuotaReserved(QuotaReserved) +Admitted(Admitted)
              r1/x1: 0 of 2000
              r1/x2: 0 of 1000
              r2/x3: 1000 of 2000
        "#]],
    );
}

#[test]
fn a_place_on_a_node_that_never_was_is_replaced() {
    brief(
        &story(
            "job one cpu=2 required=host
             cycle
             holds one a f 2 at=never:1
             advance 1
             cycle
             domains f",
        ),
        &expect![[r#"
            cycle
              start one: cpu in f at x1:1
            cycle
              place one at x1:1
              r1/x1: 2000 of 2000
              r1/x2: 0 of 1000
              r2/x3: 0 of 2000
        "#]],
    );
}

#[test]
fn who_finds_no_other_place_is_evicted_or_says_why_that_could_not_be_written() {
    check(
        &story(
            "job one cpu=3 required=host
             delete one
             holds one a f 3 at=gone:1
             advance 1
             cycle",
        ),
        &expect![[r#"
            cycle
              one EvictedDueToNodeFailures Workload was evicted as there was no replacement for unhealthy node(s): gone
                or SecondPassFailed couldn't assign flavors to pod set main: topology "t" doesn't allow to fit any of 1 pod(s). Total nodes: 3; excluded: resource "cpu": 3
        "#]],
    );
}

#[test]
fn places_that_cannot_be_read_are_given_up_and_found_anew() {
    check(
        &story(
            "job one cpu=1 required=rack
             holds one a f 1 unreadable
             job two cpu=1 count=3 required=rack
             totals
             stopped one
             cycle
             cycle
             totals
             domains f",
        ),
        &expect![[r#"
              one EvictedDueToNodeFailures The topology assignment of pod set main cannot be read: nonsense
              a uses f.cpu=1000
            cycle
              one QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              one Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              two QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              two Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              a uses f.cpu=4000
              r1/x1: 2000 of 2000
              r1/x2: 1000 of 1000
              r2/x3: 1000 of 2000
        "#]],
    );
}

#[test]
fn nonsense_about_places_leaves_what_others_use_as_it_is() {
    brief(
        &story(
            "job one cpu=2 required=host
             cycle
             job minus cpu=1 required=host
             holds minus a f 1 at=x1:-2
             job huge cpu=2147483647 required=host
             holds huge a f 1 at=x1:2147483647,x3:2147483647
             domains f
             delete minus
             delete huge
             domains f",
        ),
        &expect![[r#"
            cycle
              start one: cpu in f at x1:1
              r1/x1: 2251799813687247 of 2000
              r1/x2: 0 of 1000
              r2/x3: 2251799813685247 of 2000
              r1/x1: 2000 of 2000
              r1/x2: 0 of 1000
              r2/x3: 0 of 2000
        "#]],
    );
}

#[test]
fn numbers_beyond_all_measure_neither_break_nor_fit() {
    brief(
        &story(
            "node big rack=r9 cpu=9223372036854775807
             pod hog on x1 cpu=9223372036854775807
             job many cpu=1 count=2147483647 required=rack
             job huge cpu=2147483647 count=2147483647 anywhere
             cycle
             cycle
             domains f",
        ),
        &expect![[r#"
            cycle
              wait huge (ExceedsMaxQuota)
            cycle
              wait many (ExceedsMaxQuota)
              r1/x1: 0 of -9223372036854773807
              r1/x2: 0 of 1000
              r2/x3: 0 of 2000
              r9/big: 0 of 9223372036854775807
            a: parked huge many
        "#]],
    );
}

#[test]
fn a_request_that_no_topology_knows_says_so() {
    brief(
        &story(
            "job one cpu=1 required=row
             job two cpu=1 count=2 required=host slices=rack:2
             job three cpu=1 count=2 required=rack slices=host:0
             cycle
             cycle
             cycle
             why one
             why two
             why three",
        ),
        &expect![[r#"
            cycle
              wait one (NoMatchingFlavor)
            cycle
              wait three (TopologyPlacementFailed)
            cycle
              wait two (TopologyPlacementFailed)
            ns/one in ClusterQueue a waits for something to change
              NoMatchingFlavor: couldn't assign flavors to pod set main: Flavor "f" does not contain the requested level
              a cycle looked at it at 2026-01-01T00:00:00Z
                main: flavor f: NoFit; Flavor "f" does not contain the requested level
            ns/two in ClusterQueue a waits for something to change
              TopologyPlacementFailed: couldn't assign flavors to pod set main: podset slice topology rack is above the podset topology kubernetes.io/hostname
              a cycle looked at it at 2026-01-01T00:00:00Z
                main: flavor f: NoFit
                main: podset slice topology rack is above the podset topology kubernetes.io/hostname
            ns/three in ClusterQueue a waits for something to change
              TopologyPlacementFailed: couldn't assign flavors to pod set main: slice topology requested, but slice size not provided
              a cycle looked at it at 2026-01-01T00:00:00Z
                main: flavor f: NoFit
                main: slice topology requested, but slice size not provided
            a: parked one three two
        "#]],
    );
}

#[test]
fn what_checks_say_about_nodes_must_not_contradict_the_pods() {
    let lines = |label: &str| {
        format!(
            "node x5 rack=r1 cpu=2 pool=new
             queue a cpu=100 checks=p
             provisions p
             job one cpu=1 required=host {label}
             cycle
             check one p Ready select=pool:new
             advance 1
             cycle"
        )
    };
    check(
        &story(&lines("")),
        &expect![[r#"
        cycle
          one QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
        cycle
          one Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
    "#]],
    );
    check(
        &story(&lines("select=pool:old")),
        &expect![[r#"
        cycle
          one QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
        cycle
          one SecondPassFailed couldn't assign flavors to pod set main: invalid podSetUpdate for PodSet main, error: invalid admission check PodSetUpdate: conflict for nodeSelector: conflict for key=pool, value1=old, value2=new
    "#]],
    );
}
