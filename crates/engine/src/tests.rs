//! The engine in small stories: what is there, what happens, and the events that users see.

mod ask;
mod assignment;
mod bad_input;
mod checks;
mod fair_sharing;
mod groups;
mod lifecycle;
mod order;
mod places;
mod preemption;
mod queues;
mod quota;
mod slices;
mod story;
mod triggers;
mod usage;
mod variants;
mod view;
mod waking;
mod why;

use expect_test::expect;
use story::{check, play};

#[test]
fn workloads_start_in_order_while_quota_lasts() {
    check(
        "queue a cpu=10
         job low cpu=4
         job high cpu=8 prio=5
         cycle
         cycle",
        &expect![[r#"
            cycle
              high QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              high Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              low WaitingForQuota couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 2 more needed
            a: parked low
        "#]],
    );
}

#[test]
fn a_strict_queue_does_not_step_over_its_first_workload() {
    let rest = "
         job big cpu=12 prio=1
         job small cpu=1
         cycle
         cycle";
    check(
        &format!("queue a cpu=10 strict{rest}"),
        &expect![[r#"
            cycle
              big ExceedsMaxQuota couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (12) > maximum capacity (10)
            cycle
              big ExceedsMaxQuota couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (12) > maximum capacity (10)
            a: active big small
        "#]],
    );
    check(
        &format!("queue a cpu=10{rest}"),
        &expect![[r#"
            cycle
              big ExceedsMaxQuota couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (12) > maximum capacity (10)
            cycle
              small QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              small Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            a: parked big
        "#]],
    );
}

#[test]
fn borrowing_stops_at_the_borrowing_limit_and_at_what_others_keep() {
    check(
        "queue a cohort=x cpu=2 borrow=3
         queue b cohort=x cpu=10 lend=4
         job five queue=a cpu=5
         job six queue=a cpu=6
         cycle
         cycle",
        &expect![[r#"
            cycle
              five QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: main: f(Fit;borrow=1)
              five Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              six ExceedsMaxQuota couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (6) > maximum capacity (5)
            a: parked six
        "#]],
    );
}

#[test]
fn a_victim_keeps_its_quota_until_its_job_has_stopped() {
    check(
        "queue a cpu=10 within=lower
         job old cpu=8
         cycle
         job urgent cpu=8 prio=9
         cycle
         stopped old
         cycle",
        &expect![[r#"
            cycle
              old QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              old Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              old EvictedDueToPreempted Preempted to accommodate a workload (UID: urgent, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a
              old Preempted Preempted to accommodate a workload (UID: urgent, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a; preemptor effective priority: 9 (base: 9, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              urgent PreemptedWorkload Preempted workload ns/old (UID: old) in ClusterQueue a; preemptor effective priority: 9 (base: 9, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              urgent WaitingForPreemptedWorkloads couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 6 more needed. Pending the preemption of 1 workload(s)
            cycle
              urgent QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              urgent Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            a: active old
        "#]],
    );
}

#[test]
fn what_was_borrowed_is_reclaimed_from_the_newest_borrower() {
    check(
        "queue a cohort=x cpu=10 reclaim=any
         queue b cohort=x cpu=0
         job first queue=b cpu=5
         cycle
         advance 1
         job second queue=b cpu=5
         cycle
         job owner queue=a cpu=5
         cycle",
        &expect![[r#"
            cycle
              first QuotaReserved Quota reserved in ClusterQueue b, wait time since queued was 0s; Flavors considered: main: f(Fit;borrow=1)
              first Admitted Admitted by ClusterQueue b, wait time since reservation was 0s
            cycle
              second QuotaReserved Quota reserved in ClusterQueue b, wait time since queued was 0s; Flavors considered: main: f(Fit;borrow=1)
              second Admitted Admitted by ClusterQueue b, wait time since reservation was 0s
            cycle
              second EvictedDueToPreempted Preempted to accommodate a workload (UID: owner, JobUID: UNKNOWN) due to reclamation within the cohort; preemptor path: /x/a; preemptee path: /x/b
              second Preempted Preempted to accommodate a workload (UID: owner, JobUID: UNKNOWN) due to reclamation within the cohort; preemptor path: /x/a; preemptee path: /x/b; preemptor effective priority: 0 (base: 0, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              owner PreemptedWorkload Preempted workload ns/second (UID: second) in ClusterQueue b; preemptor effective priority: 0 (base: 0, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              owner WaitingForPreemptedWorkloads couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 5 more needed. Pending the preemption of 1 workload(s)
            a: active owner
        "#]],
    );
}

#[test]
fn equal_workloads_sleep_together_and_wake_together() {
    check(
        "queue a cpu=4
         job runs cpu=4
         cycle
         job one cpu=3
         job two cpu=3
         job other cpu=2
         cycle
         finish runs
         flush",
        &expect![[r#"
            cycle
              runs QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              runs Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              one WaitingForQuota couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 3 more needed
            a: active one other two
        "#]],
    );
    assert_eq!(
        play("queue a cpu=4\njob runs cpu=4\ncycle\njob one cpu=3\njob two cpu=3\njob other cpu=2\ncycle")
            .lines()
            .last(),
        Some("a: active other parked one two")
    );
}

#[test]
fn part_of_a_job_starts_when_all_of_it_does_not_fit() {
    check(
        "queue a cpu=7
         job wide cpu=2 count=5 min=2
         cycle",
        &expect![[r#"
            cycle
              wide QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              wide Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
        "#]],
    );
}

#[test]
fn fair_sharing_serves_the_queue_with_the_lower_share_first() {
    check(
        "fair
         queue a cohort=x cpu=0
         queue b cohort=x cpu=0
         queue c cohort=x cpu=6
         job a1 queue=a cpu=2
         job b1 queue=b cpu=1
         cycle
         job a2 queue=a cpu=1
         job b2 queue=b cpu=1
         cycle",
        &expect![[r#"
            cycle
              b1 QuotaReserved Quota reserved in ClusterQueue b, wait time since queued was 0s; Flavors considered: main: f(Fit;borrow=1)
              b1 Admitted Admitted by ClusterQueue b, wait time since reservation was 0s
              a1 QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: main: f(Fit;borrow=1)
              a1 Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              b2 QuotaReserved Quota reserved in ClusterQueue b, wait time since queued was 0s; Flavors considered: main: f(Fit;borrow=1)
              b2 Admitted Admitted by ClusterQueue b, wait time since reservation was 0s
              a2 QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: main: f(Fit;borrow=1)
              a2 Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
        "#]],
    );
}

#[test]
fn a_cohort_cycle_stops_its_queues_until_it_is_mended() {
    check(
        "cohort x parent=y
         cohort y parent=x
         queue a cohort=x cpu=4
         job one cpu=1
         cycle
         cohort y
         cycle",
        &expect![[r#"
            cycle
            cycle
              one QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              one Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
        "#]],
    );
}

#[test]
fn the_same_changes_give_the_same_effects() {
    let story = "queue a cohort=x cpu=3 reclaim=any within=lower
         queue b cohort=x cpu=3
         job 1 queue=b cpu=5
         job 2 queue=b cpu=1
         cycle
         job 3 queue=a cpu=2 prio=1
         job 4 queue=a cpu=2
         cycle
         stopped 1
         cycle
         flush
         cycle";
    assert_eq!(play(story), play(story));
}

#[test]
fn a_workload_shows_what_it_asks_for_while_it_waits() {
    check(
        "queue a cpu=10
         job first cpu=8
         job second cpu=2 count=3
         cycle
         cycle
         asks second
         finish first
         flush
         cycle
         asks second",
        &expect![[r#"
            cycle
              first QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              first Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              second WaitingForQuota couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 4 more needed
              second asks for [main [("cpu", 6000)]]
            cycle
              second QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              second Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              second asks for []
        "#]],
    );
}
