//! The rules of a CRD: `x-kubernetes-validations`, evaluated by kube-cel, told as the API server tells them.

use kube_cel::{CompiledSchema, Validator};
use kueue_core::field::{Error, ErrorKind, Errors, Path};
use serde_json::Value;

/// The compiled rules of one version.
#[derive(Debug)]
pub struct Rules(Option<CompiledSchema>);

const NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

impl Rules {
    /// Compiles the rules of a schema that has any.
    pub fn compile(schema: &Value) -> Self {
        Self(has_rules(schema).then(|| kube_cel::compile_schema(schema)))
    }

    /// Adds the rules' mistakes to those of the schema. Rules look only at what the schema accepts.
    pub fn judge(&self, value: &Value, old: Option<&Value>, version: &str, kind: &str, mut errors: Errors) -> Errors {
        let Some(rules) = &self.0 else { return errors };
        if !errors.is_empty() {
            errors.push(Error {
                kind: ErrorKind::Invalid,
                field: Path::new("<nil>"),
                value: Some(Value::Null),
                detail: NOT_CHECKED.into(),
            });
            return errors;
        }
        let typed = |value: &Value| {
            let mut value = value.clone();
            if let Some(object) = value.as_object_mut() {
                object.insert("apiVersion".into(), version.into());
                object.insert("kind".into(), kind.into());
            }
            value
        };
        let (new, before) = (typed(value), old.map(typed));
        let Err(found) = Validator::new().validate_compiled(rules, &new, before.as_ref()) else { return errors };
        for mistake in found.into_vec() {
            let path = mistake.field_path.trim_start_matches('.');
            errors.push(told(path, &mistake, at(&new, path)));
        }
        errors
    }
}

fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => object.contains_key("x-kubernetes-validations") || object.values().any(has_rules),
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

/// Scalars are shown, objects and lists are not.
fn told(path: &str, mistake: &kube_cel::ValidationError, found: Option<&Value>) -> Error {
    let field = Path::new(if path.is_empty() { "<nil>" } else { path });
    let kind = match mistake.reason.as_deref() {
        Some("FieldValueForbidden") => ErrorKind::Forbidden,
        Some("FieldValueRequired") => ErrorKind::Required,
        Some("FieldValueDuplicate") => ErrorKind::Duplicate,
        _ => ErrorKind::Invalid,
    };
    let shown = found.filter(|found| !found.is_object() && !found.is_array()).cloned();
    let detail = if kind == ErrorKind::Duplicate { String::new() } else { mistake.message.clone() };
    Error { kind, field, value: shown, detail }
}

/// The value at a path like `spec.list[1].name`.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut found = value;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let (name, indexes) = part.split_once('[').map_or((part, ""), |(name, rest)| (name, rest));
        if !name.is_empty() {
            found = found.get(name)?;
        }
        for index in indexes.split('[').filter(|index| !index.is_empty()) {
            let index = index.trim_end_matches(']');
            found = match index.parse::<usize>() {
                Ok(number) => found.get(number)?,
                Err(_) => found.get(index)?,
            };
        }
    }
    Some(found)
}
