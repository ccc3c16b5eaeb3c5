//! What a definition's schema may use of OpenAPI, how list types and keys fit together, and whether its rules compile.

use kueue_core::field::{Error, Errors, Path};

use super::super::cel::Types;
use super::paths::FieldPath;
use super::{list, text};
use crate::json::{Value, json};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Keywords at the root that keep their meaning when only the status is judged, by their names in Go.
const AT_ROOT: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

/// With a status of its own a resource's root may not say what would be lost on it.
pub fn validate_root(schema: &Value, at: &Path) -> Errors {
    if text(schema, "type") != "object" && !text(schema, "type").is_empty() {
        let why =
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return vec![Error::invalid(&at.child("openAPIV3Schema.type"), text(schema, "type"), why)];
    }
    let is_unset = |value: &Value| matches!(value, Value::Null | Value::Bool(false)) || *value == json!([]);
    let mut keywords = schema.as_object().into_iter().flatten().filter(|(_, value)| !is_unset(value));
    if keywords.any(|(name, _)| !AT_ROOT.iter().any(|(known, _)| name == known)) {
        let names: Vec<&str> = AT_ROOT.iter().map(|(_, name)| *name).collect();
        let why = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            names.join(" ")
        );
        return vec![Error::invalid(&at.child("openAPIV3Schema"), schema.clone(), why)];
    }
    Errors::new()
}

/// Every mistake of a schema; rules are compiled where the types below them are known.
pub fn validate(schema: &Value, at: &Path, rules: Option<&Types>) -> Errors {
    let mut found = Found::default();
    walk(schema, at, &Place { is_root: true, ..Place::default() }, rules, &mut found);
    found.of_schema.extend(found.of_rules);
    if !found.hopeless.is_empty() {
        let why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        found.of_schema.extend(found.hopeless.iter().map(|at| Error::forbidden(at, why)));
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        found.of_schema.push(Error::forbidden(at, too_dear(what)));
    }
    found.of_schema
}

fn too_dear(what: &str) -> String {
    format!(
        "{what} exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, \
         and maxLength where arrays, maps, and strings are declared)"
    )
}

#[derive(Debug, Default)]
struct Found {
    of_schema: Errors,
    of_rules: Errors,
    /// Rules that could never be afforded.
    hopeless: Vec<Path>,
}

/// What is known about where a schema stands.
#[derive(Debug, Clone, Default)]
struct Place {
    is_root: bool,
    /// Why there may be no defaults.
    no_defaults: Option<String>,
    /// Inside `apiVersion`, `kind` or `metadata` of a resource.
    is_in_metadata: bool,
    /// The list above whose elements cannot be followed from one write to the next.
    unfollowed: Option<Path>,
}

fn walk(schema: &Value, at: &Path, place: &Place, rules: Option<&Types>, found: &mut Found) {
    let before = found.of_schema.len();
    keywords(schema, at, place, &mut found.of_schema);
    let inner = Place { is_root: false, ..place.clone() };
    properties(schema, at, place, rules, found);
    for key in ["allOf", "oneOf", "anyOf"] {
        for (index, one) in list(schema, key).iter().enumerate() {
            walk(one, &at.child(key).index(index), &inner, None, found);
        }
    }
    if schema["not"].is_object() {
        walk(&schema["not"], &at.child("not"), &inner, None, found);
    }
    if schema["items"].is_object() {
        let mut inner = inner;
        if schema["x-kubernetes-list-type"] != "map" {
            inner.unfollowed = inner.unfollowed.or_else(|| Some(at.clone()));
        }
        walk(&schema["items"], &at.child("items"), &inner, rules.and_then(Types::items).as_ref(), found);
    }
    lists(schema, at, &mut found.of_schema);
    validations(schema, at, &mut found.of_schema);
    if found.of_schema.len() == before
        && let Some(rules) = rules
    {
        compile(schema, at, place, rules, found);
    }
}

fn properties(schema: &Value, at: &Path, place: &Place, rules: Option<&Types>, found: &mut Found) {
    let inner = Place { is_root: false, ..place.clone() };
    let (additional, fields) = (&schema["additionalProperties"], schema["properties"].as_object());
    if !additional.is_null() {
        let both = fields.is_some_and(|fields| !fields.is_empty()) && *additional != true;
        if both {
            let why = "additionalProperties and properties are mutual exclusive";
            found.of_schema.push(Error::forbidden(&at.child("additionalProperties"), why));
        }
        let mut inner = inner.clone();
        if place.is_in_metadata {
            inner.no_defaults = Some("inside additionalProperties applying to object metadata".into());
        }
        if additional.is_object() {
            let rules = rules.and_then(Types::values);
            walk(additional, &at.child("additionalProperties"), &inner, rules.as_ref(), found);
        }
    }
    for (name, field) in fields.into_iter().flatten() {
        let mut inner = inner.clone();
        let is_resource = place.is_root || schema["x-kubernetes-embedded-resource"] == true;
        if is_resource && ["metadata", "kind", "apiVersion"].contains(&name.as_str()) {
            inner.is_in_metadata = true;
            if place.is_root {
                inner.no_defaults = Some(format!("in top-level {name}"));
            }
        }
        let rules = rules.and_then(|rules| rules.field(name));
        walk(field, &at.child("properties").key(name), &inner, rules.as_ref(), found);
    }
}

