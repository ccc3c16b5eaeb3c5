//! Sets that were written under another schema: what has become atomic since has one owner as a whole.

use super::entries::Managers;
use super::set::{self, FieldSet, Node};
use crate::schema::{Form, ListType, Schema};

/// Brings every manager's set into the form of the schema.
pub fn with_schema(schema: &Schema, managers: &mut Managers) {
    if managers.iter().all(|entry| !is_outdated(schema, entry.set.root())) {
        return;
    }
    for entry in managers.iter_mut() {
        let mut root = entry.set.root().clone();
        settle(schema, &mut root);
        entry.set = FieldSet::of(root);
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
    node.children().any(|(step, inner)| match below(schema, step) {
        Some(below) if is_atomic(below) => inner.has_children(),
        Some(below) => is_outdated(below, inner),
        None => false,
    })
}

fn settle(schema: &Schema, node: &mut Node) {
    node.change_children(|step, inner| match below(schema, step) {
        Some(below) if is_atomic(below) => *inner = Node::leaf(),
        Some(below) => settle(below, inner),
        None => {}
    });
}
