//! Why a workload waits, as the engine explains it when asked.

use expect_test::expect;

use super::story::brief;

#[test]
fn an_explanation_names_the_flavors_tried_and_what_is_missing() {
    brief(
        "flavor f taint=spot
         queue a cohort=x f.cpu=8 g.cpu=4
         queue b cohort=x g.cpu=2
         job runs queue=b cpu=5 tolerates
         cycle
         job waits cpu=2
         job huge cpu=9 prio=1
         cycle
         cycle
         why waits
         why huge
         why runs",
        &expect![[r#"
            cycle
              start runs: cpu in g
            cycle
              wait huge (ExceedsMaxQuota)
            cycle
              wait waits (WaitingForQuota)
            ns/waits in ClusterQueue a waits for something to change
              WaitingForQuota: couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor g, 1 more needed, untolerated taint {spot  NoSchedule <nil>} in flavor f
              a cycle looked at it at 2026-01-01T00:00:00Z
                main: flavor f: NoFit; untolerated taint {spot  NoSchedule <nil>} in flavor f
                main: flavor g: preemptionMode=NoCandidates; 1 cpu too little now
                1 of other ClusterQueues stay: it reclaims nothing
            ns/huge in ClusterQueue a waits for something to change
              ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for cpu in flavor g, previously considered podsets requests (0) + current podset request (9) > maximum capacity (6), untolerated taint {spot  NoSchedule <nil>} in flavor f
              a cycle looked at it at 2026-01-01T00:00:00Z
                main: flavor f: NoFit; untolerated taint {spot  NoSchedule <nil>} in flavor f
                main: flavor g: NoFit; 3 cpu too little even in an empty cluster
            ns/runs in ClusterQueue b holds quota
              QuotaReserved: Quota reserved in ClusterQueue b
            a: parked huge waits
        "#]],
    );
}

#[test]
fn equals_share_one_explanation() {
    brief(
        "queue a cpu=2
         job one cpu=3
         job two cpu=3
         job small cpu=1 prio=-1
         cycle
         why one
         why two
         why small",
        &expect![[r#"
            cycle
              wait one (ExceedsMaxQuota)
            ns/one in ClusterQueue a waits for something to change
              ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (3) > maximum capacity (2)
              a cycle looked at it at 2026-01-01T00:00:00Z
                main: flavor f: NoFit; 1 cpu too little even in an empty cluster
            ns/two in ClusterQueue a waits for something to change
              a cycle looked at an equal workload at 2026-01-01T00:00:00Z
                main: flavor f: NoFit; 1 cpu too little even in an empty cluster
            ns/small in ClusterQueue a is next in line
            a: active small parked one two
        "#]],
    );
}

#[test]
fn a_preemptor_waits_for_its_victims_and_others_stand_behind_it() {
    brief(
        "queue a cpu=4 within=lower
         job low cpu=4
         cycle
         job high cpu=4 prio=2
         job next cpu=4 prio=1
         cycle
         why high
         why next
         why low",
        &expect![[r#"
            cycle
              start low: cpu in f
            cycle
              evict low (InClusterQueue) for high
              wait high (WaitingForPreemptedWorkloads)
            ns/high in ClusterQueue a is next in line
              WaitingForPreemptedWorkloads: couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 4 more needed. Pending the preemption of 1 workload(s)
              a cycle looked at it at 2026-01-01T00:00:00Z
                main: flavor f: preemptionMode=Preempt; 4 cpu too little now
                ns/low has to leave first (InClusterQueue)
            ns/next in ClusterQueue a is in line behind 1, the first is ns/high
            ns/low in ClusterQueue a holds quota
              QuotaReserved: Quota reserved in ClusterQueue a
            a: active high next
        "#]],
    );
}

#[test]
fn those_who_need_not_leave_are_counted_by_why() {
    let told = |story: &str, of: &str| -> Vec<String> {
        let told = super::story::play(&format!("{story}\nwhy {of}"));
        let stays = told.lines().map(str::trim).filter(|line| line.contains("stay: "));
        stays.map(ToOwned::to_owned).collect()
    };
    let full = "queue a cohort=x cpu=4 POLICY
         queue b cohort=x cpu=2
         queue c cohort=x cpu=2
         job mine cpu=2 prio=7
         job his queue=b cpu=4 prio=1
         job hers queue=c cpu=2
         cycle
         job new cpu=3 prio=5
         cycle";
    let with = |policy: &str| told(&full.replace("POLICY", policy), "new");
    assert_eq!(
        with(""),
        [
            "1 of its ClusterQueue stay: it does not preempt its own",
            "2 of other ClusterQueues stay: it reclaims nothing"
        ]
    );
    assert_eq!(
        with("within=lower reclaim=any"),
        [
            "1 of other ClusterQueues stay: those use no more than their own",
            "1 stay: their priority or age protects them",
            "1 stay: it would not be enough if they left, or not be fair"
        ]
    );
    let chosen = "queue a cpu=4 within=lower
         job one cpu=2
         cycle
         advance 1
         job two cpu=2
         cycle
         job new cpu=2 prio=5
         cycle";
    assert_eq!(told(chosen, "new"), ["1 stay: others leave"]);
}

#[test]
fn who_was_overtaken_in_a_cycle_is_told_by_whom() {
    brief(
        "queue a cohort=x cpu=0
         queue b cohort=x cpu=0
         queue c cohort=x cpu=2
         job old queue=a cpu=2
         advance 1
         job young queue=b cpu=2
         cycle
         why young",
        &expect![[r#"
            cycle
              start old: cpu in f
              wait young (WaitingForQuota)
            ns/young in ClusterQueue b is next in line
              WaitingForQuota: Workload no longer fits after processing another workload
              a cycle looked at it at 2026-01-01T00:00:01Z
                main: flavor f: Fit, borrowing from level 1
                ns/old got in its way
            b: active young
        "#]],
    );
}

#[test]
fn a_resource_without_quota_and_a_missing_queue_are_told() {
    brief(
        "queue a f.cpu=4
         job both cpu=1 gpu=1
         job lost queue=nowhere cpu=1
         cycle
         why both
         why lost",
        &expect![[r#"
            cycle
              wait both (NoMatchingFlavor)
            ns/both in ClusterQueue a waits for something to change
              NoMatchingFlavor: couldn't assign flavors to pod set main: resource gpu unavailable in ClusterQueue
              a cycle looked at it at 2026-01-01T00:00:00Z
                main: resource gpu unavailable in ClusterQueue
            ns/lost in no ClusterQueue is not queued
              Misconfigured: LocalQueue nowhere doesn't exist
            a: parked both
        "#]],
    );
}
