//! Values as Go's formatter prints them into messages.

use crate::json::{Map, Value};

/// As `%v` does: `map[a:1 b:[x y]]`.
pub fn printed(value: &Value) -> String {
    match value {
        Value::Object(map) => printed_map(map),
        Value::Array(items) => format!("[{}]", items.iter().map(printed).collect::<Vec<_>>().join(" ")),
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

pub fn printed_map(map: &Map) -> String {
    let parts: Vec<String> = map.iter().map(|(name, value)| format!("{name}:{}", printed(value))).collect();
    format!("map[{}]", parts.join(" "))
}

/// As `%#v` does: `map[string]interface {}{"a":1}`.
pub fn printed_as_source(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let parts: Vec<String> =
                map.iter().map(|(name, value)| format!("{name:?}:{}", printed_as_source(value))).collect();
            format!("map[string]interface {{}}{{{}}}", parts.join(", "))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(printed_as_source).collect();
            format!("[]interface {{}}{{{}}}", parts.join(", "))
        }
        Value::String(text) => format!("{text:?}"),
        Value::Null => "interface {}(nil)".to_owned(),
        other => other.to_string(),
    }
}
