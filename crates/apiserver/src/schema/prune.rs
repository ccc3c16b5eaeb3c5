//! Drops from a custom resource what its schema does not know.

use std::fmt;

use super::{Form, Schema};
use crate::json::{Name, Value};

/// Removes unknown fields; returns their paths in the order of the object, those in the metadata of resources inside it
/// last. What is shared with `old`, an object that has none, is passed over.
pub fn prune(schema: &Schema, value: &mut Value, old: Option<&Value>) -> Vec<String> {
    let mut unknown = Vec::new();
    walk(schema, value, old, Trail::Root, &mut unknown);
    for one in &unknown {
        remove(value, &one.steps);
    }
    let (inside, mut outside): (Vec<Unknown>, Vec<Unknown>) = unknown.into_iter().partition(|one| one.is_in_metadata);
    outside.extend(inside);
    outside.into_iter().map(|one| one.path).collect()
}

struct Unknown {
    path: String,
    steps: Vec<Step>,
    is_in_metadata: bool,
}

enum Step {
    Field(Name),
    Index(usize),
}

/// Where we are; written out only for what is not known.
#[derive(Clone, Copy)]
enum Trail<'t> {
    Root,
    Field(&'t Trail<'t>, &'t Name),
    Index(&'t Trail<'t>, usize),
}

impl Trail<'_> {
    fn steps(&self) -> Vec<Step> {
        let (above, step) = match self {
            Trail::Root => return Vec::new(),
            Trail::Field(above, name) => (above, Step::Field((*name).clone())),
            Trail::Index(above, index) => (above, Step::Index(*index)),
        };
        let mut steps = above.steps();
        steps.push(step);
        steps
    }
}

impl fmt::Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trail::Root => Ok(()),
            Trail::Field(Trail::Root, name) => f.write_str(name),
            Trail::Field(above, name) => write!(f, "{above}.{name}"),
            Trail::Index(above, index) => write!(f, "{above}[{index}]"),
        }
    }
}

fn walk(schema: &Schema, value: &Value, old: Option<&Value>, trail: Trail<'_>, unknown: &mut Vec<Unknown>) {
    if old.is_some_and(|old| value.is_same_as(old)) {
        return;
    }
    match value {
        Value::Object(object) => {
            let is_closed = !schema.keeps_unknown && knows_its_fields(schema);
            for (name, inner) in object {
                let at = Trail::Field(&trail, name);
                if let Some(field) = schema.field(name) {
                    walk(field, inner, old.and_then(|old| old.get(name)), at, unknown);
                    continue;
                }
                let keep =
                    !is_closed || schema.is_embedded && ["apiVersion", "kind", "metadata"].contains(&name.as_str());
                if !keep {
                    // Only built-in types have a name.
                    let is_in_metadata = matches!(&*schema.form, Form::Struct { name, .. } if !name.is_empty());
                    unknown.push(Unknown { path: at.to_string(), steps: at.steps(), is_in_metadata });
                }
            }
        }
        Value::Array(items) => {
            if let Some(element) = schema.element() {
                for (index, item) in items.iter().enumerate() {
                    let before = old.and_then(|old| old.get(index));
                    walk(element, item, before, Trail::Index(&trail, index), unknown);
                }
            }
        }
        _ => {}
    }
}

/// Takes a field out of an object; steps to it lead through what is there.
fn remove(value: &mut Value, steps: &[Step]) {
    match (steps, value) {
        ([Step::Field(name)], Value::Object(object)) => {
            object.remove(name);
        }
        ([Step::Field(name), below @ ..], Value::Object(object)) => {
            object.get_mut(name).into_iter().for_each(|inner| remove(inner, below));
        }
        ([Step::Index(index), below @ ..], Value::Array(items)) => {
            items.get_mut(*index).into_iter().for_each(|inner| remove(inner, below));
        }
        _ => {}
    }
}

/// A list or scalar that is given an object is for validation to refuse, and keeps it.
fn knows_its_fields(schema: &Schema) -> bool {
    matches!(&*schema.form, Form::Struct { others: None, .. })
        || matches!(&*schema.form, Form::Any) && schema.keywords.is_some()
}

#[cfg(test)]
mod tests {
    use super::super::load::custom;
    use super::*;
    use crate::json::json;

    #[test]
    fn only_what_the_schema_names_stays() {
        let schema = custom(&json!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "string"}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                     "properties": {"in": {"type": "object", "properties": {}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"k": {"type": "string"}}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
        }}));
        let mut value = json!({"x": 1, "a": {"b": "1", "c": 2}, "free": {"any": 1, "in": {"no": 1}},
            "map": {"m": {"k": "1", "l": 2}}, "list": [{"k": "1", "l": 2}]});
        let unknown = prune(&schema, &mut value, None);
        assert_eq!(
            value,
            json!({"a": {"b": "1"}, "free": {"any": 1, "in": {}}, "map": {"m": {"k": "1"}}, "list": [{"k": "1"}]})
        );
        assert_eq!(unknown, ["a.c", "free.in.no", "list[0].l", "map.m.l", "x"]);
    }

    #[test]
    fn a_resource_inside_another_has_metadata_of_its_own() {
        let metadata = crate::kinds::BuiltIn::types().get("meta.v1.ObjectMeta");
        let source = json!({"type": "object", "properties": {
            "emb": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}},
        }});
        let schema = crate::schema::load::custom_resource(&source, &metadata);
        let mut value = json!({"emb": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "odd": 1}, "x": 1}});
        assert_eq!(prune(&schema, &mut value, None), ["emb.x", "emb.metadata.odd"]);
        assert_eq!(value, json!({"emb": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}}}));
    }
}
