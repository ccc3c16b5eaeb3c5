//! Judges a custom resource by its schema, in the API server's words.
//!
//! On update a value that was there before does not block what changed elsewhere (ratcheting).

use std::collections::HashMap;
use std::sync::Arc;

use kueue_core::field::{Error, ErrorKind, Path};

use super::keywords::Bound;
use super::{Form, Keywords, ListType, Schema};
use crate::json::{Value, json};

mod format;

/// Every mistake of the value at `path`. `old` is what stood there before an update.
pub fn validate(schema: &Schema, value: &Value, old: Option<&Value>, path: &Path) -> Vec<Error> {
    judged(schema, value, old, &|| path.clone())
}

/// Where a value is; worked out only for mistakes.
type At<'a> = &'a dyn Fn() -> Path;

fn judged(schema: &Schema, value: &Value, old: Option<&Value>, at: At<'_>) -> Vec<Error> {
    let mut errors = Vec::new();
    walk(schema, value, old, at, &mut errors);
    errors
}

fn walk(schema: &Schema, value: &Value, old: Option<&Value>, at: At<'_>, errors: &mut Vec<Error>) {
    if old.is_some_and(|old| old == value) {
        return;
    }
    if value.is_null() && schema.is_nullable {
        return;
    }
    if let Some(keywords) = &schema.keywords {
        check_type(schema, keywords, value, at, errors);
        check_scalar(keywords, value, at, errors);
        check_size(keywords, value, at, errors);
        check_combinations(keywords, value, at, errors);
    }
    match value {
        Value::Object(object) => {
            for name in schema.keywords.iter().flat_map(|keywords| &keywords.required) {
                if !object.contains_key(name) {
                    errors.push(Error::required(&at().child(name), ""));
                }
            }
            for (name, inner) in object {
                if let Some(field) = schema.field(name) {
                    walk(field, inner, old.and_then(|old| old.get(name)), &|| at().child(name), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(element) = schema.element() {
                for (index, item) in items.iter().enumerate() {
                    let before = old.and_then(|old| counterpart(schema, old, item));
                    walk(element, item, before, &|| at().index(index), errors);
                }
            }
            check_list_type(schema, items, at, errors);
        }
        _ => {}
    }
}

/// The element of the old list that an element of the new one continues.
pub fn counterpart<'v>(schema: &Schema, old: &'v Value, item: &Value) -> Option<&'v Value> {
    let items = old.as_array()?;
    match &schema.list {
        ListType::Map(keys) => items.iter().find(|other| keys.iter().all(|key| other.get(key) == item.get(key))),
        ListType::Set | ListType::Atomic => None,
    }
}

/// What the API server calls a value's type.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn check_type(schema: &Schema, keywords: &Keywords, value: &Value, at: At<'_>, errors: &mut Vec<Error>) {
    let wanted = match (&*schema.form, keywords.type_name.as_deref()) {
        (Form::IntOrString, _) => "integer,string",
        (_, Some(name)) => name,
        (_, None) => return,
    };
    if !is_of_type(wanted, value) {
        errors.push(mistyped(&at(), type_of(value), wanted));
    }
}

fn is_of_type(wanted: &str, value: &Value) -> bool {
    let found = type_of(value);
    let is_whole = |value: &Value| value.as_f64().is_some_and(|number| number.fract() == 0.0 && number.abs() < 9.3e18);
    match wanted {
        "integer,string" => matches!(found, "integer" | "string"),
        "number" => matches!(found, "integer" | "number"),
        "integer" => found == "integer" || found == "number" && is_whole(value),
        wanted => found == wanted,
    }
}

fn mistyped(path: &Path, shown: &str, wanted: &str) -> Error {
    Error::type_invalid(path, shown, format!("{path} in body must be of type {wanted}: \"{shown}\""))
}

fn in_body(path: &Path, value: &Value, should: &str) -> Error {
    Error::invalid(path, value.clone(), format!("{path} in body should {should}"))
}

