//! Objects that many scenarios need, written once, with places to fill: `${name}` or `${name:what else}`.
//!
//! A text fills its place as it is, so that it can be part of another; anything else as JSON. Keys that end up with null
//! are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::problem::{Problem, Result};

/// Templates by name.
#[derive(Debug, Default)]
pub(super) struct Templates(BTreeMap<String, String>);

impl Templates {
    /// Those in the folder beside a scenario, if there is one, for a run in this namespace.
    pub(super) fn beside(file: &Path, namespace: &str) -> Result<Self> {
        let folder = file.with_file_name("templates");
        let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(Self::default()) };
        let mut templates = BTreeMap::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            let text = std::fs::read_to_string(&path).map_err(|error| Problem::file("read", &path, &error))?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            templates.insert(name, text.replace("$ns", namespace));
        }
        Ok(Self(templates))
    }

    /// The objects of the template that the arguments name, with the others in its places.
    pub(super) fn fill(&self, arguments: &BTreeMap<String, Value>) -> Result<Vec<Value>> {
        let name = arguments.get("template").and_then(Value::as_str);
        let name = name.ok_or_else(|| Problem::new("`use` needs the name of a template"))?;
        let wrong = |what: String| Problem::new(format!("template {name}: {what}"));
        let text = self.0.get(name).ok_or_else(|| wrong("there is no such file".to_string()))?;
        let filled = fill(text, arguments).map_err(wrong)?;
        let objects: Vec<Value> = serde_saphyr::from_str(&filled).map_err(|error| wrong(error.to_string()))?;
        Ok(objects.into_iter().map(without_nulls).collect())
    }
}

fn fill(text: &str, arguments: &BTreeMap<String, Value>) -> std::result::Result<String, String> {
    let (mut filled, mut rest) = (String::new(), text);
    let mut unused: BTreeSet<&str> = arguments.keys().map(String::as_str).filter(|name| *name != "template").collect();
    while let Some((before, after)) = rest.split_once("${") {
        let end = end_of_place(after).ok_or("a place does not end")?;
        let (name, otherwise) = match after[..end].split_once(':') {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (&after[..end], None),
        };
        filled.push_str(before);
        match (arguments.get(name), otherwise) {
            (Some(Value::String(text)), _) => filled.push_str(text),
            (Some(value), _) => filled.push_str(&value.to_string()),
            (None, Some(otherwise)) => filled.push_str(otherwise),
            (None, None) => return Err(format!("{name} is missing")),
        }
        unused.remove(name);
        rest = &after[end + 1..];
    }
    match unused.first() {
        Some(name) => Err(format!("there is no place for {name}")),
        None => Ok(filled + rest),
    }
}

/// Where the brace is that closes a place; what is filled in otherwise may have braces of its own.
fn end_of_place(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    text.char_indices().find_map(|(index, char)| match (char, depth) {
        ('}', 0) => Some(index),
        ('}', _) => {
            depth -= 1;
            None
        }
        ('{', _) => {
            depth += 1;
            None
        }
        _ => None,
    })
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(template: &str, arguments: Value) -> std::result::Result<Vec<Value>, String> {
        let templates = Templates(BTreeMap::from([("it".to_string(), template.to_string())]));
        let mut arguments: BTreeMap<String, Value> = serde_json::from_value(arguments).unwrap();
        arguments.insert("template".to_string(), json!("it"));
        templates.fill(&arguments).map_err(|problem| problem.to_string())
    }

    #[test]
    fn places_are_filled_or_have_what_else() {
        let template = "- {name: a-${name}, size: ${size:3}, labels: ${labels:{a: {b: 1}}}, gone: ${gone:null}}";
        let expected = json!({"name": "a-x", "size": 3, "labels": {"a": {"b": 1}}});
        assert_eq!(filled(template, json!({"name": "x"})).unwrap(), [expected]);
        let expected = json!({"name": "a-x", "size": "9", "labels": {"c": 2}, "gone": [1]});
        let arguments = json!({"name": "x", "size": "\"9\"", "labels": {"c": 2}, "gone": [1]});
        assert_eq!(filled(template, arguments).unwrap(), [expected]);
    }

    #[test]
    fn what_cannot_be_filled_is_told() {
        assert_eq!(filled("- ${name}", json!({})).unwrap_err(), "template it: name is missing");
        assert_eq!(filled("- a", json!({"name": 1})).unwrap_err(), "template it: there is no place for name");
        assert_eq!(filled("- ${name", json!({})).unwrap_err(), "template it: a place does not end");
        let nothing = Templates::default().fill(&BTreeMap::from([("template".to_string(), json!("it"))]));
        assert_eq!(nothing.unwrap_err().to_string(), "template it: there is no such file");
    }
}
