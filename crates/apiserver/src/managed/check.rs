//! What is wrong with an applied configuration, in the words of the typed reader.

use std::collections::BTreeSet;

use super::set::{Step, shown};
use super::typed::identity;
use crate::json::Value;
use crate::schema::{Form, ListType, Schema, go};

/// Every mistake as one text, or nothing.
pub fn check(schema: &Schema, value: &Value) -> Result<(), String> {
    let mut found = Vec::new();
    check_at(schema, value, &String::new, &mut found);
    match found.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        _ => Err(format!("errors:\n  {}", found.join("\n  "))),
    }
}

/// Where a value is; worked out only for mistakes.
type At<'a> = &'a dyn Fn() -> String;

fn say(at: At<'_>, what: &str, found: &mut Vec<String>) {
    let path = at();
    found.push(if path.is_empty() { what.to_owned() } else { format!("{path}: {what}") });
}

fn check_at(schema: &Schema, value: &Value, at: At<'_>, found: &mut Vec<String>) {
    if value.is_null() {
        return;
    }
    match &*schema.form {
        Form::Struct { .. } | Form::Map(_) => {
            let Value::Object(object) = value else {
                return say(at, &format!("expected map, got &{{{}}}", go::printed(value)), found);
            };
            for (name, inner) in object {
                let inside = || format!("{}.{name}", at());
                match schema.field(name) {
                    Some(field) => check_at(field, inner, &inside, found),
                    None if schema.keeps_unknown => {}
                    // The reader gives up on an object at the first field it does not know.
                    None => return say(&inside, "field not declared in schema", found),
                }
            }
        }
        Form::List(items) => {
            let Value::Array(list) = value else {
                return say(at, &format!("expected list, got &{{{}}}", go::printed(value)), found);
            };
            check_elements(schema, items, list, at, found);
        }
        Form::Text | Form::Bytes | Form::Time | Form::MicroTime if !value.is_string() => {
            let what =
                format!("expected string, got &value.valueUnstructured{{Value:{}}}", go::printed_as_source(value));
            say(at, &what, found);
        }
        Form::Integer { .. } | Form::Number if !value.is_number() => {
            say(at, &format!("expected numeric (int or float), got {}", go_type(value)), found);
        }
        Form::Boolean if !value.is_boolean() => {
            say(at, &format!("expected boolean, got &{{{}}}", go::printed(value)), found);
        }
        _ => {}
    }
}

/// What Go calls the type of a value that was read from JSON.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn check_elements(schema: &Schema, items: &Schema, list: &[Value], at: At<'_>, found: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, item) in list.iter().enumerate() {
        if schema.list == ListType::Atomic {
            check_at(items, item, &|| format!("{}[{index}]", at()), found);
            continue;
        }
        let step = identity(schema, &schema.list, item);
        if let Some(why) = unnameable(&schema.list, item, &step) {
            return say(at, &format!("element {index}: {why}"), found);
        }
        if !seen.insert(Step::clone(&step)) {
            say(at, &format!("duplicate entries for key {}", shown(&step)), found);
        }
        check_at(items, item, &|| format!("{}{}", at(), shown(&step)), found);
    }
}

/// Why an element cannot be told apart from others.
fn unnameable(list: &ListType, item: &Value, step: &str) -> Option<String> {
    match (list, item) {
        (ListType::Map(_), Value::Null) => Some("associative list with keys may not have a null element".into()),
        (ListType::Map(keys), Value::Object(_)) => (step == "k:{}").then(|| {
            let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            let keys = keys.join(" ");
            format!(
                "associative list with keys has an element that omits all key fields [{keys}] (and doesn't have \
                 default values for any key fields)"
            )
        }),
        (ListType::Map(_), _) => Some("associative list with keys may not have non-map elements".into()),
        (_, Value::Object(_)) => Some("associative list without keys has an element that's a map type".into()),
        (_, Value::Array(_)) => Some("not supported: associative list with lists as elements".into()),
        (_, Value::Null) => Some("associative list without keys has an element that's an explicit null".into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;
    use crate::schema::load::custom;

    #[test]
    fn a_configuration_must_fit_its_types() {
        let schema = custom(&json!({"type": "object", "properties": {
            "s": {"type": "string"}, "n": {"type": "integer"}, "b": {"type": "boolean"},
            "o": {"type": "object", "properties": {"x": {"type": "string"}}},
            "plain": {"type": "array", "items": {"type": "string"}},
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
                     "items": {"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "integer"}}}},
        }}));
        let cases = [
            (json!({"no": 1}), ".no: field not declared in schema"),
            (json!({"list": [{"n": "a"}, {"n": "a"}]}), ".list: duplicate entries for key [n=\"a\"]"),
            (json!({"list": [{"n": "a", "v": "x"}]}), ".list[n=\"a\"].v: expected numeric (int or float), got string"),
            (json!({"list": [null]}), ".list: element 0: associative list with keys may not have a null element"),
            (json!({"list": ["a"]}), ".list: element 0: associative list with keys may not have non-map elements"),
            (json!({"set": ["a", "a"]}), ".set: duplicate entries for key [=\"a\"]"),
            (json!({"set": [{}]}), ".set: element 0: associative list without keys has an element that's a map type"),
            (json!({"plain": "x"}), ".plain: expected list, got &{x}"),
            (json!({"plain": [true]}), ".plain[0]: expected string, got &value.valueUnstructured{Value:true}"),
            (
                json!({"o": {"x": {"a": [1]}}}),
                ".o.x: expected string, got &value.valueUnstructured{Value:map[string]interface {}{\"a\":[]interface {}{1}}}",
            ),
            (json!({"o": [1, {"a": "b"}]}), ".o: expected map, got &{[1 map[a:b]]}"),
            (
                json!({"b": "x", "n": [1]}),
                "errors:\n  .b: expected boolean, got &{x}\n  .n: expected numeric (int or float), got []interface {}",
            ),
        ];
        for (value, wanted) in cases {
            assert_eq!(check(&schema, &value).unwrap_err(), wanted);
        }
        assert_eq!(check(&schema, &json!({"s": null, "list": null, "o": {}})), Ok(()));
    }
}
