//! Numbers in a workload's status: never negative, and no part larger than the whole.

use kueue_core::field::{Error, Errors};

use super::super::Update;
use super::super::check::Field;

/// Numbers that are at most `replicas`.
type Parts = &'static [&'static str];

pub fn validate_deployment(update: Update<'_>) -> Errors {
    let numbers = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    let mut errors =
        check(update, &numbers, &["updatedReplicas", "readyReplicas", "availableReplicas"], "readyReplicas");
    check_collisions(update, &mut errors);
    errors
}

pub fn validate_replica_set(update: Update<'_>) -> Errors {
    let numbers = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    check(update, &numbers, &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"], "readyReplicas")
}

pub fn validate_stateful_set(update: Update<'_>) -> Errors {
    let numbers = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    let parts: Parts = &["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    let mut errors = check(update, &numbers, parts, "status.readyReplicas");
    check_collisions(update, &mut errors);
    errors
}

pub fn validate_daemon_set(update: Update<'_>) -> Errors {
    let numbers = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    let mut errors = check(update, &numbers, &[], "");
    check_collisions(update, &mut errors);
    errors
}

fn check(update: Update<'_>, numbers: &[&str], parts: Parts, ready: &str) -> Errors {
    let mut errors = Errors::new();
    let status = Field::root(update.new).child("status");
    for number in numbers {
        status.child(number).not_negative(&mut errors);
    }
    let whole = status.child("replicas").number();
    for part in parts.iter().map(|part| status.child(part)).filter(|part| part.number() > whole) {
        // A number that is not there is 0.
        errors.push(Error::invalid(&part.path, part.number(), "cannot be greater than status.replicas"));
    }
    let available = status.child("availableReplicas");
    if !parts.is_empty() && available.number() > status.child("readyReplicas").number() {
        errors.push(available.invalid(format!("cannot be greater than {ready}")));
    }
    errors
}

/// Collisions of names are only counted up.
fn check_collisions(update: Update<'_>, errors: &mut Errors) {
    let count = |object| Field::root(object).child("status.collisionCount");
    let (new, old) = (count(update.new), count(update.old));
    if old.is_set() && new.number() < old.number() {
        errors.push(Error::invalid(&new.path, new.number(), "cannot be decremented"));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "cases read better without references")]

    use super::super::super::check::lines;
    use super::*;
    use crate::json::{Value, json};

    #[track_caller]
    fn expect(rule: fn(Update<'_>) -> Errors, old: Value, new: Value, expected: &[&str]) {
        let (old, new) = (json!({"status": old}), json!({"status": new}));
        assert_eq!(lines(&rule(Update { new: &new, old: &old })), expected);
    }

    #[test]
    fn a_number_that_is_not_there_is_shown_as_zero() {
        let errors = validate_stateful_set(Update { new: &json!({"status": {"replicas": -1}}), old: &json!({}) });
        let shown = "status.updatedReplicas: Invalid value: 0: cannot be greater than status.replicas";
        assert!(lines(&errors).contains(&shown.to_owned()), "{:?}", lines(&errors));
    }

    #[test]
    fn no_part_is_larger_than_the_whole() {
        expect(
            validate_deployment,
            json!({}),
            json!({"replicas": 1, "availableReplicas": 2}),
            &[
                "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
            ],
        );
        expect(
            validate_stateful_set,
            json!({}),
            json!({"replicas": 1, "availableReplicas": 1}),
            &["status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas"],
        );
        expect(
            validate_daemon_set,
            json!({"collisionCount": 2}),
            json!({"numberReady": -1, "collisionCount": 1}),
            &[
                "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
                "status.collisionCount: Invalid value: 1: cannot be decremented",
            ],
        );
    }
}
