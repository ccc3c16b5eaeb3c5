//! The defaults of a schema must be values that it accepts.

use kueue_core::field::{Error, Errors, Path};

use crate::json::Value;
use crate::schema::{load, prune, validate as keywords};

/// Every default that its own schema does not accept.
pub fn validate(schema: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    walk(schema, at, &mut errors);
    errors
}

fn walk(schema: &Value, at: &Path, errors: &mut Errors) {
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        errors.extend(validate_one(schema, default, &at.child("default")));
    }
    if schema["items"].is_object() {
        walk(&schema["items"], &at.child("items"), errors);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        walk(field, &at.child("properties").key(name), errors);
    }
}

fn validate_one(schema: &Value, default: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let compiled = load::custom(schema);
    let mut pruned = default.clone();
    if !prune::prune(&compiled, &mut pruned, None).is_empty() {
        errors.push(Error::invalid(at, default.clone(), "must not have unknown fields"));
    }
    let found = keywords::validate(&compiled, default, None, &Path::default());
    let found = if found.is_empty() { super::cel::Rules::compile(schema).judge_default(default) } else { found };
    errors.extend(found.into_iter().map(|mut error| {
        error.field = match error.field.to_string().as_str() {
            "" | "<nil>" => at.clone(),
            inside => at.child(inside),
        };
        error
    }));
    errors
}
