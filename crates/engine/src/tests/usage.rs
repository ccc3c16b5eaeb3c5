//! Admission fair sharing: who goes first by what LocalQueues used, who pays, and when it is counted.

use expect_test::expect;
use kueue_core::duration::Duration;
use kueue_core::time::Time;

use super::story::{check, play};
use crate::*;

/// Who was given quota, in order.
fn admitted(story: &str) -> String {
    let told = play(story);
    let admitted = told.lines().filter_map(|line| line.trim().split_once(" Admitted "));
    admitted.map(|(job, _)| job).collect::<Vec<_>>().join(" ")
}

const TWO_QUEUES: &str = "usage half=60 every=60
    queue a cpu=100 by-usage
    local idle queue=a
    local busy queue=a used=8";

#[test]
fn the_local_queue_that_used_less_goes_first_whatever_the_priority() {
    let jobs = "
        job high queue=busy cpu=1 prio=9
        job low queue=idle cpu=1
        cycle
        cycle";
    assert_eq!(admitted(&format!("{TWO_QUEUES}{jobs}")), "low high");
    assert_eq!(admitted(&format!("without AdmissionFairSharing\n{TWO_QUEUES}{jobs}")), "high low");
    assert_eq!(admitted(&format!("{}{jobs}", TWO_QUEUES.replace(" by-usage", ""))), "high low");
}

#[test]
fn weights_divide_usage_and_who_has_none_comes_last() {
    let jobs = "
        job four queue=four cpu=1
        job none queue=none cpu=1
        job half queue=half cpu=1
        cycle
        cycle
        cycle";
    let queues = "usage half=60 every=60
        queue a cpu=100 by-usage
        local four queue=a weight=4 used=8
        local half queue=a weight=0.5 used=2
        local none queue=a weight=0";
    assert_eq!(admitted(&format!("{queues}{jobs}")), "four half none");
}

#[test]
fn usage_that_settled_counts_after_the_next_one_was_served() {
    let story = "usage half=60 every=60
        queue a cpu=100 by-usage
        local one queue=a
        local two queue=a
        job one-1 queue=one cpu=1
        job one-2 queue=one cpu=1
        job one-3 queue=one cpu=1
        job two-1 queue=two cpu=1
        cycle
        cycle
        cycle
        cycle";
    assert_eq!(admitted(story), "one-1 one-2 two-1 one-3");
}