/// Keywords that OpenAPI has and a definition may not use.
fn keywords(schema: &Value, at: &Path, place: &Place, errors: &mut Errors) {
    let type_name = text(schema, "type");
    if !type_name.is_empty() && !TYPES.contains(&type_name) {
        errors.push(Error::not_supported(&at.child("type"), type_name, &TYPES));
    }
    if let Some(why) = place.no_defaults.as_ref().filter(|_| !schema["default"].is_null()) {
        errors.push(Error::forbidden(&at.child("default"), format!("must not be set {why}")));
    }
    for keyword in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        let value = &schema[keyword];
        if !value.is_null() && *value != "" && *value != json!({}) {
            errors.push(Error::forbidden(&at.child(keyword), format!("{keyword} is not supported")));
        }
    }
    if type_name == "null" {
        let why = "type cannot be set to null, use nullable as an alternative";
        errors.push(Error::forbidden(&at.child("type"), why));
    }
    if schema["items"].is_array() {
        errors.push(Error::forbidden(&at.child("items"), "items must be a schema object and not an array"));
    }
    if place.is_in_metadata && schema["x-kubernetes-embedded-resource"] == true {
        let why = "must not be used inside of resource meta";
        errors.push(Error::forbidden(&at.child("x-kubernetes-embedded-resource"), why));
    }
    if schema["uniqueItems"] == true {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(Error::forbidden(&at.child("uniqueItems"), why));
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        let place = at.child("x-kubernetes-preserve-unknown-fields");
        errors.push(Error::invalid(&place, false, "must be true or undefined"));
    }
}

fn lists(schema: &Value, at: &Path, errors: &mut Errors) {
    let type_name = text(schema, "type");
    let of_type = |wanted: &str, keyword: &str| {
        let why = format!("must be {wanted} if {keyword} is specified");
        match type_name {
            "" => Error::required(&at.child("type"), why),
            other => Error::invalid(&at.child("type"), other, why),
        }
    };
    if let Some(kind) = schema["x-kubernetes-map-type"].as_str() {
        if type_name != "object" {
            errors.push(of_type("object", "x-kubernetes-map-type"));
        }
        if !["atomic", "granular"].contains(&kind) {
            errors.push(Error::not_supported(&at.child("x-kubernetes-map-type"), kind, &["atomic", "granular"]));
        }
    }
    let kind = schema["x-kubernetes-list-type"].as_str();
    let (keys, items) = (list(schema, "x-kubernetes-list-map-keys"), &schema["items"]);
    if let Some(kind) = kind {
        if type_name != "array" {
            errors.push(of_type("array", "x-kubernetes-list-type"));
        } else if kind == "set" {
            errors.extend(set_of(items, &at.child("items")));
        }
        if !["atomic", "set", "map"].contains(&kind) {
            let supported = ["atomic", "set", "map"];
            errors.push(Error::not_supported(&at.child("x-kubernetes-list-type"), kind, &supported));
        }
    }
    if !keys.is_empty() && kind != Some("map") {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        let place = at.child("x-kubernetes-list-type");
        errors.push(kind.map_or_else(|| Error::required(&place, why), |kind| Error::invalid(&place, kind, why)));
    }
    if kind == Some("map") {
        errors.extend(map_of(items, keys, at));
    }
    errors.extend(keyed(kind, items, keys, at));
}

/// The elements of a set cannot have owners inside.
fn set_of(items: &Value, at: &Path) -> Option<Error> {
    let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let shown = items["x-kubernetes-list-type"].clone();
    match text(items, "type") {
        "array" if !["", "atomic"].contains(&text(items, "x-kubernetes-list-type")) => {
            Some(Error::invalid(&at.child("x-kubernetes-list-type"), shown, why))
        }
        "object" if text(items, "x-kubernetes-map-type") != "atomic" => {
            Some(Error::invalid(&at.child("x-kubernetes-map-type"), shown, why))
        }
        _ => None,
    }
}

