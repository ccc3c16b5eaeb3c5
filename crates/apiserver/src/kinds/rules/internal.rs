//! Objects as Go prints Kubernetes' internal structures, which some messages show.
//!
//! `data/internal_types.txt` lists the structures: a name, then per field its Go name, its JSON name and its shape. A shape is
//! a scalar (`s` text, `n` number, `b` truth, `q` amount), `any`, another structure, or one of these after `*`
//! (may be nothing), `[]` (a list) or `{}` (a map). A JSON name after `^` is found one object further up.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::json::{Name, Value};

const TYPES: &str = include_str!("../../../data/internal_types.txt");

/// Go name, JSON name, shape.
type Field = (&'static str, &'static str, &'static str);

fn types() -> &'static BTreeMap<&'static str, Vec<Field>> {
    static PARSED: OnceLock<BTreeMap<&'static str, Vec<Field>>> = OnceLock::new();
    PARSED.get_or_init(|| {
        let mut types: BTreeMap<&str, Vec<Field>> = BTreeMap::new();
        let mut name = "";
        for line in TYPES.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [go, json, shape] => types.entry(name).or_default().push((go, json, shape)),
                _ => name = line,
            }
        }
        types
    })
}

/// The lines that Go prints of a structure, each with its end.
pub fn lines(shape: &str, value: &Value) -> Vec<String> {
    let mut text = String::new();
    print(shape, value, &Value::Null, 0, &mut text);
    text.lines().map(|line| format!("{line}\n")).collect()
}

fn print(shape: &str, value: &Value, parent: &Value, depth: usize, text: &mut String) {
    if let Some(inner) = shape.strip_prefix('*') {
        return if value.is_null() { text.push_str("null") } else { print(inner, value, parent, depth, text) };
    }
    if let Some(inner) = shape.strip_prefix("[]") {
        let items = value.as_array().map(|items| items.iter().map(|item| (None, inner, item)).collect());
        return print_all(['[', ']'], items, value, depth, text);
    }
    if let Some(inner) = shape.strip_prefix("{}") {
        let entries = value.as_object();
        let items = entries.map(|map| map.iter().map(|(key, item)| (Some(key.as_str()), inner, item)).collect());
        return print_all(['{', '}'], items, value, depth, text);
    }
    match types().get(shape) {
        Some(fields) => {
            let at = |json: &str| match json.strip_prefix('^') {
                Some(name) => parent.get(name).unwrap_or(&Value::Null),
                None => value.get(json).unwrap_or(&Value::Null),
            };
            let items = fields.iter().map(|(go, json, shape)| (Some(*go), *shape, at(json))).collect();
            print_all(['{', '}'], Some(items), value, depth, text);
        }
        None if shape == "any" && value.is_object() => print_selector(value, depth, text),
        None => text.push_str(&scalar(shape, value)),
    }
}

/// What a scalar that is not set is in Go.
fn scalar(shape: &str, value: &Value) -> String {
    match (shape, value) {
        ("s", Value::Null) => "\"\"".to_owned(),
        ("n", Value::Null) => "0".to_owned(),
        ("b", Value::Null) => "false".to_owned(),
        ("q", Value::Null) => "\"0\"".to_owned(),
        (_, value) => value.to_string(),
    }
}

/// A list or structure, one item per line.
fn print_all(
    [open, close]: [char; 2],
    items: Option<Vec<(Option<&str>, &str, &Value)>>,
    parent: &Value,
    depth: usize,
    text: &mut String,
) {
    let Some(items) = items else { return text.push_str("null") };
    if items.is_empty() {
        text.extend([open, close]);
        return;
    }
    text.push(open);
    for (index, (name, shape, item)) in items.into_iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&" ".repeat(depth + 1));
        if let Some(name) = name {
            text.push_str(&format!("{name:?}: "));
        }
        print(shape, item, parent, depth + 1, text);
    }
    text.push('\n');
    text.push_str(&" ".repeat(depth));
    text.push(close);
}

/// Selectors are the same inside and outside; labels come before expressions.
fn print_selector(value: &Value, depth: usize, text: &mut String) {
    let mut entries: Vec<(&Name, &Value)> = value.as_object().into_iter().flatten().collect();
    entries.sort_by_key(|(name, _)| name.as_str() != "matchLabels");
    let shape = |item: &Value| match item {
        Value::Array(_) => "[]any",
        Value::Object(_) => "{}any",
        _ => "any",
    };
    let items = entries.into_iter().map(|(name, item)| (Some(name.as_str()), shape(item), item)).collect();
    print_all(['{', '}'], Some(items), value, depth, text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn every_structure_that_is_named_is_known() {
        for (name, fields) in types() {
            for (go, _, shape) in fields {
                let inner = shape.trim_start_matches(['*', '[', ']', '{', '}']);
                let is_known = types().contains_key(inner) || ["s", "n", "b", "q", "any"].contains(&inner);
                assert!(is_known, "{name}.{go}: {shape}");
            }
        }
    }

    #[test]
    fn what_is_not_set_is_printed_too() {
        let toleration = json!({"key": "a", "operator": "Exists"});
        assert_eq!(
            lines("Toleration", &toleration).concat(),
            "{\n \"Key\": \"a\",\n \"Operator\": \"Exists\",\n \"Value\": \"\",\n \"Effect\": \"\",\n \"TolerationSeconds\": null\n}\n"
        );
    }

    #[test]
    fn namespaces_of_the_host_are_part_of_the_security_context() {
        let spec = json!({"hostNetwork": true, "securityContext": {}});
        let text = lines("PodSpec", &spec).concat();
        assert!(text.contains(" \"SecurityContext\": {\n  \"HostNetwork\": true,\n"), "{text}");
    }
}
