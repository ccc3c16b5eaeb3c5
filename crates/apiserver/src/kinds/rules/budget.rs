//! PodDisruptionBudgets: how many pods may be missing.

use kueue_core::field::Errors;

use super::check::Field;
use super::{Rules, Update};
use crate::json::Value;

pub static RULES: Rules = Rules { validate, validate_status, ..Rules::STRICT };

fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    let (least, most) = (spec.child("minAvailable"), spec.child("maxUnavailable"));
    if least.is_set() && most.is_set() {
        errors.push(spec.invalid("minAvailable and maxUnavailable cannot be both set"));
    }
    for share in [least, most].iter().filter(|share| share.is_set()) {
        share.number_or_percent(&mut errors);
        share.at_most_all(&mut errors);
    }
    spec.child("selector").label_selector(&mut errors);
    spec.child("unhealthyPodEvictionPolicy").one_of(&["AlwaysAllow", "IfHealthyBudget"], &mut errors);
    errors
}

fn validate_status(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    let status = Field::root(update.new).child("status");
    for number in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
        status.child(number).not_negative(&mut errors);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::super::check::lines;
    use super::*;
    use crate::json::json;

    #[test]
    fn a_budget_has_one_bound() {
        let say = |spec: Value| lines(&validate(&json!({"spec": spec})));
        assert_eq!(say(json!({"minAvailable": 1})), [""; 0]);
        assert!(say(json!({"minAvailable": 1, "maxUnavailable": 1}))[0].ends_with("cannot be both set"));
        assert_eq!(
            say(json!({"minAvailable": "101%"})),
            ["spec.minAvailable: Invalid value: \"101%\": must not be greater than 100%"]
        );
        assert_eq!(
            say(json!({"unhealthyPodEvictionPolicy": "X"})),
            [
                "spec.unhealthyPodEvictionPolicy: Unsupported value: \"X\": supported values: \"AlwaysAllow\", \"IfHealthyBudget\""
            ]
        );
    }
}
