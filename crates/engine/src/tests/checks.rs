//! Two phases: quota first, then whoever else has to agree.

use expect_test::expect;

use super::story::brief;

#[test]
fn a_job_starts_when_all_checks_are_ready() {
    brief(
        "queue a cpu=4 checks=k,l
         job one cpu=2
         cycle
         status one
         check one k Ready
         status one
         check one l Ready
         status one",
        &expect![[r#"
            cycle
              start one: cpu in f
              one: +QuotaReserved(QuotaReserved) -Admitted(UnsatisfiedAdmissionChecks) k=Pending l=Pending
              one: +QuotaReserved(QuotaReserved) -Admitted(UnsatisfiedAdmissionChecks) k=Ready l=Pending
              one: +QuotaReserved(QuotaReserved) +Admitted(Admitted) k=Ready l=Ready
        "#]],
    );
}

#[test]
fn a_check_of_another_flavor_is_not_asked() {
    brief(
        "queue a f.cpu=1 g.cpu=4 checks=k
         queue a f.cpu=1 g.cpu=4 on=k:f
         job large cpu=2
         cycle
         status large",
        &expect![[r#"
            cycle
              start large: cpu in g
              large: +QuotaReserved(QuotaReserved) +Admitted(Admitted)
        "#]],
    );
}

#[test]
fn a_retry_costs_the_quota_and_the_place_in_line() {
    brief(
        "queue a cpu=2 checks=k
         job one cpu=2
         advance 1
         job two cpu=2
         cycle
         advance 1
         check one k Retry
         stopped one
         flush
         cycle
         status one",
        &expect![[r#"
            cycle
              start one: cpu in f
              evict one (AdmissionCheck)
            cycle
              start two: cpu in f
              one: -QuotaReserved(PendingEvaluation) -Admitted(NoReservation) +Evicted(AdmissionCheck) +Requeued(BackoffFinished) k=Pending
            a: active one
        "#]],
    );
}

#[test]
fn what_is_to_be_switched_off_has_its_quota_until_the_server_says_that_it_is() {
    brief(
        "queue a cpu=2 checks=k
         job one cpu=2
         job two cpu=2
         cycle
         check one k Rejected
         cycle
         off one
         flush
         cycle",
        &expect![[r#"
            cycle
              start one: cpu in f
              evict one (Deactivated)
            cycle
              wait two (WaitingForQuota)
            cycle
              start two: cpu in f
        "#]],
    );
}

#[test]
fn a_rejection_switches_the_job_off() {
    brief(
        "queue a cpu=2 checks=k
         job one cpu=2
         cycle
         check one k Rejected
         stopped one
         status one
         cycle",
        &expect![[r#"
            cycle
              start one: cpu in f
              evict one (Deactivated)
              one: -QuotaReserved(Deactivated) -Admitted(NoReservation) +Evicted(DeactivatedDueToAdmissionCheck) -Requeued(DeactivatedDueToAdmissionCheck) k=Pending
            cycle
        "#]],
    );
}
