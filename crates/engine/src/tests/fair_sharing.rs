//! Who gets more and who gives back when shares decide.

use expect_test::expect;

use super::story::brief;

#[test]
fn a_weight_of_two_is_worth_twice_the_share() {
    brief(
        "fair
         queue a cohort=x cpu=0 weight=2
         queue b cohort=x cpu=0
         queue c cohort=x cpu=6
         job a1 queue=a cpu=2
         job b1 queue=b cpu=2
         cycle
         job a2 queue=a cpu=1
         job b2 queue=b cpu=1
         cycle",
        &expect![[r#"
            cycle
              start a1: cpu in f
              start b1: cpu in f
            cycle
              start a2: cpu in f
              start b2: cpu in f
        "#]],
    );
}

#[test]
fn no_weight_goes_last() {
    brief(
        "fair
         queue a cohort=x cpu=0 weight=0
         queue b cohort=x cpu=0
         queue c cohort=x cpu=6
         job b1 queue=b cpu=2
         cycle
         job a2 queue=a cpu=1 prio=9
         job b2 queue=b cpu=4
         cycle",
        &expect![[r#"
            cycle
              start b1: cpu in f
            cycle
              start b2: cpu in f
              wait a2 (WaitingForQuota)
            a: active a2
        "#]],
    );
}

#[test]
fn who_stays_within_its_own_goes_before_who_borrows() {
    brief(
        "fair
         queue a cohort=x cpu=2
         queue b cohort=x cpu=2
         queue c cohort=x cpu=2
         job borrows queue=a cpu=3 prio=9
         job own queue=b cpu=2
         cycle",
        &expect![[r#"
            cycle
              start own: cpu in f
              start borrows: cpu in f
        "#]],
    );
}

#[test]
fn the_larger_share_gives_back_to_the_smaller() {
    brief(
        "fair
         queue a cohort=x cpu=0 reclaim=any
         queue b cohort=x cpu=0
         queue c cohort=x cpu=6
         job b1 queue=b cpu=2
         cycle
         advance 1
         job b2 queue=b cpu=2
         cycle
         advance 1
         job b3 queue=b cpu=2
         cycle
         job a1 queue=a cpu=2
         cycle",
        &expect![[r#"
            cycle
              start b1: cpu in f
            cycle
              start b2: cpu in f
            cycle
              start b3: cpu in f
            cycle
              evict b3 (InCohortFairSharing) for a1
              wait a1 (WaitingForPreemptedWorkloads)
            a: active a1
        "#]],
    );
}

#[test]
fn nobody_takes_more_than_it_would_leave() {
    brief(
        "fair
         queue a cohort=x cpu=0 reclaim=any
         queue b cohort=x cpu=0
         queue c cohort=x cpu=6
         job b1 queue=b cpu=6
         cycle
         job a1 queue=a cpu=7
         job a2 queue=a cpu=6
         cycle
         cycle",
        &expect![[r#"
            cycle
              start b1: cpu in f
            cycle
              wait a1 (ExceedsMaxQuota)
            cycle
              wait a2 (WaitingForQuota)
            a: parked a1 a2
        "#]],
    );
}

#[test]
fn what_is_ones_own_is_reclaimed_whatever_the_shares() {
    brief(
        "fair
         queue a cohort=x cpu=4 reclaim=any
         queue b cohort=x cpu=2
         job b1 queue=b cpu=6
         cycle
         job a1 queue=a cpu=4
         cycle",
        &expect![[r#"
            cycle
              start b1: cpu in f
            cycle
              evict b1 (InCohortReclamation) for a1
              wait a1 (WaitingForPreemptedWorkloads)
            a: active a1
        "#]],
    );
}

#[test]
fn a_share_counts_at_each_level_of_the_tree() {
    brief(
        "fair
         cohort left parent=root
         cohort right parent=root
         queue a cohort=left cpu=0
         queue b cohort=left cpu=0
         queue c cohort=right cpu=0
         queue giver cohort=root cpu=9
         job a1 queue=a cpu=3
         cycle
         job b1 queue=b cpu=3 prio=9
         job c1 queue=c cpu=4
         cycle",
        &expect![[r#"
            cycle
              start a1: cpu in f
            cycle
              start c1: cpu in f
              wait b1 (WaitingForQuota)
            b: active b1
        "#]],
    );
}

#[test]
fn a_share_says_what_it_is_made_of_and_what_more_would_make_it() {
    brief(
        "fair
         queue a cohort=x cpu=2 weight=4
         queue b cohort=x cpu=0 weight=0
         queue c cohort=x cpu=14
         share a
         job a1 queue=a cpu=3
         cycle
         share a
         share a f/cpu=5000 f/gpu=9
         share b f/cpu=1
         share x f/cpu=99000",
        &expect![[r#"
              a has 0, shown as 0, for nothing; borrows []
            cycle
              start a1: cpu in f
              a has 15.625, shown as 16, for cpu; borrows [f/cpu]
              a has 93.75, shown as 94, for cpu; borrows [f/cpu]
              b has +Inf, shown as 9223372036854775807, for cpu; borrows [f/cpu]
              x has 0, shown as 0, for nothing; borrows []
        "#]],
    );
}
