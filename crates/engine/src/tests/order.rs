//! Who goes first among the heads of a cycle, and what those after it find.

use expect_test::expect;

use super::story::brief;

#[test]
fn who_does_not_borrow_goes_first() {
    brief(
        "queue a cohort=x cpu=1
         queue b cohort=x cpu=2
         job borrower queue=a cpu=3 prio=9
         job owner queue=b cpu=2
         cycle",
        &expect![[r#"
            cycle
              start owner: cpu in f
              wait borrower (WaitingForQuota)
            a: active borrower
        "#]],
    );
}

#[test]
fn among_borrowers_priority_then_age_decides() {
    brief(
        "queue a cohort=x cpu=0
         queue b cohort=x cpu=0
         queue c cohort=x cpu=2
         job old queue=a cpu=2
         advance 1
         job young queue=b cpu=2
         cycle
         finish old
         job high queue=a cpu=2 prio=1
         flush
         cycle",
        &expect![[r#"
            cycle
              start old: cpu in f
              wait young (WaitingForQuota)
            cycle
              start high: cpu in f
            b: active young
        "#]],
    );
}

#[test]
fn without_priority_sorting_age_alone_decides() {
    brief(
        "without PrioritySortingWithinCohort
         queue a cohort=x cpu=0
         queue b cohort=x cpu=0
         queue c cohort=x cpu=2
         job old queue=a cpu=2
         advance 1
         job high queue=b cpu=2 prio=1
         cycle",
        &expect![[r#"
            cycle
              start old: cpu in f
              wait high (WaitingForQuota)
            b: active high
        "#]],
    );
}

#[test]
fn who_waits_for_quota_that_is_not_always_its_own_keeps_what_is_free() {
    brief(
        "queue a cohort=x cpu=4
         queue b cohort=x cpu=4
         job runs queue=b cpu=6
         cycle
         job waits queue=a cpu=4
         job greedy queue=b cpu=2
         cycle",
        &expect![[r#"
            cycle
              start runs: cpu in f
            cycle
              wait waits (WaitingForQuota)
              wait greedy (WaitingForQuota)
            a: parked waits
            b: active greedy
        "#]],
    );
}

#[test]
fn who_can_always_reclaim_keeps_nothing() {
    brief(
        "queue a cohort=x cpu=4 reclaim=any
         queue b cohort=x cpu=4
         job runs queue=b cpu=6
         cycle
         job waits queue=a cpu=5
         job greedy queue=b cpu=2
         cycle",
        &expect![[r#"
            cycle
              start runs: cpu in f
            cycle
              start greedy: cpu in f
              wait waits (WaitingForQuota)
            a: parked waits
        "#]],
    );
}

#[test]
fn two_preemptors_do_not_count_on_the_same_victim() {
    brief(
        "queue a cohort=x cpu=4 reclaim=any
         queue b cohort=x cpu=4 reclaim=any
         queue c cohort=x cpu=0
         job victim queue=c cpu=8
         cycle
         job one queue=a cpu=4
         job two queue=b cpu=4
         cycle
         stopped victim
         cycle",
        &expect![[r#"
            cycle
              start victim: cpu in f
            cycle
              evict victim (InCohortReclamation) for one
              wait one (WaitingForPreemptedWorkloads)
              wait two (WaitingForPreemptedWorkloads)
            cycle
              start one: cpu in f
              start two: cpu in f
              wait victim (WaitingForQuota)
            c: active victim
        "#]],
    );
}

#[test]
fn without_recomputing_the_second_preemptor_is_skipped() {
    brief(
        "without RecomputeAssignmentUponPreemptionTargetsOverlap
         queue a cohort=x cpu=4 reclaim=any
         queue b cohort=x cpu=4 reclaim=any
         queue c cohort=x cpu=0
         job victim queue=c cpu=8
         cycle
         job one queue=a cpu=4
         job two queue=b cpu=4
         cycle",
        &expect![[r#"
            cycle
              start victim: cpu in f
            cycle
              evict victim (InCohortReclamation) for one
              wait one (WaitingForPreemptedWorkloads)
              wait two (WaitingForQuota)
            a: active one
            b: active two
        "#]],
    );
}
