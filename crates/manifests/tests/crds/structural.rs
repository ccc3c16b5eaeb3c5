//! The part of a structural schema that is not CEL: types, limits, patterns, list keys, and no unknown field.

use kube_cel::cel::{Context, Program, Value as CelValue};
use serde_json::{Map, Value};

/// Everything in `value` that `schema` does not allow, as `field: reason`.
pub fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check("", schema, value, &mut found);
    found
}

fn check(path: &str, schema: &Value, value: &Value, found: &mut Vec<String>) {
    let mut report = |problem: String| found.push(format!("{path}: {problem}"));
    if !has_type(schema, value) {
        return report(format!("is not of type {}", schema.get("type").unwrap_or(&"integer or string".into())));
    }
    if let Some(allowed) = schema["enum"].as_array().filter(|allowed| !allowed.contains(value)) {
        report(format!("is none of {}", Value::from(allowed.clone())));
    }
    let limit = |keyword: &str| schema[keyword].as_u64().map(|limit| usize::try_from(limit).expect("a small limit"));
    match value {
        Value::String(text) => {
            let length = text.chars().count();
            if limit("minLength").is_some_and(|min| length < min) || limit("maxLength").is_some_and(|max| length > max)
            {
                report(format!("has {length} characters"));
            }
            if schema["pattern"].as_str().is_some_and(|pattern| !matches(pattern, text)) {
                report("does not match the pattern".to_owned());
            }
        }
        Value::Number(number) => {
            if schema["minimum"].as_i64().is_some_and(|min| number.as_i64().is_some_and(|number| number < min)) {
                report(format!("{number} is too small"));
            }
        }
        Value::Array(items) => {
            if limit("minItems").is_some_and(|min| items.len() < min)
                || limit("maxItems").is_some_and(|max| items.len() > max)
            {
                report(format!("has {} items", items.len()));
            }
            if let Some(key) = repeated_key(schema, items) {
                report(format!("has {key} twice"));
            }
            for (index, item) in items.iter().enumerate() {
                check(&format!("{path}[{index}]"), &schema["items"], item, found);
            }
        }
        Value::Object(fields) => {
            if limit("maxProperties").is_some_and(|max| fields.len() > max) {
                report(format!("has {} entries", fields.len()));
            }
            check_fields(path, schema, fields, found);
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn check_fields(path: &str, schema: &Value, fields: &Map<String, Value>, found: &mut Vec<String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            found.push(format!("{}: is required", below(name)));
        }
    }
    for (name, value) in fields {
        if let Some(schema) = schema["properties"].get(name).or_else(|| schema.get("additionalProperties")) {
            // Metadata is the API server's own affair.
            if !(path.is_empty() && name == "metadata") {
                check(&below(name), schema, value, found);
            }
        } else if schema["x-kubernetes-preserve-unknown-fields"] != true {
            found.push(format!("{}: is not known", below(name)));
        }
    }
}

fn has_type(schema: &Value, value: &Value) -> bool {
    if schema["x-kubernetes-int-or-string"] == true {
        return value.is_i64() || value.is_string();
    }
    match schema["type"].as_str().expect("a schema has a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("type {other} is not used in our schemas"),
    }
}

/// The key that two elements of a map or set list have in common.
fn repeated_key(schema: &Value, items: &[Value]) -> Option<Value> {
    let key = |item: &Value| match schema["x-kubernetes-list-type"].as_str() {
        Some("map") => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array().expect("a map list has keys");
            Some(keys.iter().map(|key| item[key.as_str().expect("a key is a name")].clone()).collect())
        }
        Some("set") => Some(item.clone()),
        _ => None,
    };
    let keys: Vec<Value> = items.iter().filter_map(key).collect();
    keys.iter().enumerate().find(|(index, key)| keys[..*index].contains(key)).map(|(_, key)| key.clone())
}

/// Whether a regular expression matches, asked of the CEL engine, which has one.
fn matches(pattern: &str, text: &str) -> bool {
    let program = Program::compile("text.matches(pattern)").expect("the expression is fixed");
    let mut context = Context::default();
    context.add_variable_from_value("text", text.to_owned());
    context.add_variable_from_value("pattern", pattern.to_owned());
    match program.execute(&context) {
        Ok(CelValue::Bool(result)) => result,
        other => panic!("{pattern}: {other:?}"),
    }
}
