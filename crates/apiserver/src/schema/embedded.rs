//! Resources inside custom resources: they say what they are, and their metadata is that of every resource.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::name::dns1035_label;

use super::{Schema, go};
use crate::json::Value;

/// Brings the metadata of resources inside a value into the form it has everywhere. An error is what a decoder says.
pub fn settle(schema: &Schema, value: &mut Value, path: &Path) -> Result<(), String> {
    if schema.is_embedded
        && let (Some(metadata), Some(own)) = (value.get_mut("metadata"), schema.field("metadata"))
    {
        let before = metadata.clone();
        go::canonical(own, metadata, None).map_err(|why| {
            let field = path.child("metadata");
            Error::invalid(&field, before, why).to_string()
        })?;
    }
    match value {
        Value::Object(object) => object.iter_mut().try_for_each(|(name, inner)| match schema.field(name) {
            Some(field) if field.keywords.is_some() => settle(field, inner, &path.child(name)),
            _ => Ok(()),
        }),
        Value::Array(items) => match schema.element() {
            Some(element) => {
                let mut items = items.iter_mut().enumerate();
                items.try_for_each(|(index, item)| settle(element, item, &path.index(index)))
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Every mistake of resources inside a value.
pub fn validate(schema: &Schema, value: &Value, path: &Path) -> Errors {
    let mut errors = Errors::new();
    walk(schema, value, path, &mut errors);
    errors
}

fn walk(schema: &Schema, value: &Value, path: &Path, errors: &mut Errors) {
    match value {
        Value::Object(object) => {
            if schema.is_embedded {
                errors.extend(validate_one(value, path));
            }
            for (name, inner) in object {
                if let Some(field) = schema.field(name).filter(|field| field.keywords.is_some()) {
                    walk(field, inner, &path.child(name), errors);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(element) = schema.element() {
                    walk(element, item, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn validate_one(value: &Value, path: &Path) -> Errors {
    let mut errors = Errors::new();
    for name in ["apiVersion", "kind"] {
        let at = path.child(name);
        match value.get(name) {
            None => errors.push(Error::required(&at, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(Error::invalid(&at, "", "must not be empty"));
            }
            Some(Value::String(text)) if name == "apiVersion" && text.matches('/').count() > 1 => {
                errors.push(Error::invalid(&at, text.as_str(), format!("unexpected GroupVersion string: {text}")));
            }
            Some(Value::String(text)) if name == "kind" => {
                let wrong = dns1035_label(&text.to_lowercase());
                if !wrong.is_empty() {
                    let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
                    errors.push(Error::invalid(&at, text.as_str(), why));
                }
            }
            Some(Value::String(_)) => {}
            Some(other) => errors.push(Error::invalid(&at, other.clone(), "must be a string")),
        }
    }
    errors.extend(crate::meta::validate_rest(value).into_iter().map(|error| error.under(path)));
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;
    use crate::schema::load::custom_resource;

    #[test]
    fn a_resource_inside_another_says_what_it_is() {
        let metadata = crate::kinds::BuiltIn::types().get("meta.v1.ObjectMeta");
        let source = json!({"type": "object", "properties": {"l": {"type": "array", "items": {
            "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}});
        let schema = custom_resource(&source, &metadata);
        let say = |item: Value| -> Vec<String> {
            validate(&schema, &json!({"l": [item]}), &Path::default()).iter().map(ToString::to_string).collect()
        };
        assert_eq!(say(json!({"apiVersion": "v1", "kind": "Pod", "x": 1})), Vec::<String>::new());
        assert_eq!(
            say(json!({"kind": ""})),
            ["l[0].apiVersion: Required value", "l[0].kind: Invalid value: \"\": must not be empty"]
        );
        assert_eq!(
            say(json!({"apiVersion": "a/b/c", "kind": "K"})),
            ["l[0].apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c"]
        );
        let labels = say(json!({"apiVersion": "v1", "kind": "K", "metadata": {"labels": {"a": "%"}}}));
        assert!(labels[0].starts_with("l[0].metadata.labels: Invalid value: \"%\""), "{labels:?}");
        let mut odd = json!({"l": [{"apiVersion": "v1", "kind": "K", "metadata": {"labels": {"a": 1}}}]});
        assert_eq!(
            settle(&schema, &mut odd, &Path::default()).unwrap_err(),
            "l[0].metadata: Invalid value: {\"labels\":{\"a\":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
        );
    }
}
