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

#[test]
fn nothing_starts_before_the_pods_of_all_others_run() {
    check(
        "pods timeout=300 block
         queue a cpu=4
         queue b cpu=4
         job first cpu=2
         job second cpu=2
         job other cpu=2 queue=b
         cycle
         status other
         cycle
         ready first
         cycle
         status second
         ready other
         cycle
         status second",
        &expect![[r#"
            cycle
              first QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              first Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              other: -QuotaReserved(WaitingForPodsReady) -Admitted(NoReservation)
            cycle
            cycle
              other QuotaReserved Quota reserved in ClusterQueue b, wait time since queued was 0s
              other Admitted Admitted by ClusterQueue b, wait time since reservation was 0s
              second: -QuotaReserved(WaitingForPodsReady) -Admitted(NoReservation)
            cycle
              second QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              second Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              second: +QuotaReserved(QuotaReserved) +Admitted(Admitted)
        "#]],
    );
}

#[test]
fn who_waited_for_the_pods_of_others_finds_the_flavor_that_it_fits_into_again() {
    check(
        "pods timeout=300 block
         queue a cpu=4 spare=1
         queue b cpu=4 spare=1
         queue c cpu=4
         job first cpu=1 queue=c
         cycle
         job held cpu=4 queue=a
         job behind cpu=4 queue=b
         cycle
         ready first
         cycle
         ready behind
         cycle
         status held",
        &expect![[r#"
            cycle
              first QuotaReserved Quota reserved in ClusterQueue c, wait time since queued was 0s
              first Admitted Admitted by ClusterQueue c, wait time since reservation was 0s
            cycle
            cycle
              behind QuotaReserved Quota reserved in ClusterQueue b, wait time since queued was 0s
              behind Admitted Admitted by ClusterQueue b, wait time since reservation was 0s
            cycle
              held QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              held Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              held: +QuotaReserved(QuotaReserved) +Admitted(Admitted)
        "#]],
    );
}

#[test]
fn a_check_that_says_no_switches_the_workload_off() {
    check(
        "queue a cpu=4 checks=c
         job j cpu=4
         cycle
         status j
         check j c Rejected
         status j
         stopped j
         status j",
        &expect![[r#"
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j: +QuotaReserved(QuotaReserved) -Admitted(UnsatisfiedAdmissionChecks) c=Pending
              j AdmissionCheckRejected Deactivated due to AdmissionCheck in Rejected state: "c"
              j EvictedDueToDeactivatedDueToAdmissionCheck The workload is deactivated due to AdmissionCheck in Rejected state: "c"
              j: +QuotaReserved(QuotaReserved) -Admitted(UnsatisfiedAdmissionChecks) +Evicted(DeactivatedDueToAdmissionCheck) c=Pending
              j: -QuotaReserved(Deactivated) -Admitted(NoReservation) +Evicted(DeactivatedDueToAdmissionCheck) -Requeued(DeactivatedDueToAdmissionCheck) c=Pending
        "#]],
    );
}

#[test]
fn a_check_that_wants_another_attempt_evicts_when_its_time_has_come() {
    check(
        "queue a cpu=4 checks=c
         job j cpu=4
         cycle
         check j c Retry after=30
         status j
         advance 30
         status j
         stopped j
         status j
         cycle
         check j c Ready
         status j",
        &expect![[r#"
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j: +QuotaReserved(QuotaReserved) -Admitted(UnsatisfiedAdmissionChecks) c=Retry backoff 0 in 30s
              j EvictedDueToAdmissionCheck Evicted due to AdmissionCheck in Retry state: "c"
              j: +QuotaReserved(QuotaReserved) -Admitted(UnsatisfiedAdmissionChecks) +Evicted(AdmissionCheck) c=Pending backoff 0 in 0s
              j: -QuotaReserved(PendingEvaluation) -Admitted(NoReservation) +Evicted(AdmissionCheck) +Requeued(BackoffFinished) c=Pending backoff 0
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              j: +QuotaReserved(QuotaReserved) +Admitted(Admitted) -Evicted(QuotaReserved) +Requeued(BackoffFinished) c=Ready backoff 0
        "#]],
    );
}

#[test]
fn a_drained_queue_gives_its_quota_back_and_takes_the_workload_again_when_it_runs() {
    check(
        "queue a cpu=4
         job j cpu=4
         cycle
         drain a
         stopped j
         status j
         restart a
         status j
         cycle",
        &expect![[r#"
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              j EvictedDueToClusterQueueStopped The ClusterQueue is stopped
              j: -QuotaReserved(Suspended) -Admitted(NoReservation) +Evicted(ClusterQueueStopped) -Requeued(ClusterQueueStopped)
              j: -QuotaReserved(PendingEvaluation) -Admitted(NoReservation) +Evicted(ClusterQueueStopped) +Requeued(ClusterQueueRestarted)
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
        "#]],
    );
}

#[test]
fn a_stopped_local_queue_releases_what_is_only_reserved() {
    check(
        "queue a cpu=4 checks=c
         job j cpu=4
         cycle
         stop a local
         status j
         restart a local
         status j",
        &expect![[r#"
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j: -QuotaReserved(Suspended) -Admitted(NoReservation) c=Pending
              j: -QuotaReserved(PendingEvaluation) -Admitted(NoReservation) c=Pending
            a: active j
        "#]],
    );
}

#[test]
fn a_queue_that_is_being_deleted_releases_what_is_only_reserved() {
    check(
        "queue a cpu=4 checks=c
         queue b cpu=4 checks=c
         job i cpu=4 queue=a
         job j cpu=4 queue=b
         cycle
         end a local
         end b
         status i
         status j",
        &expect![[r#"
            cycle
              i QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j QuotaReserved Quota reserved in ClusterQueue b, wait time since queued was 0s
              i: -QuotaReserved(Misconfigured) -Admitted(NoReservation) c=Pending
              j: -QuotaReserved(Suspended) -Admitted(NoReservation) c=Pending
            b: active j
        "#]],
    );
}

#[test]
fn a_selector_that_cannot_be_evaluated_is_named() {
    check(
        "queue a cpu=4
         misselect a
         job j cpu=4
         cycle
         status j
         why j",
        &expect![[r#"
            cycle
              j Misconfigured invalid namespace selector: "Near" is not a valid label selector operator
              j: -QuotaReserved(Misconfigured) -Admitted(NoReservation)
            ns/j in ClusterQueue a waits for something to change
              Misconfigured: invalid namespace selector: "Near" is not a valid label selector operator
            a: parked j
        "#]],
    );
}

#[test]
fn time_of_earlier_admissions_counts_towards_the_limit() {
    check(
        "queue a cpu=4 within=lower
         job j cpu=4 most=100
         cycle
         advance 60
         job high cpu=4 prio=5
         cycle
         stopped j
         cycle
         advance 1000
         finish high
         flush
         cycle
         advance 39
         status j
         advance 1
         status j",
        &expect![[r#"
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              j EvictedDueToPreempted Preempted to accommodate a workload (UID: high, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a
              j Preempted Preempted to accommodate a workload (UID: high, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a; preemptor effective priority: 5 (base: 5, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              high PreemptedWorkload Preempted workload ns/j (UID: j) in ClusterQueue a; preemptor effective priority: 5 (base: 5, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              high WaitingForPreemptedWorkloads couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 4 more needed. Pending the preemption of 1 workload(s)
            cycle
              high QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              high Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 1000s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              j: +QuotaReserved(QuotaReserved) +Admitted(Admitted) -Preempted(QuotaReserved) -Evicted(QuotaReserved) +Requeued(Preempted)
              j MaximumExecutionTimeExceeded The maximum execution time (100s) exceeded
              j EvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded The workload is deactivated due to exceeding the maximum execution time
              j: +QuotaReserved(QuotaReserved) +Admitted(Admitted) -Preempted(QuotaReserved) +Evicted(DeactivatedDueToMaximumExecutionTimeExceeded) +Requeued(Preempted)
        "#]],
    );
}

#[test]
fn a_gated_workload_waits_outside_the_queue_until_the_gate_is_gone() {
    check(
        "queue a cpu=4
         job j cpu=4 gated=me
         cycle
         status j
         ungate j
         cycle",
        &expect![[r#"
              j AdmissionGated Workload admission is gated by: me
            cycle
              j: -QuotaReserved(AdmissionGated) -Admitted(NoReservation)
              j AdmissionGateCleared Admission gate cleared, workload is now admissible
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
        "#]],
    );
}

#[test]
fn who_switched_a_workload_off_can_switch_it_on_again() {
    check(
        "queue a cpu=4
         job j cpu=4
         cycle
         off j
         stopped j
         status j
         on j
         status j
         cycle",
        &expect![[r#"
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              j EvictedDueToDeactivated The workload is deactivated
              j: -QuotaReserved(Deactivated) -Admitted(NoReservation) +Evicted(Deactivated) -Requeued(Deactivated)
              j: -QuotaReserved(PendingEvaluation) -Admitted(NoReservation) +Evicted(Deactivated) +Requeued(Reactivated)
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
        "#]],
    );
}

#[test]
fn a_job_on_hold_gives_its_quota_to_others_and_asks_again_when_it_goes_on() {
    check(
        "queue a cpu=4
         job j cpu=4
         job other cpu=4
         cycle
         hold j
         status j
         flush
         cycle
         finish other
         resume j
         status j
         cycle
         empty j
         status j",
        &expect![[r#"
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              j: -QuotaReserved(OnHold) -Admitted(NoReservation)
            cycle
              other QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              other Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              j: -QuotaReserved(PendingEvaluation) -Admitted(NoReservation)
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              j: -QuotaReserved(OnHold) -Admitted(NoReservation)
        "#]],
    );
}

#[test]
fn an_orphan_ends_and_gives_its_quota_back() {
    check(
        "queue a cpu=4
         job j cpu=4 uid=u guarded
         job next cpu=4
         cycle
         orphan j
         status j
         flush
         cycle",
        &expect![[r#"
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              j may go
              j: +QuotaReserved(QuotaReserved) +Admitted(Admitted) +Finished(OwnerNotFound)
            cycle
              next QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              next Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
        "#]],
    );
}

#[test]
fn a_deleted_orphan_is_let_go_without_a_verdict() {
    check(
        "without FinishOrphanedWorkloads
         queue a cpu=4
         job j cpu=4 uid=u guarded
         orphan j
         dying j",
        &expect![[r#"
              j may go
            a: active j
        "#]],
    );
}

#[test]
fn what_somebody_else_deletes_is_let_go_when_its_time_is_over() {
    check(
        "keep finished=100
         queue a cpu=8
         job j cpu=4 uid=u guarded
         cycle
         finish j
         dying j
         advance 99
         advance 1",
        &expect![[r#"
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              j may go
        "#]],
    );
}

#[test]
fn what_nobody_needs_any_more_is_deleted_after_a_while() {
    check(
        "keep finished=100 deactivated=50
         queue a cpu=8
         job done cpu=4
         job long cpu=4 most=10
         cycle
         cycle
         finish done
         advance 10
         stopped long
         advance 49
         advance 1
         advance 39
         advance 1
         advance 1000",
        &expect![[r#"
            cycle
              done QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              done Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              long QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              long Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              long MaximumExecutionTimeExceeded The maximum execution time (10s) exceeded
              long EvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded The workload is deactivated due to exceeding the maximum execution time
              the job of long is to be deleted
              done is to be deleted
              done Deleted Deleted finished workload due to elapsed retention
        "#]],
    );
}

#[test]
fn a_workload_that_dies_with_its_pod_is_not_queued_again() {
    check(
        "queue a cpu=4 within=lower
         job pod cpu=4 owner=pod
         cycle
         job high cpu=4 prio=5
         cycle
         stopped pod
         status pod",
        &expect![[r#"
            cycle
              pod QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              pod Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              pod EvictedDueToPreempted Preempted to accommodate a workload (UID: high, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a
              pod Preempted Preempted to accommodate a workload (UID: high, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a; preemptor effective priority: 5 (base: 5, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              high PreemptedWorkload Preempted workload ns/pod (UID: pod) in ClusterQueue a; preemptor effective priority: 5 (base: 5, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)
              high WaitingForPreemptedWorkloads couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 4 more needed. Pending the preemption of 1 workload(s)
              pod: -QuotaReserved(PendingEvaluation) -Admitted(NoReservation) +Preempted(InClusterQueue) +Evicted(Preempted) -Requeued(Preempted)
            a: active high parked pod
        "#]],
    );
}

#[test]
fn a_backoff_from_outside_however_far_takes_nobody_out_of_line() {
    check(
        "queue a cpu=4
         job j cpu=4
         later j 9000000000 -7
         status j
         cycle
         later j -9000000000 2147483647
         status j
         cycle",
        &expect![[r#"
              j: backoff -7 in 9000000000s
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              j: +QuotaReserved(QuotaReserved) +Admitted(Admitted) backoff 2147483647 in -9000000000s
            cycle
        "#]],
    );
}

#[test]
fn a_clock_that_steps_back_delays_and_breaks_nothing() {
    check(
        "pods timeout=300
         queue a cpu=4
         job j cpu=4 most=100
         cycle
         advance -5000
         status j
         advance 5099
         status j
         advance 1
         status j
         stopped j
         status j",
        &expect![[r#"
            cycle
              j QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              j Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              j: +QuotaReserved(QuotaReserved) +Admitted(Admitted)
              j: +QuotaReserved(QuotaReserved) +Admitted(Admitted)
              j MaximumExecutionTimeExceeded The maximum execution time (100s) exceeded
              j EvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded The workload is deactivated due to exceeding the maximum execution time
              j: +QuotaReserved(QuotaReserved) +Admitted(Admitted) +Evicted(DeactivatedDueToMaximumExecutionTimeExceeded)
              j: -QuotaReserved(Deactivated) -Admitted(NoReservation) +Evicted(DeactivatedDueToMaximumExecutionTimeExceeded) -Requeued(DeactivatedDueToMaximumExecutionTimeExceeded)
        "#]],
    );
}
