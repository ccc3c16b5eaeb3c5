//! Whether two JSON values are the same, and a short account of where they are not.

use serde_json::Value;

use crate::corpus::Failure;

/// What a comparison overlooks.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Null, missing, `[]` and `{}` are all the same.
    pub equate_empty: bool,
    /// Field names that are not compared, wherever they occur.
    pub ignored_fields: Vec<&'static str>,
}

impl Rules {
    /// Compares as the diff library does when told to equate empty and missing.
    pub fn equate_empty() -> Self {
        Self { equate_empty: true, ..Self::default() }
    }

    #[must_use]
    pub fn ignoring(mut self, fields: &[&'static str]) -> Self {
        self.ignored_fields.extend(fields);
        self
    }

    /// Fails with the first few places where the two differ.
    pub fn same(&self, expected: &Value, actual: &Value) -> Result<(), Failure> {
        let mut differences = Vec::new();
        self.walk("", expected, actual, &mut differences);
        if differences.is_empty() { Ok(()) } else { Err(Failure(shorten(&differences))) }
    }

    fn walk(&self, path: &str, expected: &Value, actual: &Value, out: &mut Vec<String>) {
        if self.equate_empty && is_empty(expected) && is_empty(actual) {
            return;
        }
        match (expected, actual) {
            (Value::Object(want), Value::Object(got)) => {
                let mut keys: Vec<&String> = want.keys().chain(got.keys()).collect();
                keys.sort();
                keys.dedup();
                for key in keys.into_iter().filter(|key| !self.ignored_fields.contains(&key.as_str())) {
                    let missing = &Value::Null;
                    let (want, got) = (want.get(key).unwrap_or(missing), got.get(key).unwrap_or(missing));
                    self.walk(&format!("{path}.{key}"), want, got, out);
                }
            }
            (Value::Array(want), Value::Array(got)) if want.len() == got.len() => {
                for (index, (want, got)) in want.iter().zip(got).enumerate() {
                    self.walk(&format!("{path}[{index}]"), want, got, out);
                }
            }
            (want, got) if want == got => {}
            (want, got) => out.push(format!("{path}: expected {want}, got {got}")),
        }
    }
}

/// Exact comparison of anything that prints itself.
pub fn equal<T: PartialEq + std::fmt::Debug>(expected: &T, actual: &T) -> Result<(), Failure> {
    if expected == actual { Ok(()) } else { Err(Failure(format!("expected {expected:?}, got {actual:?}"))) }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// The first three differences: enough to see the rule that is wrong.
fn shorten(differences: &[String]) -> String {
    let shown: Vec<&str> = differences.iter().take(3).map(String::as_str).collect();
    match differences.len() - shown.len() {
        0 => shown.join("; "),
        more => format!("{}; and {more} more", shown.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_name_the_path_and_both_values() {
        let failure = Rules::default().same(&json!({"a": [{"b": 1}]}), &json!({"a": [{"b": 2}]})).unwrap_err();
        assert_eq!(failure.0, ".a[0].b: expected 1, got 2");
    }

    #[test]
    fn empty_and_missing_are_equal_only_when_told() {
        let (want, got) = (json!({"a": []}), json!({}));
        assert!(Rules::default().same(&want, &got).is_err());
        assert!(Rules::equate_empty().same(&want, &got).is_ok());
    }

    #[test]
    fn ignored_fields_are_overlooked_at_any_depth() {
        let rules = Rules::default().ignoring(&["detail"]);
        assert!(rules.same(&json!([{"detail": 1, "x": 1}]), &json!([{"x": 1}])).is_ok());
        assert!(rules.same(&json!([{"x": 1}]), &json!([{"x": 2}])).is_err());
    }
}
