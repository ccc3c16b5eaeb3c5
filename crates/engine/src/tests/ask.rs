//! Questions about what would be, and that asking changes nothing.

use expect_test::expect;

use super::story::{check, play};

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
