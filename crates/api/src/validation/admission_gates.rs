//! Rules for the annotation that holds a job or workload back until others have removed their gates from it.

use std::collections::{BTreeMap, BTreeSet};

use kueue_core::field::{Error, Errors, Path};
use kueue_core::{csv, name};

use crate::kueue::names::annotation::ADMISSION_GATED_BY;

/// As long as the name of a Job's manager, whose grammar this is.
const GATE_BYTES_MAX: usize = 63;

/// Every mistake in the annotation by itself.
pub fn validate(annotations: &BTreeMap<String, String>) -> Errors {
    let value = value(annotations);
    let mut errors = Errors::new();
    let mut seen = BTreeSet::new();
    for gate in csv::parse(value) {
        if gate.is_empty() {
            errors.push(Error::invalid(&path(), value, "cannot contain empty gate names"));
        } else if !seen.insert(gate) {
            errors.push(Error::invalid(&path(), value, format!("duplicate gate name: {gate}")));
        } else {
            errors.extend(name::validate_domain_prefixed_path(gate, &path()));
            if gate.len() > GATE_BYTES_MAX {
                errors.push(Error::too_long(&path(), GATE_BYTES_MAX));
            }
        }
    }
    errors
}

/// Every mistake in changing the annotation: gates can only go. Whether the new value is right by itself is another
/// question.
pub fn validate_change(new: &BTreeMap<String, String>, old: &BTreeMap<String, String>) -> Option<Error> {
    let (new, old) = (value(new), value(old));
    if old.is_empty() {
        return (!new.is_empty()).then(|| Error::forbidden(&path(), "cannot add admission gate after creation"));
    }
    let held = csv::parse(old);
    let adds = csv::parse(new).iter().any(|gate| !held.contains(gate));
    adds.then(|| Error::forbidden(&path(), "can only remove gates, not add new ones"))
}

fn path() -> Path {
    Path::new("metadata").child("annotations").key(ADMISSION_GATED_BY)
}

fn value(annotations: &BTreeMap<String, String>) -> &str {
    annotations.get(ADMISSION_GATED_BY).map_or("", String::as_str)
}
