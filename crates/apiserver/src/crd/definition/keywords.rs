//! Keywords that no schema has: they go, and clients are told of them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::json::{Map, Name, Value};
use crate::kinds::BuiltIn;
use crate::protobuf::SCHEMA;

/// All that a schema may say.
static KNOWN: LazyLock<BTreeSet<Name>> = LazyLock::new(|| {
    let types = BuiltIn::sources();
    let properties = types.get(SCHEMA).and_then(|schema| schema["properties"].as_object());
    properties.into_iter().flat_map(Map::keys).cloned().collect()
});

/// Takes unknown keywords out of the schemas of a definition; returns the paths of those that are told.
pub fn drop_unknown(definition: &mut Value) -> Vec<String> {
    let mut told = Vec::new();
    let count = definition["spec"]["versions"].as_array().map_or(0, Vec::len);
    for index in 0..count {
        let schema = &definition["spec"]["versions"][index]["schema"]["openAPIV3Schema"];
        let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
        if let Some(known) = without_unknown(schema, Some(&path), &mut told) {
            definition["spec"]["versions"][index]["schema"]["openAPIV3Schema"] = known;
        }
    }
    told
}

/// The schema without them; nothing when it has none. Go reads what may be a schema or something else by itself, and
/// there nobody looks for mistakes: no path is told.
fn without_unknown(schema: &Value, path: Option<&str>, told: &mut Vec<String>) -> Option<Value> {
    let mut changed: Option<Value> = None;
    for (name, inner) in schema.as_object()? {
        let at = path.map(|path| format!("{path}.{name}"));
        if !KNOWN.contains(name) {
            told.extend(at);
            changed.get_or_insert_with(|| schema.clone()).as_object_mut()?.remove(name);
            continue;
        }
        let known = match name.as_str() {
            "properties" | "patternProperties" | "definitions" | "allOf" | "anyOf" | "oneOf" => {
                each(inner, at.as_deref(), told)
            }
            "not" => without_unknown(inner, at.as_deref(), told),
            "items" | "additionalItems" | "additionalProperties" => without_unknown(inner, None, told),
            "dependencies" => each(inner, None, told),
            _ => None,
        };
        if let Some(known) = known {
            changed.get_or_insert_with(|| schema.clone())[name] = known;
        }
    }
    changed
}

/// The same for all schemas of a map or list.
fn each(schemas: &Value, path: Option<&str>, told: &mut Vec<String>) -> Option<Value> {
    let mut changed: Option<Value> = None;
    match schemas {
        Value::Object(named) => {
            for (name, schema) in named {
                let at = path.map(|path| format!("{path}.{name}"));
                if let Some(known) = without_unknown(schema, at.as_deref(), told) {
                    changed.get_or_insert_with(|| schemas.clone())[name] = known;
                }
            }
        }
        Value::Array(listed) => {
            for (index, schema) in listed.iter().enumerate() {
                let at = path.map(|path| format!("{path}[{index}]"));
                if let Some(known) = without_unknown(schema, at.as_deref(), told) {
                    changed.get_or_insert_with(|| schemas.clone())[index] = known;
                }
            }
        }
        _ => {}
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn unknown_keywords_go_and_are_told_where_go_looks_for_them() {
        let definition = |schema: Value| json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
        let mut given = definition(json!({
            "type": "object", "odd": 1, "default": {"kept": 1},
            "properties": {"odd": {"type": "string", "worse": true}, "list": {"items": {"type": "string", "silent": 1}}},
            "anyOf": [{"required": ["a"], "other": 1}],
        }));
        let told = drop_unknown(&mut given);
        let at = |path: &str| format!("spec.versions[0].schema.openAPIV3Schema.{path}");
        assert_eq!(told, [at("anyOf[0].other"), at("odd"), at("properties.odd.worse")]);
        let known = definition(json!({
            "type": "object", "default": {"kept": 1},
            "properties": {"odd": {"type": "string"}, "list": {"items": {"type": "string"}}},
            "anyOf": [{"required": ["a"]}],
        }));
        assert_eq!(given, known);
        let before = given.clone();
        assert!(drop_unknown(&mut given).is_empty() && given.is_same_as(&before));
    }
}