fn check_scalar(keywords: &Keywords, value: &Value, at: At<'_>, errors: &mut Vec<Error>) {
    if let Some(text) = value.as_str() {
        let has_bounds = keywords.length_max.is_some() || keywords.length_min.is_some();
        let length = if has_bounds { text.chars().count() as u64 } else { 0 };
        if let Some(max) = keywords.length_max.filter(|max| length > *max) {
            errors.push(Error::too_long(&at(), max as usize));
        }
        if let Some(min) = keywords.length_min.filter(|min| length < *min) {
            errors.push(in_body(&at(), value, &format!("be at least {min} chars long")));
        }
        if let Some(pattern) = &keywords.pattern
            && pattern.regex.as_ref().is_some_and(|regex| !regex.is_match(text))
        {
            errors.push(in_body(&at(), value, &format!("match '{}'", pattern.text)));
        }
        if let Some(format) = keywords.format.as_deref().filter(|format| !format::is_valid(format, text)) {
            errors.push(mistyped(&at(), text, format));
        }
    }
    if let Some(number) = value.as_f64() {
        errors.extend(check_format(keywords, number, value, at));
        check_number(keywords, number, value, at, errors);
    }
    if !keywords.allowed.is_empty() && !keywords.allowed.contains(value) {
        let shown = keywords.allowed.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned));
        let shown: Vec<String> = shown.collect();
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        errors.push(Error::not_supported(&at(), value.clone(), &shown));
    }
}

/// Numbers have room in their type; a real server tells that without a field.
fn check_format(keywords: &Keywords, number: f64, value: &Value, at: At<'_>) -> Option<Error> {
    let type_name = keywords.type_name.as_deref()?;
    let format = keywords.format.as_deref().unwrap_or_default();
    let is_whole = number.fract() == 0.0;
    let fits = match (type_name, format) {
        ("integer", "int32") => is_whole && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number),
        ("integer", "uint32") => is_whole && (0.0..=f64::from(u32::MAX)).contains(&number),
        ("integer", "uint64") => is_whole && number >= 0.0,
        ("integer", _) => is_whole && (value.is_i64() || number.abs() < 9.2e18),
        ("number", "float" | "float32") => number.abs() <= f64::from(f32::MAX),
        _ => true,
    };
    let shown = if format.is_empty() { "(default format)".to_owned() } else { format!("with format {format}") };
    (!fits).then(|| Error {
        kind: ErrorKind::Invalid,
        field: Path::new("<nil>"),
        value: Some("".into()),
        detail: format!("Checked value must be of type {type_name} {shown} in {}", at()),
    })
}

fn check_number(keywords: &Keywords, number: f64, value: &Value, at: At<'_>, errors: &mut Vec<Error>) {
    let mut demand = |bound: &Bound, holds: bool, word: &str| {
        if !holds {
            let than = if bound.is_exclusive { "than" } else { "than or equal to" };
            errors.push(in_body(&at(), value, &format!("be {word} {than} {}", bound.shown)));
        }
    };
    if let Some(bound) = &keywords.maximum {
        demand(bound, if bound.is_exclusive { number < bound.limit } else { number <= bound.limit }, "less");
    }
    if let Some(bound) = &keywords.minimum {
        demand(bound, if bound.is_exclusive { number > bound.limit } else { number >= bound.limit }, "greater");
    }
    if let Some(factor) = keywords.multiple_of.filter(|factor| *factor != 0.0) {
        let quotient = number / factor;
        if (quotient - quotient.round()).abs() > 1e-9 {
            errors.push(in_body(&at(), value, &format!("be a multiple of {factor}")));
        }
    }
}

fn check_size(keywords: &Keywords, value: &Value, at: At<'_>, errors: &mut Vec<Error>) {
    let (count, min, max, what) = match value {
        Value::Array(items) => (items.len(), keywords.items_min, keywords.items_max, "items"),
        Value::Object(object) => (object.len(), keywords.properties_min, keywords.properties_max, "properties"),
        _ => return,
    };
    if let Some(max) = max.filter(|max| count as u64 > *max) {
        errors.push(Error::too_many(&at(), count, max as usize));
    }
    if let Some(min) = min.filter(|min| (count as u64) < *min) {
        errors.push(in_body(&at(), &json!(count), &format!("have at least {min} {what}")));
    }
    if keywords.has_unique_items
        && let Value::Array(items) = value
        && items.iter().enumerate().any(|(index, item)| items[..index].contains(item))
    {
        errors.push(in_body(&at(), &json!(""), "not contain duplicates"));
    }
}

