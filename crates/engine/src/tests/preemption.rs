//! Who has to go so that another can start.

use expect_test::expect;

use super::story::brief;

#[test]
fn a_queue_that_never_preempts_waits() {
    brief(
        "queue a cpu=4
         job low cpu=4
         cycle
         job high cpu=4 prio=9
         cycle",
        &expect![[r#"
            cycle
              start low: cpu in f
            cycle
              wait high (WaitingForQuota)
            a: parked high
        "#]],
    );
}

#[test]
fn equal_priority_is_safe_from_who_preempts_only_the_lower() {
    brief(
        "queue a cpu=4 within=lower
         job first cpu=4
         cycle
         job second cpu=4
         cycle",
        &expect![[r#"
            cycle
              start first: cpu in f
            cycle
              wait second (WaitingForQuota)
            a: parked second
        "#]],
    );
}

#[test]
fn an_older_workload_preempts_a_newer_one_of_equal_priority() {
    brief(
        "queue a cpu=4 within=newer
         job old cpu=5
         advance 1
         job new cpu=4
         cycle
         cycle
         queue a cpu=5 within=newer
         flush
         cycle",
        &expect![[r#"
            cycle
              wait old (ExceedsMaxQuota)
            cycle
              start new: cpu in f
            cycle
              evict new (InClusterQueue) for old
              wait old (WaitingForPreemptedWorkloads)
            a: active old
        "#]],
    );
}

#[test]
fn the_lowest_priority_goes_first_and_then_the_newest() {
    brief(
        "queue a cpu=6 within=lower
         job one cpu=2
         cycle
         advance 1
         job two cpu=2
         cycle
         job three cpu=2 prio=1
         cycle
         job high cpu=3 prio=5
         cycle",
        &expect![[r#"
            cycle
              start one: cpu in f
            cycle
              start two: cpu in f
            cycle
              start three: cpu in f
            cycle
              evict two (InClusterQueue) for high
              evict one (InClusterQueue) for high
              wait high (WaitingForPreemptedWorkloads)
            a: active high
        "#]],
    );
}

#[test]
fn who_need_not_go_stays() {
    brief(
        "queue a cpu=6 within=lower
         job small cpu=1
         cycle
         job large cpu=5 prio=1
         cycle
         job high cpu=5 prio=5
         cycle",
        &expect![[r#"
            cycle
              start small: cpu in f
            cycle
              start large: cpu in f
            cycle
              evict large (InClusterQueue) for high
              wait high (WaitingForPreemptedWorkloads)
            a: active high
        "#]],
    );
}

#[test]
fn nobody_goes_when_that_would_not_be_enough() {
    brief(
        "queue a cpu=6 within=lower
         job low cpu=3
         cycle
         job equal cpu=3 prio=5
         cycle
         job high cpu=4 prio=5
         cycle",
        &expect![[r#"
            cycle
              start low: cpu in f
            cycle
              start equal: cpu in f
            cycle
              wait high (WaitingForQuota)
            a: parked high
        "#]],
    );
}

#[test]
fn only_what_is_borrowed_is_reclaimed() {
    brief(
        "queue a cohort=x cpu=4 reclaim=any
         queue b cohort=x cpu=4
         queue c cohort=x cpu=0
         job own queue=b cpu=4
         job borrowed queue=c cpu=2
         cycle
         job claim queue=a cpu=4
         cycle",
        &expect![[r#"
            cycle
              start own: cpu in f
              start borrowed: cpu in f
            cycle
              evict borrowed (InCohortReclamation) for claim
              wait claim (WaitingForPreemptedWorkloads)
            a: active claim
        "#]],
    );
}

#[test]
fn reclaiming_respects_the_priority_when_told_to() {
    brief(
        "queue a cohort=x cpu=4 reclaim=lower
         queue b cohort=x cpu=0
         job borrowed queue=b cpu=4 prio=5
         cycle
         job claim queue=a cpu=4
         cycle
         prio claim 9
         cycle",
        &expect![[r#"
            cycle
              start borrowed: cpu in f
            cycle
              wait claim (WaitingForQuota)
            cycle
              evict borrowed (InCohortReclamation) for claim
              wait claim (WaitingForPreemptedWorkloads)
            a: active claim
        "#]],
    );
}

#[test]
fn others_go_before_those_of_the_own_queue() {
    brief(
        "queue a cohort=x cpu=4 reclaim=any within=lower
         queue b cohort=x cpu=0
         job mine queue=a cpu=2
         cycle
         job theirs queue=b cpu=2
         cycle
         job claim queue=a cpu=2 prio=5
         cycle",
        &expect![[r#"
            cycle
              start mine: cpu in f
            cycle
              start theirs: cpu in f
            cycle
              evict theirs (InCohortReclamation) for claim
              wait claim (WaitingForPreemptedWorkloads)
            a: active claim
        "#]],
    );
}

#[test]
fn while_borrowing_only_the_less_important_up_to_a_limit_go() {
    brief(
        "queue a cohort=x cpu=2 reclaim=lower borrowing=1
         queue b cohort=x cpu=4
         queue c cohort=x cpu=0
         job above queue=c cpu=2 prio=2
         cycle
         job below queue=c cpu=2 prio=1
         cycle
         job wide queue=a cpu=3 prio=5
         cycle",
        &expect![[r#"
            cycle
              start above: cpu in f
            cycle
              start below: cpu in f
            cycle
              evict below (InCohortReclaimWhileBorrowing) for wide
              wait wide (WaitingForPreemptedWorkloads)
            a: active wide
        "#]],
    );
}

#[test]
fn a_borrower_preempts_nobody_in_the_cohort_unless_allowed() {
    brief(
        "queue a cohort=x cpu=2 reclaim=lower
         queue b cohort=x cpu=2
         queue c cohort=x cpu=0
         job low queue=c cpu=4
         cycle
         job wide queue=a cpu=3 prio=5
         cycle",
        &expect![[r#"
            cycle
              start low: cpu in f
            cycle
              wait wide (WaitingForQuota)
            a: parked wide
        "#]],
    );
}

#[test]
fn a_subtree_reclaims_from_another_what_is_its_own() {
    brief(
        "cohort left parent=root
         cohort right parent=root
         queue a cohort=left cpu=2 reclaim=lower
         queue b cohort=left cpu=2
         queue c cohort=right cpu=0
         job far queue=c cpu=4
         cycle
         job claim queue=a cpu=4
         cycle
         prio claim 1
         cycle",
        &expect![[r#"
            cycle
              start far: cpu in f
            cycle
              wait claim (WaitingForQuota)
            cycle
              evict far (InCohortReclamation) for claim
              wait claim (WaitingForPreemptedWorkloads)
            a: active claim
        "#]],
    );
}
