//! Structural schemas: every value has a type that is told outside of `allOf`, `anyOf`, `oneOf` and `not`.

use kueue_core::field::{Error, Errors, Path};

use super::regexp;
use super::{list, text};
use crate::json::{Name, Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Every way in which a schema is not structural, sorted.
pub fn validate(schema: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    invariants(schema, Level::Root, at, &mut errors);
    values_complete(schema, Some(schema), at, at, &mut errors);
    errors.sort_by_key(ToString::to_string);
    errors
}

fn is(schema: &Value, keyword: &str) -> bool {
    schema[keyword] == true
}

fn fields(schema: &Value) -> impl Iterator<Item = (&Name, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn invariants(schema: &Value, level: Level, at: &Path, errors: &mut Errors) {
    let type_name = text(schema, "type");
    if type_name == "array" && !schema["items"].is_object() {
        errors.push(Error::required(&at.child("items"), "must be specified"));
    }
    if schema["items"].is_object() {
        invariants(&schema["items"], Level::Item, &at.child("items"), errors);
    }
    for (name, field) in fields(schema) {
        invariants(field, Level::Field, &at.child("properties").key(name), errors);
    }
    let additional = &schema["additionalProperties"];
    if !additional.is_null() {
        if level == Level::Root {
            errors.push(Error::forbidden(&at.child("additionalProperties"), "must not be used at the root"));
        }
        if additional.is_object() {
            invariants(additional, Level::Field, &at.child("additionalProperties"), errors);
        }
    }
    extensions(schema, at, errors);
    let (any_of, all_of) = (list(schema, "anyOf"), list(schema, "allOf"));
    let skips = Skips {
        any_of: is_int_or_string(any_of),
        first_all_of: all_of.first().is_some_and(|first| is_int_or_string(list(first, "anyOf"))),
    };
    values(schema, skips, at, errors);
    types(schema, level, at, errors);
    metadata(schema, level, at, errors);
}

/// The one pattern in which types may stand in `anyOf`.
fn is_int_or_string(any_of: &[Value]) -> bool {
    any_of == [json!({"type": "integer"}), json!({"type": "string"})]
}

fn extensions(schema: &Value, at: &Path, errors: &mut Errors) {
    if !is(schema, "x-kubernetes-int-or-string") {
        return;
    }
    for other in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if is(schema, other) {
            errors.push(Error::invalid(&at.child(other), true, "must be false if x-kubernetes-int-or-string is true"));
        }
    }
}

fn types(schema: &Value, level: Level, at: &Path, errors: &mut Errors) {
    let (type_name, place) = (text(schema, "type"), at.child("type"));
    let is_embedded = is(schema, "x-kubernetes-embedded-resource");
    let is_free = is(schema, "x-kubernetes-int-or-string") || is(schema, "x-kubernetes-preserve-unknown-fields");
    if is_embedded && type_name != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match type_name {
            "" => Error::required(&place, why),
            other => Error::invalid(&place, other, why),
        });
    } else if type_name.is_empty() && !is_free {
        let what = match level {
            Level::Root => "at the root",
            Level::Item => "for specified array items",
            Level::Field => "for specified object fields",
        };
        errors.push(Error::required(&place, format!("must not be empty {what}")));
    }
    if is_embedded && !schema["additionalProperties"].is_null() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(Error::forbidden(&at.child("additionalProperties"), why));
    }
    if level == Level::Root && !type_name.is_empty() && type_name != "object" {
        errors.push(Error::invalid(&place, type_name, "must be object at the root"));
    }
    if is_embedded && !is(schema, "x-kubernetes-preserve-unknown-fields") && fields(schema).next().is_none() {
        let why =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(Error::required(&at.child("properties"), why));
    }
}

/// A resource says of its metadata at most what names it wants.
fn metadata(schema: &Value, level: Level, at: &Path, errors: &mut Errors) {
    let properties = &schema["properties"];
    let is_resource = level == Level::Root || is(schema, "x-kubernetes-embedded-resource");
    for name in ["kind", "apiVersion"] {
        if let Some(field) = properties.get(name).filter(|field| is_resource && text(field, "type") != "string") {
            let place = at.child("properties").key(name).child("type");
            errors.push(Error::invalid(&place, text(field, "type"), "must be string"));
        }
    }
    let Some(metadata) = properties.get("metadata") else { return };
    let place = at.child("properties").key("metadata");
    if is_resource && text(metadata, "type") != "object" {
        errors.push(Error::invalid(&place.child("type"), text(metadata, "type"), "must be object"));
    }
    if level == Level::Root {
        let names = fields(metadata).all(|(name, _)| name == "name" || name == "generateName");
        let mut others =
            metadata.as_object().into_iter().flatten().filter(|(name, value)| {
                !["type", "properties", "default"].contains(&name.as_str()) && !value.is_null()
            });
        if !names || others.next().is_some() {
            let why =
                "must not specify anything other than name and generateName, but metadata is implicitly specified";
            errors.push(Error::forbidden(&place, why));
        }
    }
}

