//! Leases: who leads, and until when.

use kueue_core::field::{Error, Errors};
use kueue_core::label;

use super::Rules;
use super::check::Field;
use crate::json::Value;

pub static RULES: Rules =
    Rules { allows_unconditional_update: false, creates_on_update: true, validate, ..Rules::PLAIN };

fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    let duration = spec.child("leaseDurationSeconds");
    if duration.is_set() && duration.number() <= 0 {
        errors.push(duration.invalid("must be greater than 0"));
    }
    spec.child("leaseTransitions").not_negative(&mut errors);
    let strategy = spec.child("strategy");
    if strategy.is_set() {
        // The place that is told has the field twice, as a real server's.
        let shown = Field { value: strategy.value, path: strategy.path.child("strategy") };
        if strategy.text().contains('/') {
            shown.obeys(label::qualified_name, &mut errors);
        } else {
            shown.one_of(&["OldestEmulationVersion"], &mut errors);
        }
    }
    let holder = spec.child("preferredHolder");
    if !holder.is_empty() && strategy.is_empty() {
        errors.push(Error::forbidden(&holder.path, "may only be specified if `strategy` is defined"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::super::check::lines;
    use super::*;
    use crate::json::json;

    #[test]
    fn a_lease_lasts_for_a_while() {
        let say = |spec: Value| lines(&validate(&json!({"spec": spec})));
        assert_eq!(say(json!({"leaseDurationSeconds": 15, "leaseTransitions": 0})), [""; 0]);
        assert_eq!(
            say(json!({"leaseDurationSeconds": 0})),
            ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"]
        );
        assert_eq!(
            say(json!({"leaseTransitions": -1})),
            ["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"]
        );
        assert_eq!(
            say(json!({"preferredHolder": "a"})),
            ["spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"]
        );
    }
}
