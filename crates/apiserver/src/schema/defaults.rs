//! Fills in the defaults of a schema, where the parent exists.

use super::{Form, Schema};
use crate::json::{Map, Value};

/// Sets every default that is missing. An explicit `null` counts as missing where the schema does not allow it, and is
/// dropped when there is no default either. What is shared with `old`, an object that has them all, is passed over.
pub fn apply(schema: &Schema, value: &mut Value, old: Option<&Value>) {
    if let Some(completed) = completed(schema, value, old) {
        *value = completed;
    }
}

/// The value with its defaults; nothing when it has them all.
fn completed(schema: &Schema, value: &Value, old: Option<&Value>) -> Option<Value> {
    if old.is_some_and(|old| value.is_same_as(old)) {
        return None;
    }
    match value {
        Value::Object(object) => completed_object(schema, object, old).map(Value::Object),
        Value::Array(items) => {
            let element = schema.element()?;
            let mut changed = None;
            for (index, item) in items.iter().enumerate() {
                if let Some(item) = settled(element, item, old.and_then(|old| old.get(index))) {
                    changed.get_or_insert_with(|| items.clone())[index] = item;
                }
            }
            changed.map(Value::Array)
        }
        _ => None,
    }
}

/// What a value becomes where it stands; nothing when it stays.
fn settled(schema: &Schema, value: &Value, old: Option<&Value>) -> Option<Value> {
    let default = schema.default.as_ref().filter(|_| value.is_null() && !schema.is_nullable);
    match default {
        Some(default) => Some(whole_default(schema, default)),
        None => completed(schema, value, old),
    }
}

/// A default with the defaults of what is inside it.
fn whole_default(schema: &Schema, default: &Value) -> Value {
    completed(schema, default, None).unwrap_or_else(|| default.clone())
}

fn completed_object(schema: &Schema, object: &Map, old: Option<&Value>) -> Option<Map> {
    let mut changed = None;
    for (name, inner) in object {
        let Some(field) = schema.field(name) else { continue };
        if inner.is_null() && !field.is_nullable && field.default.is_none() && schema.declared(name).is_some() {
            changed.get_or_insert_with(|| object.clone()).remove(name);
        } else if let Some(inner) = settled(field, inner, old.and_then(|old| old.get(name))) {
            changed.get_or_insert_with(|| object.clone()).insert(name, inner);
        }
    }
    if let Form::Struct { fields, .. } = &*schema.form {
        for (name, field) in fields.iter() {
            if let Some(default) = &field.default
                && !object.contains_key(name)
            {
                changed.get_or_insert_with(|| object.clone()).insert(&**name, whole_default(field, default));
            }
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::super::load::custom;
    use super::*;
    use crate::json::json;

    #[test]
    fn defaults_appear_inside_what_exists() {
        let schema = custom(&json!({"type": "object", "properties": {
            "a": {"type": "object", "default": {}, "properties": {"n": {"type": "integer", "default": 1}}},
            "b": {"type": "object", "properties": {"n": {"type": "integer", "default": 2}}},
            "l": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}},
            "nil": {"type": "string", "nullable": true, "default": "x"},
            "nonil": {"type": "string", "default": "y"},
            "gone": {"type": "string"},
        }}));
        let mut value = json!({"l": [{}], "nil": null, "nonil": null, "gone": null});
        apply(&schema, &mut value, None);
        assert_eq!(value, json!({"a": {"n": 1}, "l": [{"n": 3}], "nil": null, "nonil": "y"}));
    }
}
