use proptest::prelude::*;

use super::*;

const MINUTE: Duration = Duration::from_seconds(60);

fn at(seconds: i64) -> Time {
    "2026-01-01T00:00:00Z".parse::<Time>().unwrap() + Duration::from_seconds(seconds)
}

fn list(text: &str) -> ResourceList {
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, amount)| (name.to_owned(), amount.parse().unwrap())).collect()
}

fn shown(list: &ResourceList) -> String {
    list.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(" ")
}

fn key(name: &str) -> Key {
    Key { namespace: "ns".into(), name: name.into() }
}

fn open(now: Time) -> Ledger {
    Ledger::new(ResourceList::new(), now)
}

#[test]
fn after_a_half_life_usage_counts_half() {
    let mut ledger = open(at(0));
    ledger.count(&list("cpu=8"), MINUTE, at(60));
    assert_eq!(shown(ledger.consumed()), "cpu=4");
    ledger.count(&list(""), MINUTE, at(120));
    assert_eq!(shown(ledger.consumed()), "cpu=2");
}

#[test]
fn looking_twice_as_often_counts_the_same() {
    let (mut once, mut often) = (open(at(0)), open(at(0)));
    once.count(&list("cpu=8"), MINUTE, at(120));
    for second in 1..=120 {
        often.count(&list("cpu=8"), MINUTE, at(second));
    }
    let cpus = |ledger: &Ledger| ledger.consumed()["cpu"].as_f64();
    assert!((cpus(&once) - cpus(&often)).abs() < 1e-6, "{} and {}", cpus(&once), cpus(&often));
}

#[test]
fn a_clock_that_goes_back_counts_nothing_and_is_not_believed() {
    let mut ledger = open(at(100));
    ledger.count(&list("cpu=8"), MINUTE, at(40));
    assert_eq!((shown(ledger.consumed()).as_str(), ledger.updated()), ("cpu=0", at(100)));
}

#[test]
fn a_penalty_becomes_usage_when_its_workload_runs() {
    let mut ledger = open(at(0));
    ledger.charge(key("one"), list("cpu=2"));
    ledger.charge(key("two"), list("cpu=3"));
    ledger.settle(&key("one"), &list("cpu=8"), MINUTE, at(0));
    assert_eq!((shown(ledger.consumed()).as_str(), shown(ledger.penalty()).as_str()), ("cpu=2", "cpu=3"));
    // Nobody pays twice.
    ledger.settle(&key("one"), &list("cpu=8"), MINUTE, at(0));
    assert_eq!(shown(ledger.consumed()), "cpu=2");
}

#[test]
fn without_a_half_life_a_look_forgets_everything_but_penalties() {
    let mut ledger = Ledger::new(list("cpu=7"), at(0));
    ledger.charge(key("one"), list("cpu=2"));
    ledger.sample(&list("cpu=8"), Duration::ZERO, at(60));
    assert_eq!((shown(ledger.consumed()).as_str(), shown(ledger.penalty()).as_str()), ("", "cpu=2"));
    assert_eq!(shown(&entry_penalty(&list("cpu=2"), MINUTE, Duration::ZERO)), "cpu=0");
}

#[test]
fn what_was_written_down_before_fades_like_the_rest() {
    let mut ledger = Ledger::new(list("cpu=8 gpu=1"), at(0));
    ledger.sample(&list(""), MINUTE, at(60));
    assert_eq!(shown(ledger.consumed()), "cpu=4 gpu=500m");
}

#[test]
fn usage_is_weighted_by_resource_and_divided_by_the_queue_s_weight() {
    let weights = BTreeMap::from([("cpu".to_owned(), 0.5), ("gpu".to_owned(), 10.0)]);
    let usage = |weight| weighted_usage(&list("cpu=4 gpu=1 memory=3"), &list("cpu=2"), weight, &weights).get();
    assert_eq!((usage(1.0), usage(4.0)), (16.0, 4.0));
    assert_eq!((usage(0.0), usage(-1.0)), (f64::INFINITY, f64::INFINITY));
    let nothing = weighted_usage(&list(""), &list(""), 0.0, &weights);
    assert!(nothing > Usage::default(), "who has no weight comes last even with no usage");
}

#[test]
fn no_number_is_not_a_number() {
    let weights = BTreeMap::from([("cpu".to_owned(), f64::INFINITY)]);
    assert!(!weighted_usage(&list("cpu=0"), &list(""), 1.0, &weights).get().is_nan());
}

proptest! {
    #[test]
    fn halving_agrees_with_the_machine_s_power(power in 0.0f64..1100.0) {
        let (ours, theirs) = (half_to_the(power), 0.5f64.powf(power));
        prop_assert!((ours - theirs).abs() <= theirs * 1e-14 + f64::MIN_POSITIVE);
    }

    #[test]
    fn penalties_add_up_whatever_is_charged_and_waived(steps in prop::collection::vec((0u8..4, 0u32..5000), 0..40)) {
        let mut ledger = open(at(0));
        let mut model: BTreeMap<u8, u32> = BTreeMap::new();
        for (workload, milli) in steps {
            let name = key(&workload.to_string());
            if milli % 5 == 0 {
                ledger.waive(&name);
                model.remove(&workload);
            } else {
                ledger.charge(name, list(&format!("cpu={milli}m")));
                model.insert(workload, milli);
            }
            let sum: u32 = model.values().sum();
            let ours = ledger.penalty().get("cpu").map_or(0, Quantity::milli_value);
            prop_assert_eq!(ours, i64::from(sum));
            prop_assert_eq!(ledger.has_penalty(), sum > 0);
        }
    }
}
