//! Whether an object has what is expected of it: the expected keys and list elements, and any others.

use serde_json::Value;

/// All objects have what is expected, or the first difference.
pub(super) fn all_match(expected: &Value, found: &[Value]) -> Result<(), String> {
    found.iter().find_map(|object| difference(expected, object)).map_or(Ok(()), Err)
}

/// The first thing that is expected and not so, with its path. An expected null means that the key is absent.
pub(super) fn difference(expected: &Value, actual: &Value) -> Option<String> {
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
