//! Lists of validation errors as the corpus records them.

use kueue_core::field::Error;
use serde_json::{Value, json};

use crate::compare::Rules;
use crate::corpus::Failure;

/// What of an error a test looks at, beside its type and field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compared {
    Nothing,
    Detail,
    Value,
    Everything,
}

/// Compares in order; `expected` is a list, or an aggregate that holds one.
pub(super) fn same_errors(expected: &Value, got: &[Error], compared: Compared) -> Result<(), Failure> {
    same_recorded(expected, got, &[], compared)
}

/// The same where some of the errors are recorded ones that follow ours.
pub(super) fn same_recorded(
    expected: &Value,
    got: &[Error],
    added: &[Value],
    compared: Compared,
) -> Result<(), Failure> {
    let listed = if expected["errors"].is_array() { &expected["errors"] } else { expected };
    let none = Vec::new();
    let expected: Vec<Value> = listed.as_array().unwrap_or(&none).iter().map(|error| part(error, compared)).collect();
    let added = added.iter().map(|error| part(error, compared));
    let got: Vec<Value> = got.iter().map(|error| part(&recorded(error), compared)).chain(added).collect();
    Rules::default().same(&Value::from(expected), &Value::from(got))
}

fn recorded(error: &Error) -> Value {
    json!({
        "type": error.kind.reason(), "field": error.field.to_string(), "detail": error.detail, "badValue": error.value,
    })
}

fn part(error: &Value, compared: Compared) -> Value {
    let mut part = json!({"type": error["type"], "field": error["field"]});
    if matches!(compared, Compared::Detail | Compared::Everything) {
        part["detail"] = error["detail"].clone();
    }
    if matches!(compared, Compared::Value | Compared::Everything) {
        let is_omitted = error["badValue"]["$type"] == "field.OmitValueType" || error["badValue"] == "<value omitted>";
        part["badValue"] = if is_omitted { Value::Null } else { error["badValue"].clone() };
    }
    part
}