fn map_of(items: &Value, keys: &[Value], at: &Path) -> Errors {
    let mut errors = Errors::new();
    let place = at.child("x-kubernetes-list-map-keys");
    if keys.is_empty() {
        errors.push(Error::required(&place, "must not be empty if x-kubernetes-list-type is map"));
    }
    if items.is_null() {
        errors.push(Error::required(&at.child("items"), "must have a schema if x-kubernetes-list-type is map"));
    } else if text(items, "type") != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(Error::invalid(&at.child("items").child("type"), text(items, "type"), why));
    } else {
        for (index, key) in keys.iter().enumerate() {
            let name = key.as_str().unwrap_or_default();
            match items["properties"].get(name).map(|field| text(field, "type")) {
                None => {
                    errors.push(Error::invalid(&place, json!(keys), "entries must all be names of item properties"));
                }
                Some("array" | "object") => {
                    let at = at.child("items").child("properties").key(name).child("type");
                    let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    errors.push(Error::invalid(&at, "object", why));
                }
                Some(_) => {}
            }
            if keys[..index].contains(key) {
                errors.push(Error::invalid(&place, json!(keys), "must not contain duplicate entries"));
            }
        }
    }
    errors
}

/// What tells elements apart is always there.
fn keyed(kind: Option<&str>, items: &Value, keys: &[Value], at: &Path) -> Errors {
    let mut errors = Errors::new();
    let Some(kind) = kind.filter(|kind| ["set", "map"].contains(kind) && items.is_object()) else { return errors };
    let at = at.child("items");
    if items["nullable"] == true {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        errors.push(Error::forbidden(&at.child("nullable"), why));
    }
    if kind != "map" {
        return errors;
    }
    for key in keys {
        let name = key.as_str().unwrap_or_default();
        let Some(field) = items["properties"].get(name) else { continue };
        let at = at.child("properties").key(name);
        if !list(items, "required").contains(key) && field["default"].is_null() {
            let why =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(Error::required(&at.child("default"), why));
        }
        if field["nullable"] == true {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(Error::forbidden(&at.child("nullable"), why));
        }
    }
    errors
}

/// The form of rules; whether they compile is told by others.
fn validations(schema: &Value, at: &Path, errors: &mut Errors) {
    let has_lines = |text: &str| text.contains(['\n', '\r']);
    for (index, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
        let at = at.child("x-kubernetes-validations").index(index);
        let (given, message, expression) = (text(rule, "rule"), text(rule, "message"), text(rule, "messageExpression"));
        if given.trim().is_empty() {
            errors.push(Error::required(&at.child("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            errors.push(Error::invalid(&at.child("message"), message, "must be non-empty if specified"));
        } else if has_lines(message.trim()) {
            errors.push(Error::invalid(&at.child("message"), message, "must not contain line breaks"));
        } else if has_lines(given.trim()) && message.trim().is_empty() {
            let why = "message must be specified if rule contains line breaks";
            errors.push(Error::required(&at.child("message"), why));
        }
        if !expression.is_empty() && expression.trim().is_empty() {
            let why = "messageExpression must be non-empty if specified";
            errors.push(Error::required(&at.child("messageExpression"), why));
        }
        if let Some(reason) = rule["reason"].as_str().filter(|reason| !REASONS.contains(reason)) {
            errors.push(Error::not_supported(&at.child("reason"), reason, &REASONS));
        }
        let path = text(rule, "fieldPath");
        if !path.is_empty() {
            let mut say = |why: &str| errors.push(Error::invalid(&at.child("fieldPath"), path, why));
            if path.trim().is_empty() {
                say("must be non-empty if specified");
            }
            if has_lines(path) {
                say("must not contain line breaks");
            }
            if FieldPath::parse(path, schema, true).is_err() {
                say("must be a valid path");
            }
        }
    }
}

fn compile(schema: &Value, at: &Path, place: &Place, types: &Types, found: &mut Found) {
    let errors = &mut found.of_rules;
    for (index, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
        let at = at.child("x-kubernetes-validations").index(index);
        let compiled = types.compile(rule);
        if compiled.is_hopeless {
            errors.push(Error::forbidden(&at.child("rule"), too_dear("estimated rule cost")));
            found.hopeless.push(at.child("rule"));
        }
        if let Some(why) = compiled.error {
            errors.push(Error::invalid(&at.child("rule"), shown(rule), why));
        }
        if let Some(why) = compiled.message_error {
            errors.push(Error::invalid(&at.child("messageExpression"), shown(rule), why));
        }
        match (&place.unfollowed, compiled.uses_old_self) {
            (Some(unfollowed), true) => {
                let why =
                    format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {unfollowed}");
                errors.push(Error::invalid(&at.child("rule"), text(rule, "rule"), why));
            }
            (_, false) if !rule["optionalOldSelf"].is_null() => {
                let why = "may not be set if oldSelf is not used in rule";
                errors.push(Error::invalid(&at.child("optionalOldSelf"), rule["optionalOldSelf"].clone(), why));
            }
            _ => {}
        }
    }
}

/// A rule as a real server prints it: by the names of its Go type.
fn shown(rule: &Value) -> Value {
    json!({
        "Rule": text(rule, "rule"), "Message": text(rule, "message"), "MessageExpression": text(rule, "messageExpression"),
        "Reason": rule["reason"], "FieldPath": text(rule, "fieldPath"), "OptionalOldSelf": rule["optionalOldSelf"],
    })
}
