//! Whether objects have what is expected of them: the expected keys and list elements, and any others.

use std::collections::BTreeMap;

use serde_json::Value;

/// What objects are held against.
pub(super) struct Pattern<'a> {
    pub(super) matches: &'a Value,
    pub(super) conditions: &'a BTreeMap<String, Option<String>>,
    pub(super) some: Option<&'a Value>,
}

impl Pattern<'_> {
    /// The objects are as expected, or the first difference.
    pub(super) fn check(&self, found: &[Value]) -> Result<(), String> {
        for object in found {
            if let Some(difference) = self.difference(object) {
                return Err(difference);
            }
        }
        match self.some {
            Some(some) if !found.iter().any(|object| difference(some, object).is_none()) => {
                Err(format!("none of {} is like {some}", found.len()))
            }
            _ => Ok(()),
        }
    }

    fn difference(&self, object: &Value) -> Option<String> {
        let by_fields = if self.matches.is_null() { None } else { difference(self.matches, object) };
        by_fields.or_else(|| {
            self.conditions.iter().find_map(|(kind, expected)| {
                let told = condition(object, kind);
                let is_so = match (expected, &told) {
                    (None, told) => told.is_none(),
                    (Some(_), None) => false,
                    (Some(expected), Some(told)) => says(told, expected),
                };
                let told = told.as_deref().unwrap_or("nothing");
                (!is_so).then(|| format!("condition {kind}: expected {expected:?}, found {told:?}"))
            })
        })
    }
}

/// A condition as `STATUS REASON: MESSAGE`.
fn condition(object: &Value, kind: &str) -> Option<String> {
    let found = object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)?;
    let text = |key: &str| found[key].as_str().unwrap_or_default();
    Some(format!("{} {}: {}", text("status"), text("reason"), text("message")))
}

/// Whether a condition says what is expected, and maybe more.
fn says(told: &str, expected: &str) -> bool {
    told.strip_prefix(expected).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']))
}

/// The first thing that is expected and not so, with its path. An expected null means that the key is absent.
fn difference(expected: &Value, actual: &Value) -> Option<String> {
    match (expected, actual) {
        (Value::Object(fields), Value::Object(_)) => fields.iter().find_map(|(key, value)| {
            let found = difference(value, &actual[key.as_str()])?;
            Some(format!(".{key}{found}"))
        }),
        (Value::Array(elements), Value::Array(candidates)) => {
            elements.iter().enumerate().find_map(|(index, element)| {
                let is_there = candidates.iter().any(|candidate| difference(element, candidate).is_none());
                (!is_there).then(|| format!("[{index}]: expected {element} among {actual}"))
            })
        }
        (Value::Object(fields), Value::Null) if fields.is_empty() => None,
        _ => (expected != actual).then(|| format!(": expected {expected}, found {actual}")),
    }
}
