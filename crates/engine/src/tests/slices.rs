//! Elastic jobs: larger slices take the places of smaller ones.

use expect_test::expect;

use super::story::{check, play};

#[test]
fn a_larger_slice_needs_only_what_the_smaller_one_does_not_hold() {
    check(
        "queue a cpu=10
         job small cpu=1 count=6
         cycle
         job large cpu=1 count=10 replaces=small
         cycle
         job next cpu=1
         cycle",
        &expect![[r#"
            cycle
              small QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              small Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              large QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              large Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              small WorkloadSliceReplaced Replaced to accommodate a workload (UID: large, JobUID: ) due to workload slice aggregation
            cycle
              next WaitingForQuota couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 1 more needed
            a: parked next
        "#]],
    );
}

#[test]
fn a_slice_that_shrinks_in_place_gives_its_quota_to_others() {
    check(
        "queue a cpu=10
         job wide cpu=1 count=10
         cycle
         job next cpu=1 count=4
         cycle
         scale wide count=6
         flush
         cycle",
        &expect![[r#"
            cycle
              wide QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              wide Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              next WaitingForQuota couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 4 more needed
            cycle
              next QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              next Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
        "#]],
    );
}

#[test]
fn a_slice_waits_and_the_smaller_one_runs_on_while_its_growth_does_not_fit() {
    check(
        "queue a cpu=10
         job small cpu=1 count=4
         job other cpu=1 count=4
         cycle
         cycle
         job large cpu=1 count=8 replaces=small
         cycle",
        &expect![[r#"
            cycle
              other QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              other Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              small QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              small Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              large WaitingForQuota couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 2 more needed
            a: parked large
        "#]],
    );
}

#[test]
fn another_flavor_than_the_smaller_slice_has_is_refused_once_for_all_resources() {
    check(
        "queue a f.cpu=4 f.memory=4 g.cpu=10 g.memory=10
         job first cpu=3 memory=3
         cycle
         job small cpu=2 memory=2
         cycle
         finish first
         job large cpu=2 memory=2 count=2 replaces=small
         cycle",
        &expect![[r#"
            cycle
              first QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              first Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              small QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: main: f(preemptionMode=NoCandidates;insufficient unused quota for cpu in flavor f, 1 more needed;insufficient unused quota for memory in flavor f, 1 more needed)
              small Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              large QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: main: f(NoFit;could not assign f flavor since the original workload is assigned: g)
              large Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              small WorkloadSliceReplaced Replaced to accommodate a workload (UID: large, JobUID: ) due to workload slice aggregation
        "#]],
    );
}

#[test]
fn what_a_replacement_took_is_not_given_out_again_in_the_same_cycle() {
    check(
        "queue a cohort=x cpu=5
         queue b cohort=x cpu=5
         job small queue=a cpu=1 count=4
         cycle
         job large queue=a cpu=1 count=6 replaces=small prio=1
         job greedy queue=b cpu=6
         cycle",
        &expect![[r#"
            cycle
              small QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              small Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              large QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: main: f(Fit;borrow=1)
              large Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              small WorkloadSliceReplaced Replaced to accommodate a workload (UID: large, JobUID: ) due to workload slice aggregation
              greedy WaitingForQuota Workload no longer fits after processing another workload
            b: active greedy
        "#]],
    );
}

#[test]
fn a_slice_that_names_itself_or_nobody_or_another_queue_replaces_nothing() {
    check(
        "queue a cpu=10
         queue b cpu=10
         job elsewhere queue=b cpu=2
         cycle
         job self cpu=2 replaces=self
         job ghost cpu=2 replaces=nobody
         job lost cpu=2 replaces=elsewhere
         cycle
         cycle
         cycle",
        &expect![[r#"
            cycle
              elsewhere QuotaReserved Quota reserved in ClusterQueue b, wait time since queued was 0s
              elsewhere Admitted Admitted by ClusterQueue b, wait time since reservation was 0s
            cycle
              ghost QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              ghost Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              lost QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              lost Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              self QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              self Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
        "#]],
    );
}

#[test]
fn of_a_chain_of_slices_each_replaces_only_its_own() {
    check(
        "queue a cpu=10
         job one cpu=1 count=2
         cycle
         job three cpu=1 count=6 replaces=two prio=1
         job two cpu=1 count=4 replaces=one
         cycle
         cycle",
        &expect![[r#"
            cycle
              one QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              one Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              three QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              three Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              two QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              two Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              one WorkloadSliceReplaced Replaced to accommodate a workload (UID: two, JobUID: ) due to workload slice aggregation
        "#]],
    );
}

#[test]
fn a_slice_whose_predecessor_is_gone_is_admitted_in_full() {
    let story = |end: &str| {
        format!(
            "queue a cpu=10
             job small cpu=1 count=4
             cycle
             job large cpu=1 count=8 replaces=small
             {end} small
             cycle"
        )
    };
    check(
        &story("finish"),
        &expect![[r#"
            cycle
              small QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              small Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              large QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              large Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
        "#]],
    );
    assert_eq!(play(&story("finish")), play(&story("delete")));
}

#[test]
fn a_slice_that_others_preempt_is_not_replaced_in_the_same_cycle() {
    check(
        "queue a cohort=x cpu=4
         queue b cohort=x cpu=6 reclaim=any
         job small queue=a cpu=1 count=8
         cycle
         job large queue=a cpu=1 count=10 replaces=small
         job owner queue=b cpu=6 prio=5
         cycle
         stopped small
         cycle",
        &expect![[r#"
            cycle
              small QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: main: f(Fit;borrow=1)
              small Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              small EvictedDueToPreempted Preempted to accommodate a workload (UID: owner, JobUID: UNKNOWN) due to reclamation within the cohort; preemptor path: /x/b; preemptee path: /x/a
              small Preempted Preempted to accommodate a workload (UID: owner, JobUID: UNKNOWN) due to reclamation within the cohort; preemptor path: /x/b; preemptee path: /x/a; preemptor effective priority: 5 (base: 5, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              owner PreemptedWorkload Preempted workload ns/small (UID: small) in ClusterQueue a; preemptor effective priority: 5 (base: 5, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              owner WaitingForPreemptedWorkloads couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 4 more needed. Pending the preemption of 1 workload(s)
              large WaitingForQuota couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 6 more needed
            cycle
              owner QuotaReserved Quota reserved in ClusterQueue b, wait time since queued was 0s
              owner Admitted Admitted by ClusterQueue b, wait time since reservation was 0s
              small WaitingForQuota Workload no longer fits after processing another workload
            a: active small parked large
        "#]],
    );
}
