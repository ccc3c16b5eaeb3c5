//! Concurrent admission: variants of a job wait for different flavors.

use expect_test::expect;

use super::story::{check, play};

const FAMILY: &str = "
    job one cpu=4
    job one-f of=one only=f cpu=4
    job one-g of=one only=g cpu=4";

#[test]
fn a_parent_is_marked_and_never_queued_and_each_variant_gets_its_own_flavor_only() {
    check(
        &format!(
            "queue a cpu=3 spare=9 variants
             {FAMILY}
             cycle
             cycle"
        ),
        &expect![[r#"
              one is a parent
            cycle
              one-f ExceedsMaxQuota couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (4) > maximum capacity (3), skipping flavor g due to WorkloadAllowedResourceFlavorAnnotation annotation
            cycle
              one-g QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              one-g Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            a: parked one-f
        "#]],
    );
}

#[test]
fn a_job_moves_to_a_better_flavor_when_its_better_variant_fits() {
    check(
        &format!(
            "queue a cpu=4 spare=9 variants
             job other of=other only=f cpu=3 prio=1
             cycle
             {FAMILY}
             cycle
             cycle
             finish other
             flush
             cycle
             cycle
             stopped one-g
             cycle"
        ),
        &expect![[r#"
            cycle
              other QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              other Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              one is a parent
            cycle
              one-f WaitingForQuota couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 3 more needed, skipping flavor g due to WorkloadAllowedResourceFlavorAnnotation annotation
            cycle
              one-g QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              one-g Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              one-g EvictedDueToFlavorMigration Evicted to accommodate a workload (UID: one-f) due to migration to more favorable resource flavor
              one-f WaitingForPreemptedWorkloads . Pending the migration of 1 workload(s)
            cycle
              one-g EvictedDueToFlavorMigration Evicted to accommodate a workload (UID: one-f) due to migration to more favorable resource flavor
              one-f WaitingForPreemptedWorkloads . Pending the migration of 1 workload(s)
            cycle
              one-f QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              one-f Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            a: parked one-g
        "#]],
    );
}

#[test]
fn a_job_does_not_move_to_a_flavor_below_the_last_acceptable_one() {
    let story = |last: &str| {
        format!(
            "queue a cpu=4 spare=9 {last}
             job other of=other only=f cpu=3 prio=1
             cycle
             {FAMILY}
             cycle
             cycle
             finish other
             flush
             cycle"
        )
    };
    assert!(play(&story("variants=f")).contains("Pending the migration"));
    assert!(play(&story("variants=g")).contains("Pending the migration"));
    check(
        &story("variants=nowhere"),
        &expect![[r#"
        cycle
          other QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
          other Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
          one is a parent
        cycle
          one-f WaitingForQuota couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 3 more needed, skipping flavor g due to WorkloadAllowedResourceFlavorAnnotation annotation
        cycle
          one-g QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
          one-g Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
        cycle
          one-f PendingEvaluation Target flavor is below LastAcceptableFlavorName
        a: active one-f
    "#]],
    );
}

#[test]
fn a_variant_whose_better_sibling_runs_steps_aside_even_in_a_strict_queue() {
    let story = |strategy: &str| {
        format!(
            "queue a cpu=4 spare=4 variants {strategy}
             {FAMILY}
             cycle
             job second of=second only=g cpu=2
             cycle
             cycle"
        )
    };
    check(
        &story(""),
        &expect![[r#"
              one is a parent
            cycle
              one-f QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              one-f Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              one-g PendingEvaluation A more favorable variant is already admitted
            cycle
              second QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              second Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            a: parked one-g
        "#]],
    );
    assert_eq!(play(&story("")), play(&story("strict")));
}

#[test]
fn a_variant_that_stepped_aside_is_looked_at_again_when_its_sibling_is_gone() {
    check(
        &format!(
            "queue a cpu=4 spare=4 variants
             {FAMILY}
             cycle
             cycle
             delete one-f
             flush
             cycle"
        ),
        &expect![[r#"
              one is a parent
            cycle
              one-f QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              one-f Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
            cycle
              one-g PendingEvaluation A more favorable variant is already admitted
            cycle
              one-g QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              one-g Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
        "#]],
    );
}

#[test]
fn a_variant_of_a_flavor_that_does_not_exist_or_is_not_in_the_queue_waits_and_says_why() {
    check(
        "queue a cpu=4 variants
         job lost of=one only=nowhere cpu=1
         job none of=one only= cpu=1
         cycle
         cycle",
        &expect![[r#"
            cycle
              lost NoMatchingFlavor couldn't assign flavors to pod set main: skipping flavor f due to WorkloadAllowedResourceFlavorAnnotation annotation
            cycle
              none NoMatchingFlavor couldn't assign flavors to pod set main: skipping flavor f due to WorkloadAllowedResourceFlavorAnnotation annotation
            a: parked lost none
        "#]],
    );
}

#[test]
fn a_queue_that_starts_with_variants_marks_its_jobs_and_counts_what_runs() {
    check(
        "queue a cpu=2
         job runs cpu=2
         cycle
         job waits cpu=2
         queue a cpu=2 variants
         cycle
         job v of=waits only=f cpu=2
         cycle",
        &expect![[r#"
            cycle
              runs QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              runs Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              runs is a parent
              waits is a parent
            cycle
            cycle
              v WaitingForQuota couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 2 more needed
            a: parked v
        "#]],
    );
}

#[test]
fn what_a_parent_holds_counts_as_soon_as_its_queue_has_no_variants_any_more() {
    check(
        "queue a cpu=4 variants
         job one cpu=3
         holds one a f 3
         cycle
         uses a
         queue a cpu=4
         uses a",
        &expect![[r#"
              one is a parent
            cycle
              a uses
              a uses f=3000
        "#]],
    );
}
