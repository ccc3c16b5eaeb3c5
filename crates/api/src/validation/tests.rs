//! The rules as tables: what is changed in a good object, and what is said about it.

mod cluster_queue;
mod cohort;
mod resource_flavor;
mod workload;
mod workload_update;

use kueue_core::field::Errors;
use kueue_core::gates::{Gate, Gates};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Checks a table of cases, with an empty line between them.
///
/// `path = value` changes the good object, in what it was before too; `old path = value` changes only what it was before
/// and `new path = value` only what it is now. `gate name = on` and `off` switch gates. The lines that start with `=>` are
/// the errors, `=> ok` stands for none; of one that ends with `…` only the beginning is compared.
fn check<T: DeserializeOwned>(good: &str, table: &str, validate: fn(new: &T, old: &T, gates: Gates) -> Errors) {
    for case in table.split("\n\n").filter(|case| !case.trim().is_empty()) {
        let (mut new, mut old): (Value, Value) =
            (serde_json::from_str(good).unwrap(), serde_json::from_str(good).unwrap());
        let mut gates = Gates::default();
        let mut expected = Vec::new();
        for line in case.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(error) = line.strip_prefix("=> ") {
                expected.push(error);
                continue;
            }
            let (target, value) = line.split_once(" = ").unwrap_or_else(|| panic!("not a line of a table: {line}"));
            match target.split_once(' ') {
                None => {
                    set(&mut new, target, value);
                    set(&mut old, target, value);
                }
                Some(("new", path)) => set(&mut new, path, value),
                Some(("old", path)) => set(&mut old, path, value),
                Some(("gate", name)) => gates = gates.with(Gate::named(name).expect("a gate"), value == "on"),
                Some(_) => panic!("not a line of a table: {line}"),
            }
        }
        let (new, old) = (serde_json::from_value(new).unwrap(), serde_json::from_value(old).unwrap());
        let mut errors: Vec<String> = validate(&new, &old, gates).iter().map(ToString::to_string).collect();
        if errors.is_empty() {
            errors.push("ok".to_owned());
        }
        for (error, expected) in errors.iter_mut().zip(&expected) {
            if expected.strip_suffix('…').is_some_and(|beginning| error.starts_with(beginning)) {
                *error = (*expected).to_owned();
            }
        }
        assert_eq!(errors.join("\n"), expected.join("\n"), "in the case\n{case}");
    }
}

/// Sets what is at `spec.list[0].map[some.key]`; a value that is no JSON is text.
fn set(object: &mut Value, path: &str, value: &str) {
    let mut at = object;
    for part in path.split('[') {
        let (key, fields) = part.split_once(']').unwrap_or(("", part));
        for step in std::iter::once(key).chain(fields.split('.')).filter(|step| !step.is_empty()) {
            at = walk(at, step);
        }
    }
    *at = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
}

/// The field, entry or (by number) element of a value, made when there is none.
fn walk<'v>(value: &'v mut Value, step: &str) -> &'v mut Value {
    if let Ok(index) = step.parse::<usize>() {
        if !value.is_array() {
            *value = Value::Array(Vec::new());
        }
        let items = value.as_array_mut().expect("just made one");
        if items.len() <= index {
            items.resize(index + 1, Value::Null);
        }
        return &mut items[index];
    }
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    value.as_object_mut().expect("just made one").entry(step).or_insert(Value::Null)
}