#[test]
fn a_penalty_that_is_not_settled_counts_at_once() {
    check(
        "usage half=60 every=60
         queue a cpu=100 by-usage checks=slow
         local one queue=a
         local two queue=a
         job one-1 queue=one cpu=4
         job one-2 queue=one cpu=4
         job two-1 queue=two cpu=1
         cycle
         used one
         cycle
         check one-1 slow Ready
         used one",
        &expect![[r#"
            cycle
              one-1 QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              one used 0 and owes 2
            cycle
              two-1 QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              one-1 Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              one used 2 and owes 0
            a: active one-2
        "#]],
    );
}

#[test]
fn nobody_owes_for_a_workload_that_is_gone_done_moved_or_switched_off() {
    let start = "usage half=60 every=60
        queue a cpu=100 by-usage checks=slow
        local one queue=a
        local two queue=a
        job job queue=one cpu=4
        cycle
        used one";
    for end in ["delete job", "finish job", "move job to=two", "off job\nstopped job"] {
        let told = play(&format!("{start}\n{end}\nused one"));
        assert!(told.contains("one used 0 and owes 2\n"), "{told}");
        assert!(told.contains("one used 0 and owes 0\n"), "{end}: {told}");
    }
}

#[test]
fn nobody_owes_for_a_reservation_that_could_not_be_written() {
    let told = play(
        "usage half=60 every=60
         queue a cpu=100 by-usage checks=slow
         job job cpu=4
         cycle
         used a
         lost job
         used a
         cycle
         used a",
    );
    let used: Vec<&str> = told.lines().filter_map(|line| line.trim().strip_prefix("a used ")).collect();
    assert_eq!(used, ["0 and owes 2", "0 and owes 0", "0 and owes 2"], "{told}");
}

#[test]
fn who_is_evicted_before_it_ran_still_owes() {
    let told = play(
        "usage half=60 every=60
         queue a cpu=100 by-usage checks=slow
         job job cpu=4
         cycle
         check job slow Retry after=60
         stopped job
         used a",
    );
    assert!(told.contains("a used 0 and owes 2\n"), "{told}");
}

#[test]
fn a_workload_that_is_switched_off_while_it_holds_quota_still_owes() {
    let told = play(
        "usage half=60 every=60
         queue a cpu=100 by-usage checks=slow
         job job cpu=4
         cycle
         off job
         used a",
    );
    assert!(told.contains("a used 0 and owes 2\n"), "{told}");
}

#[test]
fn what_runs_is_counted_and_what_ran_fades() {
    check(
        "usage half=60 every=60
         queue a cpu=100 by-usage
         sample
         job job cpu=8
         cycle
         advance 30
         sample
         used a
         advance 30
         sample
         used a
         finish job
         advance 60
         sample
         used a",
        &expect![[r#"
            cycle
              job QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              job Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              a used 4 and owes 0
              a used 6 and owes 0
              a used 3 and owes 0
        "#]],
    );
}

#[test]
fn even_who_waits_for_its_victims_lets_a_local_queue_that_used_less_go_first() {
    let story = |usage: &str| {
        format!(
            "{usage}
             queue a cpu=10 within=lower by-usage
             local one queue=a
             local two queue=a
             job old queue=two cpu=10
             cycle
             job urgent queue=one cpu=10 prio=5
             cycle
             stopped old
             job small queue=idle cpu=1
             local idle queue=a
             sample
             cycle"
        )
    };
    assert_eq!(admitted(&story("")), "old urgent");
    // The one who preempts used something by now, the idle one nothing.
    let spent = story("usage half=60 every=60").replace("local one queue=a", "local one queue=a used=1");
    assert_eq!(admitted(&spent), "old small");
}

#[test]
fn those_of_the_local_queue_that_used_most_are_preempted_first() {
    let story = |usage: &str| {
        play(&format!(
            "{usage}
             queue a cpu=10 within=lower by-usage
             local modest queue=a used=1
             local greedy queue=a used=9
             job low queue=modest cpu=5
             cycle
             job middle queue=greedy cpu=5 prio=1
             cycle
             job urgent cpu=5 prio=5
             cycle"
        ))
    };
    assert!(story("usage half=60 every=60").contains("middle Preempted"));
    assert!(story("").contains("low Preempted"));
}

fn time(seconds: i64) -> Time {
    "2026-01-01T00:00:00Z".parse::<Time>().unwrap() + Duration::from_seconds(seconds)
}

/// An engine that samples by itself, with one LocalQueue that used something.
fn sampling() -> Engine {
    let mut engine = Engine::new(Settings {
        admission_fair_sharing: Some(AdmissionFairSharing {
            half_life: Duration::from_seconds(60),
            sampling_interval: Duration::from_seconds(60),
            resource_weights: std::collections::BTreeMap::new(),
        }),
        ..Settings::default()
    });
    engine.apply(Change::Queue(Box::new(QueueSpec { name: "a".into(), ..QueueSpec::default() })), time(0));
    engine.apply(
        Change::LocalQueue(LocalQueueSpec {
            namespace: "ns".into(),
            name: "l".into(),
            queue: "a".into(),
            weight: 1.0,
            consumed: Some([("cpu".to_owned(), "4".parse().unwrap())].into()),
            ..LocalQueueSpec::default()
        }),
        time(0),
    );
    engine
}

/// What is to be written about the LocalQueue.
fn written(effects: &[Effect]) -> Vec<String> {
    let consumed = effects.iter().filter_map(|effect| match effect {
        Effect::Consumed { local_queue, consumed, at } => Some(format!("{local_queue} {} {at}", consumed["cpu"])),
        _ => None,
    });
    consumed.collect()
}

#[test]
fn usage_is_counted_by_the_clock_and_written_when_it_changed() {
    let mut engine = sampling();
    assert_eq!(written(&engine.settle(time(0))), [""; 0], "the status says it already");
    assert_eq!(engine.next_timer(), Some(time(60)));
    assert_eq!(written(&engine.settle(time(59))), [""; 0]);
    assert_eq!(written(&engine.settle(time(60))), ["ns/l 2 2026-01-01T00:01:00Z"]);
    assert_eq!(engine.next_timer(), Some(time(120)));
    assert_eq!(written(&engine.settle(time(60))), [""; 0]);
}

#[test]
fn an_engine_whose_owner_samples_has_no_timer_for_that() {
    let mut engine = Engine::new(Settings { wake: WakePolicy::Batched, ..sampling().settings().clone() });
    let spec = LocalQueueSpec { namespace: "ns".into(), name: "l".into(), queue: "a".into(), ..Default::default() };
    engine.apply(Change::LocalQueue(spec), time(0));
    assert!(engine.ledger("ns", "l").is_some());
    assert_eq!(engine.next_timer(), None);
}

#[test]
fn what_comes_back_from_the_status_is_not_counted_again() {
    let mut engine = sampling();
    engine.settle(time(60));
    let echo = LocalQueueSpec {
        namespace: "ns".into(),
        name: "l".into(),
        queue: "a".into(),
        weight: 1.0,
        consumed: Some([("cpu".to_owned(), "2".parse().unwrap())].into()),
        ..LocalQueueSpec::default()
    };
    engine.apply(Change::LocalQueue(echo), time(60));
    assert_eq!(written(&engine.settle(time(120))), ["ns/l 1 2026-01-01T00:02:00Z"]);
}

#[test]
fn a_local_queue_that_goes_takes_its_timer_and_its_past_along() {
    let mut engine = sampling();
    engine.apply(Change::LocalQueueGone { namespace: "ns".into(), name: "l".into() }, time(1));
    assert!(engine.ledger("ns", "l").is_none());
    assert_eq!(engine.next_timer(), None);
}