/// Whether an alternative says no more than a type, and the value has it. Most do, and need not be judged to know that.
fn is_of_bare_type(schema: &Schema, value: &Value) -> bool {
    // Numbers that are no 64-bit integers have more rules.
    if value.is_number() && !value.is_i64() {
        return false;
    }
    let bare = schema.keywords.as_ref().filter(|keywords| keywords.is_bare_type);
    bare.and_then(|keywords| keywords.type_name.as_deref()).is_some_and(|wanted| is_of_type(wanted, value))
}

/// `allOf` and its kin are told without a field, and beside the mistakes of the best alternative.
fn check_combinations(keywords: &Keywords, value: &Value, at: At<'_>, errors: &mut Vec<Error>) {
    let judge = |schema: &Arc<Schema>| judged(schema, value, None, at);
    let told = |what: String| Error {
        kind: ErrorKind::Invalid,
        field: Path::new("<nil>"),
        value: Some("".into()),
        detail: format!("\"{}\" must {what}", at()),
    };
    if !keywords.any_of.is_empty() && !keywords.any_of.iter().any(|one| is_of_bare_type(one, value)) {
        let judged: Vec<Vec<Error>> = keywords.any_of.iter().map(judge).collect();
        if judged.iter().all(|errors| !errors.is_empty()) {
            errors.push(told("validate at least one schema (anyOf)".into()));
            errors.extend(fewest(judged));
        }
    }
    if !keywords.one_of.is_empty() {
        let judged: Vec<Vec<Error>> = keywords.one_of.iter().map(judge).collect();
        let valid = judged.iter().filter(|errors| errors.is_empty()).count();
        if valid == 0 {
            errors.push(told("validate one and only one schema (oneOf). Found none valid".into()));
            errors.extend(fewest(judged));
        } else if valid > 1 {
            let found = format!("validate one and only one schema (oneOf). Found {valid} valid alternatives");
            errors.push(told(found));
        }
    }
    if !keywords.all_of.is_empty() {
        let judged: Vec<Error> = keywords.all_of.iter().flat_map(judge).collect();
        if !judged.is_empty() {
            errors.extend(judged);
            errors.push(told("validate all the schemas (allOf)".into()));
        }
    }
    if keywords.not.as_ref().is_some_and(|not| judge(not).is_empty()) {
        errors.push(told("not validate the schema (not)".into()));
    }
}

/// The first of those with the fewest mistakes.
fn fewest(judged: Vec<Vec<Error>>) -> Vec<Error> {
    judged.into_iter().min_by_key(Vec::len).unwrap_or_default()
}

/// So many are compared with each other sooner than they are hashed.
const FEW_ITEMS: usize = 16;

/// Elements that are told apart by their keys, or are members of a set, are there once.
fn check_list_type(schema: &Schema, items: &[Value], at: At<'_>, errors: &mut Vec<Error>) {
    if schema.list == ListType::Atomic || items.len() < 2 {
        return;
    }
    let keys = match &schema.list {
        ListType::Map(keys) => keys.as_slice(),
        _ => &[],
    };
    let told = |item: &Value| match keys {
        [] => item.clone(),
        keys => keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone()))).collect(),
    };
    let same = |one: &Value, other: &Value| match keys {
        [] => one == other,
        keys => keys.iter().all(|key| one.get(key) == other.get(key)),
    };
    let is_repeated = |(index, item): (usize, &Value)| items[..index].iter().any(|other| same(item, other));
    if items.len() <= FEW_ITEMS && !items.iter().enumerate().any(is_repeated) {
        return;
    }
    let mut seen: HashMap<Vec<Option<&Value>>, usize> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let own = match keys {
            [] => vec![Some(item)],
            keys => keys.iter().map(|key| item.get(key)).collect(),
        };
        let times = seen.entry(own).or_default();
        *times += 1;
        // The third of a kind is not told again.
        if *times == 2 {
            errors.push(Error::duplicate(&at().index(index), told(item)));
        }
    }
}

#[cfg(test)]
mod tests;
