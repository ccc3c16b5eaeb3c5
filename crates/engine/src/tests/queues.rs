//! Who is looked at next, who steps aside, and who comes back.

use expect_test::expect;

use super::story::brief;

#[test]
fn priority_then_age_then_uid_orders_a_queue() {
    brief(
        "queue a cpu=1
         job c cpu=1
         job b cpu=1
         advance 1
         job a cpu=1
         job z cpu=1 prio=1
         cycle
         finish z
         flush
         cycle
         finish b
         flush
         cycle",
        &expect![[r#"
            cycle
              start z: cpu in f
            cycle
              start b: cpu in f
            cycle
              start c: cpu in f
            a: active a
        "#]],
    );
}

#[test]
fn a_boost_counts_as_priority() {
    brief(
        "with PriorityBoost
         queue a cpu=1
         job plain cpu=1 prio=2
         job boosted cpu=1 boost=3
         cycle",
        &expect![[r#"
            cycle
              start boosted: cpu in f
            a: active plain
        "#]],
    );
}

#[test]
fn a_preemptor_stays_first_until_its_victims_have_left() {
    brief(
        "queue a cpu=4 within=lower
         job old cpu=4
         cycle
         job preemptor cpu=4 prio=1
         cycle
         job higher cpu=4 prio=2
         stopped old
         cycle",
        &expect![[r#"
            cycle
              start old: cpu in f
            cycle
              evict old (InClusterQueue) for preemptor
              wait preemptor (WaitingForPreemptedWorkloads)
            cycle
              start preemptor: cpu in f
            a: active higher old
        "#]],
    );
}

#[test]
fn a_preemptor_of_a_strict_queue_has_no_such_right() {
    brief(
        "queue a cpu=4 within=lower strict
         job old cpu=4
         cycle
         job preemptor cpu=4 prio=1
         cycle
         job higher cpu=4 prio=2
         stopped old
         cycle",
        &expect![[r#"
            cycle
              start old: cpu in f
            cycle
              evict old (InClusterQueue) for preemptor
              wait preemptor (WaitingForPreemptedWorkloads)
            cycle
              start higher: cpu in f
            a: active preemptor old
        "#]],
    );
}

#[test]
fn a_new_equal_of_one_that_does_not_fit_is_parked_unseen() {
    brief(
        "queue a cpu=2
         job large cpu=3
         cycle
         job same cpu=3
         cycle
         job other cpu=3 prio=1
         cycle",
        &expect![[r#"
            cycle
              wait large (ExceedsMaxQuota)
            cycle
            cycle
              wait other (ExceedsMaxQuota)
            a: parked large other same
        "#]],
    );
}

#[test]
fn without_equivalence_every_equal_is_looked_at() {
    brief(
        "without SchedulingEquivalenceHashing
         queue a cpu=2
         job large cpu=3
         cycle
         job same cpu=3
         cycle",
        &expect![[r#"
            cycle
              wait large (ExceedsMaxQuota)
            cycle
              wait same (ExceedsMaxQuota)
            a: parked large same
        "#]],
    );
}

#[test]
fn one_that_changed_is_looked_at_again() {
    brief(
        "queue a cpu=2 within=lower
         job runs cpu=2
         cycle
         job waits cpu=2
         cycle
         prio waits 1
         cycle",
        &expect![[r#"
            cycle
              start runs: cpu in f
            cycle
              wait waits (WaitingForQuota)
            cycle
              evict runs (InClusterQueue) for waits
              wait waits (WaitingForPreemptedWorkloads)
            a: active waits
        "#]],
    );
}

#[test]
fn a_job_moves_to_another_queue() {
    brief(
        "queue a cpu=1
         queue b cpu=4
         job roams cpu=3
         cycle
         move roams to=b
         cycle",
        &expect![[r#"
            cycle
              wait roams (ExceedsMaxQuota)
            cycle
              start roams: cpu in f
        "#]],
    );
}

#[test]
fn a_namespace_that_is_not_served_parks_even_in_a_strict_queue() {
    brief(
        "queue a cpu=4 strict serves=team:red
         job first cpu=1
         cycle
         cycle
         namespace team=red
         flush
         cycle",
        &expect![[r#"
            cycle
              wait first (Misconfigured)
            cycle
            cycle
              start first: cpu in f
        "#]],
    );
}

#[test]
fn a_stopped_local_queue_takes_its_jobs_out_of_line() {
    brief(
        "queue a cpu=4
         stop a local
         job waits cpu=1
         cycle
         restart a local
         cycle",
        &expect![[r#"
            cycle
            cycle
              start waits: cpu in f
        "#]],
    );
}
