//! Stories about everything outside scheduling: readiness, checks, stopped queues, gates, time limits.

use expect_test::expect;

use super::story::check;

#[test]
fn pods_that_do_not_start_in_time_cost_the_job_its_quota_and_a_backoff() {
    check(
        "pods timeout=300 base=60 most=1
         queue a cpu=4
         job late cpu=4
         cycle
         advance 299
         status late
         advance 1
         status late
         stopped late
         advance 59
         status late
         advance 1
         status late
         cycle
         advance 300
         status late",
        &expect![[r#"
            cycle
              late QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              late Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              late: +QuotaReserved(QuotaReserved) +Admitted(Admitted)
              late EvictedDueToPodsReadyTimeout Exceeded the PodsReady timeout ns/late
              late: +QuotaReserved(QuotaReserved) +Admitted(Admitted) +Evicted(PodsReadyTimeout) backoff 1 in 60s
              late: -QuotaReserved(PendingEvaluation) -Admitted(NoReservation) +Evicted(PodsReadyTimeout) -Requeued(PodsReadyTimeout) backoff 1 in 1s
              late: -QuotaReserved(PendingEvaluation) -Admitted(NoReservation) +Evicted(PodsReadyTimeout) +Requeued(BackoffFinished) backoff 1
            cycle
              late QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              late Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              late EvictedDueToDeactivatedDueToRequeuingLimitExceeded The workload is deactivated due to exceeding the maximum number of re-queuing retries
              late: +QuotaReserved(QuotaReserved) +Admitted(Admitted) +Evicted(DeactivatedDueToRequeuingLimitExceeded) +Requeued(BackoffFinished)
        "#]],
    );
}

#[test]
fn pods_that_ran_have_their_own_time_to_recover() {
    check(
        "pods timeout=300 recovery=10
         queue a cpu=4
         job shaky cpu=4
         cycle
         ready shaky
         advance 1000
         unready shaky
         advance 9
         status shaky
         advance 1
         status shaky",
        &expect![[r#"
            cycle
              shaky QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              shaky Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              shaky: +QuotaReserved(QuotaReserved) +Admitted(Admitted) -PodsReady(WaitForRecovery)
              shaky EvictedDueToPodsReadyTimeout Exceeded the PodsReady timeout ns/shaky
              shaky: +QuotaReserved(QuotaReserved) +Admitted(Admitted) -PodsReady(WaitForRecovery) +Evicted(PodsReadyTimeout) backoff 1 in 60s
        "#]],
    );
}

#[test]
fn without_a_recovery_timeout_a_job_may_take_for_ever_to_recover() {
    check(
        "pods timeout=300
         queue a cpu=4
         job shaky cpu=4
         cycle
         ready shaky
         unready shaky
         advance 1000000
         status shaky",
        &expect![[r#"
            cycle
              shaky QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              shaky Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              shaky: +QuotaReserved(QuotaReserved) +Admitted(Admitted) -PodsReady(WaitForRecovery)
        "#]],
    );
}

#[test]
fn a_closed_gate_keeps_a_workload_from_preempting() {
    check(
        "with MultiKueueOrchestratedPreemption
         queue a cpu=4 within=lower
         job low cpu=4
         cycle
         job high cpu=4 prio=5 closed=g
         cycle
         status high
         cycle
         open high g
         cycle
         status low",
        &expect![[r#"
            cycle
              low QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              low Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              high AdmissionGated Workload requires preemption, but it's gated
              high AdmissionGateCleared Admission gate cleared, workload is now admissible
              high: -QuotaReserved(PendingEvaluation) -Admitted(NoReservation) +BlockedOnPreemptionGates(PreemptionGated)
            cycle
            cycle
              low EvictedDueToPreempted Preempted to accommodate a workload (UID: high, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a
              low Preempted Preempted to accommodate a workload (UID: high, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a; preemptor effective priority: 5 (base: 5, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              high PreemptedWorkload Preempted workload ns/low (UID: low) in ClusterQueue a; preemptor effective priority: 5 (base: 5, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              high WaitingForPreemptedWorkloads couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 4 more needed. Pending the preemption of 1 workload(s)
              low: +QuotaReserved(QuotaReserved) +Admitted(Admitted) +Preempted(InClusterQueue) +Evicted(Preempted)
            a: active high
        "#]],
    );
}
