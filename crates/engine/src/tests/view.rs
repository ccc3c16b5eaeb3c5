//! What can be read of the engine, in stories.

use expect_test::expect;

use super::story::check;

#[test]
fn numbers_follow_workloads_from_the_queue_to_the_quota_and_out() {
    check(
        "queue a cohort=x cpu=2
         queue b cohort=x cpu=4
         job one cpu=3
         job two cpu=3
         job three cpu=4
         look a
         cycle
         cycle
         look a
         finish one
         look a",
        &expect![[r#"
            a: Ready: Can admit new workloads
              waiting: 3 in line, 0 aside; shapes: 2 in line, 0 aside; for cpu 10000
              holding: 0 reserve, 0 run; cpu 0/0 borrowed 0
              order: [one 0/0, three 1/1, two 2/2]
              not admitted: 3 NoReservation PendingEvaluation
            cycle
              one QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: main: f(Fit;borrow=1)
              one Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              three WaitingForQuota couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 1 more needed
            a: Ready: Can admit new workloads
              waiting: 1 in line, 1 aside; shapes: 1 in line, 1 aside; for cpu 7000
              holding: 1 reserve, 1 run; cpu 3000/3000 borrowed 1000
              order: [three 0/0, two 1/1]
              not admitted: 1 NoReservation PendingEvaluation
              not admitted: 1 NoReservation WaitingForQuota
            a: Ready: Can admit new workloads
              waiting: 1 in line, 1 aside; shapes: 1 in line, 1 aside; for cpu 7000
              holding: 0 reserve, 0 run; cpu 0/0 borrowed 0
              order: [three 0/0, two 1/1]
              not admitted: 1 NoReservation PendingEvaluation
              not admitted: 1 NoReservation WaitingForQuota
            a: active two parked three
        "#]],
    );
}

#[test]
fn a_queue_says_everything_that_keeps_it_from_admitting() {
    check(
        "queue a cpu=2 checks=one,two
         look a
         lose flavor f
         lose check two
         stop a
         look a
         look b",
        &expect![[r#"
            a: Ready: Can admit new workloads
              waiting: 0 in line, 0 aside; shapes: 0 in line, 0 aside; for cpu 0
              holding: 0 reserve, 0 run; cpu 0/0 borrowed 0
              order: []
            a: Stopped: Can't admit new workloads: is stopped, references missing ResourceFlavor(s): f, references missing AdmissionCheck(s): two.
              waiting: 0 in line, 0 aside; shapes: 0 in line, 0 aside; for cpu 0
              holding: 0 reserve, 0 run; cpu 0/0 borrowed 0
              order: []
            b: NotFound: ClusterQueue not found
        "#]],
    );
}

#[test]
fn a_flavor_without_its_topology_keeps_a_queue_from_admitting() {
    check(
        "queue a cpu=2
         place f in rooms
         look a
         topology rooms
         look a
         lose topology rooms
         look a",
        &expect![[r#"
            a: TopologyNotFound: Can't admit new workloads: there is no Topology "rooms" for TAS flavor "f".
              waiting: 0 in line, 0 aside; shapes: 0 in line, 0 aside; for cpu 0
              holding: 0 reserve, 0 run; cpu 0/0 borrowed 0
              order: []
            a: Ready: Can admit new workloads
              waiting: 0 in line, 0 aside; shapes: 0 in line, 0 aside; for cpu 0
              holding: 0 reserve, 0 run; cpu 0/0 borrowed 0
              order: []
            a: TopologyNotFound: Can't admit new workloads: there is no Topology "rooms" for TAS flavor "f".
              waiting: 0 in line, 0 aside; shapes: 0 in line, 0 aside; for cpu 0
              holding: 0 reserve, 0 run; cpu 0/0 borrowed 0
              order: []
        "#]],
    );
}

#[test]
fn a_queue_that_is_being_deleted_admits_nothing() {
    check(
        "queue a cpu=2 terminating
         job one cpu=1
         cycle
         look a",
        &expect![[r#"
            cycle
            a: Terminating: Can't admit new workloads; clusterQueue is terminating
              waiting: 1 in line, 0 aside; shapes: 0 in line, 1 aside; for cpu 1000
              holding: 0 reserve, 0 run; cpu 0/0 borrowed 0
              order: [one 0/0]
              not admitted: 1 NoReservation Suspended
            a: active one
        "#]],
    );
}

#[test]
fn the_way_to_the_root_ends_in_a_circle_or_at_the_root() {
    check(
        "queue a cohort=x cpu=2
         cohort x parent=y
         path x
         path z
         cohort y parent=x
         path x",
        &expect![[r#"
              x: x < y
              z: 
              x: a circle
        "#]],
    );
}

#[test]
fn a_sticky_preemptor_is_shown_first() {
    check(
        "queue a cpu=4 within=lower
         job runs cpu=4
         cycle
         job low cpu=4 prio=1
         cycle
         job high cpu=4 prio=5
         look a",
        &expect![[r#"
            cycle
              runs QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              runs Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              runs EvictedDueToPreempted Preempted to accommodate a workload (UID: low, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a
              runs Preempted Preempted to accommodate a workload (UID: low, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a; preemptor effective priority: 1 (base: 1, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              low PreemptedWorkload Preempted workload ns/runs (UID: runs) in ClusterQueue a; preemptor effective priority: 1 (base: 1, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              low WaitingForPreemptedWorkloads couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 4 more needed. Pending the preemption of 1 workload(s)
            a: Ready: Can admit new workloads
              waiting: 2 in line, 0 aside; shapes: 2 in line, 0 aside; for cpu 8000
              holding: 1 reserve, 1 run; cpu 4000/4000 borrowed 0
              order: [low 0/0, high 1/1]
              not admitted: 1 NoReservation PendingEvaluation
              not admitted: 1 NoReservation WaitingForPreemptedWorkloads
            a: active low high
        "#]],
    );
}
