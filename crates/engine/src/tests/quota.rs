//! How much may be taken: limits, cohorts, trees.

use expect_test::expect;

use super::story::brief;

#[test]
fn what_is_beyond_the_lending_limit_stays_at_home() {
    brief(
        "queue a cohort=x cpu=0
         queue b cohort=x cpu=10 lend=4
         job large cpu=5
         job small cpu=4
         cycle
         cycle
         job own queue=b cpu=6
         cycle",
        &expect![[r#"
            cycle
              wait large (ExceedsMaxQuota)
            cycle
              start small: cpu in f
            cycle
              start own: cpu in f
            a: parked large
        "#]],
    );
}

#[test]
fn quota_of_a_cohort_is_for_all_its_queues() {
    brief(
        "cohort x cpu=5
         queue a cohort=x cpu=0
         queue b cohort=x cpu=0
         job one queue=a cpu=3
         job two queue=b cpu=3
         cycle
         totals",
        &expect![[r#"
            cycle
              start one: cpu in f
              wait two (WaitingForQuota)
              a uses f.cpu=3000
              b uses nothing
            b: active two
        "#]],
    );
}

#[test]
fn a_lending_limit_of_a_cohort_holds_for_everything_below_it() {
    brief(
        "cohort x parent=root cpu=0 lend=2
         cohort root
         queue giver cohort=x cpu=8
         queue taker cohort=root cpu=0
         job three queue=taker cpu=3
         job two queue=taker cpu=2
         cycle
         cycle",
        &expect![[r#"
            cycle
              wait three (ExceedsMaxQuota)
            cycle
              start two: cpu in f
            taker: parked three
        "#]],
    );
}

#[test]
fn a_borrowing_limit_of_a_cohort_holds_for_everything_below_it() {
    brief(
        "cohort x parent=root cpu=0 borrow=3
         queue giver cohort=root cpu=8
         queue one cohort=x cpu=0
         queue two cohort=x cpu=0
         job first queue=one cpu=2
         job second queue=two cpu=2
         cycle",
        &expect![[r#"
            cycle
              start first: cpu in f
              wait second (WaitingForQuota)
            two: active second
        "#]],
    );
}

#[test]
fn quota_is_borrowed_across_the_whole_tree() {
    brief(
        "cohort left parent=root
         cohort right parent=root
         queue a cohort=left cpu=1
         queue b cohort=right cpu=4
         job far queue=a cpu=5
         cycle",
        &expect![[r#"
            cycle
              start far: cpu in f
        "#]],
    );
}

#[test]
fn what_a_queue_keeps_is_used_before_it_borrows() {
    brief(
        "queue a cohort=x cpu=4 lend=0
         queue b cohort=x cpu=4
         job home queue=a cpu=4
         cycle
         job full queue=b cpu=4
         cycle",
        &expect![[r#"
            cycle
              start home: cpu in f
            cycle
              start full: cpu in f
        "#]],
    );
}

#[test]
fn quota_below_what_is_used_stops_newcomers_and_nobody_else() {
    brief(
        "queue a cpu=4
         job runs cpu=4
         cycle
         queue a cpu=2
         job next cpu=1
         cycle
         totals
         finish runs
         flush
         cycle",
        &expect![[r#"
            cycle
              start runs: cpu in f
            cycle
              wait next (WaitingForQuota)
              a uses f.cpu=4000
            cycle
              start next: cpu in f
        "#]],
    );
}

#[test]
fn a_queue_that_leaves_its_cohort_takes_its_quota_along() {
    brief(
        "queue a cohort=x cpu=0
         queue b cohort=x cpu=4
         queue b cpu=4
         job alone queue=a cpu=1
         cycle",
        &expect![[r#"
            cycle
              wait alone (ExceedsMaxQuota)
            a: parked alone
        "#]],
    );
}
