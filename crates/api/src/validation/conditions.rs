//! Rules for conditions, which are the same for every kind.

use std::collections::BTreeSet;

use kueue_core::field::{Error, Errors, Path};
use kueue_core::label;

use crate::meta::{Condition, ConditionStatus};

const REASON_BYTES_MAX: usize = 1024;
const MESSAGE_BYTES_MAX: usize = 32 * 1024;

pub(super) fn validate_conditions(conditions: &[Condition], at: &Path) -> Errors {
    let mut errors = Errors::new();
    let mut seen = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let at = at.index(index);
        if !seen.insert(&condition.r#type) {
            errors.push(Error::duplicate(&at.child("type"), condition.r#type.as_str()));
        }
        errors.extend(validate_condition(condition, &at));
    }
    errors
}

fn validate_condition(condition: &Condition, at: &Path) -> Errors {
    let mut errors = label::validate_key(&condition.r#type, &at.child("type"));
    if let ConditionStatus::Other(status) = &condition.status {
        errors.push(Error::not_supported(&at.child("status"), status.as_str(), &["False", "True", "Unknown"]));
    }
    if condition.observed_generation < 0 {
        let why = "must be greater than or equal to zero";
        errors.push(Error::invalid(&at.child("observedGeneration"), condition.observed_generation, why));
    }
    if condition.last_transition_time.is_zero() {
        errors.push(Error::required(&at.child("lastTransitionTime"), ""));
    }
    errors.extend(validate_reason(&condition.reason, &at.child("reason")));
    if condition.message.len() > MESSAGE_BYTES_MAX {
        errors.push(Error::too_long(&at.child("message"), MESSAGE_BYTES_MAX));
    }
    errors
}

fn validate_reason(reason: &str, at: &Path) -> Errors {
    if reason.is_empty() {
        return vec![Error::required(at, "")];
    }
    let mut errors = Errors::new();
    if !is_reason(reason) {
        let rule = "a condition reason must start with alphabetic character, optionally followed by a string of \
                    alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
        let examples = "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', ";
        let pattern = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
        errors.push(Error::invalid(
            at,
            reason,
            format!("{rule} (e.g. {examples}regex used for validation is '{pattern}')"),
        ));
    }
    if reason.len() > REASON_BYTES_MAX {
        errors.push(Error::too_long(at, REASON_BYTES_MAX));
    }
    errors
}

fn is_reason(reason: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    reason.starts_with(|c: char| c.is_ascii_alphabetic())
        && reason.ends_with(is_word)
        && reason.chars().all(|c| is_word(c) || c == ',' || c == ':')
}
