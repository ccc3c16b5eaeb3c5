//! What gives parked workloads another chance, and what does not.

use expect_test::expect;

use super::story::brief;

#[test]
fn quota_that_comes_free_is_offered_in_the_whole_tree() {
    brief(
        "queue a cohort=x cpu=2
         queue b cohort=x cpu=2
         job runs queue=b cpu=4
         cycle
         job waits queue=a cpu=2
         cycle
         finish runs
         cycle
         flush
         cycle",
        &expect![[r#"
            cycle
              start runs: cpu in f
            cycle
              wait waits (WaitingForQuota)
            cycle
            cycle
              start waits: cpu in f
        "#]],
    );
}

#[test]
fn a_deleted_job_frees_its_quota() {
    brief(
        "queue a cpu=2
         job runs cpu=2
         cycle
         job waits cpu=2
         cycle
         delete runs
         flush
         cycle",
        &expect![[r#"
            cycle
              start runs: cpu in f
            cycle
              wait waits (WaitingForQuota)
            cycle
              start waits: cpu in f
        "#]],
    );
}

#[test]
fn a_job_that_is_switched_off_frees_its_quota() {
    brief(
        "queue a cpu=2
         job runs cpu=2
         cycle
         job waits cpu=2
         cycle
         off runs
         flush
         cycle",
        &expect![[r#"
            cycle
              start runs: cpu in f
            cycle
              wait waits (WaitingForQuota)
              evict runs (Deactivated)
            cycle
              start waits: cpu in f
        "#]],
    );
}

#[test]
fn pods_that_are_done_free_their_part() {
    brief(
        "queue a cpu=4
         job runs cpu=2 count=2
         cycle
         job waits cpu=2
         cycle
         reclaim runs 1
         flush
         cycle",
        &expect![[r#"
            cycle
              start runs: cpu in f
            cycle
              wait waits (WaitingForQuota)
            cycle
              start waits: cpu in f
        "#]],
    );
}

#[test]
fn more_quota_wakes() {
    brief(
        "queue a cpu=2
         job waits cpu=3
         cycle
         queue a cpu=3
         flush
         cycle",
        &expect![[r#"
            cycle
              wait waits (ExceedsMaxQuota)
            cycle
              start waits: cpu in f
        "#]],
    );
}

#[test]
fn a_cohort_with_more_quota_wakes_its_queues() {
    brief(
        "cohort x
         queue a cohort=x cpu=2
         job waits cpu=3
         cycle
         cohort x cpu=1
         flush
         cycle",
        &expect![[r#"
            cycle
              wait waits (ExceedsMaxQuota)
            cycle
              start waits: cpu in f
        "#]],
    );
}

#[test]
fn a_flavor_that_appears_makes_its_queues_work() {
    brief(
        "flavor h gone
         queue a h.cpu=2
         job waits cpu=1
         cycle
         flavor h
         flush
         cycle",
        &expect![[r#"
            cycle
            cycle
              start waits: cpu in h
        "#]],
    );
}

#[test]
fn a_flavor_that_loses_its_taint_wakes() {
    brief(
        "flavor f taint=spot
         queue a f.cpu=2
         job waits cpu=1
         cycle
         flavor f
         flush
         cycle",
        &expect![[r#"
            cycle
              wait waits (NoMatchingFlavor)
            cycle
              start waits: cpu in f
        "#]],
    );
}

#[test]
fn a_flavor_that_is_written_again_as_it_was_wakes_nobody() {
    brief(
        "flavor f taint=spot
         queue a f.cpu=2
         job waits cpu=1
         cycle
         flavor f taint=spot
         flush
         cycle",
        &expect![[r#"
            cycle
              wait waits (NoMatchingFlavor)
            cycle
            a: parked waits
        "#]],
    );
}

#[test]
fn a_cycle_without_a_flush_looks_at_nobody_who_is_parked() {
    brief(
        "queue a cpu=2
         job runs cpu=2
         cycle
         job waits cpu=2
         cycle
         finish runs
         cycle",
        &expect![[r#"
            cycle
              start runs: cpu in f
            cycle
              wait waits (WaitingForQuota)
            cycle
            a: parked waits
        "#]],
    );
}

#[test]
fn with_targeted_waking_no_flush_is_needed() {
    brief(
        "targeted
         queue a cpu=2
         job runs cpu=2
         cycle
         job waits cpu=2
         cycle
         finish runs
         cycle",
        &expect![[r#"
            cycle
              start runs: cpu in f
            cycle
              wait waits (WaitingForQuota)
            cycle
              start waits: cpu in f
        "#]],
    );
}