/// Where types are allowed although they stand in a combination.
#[derive(Debug, Clone, Copy, Default)]
struct Skips {
    any_of: bool,
    first_all_of: bool,
}

fn values(schema: &Value, skips: Skips, at: &Path, errors: &mut Errors) {
    for (key, one) in combinations(schema) {
        match key.split_once('[') {
            Some(("anyOf", _)) if skips.any_of => {}
            Some(("allOf", "0]")) => nested(one, skips.first_all_of, &at.child(&key), errors),
            _ => nested(one, false, &at.child(&key), errors),
        }
    }
    if let Some(why) = schema["pattern"].as_str().and_then(regexp::complaint) {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(Error::invalid(&at.child("pattern"), text(schema, "pattern"), why));
    }
}

/// `anyOf[0]`, `not`: what a value must be beside its type.
fn combinations(schema: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for key in ["anyOf", "allOf", "oneOf"] {
        found.extend(list(schema, key).iter().enumerate().map(|(index, one)| (format!("{key}[{index}]"), one)));
    }
    found.extend(schema.get("not").filter(|not| not.is_object()).map(|not| ("not".to_owned(), not)));
    found
}

/// A schema inside a combination only restricts.
fn nested(schema: &Value, skips_any_of: bool, at: &Path, errors: &mut Errors) {
    values(schema, Skips { any_of: skips_any_of, first_all_of: false }, at, errors);
    if schema["items"].is_object() {
        nested(&schema["items"], false, &at.child("items"), errors);
    }
    for (name, field) in fields(schema) {
        nested(field, false, &at.child("properties").key(name), errors);
    }
    let is_set = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    for (keyword, what) in [
        ("type", "empty"),
        ("additionalProperties", "undefined"),
        ("default", "undefined"),
        ("title", "empty"),
        ("description", "empty"),
        ("nullable", "false"),
        ("x-kubernetes-preserve-unknown-fields", "false"),
        ("x-kubernetes-embedded-resource", "false"),
        ("x-kubernetes-int-or-string", "false"),
        ("x-kubernetes-list-map-keys", "empty"),
        ("x-kubernetes-list-type", "undefined"),
        ("x-kubernetes-map-type", "undefined"),
        ("x-kubernetes-validations", "empty"),
    ] {
        if is_set(&schema[keyword]) {
            errors.push(Error::forbidden(&at.child(keyword), format!("must be {what} to be structural")));
        }
    }
    if schema["properties"].get("metadata").is_some() {
        let place = at.child("properties").key("metadata");
        errors.push(Error::forbidden(&place, "must not be specified in a nested context"));
    }
}

/// What a combination restricts must be told outside of it.
fn values_complete(values: &Value, schema: Option<&Value>, at: &Path, from: &Path, errors: &mut Errors) {
    for (key, one) in combinations(values) {
        nested_complete(one, schema, at, &from.child(&key), errors);
    }
}

fn nested_complete(nested: &Value, schema: Option<&Value>, at: &Path, from: &Path, errors: &mut Errors) {
    let missing = |at: &Path, from: &Path| Error::required(at, format!("because it is defined in {from}"));
    let Some(schema) = schema else { return errors.push(missing(at, from)) };
    values_complete(nested, Some(schema), at, from, errors);
    if nested["items"].is_object() {
        let items = schema.get("items").filter(|items| items.is_object());
        nested_complete(&nested["items"], items, &at.child("items"), &from.child("items"), errors);
    }
    for (name, field) in fields(nested) {
        let (at, from) = (at.child("properties").key(name), from.child("properties").key(name));
        match schema["properties"].get(name) {
            None => errors.push(missing(&at, &from)),
            Some(own) => nested_complete(field, Some(own), &at, &from, errors),
        }
    }
}
