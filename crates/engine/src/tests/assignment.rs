//! Which flavor each resource gets, and at what cost.

use expect_test::expect;

use super::story::brief;

#[test]
fn the_first_flavor_that_fits_is_taken() {
    brief(
        "queue a f.cpu=2 g.cpu=4
         job small cpu=2
         cycle
         job next cpu=2
         cycle",
        &expect![[r#"
            cycle
              start small: cpu in f
            cycle
              start next: cpu in g
        "#]],
    );
}

#[test]
fn a_taint_keeps_jobs_off_that_do_not_tolerate_it() {
    brief(
        "flavor f taint=spot
         queue a f.cpu=4
         job shy cpu=1
         job brave cpu=1 tolerates
         cycle
         cycle",
        &expect![[r#"
            cycle
              start brave: cpu in f
            cycle
              wait shy (NoMatchingFlavor)
            a: parked shy
        "#]],
    );
}

#[test]
fn a_node_selector_must_match_the_labels_of_the_flavor() {
    brief(
        "flavor f label=zone:east
         flavor g label=zone:west
         queue a f.cpu=4 g.cpu=4
         job west cpu=1 select=zone:west
         job north cpu=1 select=zone:north
         job other cpu=1 select=disk:fast
         cycle
         cycle
         cycle",
        &expect![[r#"
            cycle
              wait north (NoMatchingFlavor)
            cycle
              start other: cpu in f
            cycle
              start west: cpu in g
            a: parked north
        "#]],
    );
}

#[test]
fn resources_of_a_group_get_one_flavor_together() {
    brief(
        "queue a f.cpu=4 f.memory=1 g.cpu=4 g.memory=8
         job both cpu=1 memory=2
         cycle",
        &expect![[r#"
            cycle
              start both: cpu in g, memory in g
        "#]],
    );
}

#[test]
fn resources_of_different_groups_choose_on_their_own() {
    brief(
        "queue a f.cpu=4 g.gpu=2
         job both cpu=1 gpu=1
         cycle",
        &expect![[r#"
            cycle
              start both: cpu in f, gpu in g
        "#]],
    );
}

#[test]
fn a_resource_without_quota_is_refused() {
    brief(
        "queue a f.cpu=4
         job both cpu=1 gpu=1
         cycle",
        &expect![[r#"
            cycle
              wait both (NoMatchingFlavor)
            a: parked both
        "#]],
    );
}

#[test]
fn a_queue_that_counts_pods_counts_them() {
    brief(
        "queue a f.cpu=8 f.pods=2
         job wide cpu=1 count=3
         job slim cpu=1 count=2
         cycle
         cycle",
        &expect![[r#"
            cycle
              start slim: cpu in f, pods in f
            cycle
              wait wide (ExceedsMaxQuota)
            a: parked wide
        "#]],
    );
}

#[test]
fn a_later_pod_set_sees_what_the_earlier_one_was_given() {
    brief(
        "queue a f.cpu=4 g.cpu=4
         job two cpu=3 second=3x1
         cycle
         job more cpu=3 second=3x1
         cycle",
        &expect![[r#"
            cycle
              start two: cpu in f, cpu in g
            cycle
              wait more (WaitingForQuota)
            a: parked more
        "#]],
    );
}

#[test]
fn borrowing_in_the_first_flavor_goes_before_the_next_flavor() {
    brief(
        "queue a cohort=x f.cpu=1 g.cpu=4
         queue b cohort=x f.cpu=4 g.cpu=0
         job wide cpu=2
         cycle",
        &expect![[r#"
            cycle
              start wide: cpu in f
        "#]],
    );
}

#[test]
fn the_next_flavor_goes_before_borrowing_when_the_queue_says_so() {
    brief(
        "queue a cohort=x f.cpu=1 g.cpu=4 next-borrow
         queue b cohort=x f.cpu=4 g.cpu=0
         job wide cpu=2
         cycle",
        &expect![[r#"
            cycle
              start wide: cpu in g
        "#]],
    );
}

#[test]
fn the_next_flavor_goes_before_preemption() {
    brief(
        "queue a f.cpu=4 g.cpu=4 within=lower
         job low cpu=4
         cycle
         job high cpu=4 prio=1
         cycle",
        &expect![[r#"
            cycle
              start low: cpu in f
            cycle
              start high: cpu in g
        "#]],
    );
}

#[test]
fn preemption_in_the_first_flavor_goes_first_when_the_queue_says_so() {
    brief(
        "queue a f.cpu=4 g.cpu=4 within=lower stop-preempt
         job low cpu=4
         cycle
         job high cpu=4 prio=1
         cycle",
        &expect![[r#"
            cycle
              start low: cpu in f
            cycle
              evict low (InClusterQueue) for high
              wait high (WaitingForPreemptedWorkloads)
            a: active high
        "#]],
    );
}

#[test]
fn preempting_at_home_goes_before_borrowing_when_the_queue_prefers_it() {
    brief(
        "queue a cohort=x f.cpu=4 g.cpu=0 within=lower next-borrow prefer-preempt
         queue b cohort=x f.cpu=0 g.cpu=4
         job low cpu=4
         cycle
         job high cpu=4 prio=1
         cycle",
        &expect![[r#"
            cycle
              start low: cpu in f
            cycle
              evict low (InClusterQueue) for high
              wait high (WaitingForPreemptedWorkloads)
            a: active high
        "#]],
    );
}

#[test]
fn borrowing_goes_before_preempting_at_home_by_default() {
    brief(
        "queue a cohort=x f.cpu=4 g.cpu=0 within=lower next-borrow
         queue b cohort=x f.cpu=0 g.cpu=4
         job low cpu=4
         cycle
         job high cpu=4 prio=1
         cycle",
        &expect![[r#"
            cycle
              start low: cpu in f
            cycle
              start high: cpu in g
        "#]],
    );
}

#[test]
fn the_mildest_obstacle_of_the_flavors_is_the_reason() {
    brief(
        "flavor f taint=spot
         queue a f.cpu=4 g.cpu=1
         job large cpu=2
         cycle
         job runs cpu=1
         cycle
         job later cpu=1 prio=-1
         cycle",
        &expect![[r#"
            cycle
              wait large (ExceedsMaxQuota)
            cycle
              start runs: cpu in g
            cycle
              wait later (WaitingForQuota)
            a: parked large later
        "#]],
    );
}

#[test]
fn partial_admission_takes_as_many_pods_as_fit() {
    brief(
        "queue a cpu=7
         job wide cpu=2 count=5 min=2
         cycle
         totals",
        &expect![[r#"
            cycle
              start wide: cpu in f
              a uses f.cpu=6000
        "#]],
    );
}

#[test]
fn partial_admission_never_goes_below_the_minimum() {
    brief(
        "queue a cpu=3
         job wide cpu=2 count=5 min=2
         cycle",
        &expect![[r#"
            cycle
              wait wide (ExceedsMaxQuota)
            a: parked wide
        "#]],
    );
}

#[test]
fn without_the_gate_nobody_starts_in_part() {
    brief(
        "without PartialAdmission
         queue a cpu=7
         job wide cpu=2 count=5 min=2
         cycle",
        &expect![[r#"
            cycle
              wait wide (ExceedsMaxQuota)
            a: parked wide
        "#]],
    );
}
