//! JSON merge patch (RFC 7386): objects merge, everything else replaces, null removes.

use crate::json::{Map, Value};

pub fn apply(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(object) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            object.remove(name);
        } else {
            apply(object.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn objects_merge_and_null_removes() {
        let mut target = json!({"a": {"b": 1, "c": 2}, "l": [1], "x": 1});
        apply(&mut target, &json!({"a": {"b": null, "d": {"e": null}}, "l": [2], "x": {"y": 1}}));
        assert_eq!(target, json!({"a": {"c": 2, "d": {}}, "l": [2], "x": {"y": 1}}));
    }
}
