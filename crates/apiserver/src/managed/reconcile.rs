//! Sets that were written under another schema: what has become atomic since has one owner as a whole.

use serde_json::Value;

use super::entries::Managers;
use super::set::{self, Node};
use crate::schema::{Form, ListType, Schema};

/// Brings every manager's set into the form of the schema.
pub fn with_schema(schema: &Schema, managers: &mut Managers) {
    for owned in managers.values_mut() {
        if is_outdated(schema, owned.set.root()) {
            let mut root = owned.set.root().clone();
            settle(schema, &mut root);
            owned.set = set::FieldSet::of(root);
        }
    }
}

fn is_atomic(schema: &Schema) -> bool {
    schema.is_atomic || matches!(&*schema.form, Form::List(_)) && schema.list == ListType::Atomic
}

fn below<'s>(schema: &'s Schema, step: &str) -> Option<&'s Schema> {
    match set::field_name(step) {
        Some(name) => schema.field(name).map(|field| &**field),
        None => schema.element().map(|element| &**element),
    }
}

fn is_outdated(schema: &Schema, node: &Node) -> bool {
    set::children(node).any(|(step, inner)| match below(schema, step) {
        Some(below) if is_atomic(below) => !inner.is_empty(),
        Some(below) => is_outdated(below, inner),
        None => false,
    })
}

fn settle(schema: &Schema, node: &mut Node) {
    for (step, inner) in node.iter_mut() {
        let (Value::Object(inner), Some(below)) = (inner, below(schema, step)) else { continue };
        if is_atomic(below) {
            inner.clear();
        } else {
            settle(below, inner);
        }
    }
}
