//! Nonsense that real clusters tell: nothing breaks, and mending it lets everything go on.

use expect_test::expect;

use super::story::brief;

#[test]
fn usage_above_quota_admits_nobody_until_it_is_gone() {
    brief(
        "queue a cpu=2
         job huge cpu=1
         holds huge a f 9
         job next cpu=1
         cycle
         totals
         delete huge
         flush
         cycle",
        &expect![[r#"
            cycle
              wait next (WaitingForQuota)
              a uses f.cpu=9000
            cycle
              start next: cpu in f
        "#]],
    );
}

#[test]
fn a_reservation_in_a_queue_that_is_gone_counts_when_it_comes_back() {
    brief(
        "queue a cpu=4
         job runs cpu=4
         cycle
         queue a gone
         job next cpu=4
         queue a cpu=4
         cycle
         totals",
        &expect![[r#"
            cycle
              start runs: cpu in f
            cycle
              wait next (WaitingForQuota)
              a uses f.cpu=4000
            a: parked next
        "#]],
    );
}

#[test]
fn a_reservation_somewhere_unknown_is_forgotten_with_its_job() {
    brief(
        "queue a cpu=4
         job lost cpu=1
         holds lost nowhere f 2
         delete lost
         queue nowhere cpu=2
         cycle
         totals",
        &expect![[r#"
            cycle
              a uses nothing
              nowhere uses nothing
        "#]],
    );
}

#[test]
fn who_claims_less_than_nothing_makes_no_room() {
    brief(
        "queue a cpu=2
         job odd cpu=1
         holds odd a f -5
         job large cpu=3
         cycle
         totals",
        &expect![[r#"
            cycle
              wait large (ExceedsMaxQuota)
              a uses nothing
            a: parked large
        "#]],
    );
}

#[test]
fn usage_beyond_all_numbers_is_right_again_when_it_is_gone() {
    brief(
        "queue a cohort=x cpu=2
         queue b cohort=x cpu=2
         job one cpu=1
         holds one a f 9223372036854775807
         job two cpu=1
         holds two a f 9223372036854775807
         job three cpu=1
         holds three b f 1
         delete one
         delete two
         totals
         job next queue=a cpu=3
         cycle",
        &expect![[r#"
              a uses nothing
              b uses f.cpu=1000
            cycle
              start next: cpu in f
        "#]],
    );
}

#[test]
fn counts_below_nothing_ask_for_nothing() {
    brief(
        "queue a cpu=2
         job odd cpu=2 count=-3 min=-9
         cycle
         totals",
        &expect![[r#"
            cycle
              start odd: cpu in f
              a uses nothing
        "#]],
    );
}

#[test]
fn a_clock_that_steps_back_stops_nobody() {
    brief(
        "queue a cpu=2
         job first cpu=2
         back 100
         job second cpu=2
         cycle
         advance 1
         finish second
         flush
         cycle",
        &expect![[r#"
            cycle
              start second: cpu in f
            cycle
              start first: cpu in f
        "#]],
    );
}

#[test]
fn a_cycle_of_cohorts_that_closes_while_jobs_run_stops_newcomers_only() {
    brief(
        "queue a cohort=x cpu=4
         cohort x parent=y
         job runs cpu=2
         cycle
         cohort y parent=x
         job next cpu=1
         cycle
         totals
         cohort y gone
         flush
         cycle",
        &expect![[r#"
            cycle
              start runs: cpu in f
            cycle
              a uses f.cpu=2000
            cycle
              start next: cpu in f
        "#]],
    );
}

#[test]
fn a_cohort_that_is_its_own_parent_can_go() {
    brief(
        "cohort x parent=x
         cohort x gone
         cohort x parent=y
         cohort y parent=x
         cohort x gone
         cohort y gone
         queue a cohort=x cpu=1
         job runs cpu=1
         cycle",
        &expect![[r#"
            cycle
              start runs: cpu in f
        "#]],
    );
}

#[test]
fn a_gate_and_missing_queues_do_not_take_turns() {
    brief(
        "without UnadmittedWorkloadsObservability
         job one cpu=1 gated=somebody
         status one
         queue a cpu=1
         ungate one
         cycle",
        &expect![[r#"
              one: -QuotaReserved(AdmissionGated)
            cycle
              start one: cpu in f
        "#]],
    );
}

#[test]
fn a_gated_job_that_is_switched_off_says_so() {
    brief(
        "queue a cpu=1
         job one cpu=1 gated=somebody
         off one
         status one
         on one
         status one
         cycle",
        &expect![[r#"
              evict one (Deactivated)
              one: -QuotaReserved(Deactivated) -Admitted(NoReservation) +Evicted(Deactivated)
              one: -QuotaReserved(AdmissionGated) -Admitted(NoReservation) +Evicted(Deactivated)
            cycle
        "#]],
    );
}

#[test]
fn who_was_switched_off_by_a_limit_keeps_out_of_its_queue_as_in_kueue() {
    brief(
        "queue a cpu=1
         job one cpu=1 most=5
         cycle
         advance 5
         stopped one
         status one
         on one
         cycle
         status one",
        &expect![[r#"
            cycle
              start one: cpu in f
              evict one (Deactivated)
              one: -QuotaReserved(Deactivated) -Admitted(NoReservation) +Evicted(DeactivatedDueToMaximumExecutionTimeExceeded) -Requeued(DeactivatedDueToMaximumExecutionTimeExceeded)
            cycle
              one: -QuotaReserved(PendingEvaluation) -Admitted(NoReservation) +Evicted(DeactivatedDueToMaximumExecutionTimeExceeded) -Requeued(DeactivatedDueToMaximumExecutionTimeExceeded)
            a: parked one
        "#]],
    );
}

#[test]
fn a_flavor_that_goes_stops_its_queue_until_it_is_back() {
    brief(
        "queue a cpu=2
         job one cpu=1
         flavor f gone
         cycle
         flavor f
         cycle",
        &expect![[r#"
            cycle
            cycle
              start one: cpu in f
        "#]],
    );
}
