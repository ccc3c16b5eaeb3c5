//! Fills in the defaults of a schema, where the parent exists.

use std::sync::Arc;

use serde_json::Value;

use super::{Form, Schema};

/// Sets every default that is missing. An explicit `null` counts as missing where the schema does not allow it, and is
/// dropped when there is no default either.
pub fn apply(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(object) => {
            if object.values().any(Value::is_null) {
                object.retain(|name, inner| {
                    let is_unset = |(_, field): (_, &Arc<Schema>)| !field.is_nullable && field.default.is_none();
                    !(inner.is_null() && schema.declared(name).is_some_and(is_unset))
                });
            }
            if let Form::Struct { fields, .. } = &*schema.form {
                for (name, field) in fields {
                    if let Some(default) = &field.default
                        && !object.contains_key(&**name)
                    {
                        object.insert(name.to_string(), default.clone());
                    }
                }
            }
            for (name, inner) in object.iter_mut() {
                if let Some(field) = schema.field(name) {
                    if inner.is_null()
                        && !field.is_nullable
                        && let Some(default) = &field.default
                    {
                        *inner = default.clone();
                    }
                    apply(field, inner);
                }
            }
        }
        Value::Array(items) => {
            if let Some(element) = schema.element() {
                for item in items {
                    if item.is_null()
                        && !element.is_nullable
                        && let Some(default) = &element.default
                    {
                        *item = default.clone();
                    }
                    apply(element, item);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::load::custom;
    use super::*;

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
        apply(&schema, &mut value);
        assert_eq!(value, json!({"a": {"n": 1}, "l": [{"n": 3}], "nil": null, "nonil": "y"}));
    }
}
