//! Questions about what would be, and that asking changes nothing.

use expect_test::expect;
use kueue_core::amount::Amount;
use kueue_core::duration::Duration;
use kueue_core::gates::{Gate, Gates};
use kueue_core::time::Time;

use super::story::{check, play};
use crate::*;

const CROWDED: &str = "queue a cohort=x cpu=4 within=lower reclaim=any
     queue b cohort=x cpu=4
     job low queue=a cpu=2
     job mid queue=a cpu=2 prio=1
     job guest queue=b cpu=4
     cycle
     cycle";

#[test]
fn a_question_names_the_victims_and_their_rules() {
    check(
        &format!(
            "{CROWDED}
             job high queue=a cpu=3 prio=9
             would high
             job huge queue=a cpu=9 prio=9
             would huge"
        ),
        &expect![[r#"
            cycle
              mid QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              mid Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              guest QuotaReserved Quota reserved in ClusterQueue b, wait time since queued was 0s
              guest Admitted Admitted by ClusterQueue b, wait time since reservation was 0s
            cycle
              low QuotaReserved Quota reserved in ClusterQueue a, wait time since queued was 0s
              low Admitted Admitted by ClusterQueue a, wait time since reservation was 0s
              high would get Preempt at height 0 ["insufficient unused quota for cpu in flavor f, 3 more needed"]
                without low: InClusterQueue
                without mid: InClusterQueue
              huge would get NoFit at height 0 ["insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (9) > maximum capacity (8)"]
            a: active high huge
        "#]],
    );
}

#[test]
fn asking_changes_nothing() {
    let rest = "job high queue=a cpu=3 prio=9";
    let asked = play(&format!("{CROWDED}\n{rest}\nwould high\nwould high\ncycle"));
    let unasked = play(&format!("{CROWDED}\n{rest}\ncycle"));
    let without_answers: String = asked
        .lines()
        .filter(|line| !line.contains(" would get ") && !line.contains("  without "))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(without_answers, unasked);
}

#[test]
fn who_borrows_less_has_its_turn_first_and_who_waited_longer_among_equals() {
    let gates = Gates::default().with(Gate::PrioritizePreemptorWorkloads, true);
    let mut engine = Engine::new(Settings { gates, ..Settings::default() });
    let now: Time = "2026-01-01T00:00:00Z".parse().unwrap();
    for (name, later) in [("old", 0), ("new", 1)] {
        let created = now + Duration::from_seconds(later);
        let spec =
            WorkloadSpec { namespace: "ns".into(), name: name.into(), uid: name.into(), created, ..Default::default() };
        engine.apply(Change::Workload(Box::new(spec)), now);
    }
    let cpu = || ("f".into(), "cpu".into());
    let turn = |name: &str, ratio: f64, is_preemptor| FairTurn {
        workload: Key { namespace: "ns".into(), name: name.into() },
        is_preemptor,
        needs: vec![("f".into(), "cpu".into(), Amount::new(1))],
        weight: 1.0,
        ratio,
        borrowed: if ratio > 0.0 { vec![cpu()] } else { Vec::new() },
    };
    let mut is_new_first = |new: FairTurn, old: FairTurn| engine.has_turn_before(&new, &old);
    assert_eq!(is_new_first(turn("new", 0.0, false), turn("old", 0.0, false)), Some(false));
    assert_eq!(is_new_first(turn("new", 0.0, false), turn("old", 5.0, false)), Some(true));
    assert_eq!(is_new_first(turn("new", 4.0, false), turn("old", 5.0, false)), Some(true));
    assert_eq!(is_new_first(turn("new", 5.0, true), turn("old", 0.0, false)), Some(true), "it waits for its victims");
    assert_eq!(is_new_first(turn("nobody", 0.0, false), turn("old", 0.0, false)), None);
}
