//! How two objects differ.

use std::iter::Peekable;

use super::{View, element, field, identity, is_empty, step_to, view, write_identity};
use crate::json::Iter;
use crate::json::{Map, Name, Value};
use crate::managed::set::{FieldSet, Node, Step, field_name};
use crate::schema::{ListType, Schema};

/// Where two objects differ.
#[derive(Debug, Default)]
pub struct Difference {
    /// What is new or has another value.
    pub changed: FieldSet,
    pub removed: FieldSet,
}

/// How `new` differs from `old`.
pub fn compare(schema: &Schema, old: &Value, new: &Value) -> Difference {
    let found = differing(schema, Some(old), Some(new));
    Difference { changed: FieldSet::of(found.changed), removed: FieldSet::of(found.removed) }
}

/// One place in both sets, and everything below it.
#[derive(Default)]
struct Places {
    changed: Node,
    removed: Node,
}

impl Places {
    fn put(&mut self, step: Step, below: Self) {
        if !below.removed.is_empty() {
            self.removed.put(Step::clone(&step), below.removed);
        }
        if !below.changed.is_empty() {
            self.changed.put(step, below.changed);
        }
    }
}

fn differing(schema: &Schema, old: Option<&Value>, new: Option<&Value>) -> Places {
    let shape = [new, old].into_iter().flatten().find(|value| !value.is_null()).unwrap_or(&Value::Null);
    let view = view(schema, shape);
    let is_leaf = is_empty(old) && is_empty(new) || matches!(view, View::Leaf);
    let mut places = Places::default();
    match (old, new) {
        (None, _) => places.changed.is_member = true,
        (_, None) => places.removed.is_member = true,
        _ => places.changed.is_member = is_leaf,
    }
    if is_leaf {
        return places;
    }
    match view {
        View::Leaf => {}
        View::Map => objects(schema, old.and_then(Value::as_object), new.and_then(Value::as_object), &mut places),
        View::List(list) => lists(schema, list, old, new, &mut places),
    }
    places
}

fn objects(schema: &Schema, old: Option<&Map>, new: Option<&Map>, places: &mut Places) {
    let empty = Map::new();
    let mut before = old.unwrap_or(&empty).iter().peekable();
    let mut after = new.unwrap_or(&empty).iter().peekable();
    while let Some((name, old, new)) = next_of_both(&mut before, &mut after) {
        if old != new {
            let (step, field) = step_to(schema, name);
            places.put(step, differing(field, old, new));
        }
    }
}

/// Whether what [`compare`] would find to be changed is this set. Looking costs less than finding out; it may say no of
/// lists that have elements in both.
pub fn is_changed_by(schema: &Schema, old: &Value, new: &Value, changed: &FieldSet) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return false };
    are_objects_changed_by(schema, Some(old), new, changed.root())
}

fn is_place_changed_by(schema: &Schema, old: Option<&Value>, new: &Value, node: &Node) -> bool {
    let shape = if new.is_null() { old.unwrap_or(new) } else { new };
    let view = view(schema, shape);
    let is_leaf = is_empty(old) && is_empty(Some(new)) || matches!(view, View::Leaf);
    if node.is_member != (old.is_none() || is_leaf) {
        return false;
    }
    match view {
        _ if is_leaf => !node.has_children(),
        View::Map => {
            new.as_object().is_some_and(|new| are_objects_changed_by(schema, old.and_then(Value::as_object), new, node))
        }
        View::List(list) if is_empty(old) => {
            let items = new.as_array().map(Vec::as_slice).unwrap_or_default();
            let mut step = Vec::with_capacity(64);
            let mut seen = vec![false; items.len()];
            let mut is_there = |item: &Value| {
                step.clear();
                write_identity(schema, list, item, &mut step);
                let child = std::str::from_utf8(&step).ok().and_then(|step| node.numbered_child(step));
                child.is_some_and(|(index, child)| {
                    let is_twin = std::mem::replace(&mut seen[index], true);
                    !is_twin && is_place_changed_by(element(schema), None, item, child)
                })
            };
            node.children().len() == items.len() && items.iter().all(&mut is_there)
        }
        View::Leaf | View::List(_) => false,
    }
}

fn are_objects_changed_by(schema: &Schema, old: Option<&Map>, new: &Map, node: &Node) -> bool {
    let mut places = node.children();
    for (name, new) in new {
        let old = old.and_then(|old| old.get(name));
        if old == Some(new) {
            continue;
        }
        let Some((step, below)) = places.next() else { return false };
        if field_name(step) != Some(name.as_str()) || !is_place_changed_by(field(schema, name), old, new, below) {
            return false;
        }
    }
    places.next().is_none()
}

/// The next field of either object, in the order of their names.
fn next_of_both<'v>(
    before: &mut Peekable<Iter<'v>>,
    after: &mut Peekable<Iter<'v>>,
) -> Option<(&'v Name, Option<&'v Value>, Option<&'v Value>)> {
    let (old, new) = (before.peek().map(|(name, _)| *name), after.peek().map(|(name, _)| *name));
    let name = match (old, new) {
        (Some(old), Some(new)) => old.min(new),
        (old, new) => old.or(new)?,
    };
    let value_of = |side: &mut Peekable<Iter<'v>>| side.next_if(|(own, _)| *own == name).map(|(_, value)| value);
    Some((name, value_of(before), value_of(after)))
}

/// An element of either list.
struct Element<'v> {
    step: Step,
    is_new: bool,
    value: &'v Value,
}

fn lists(schema: &Schema, list: &ListType, old: Option<&Value>, new: Option<&Value>, places: &mut Places) {
    let mut elements = Vec::new();
    for (is_new, items) in [(false, old), (true, new)] {
        for value in items.and_then(Value::as_array).into_iter().flatten() {
            elements.push(Element { step: identity(schema, list, value), is_new, value });
        }
    }
    elements.sort_by(|a, b| a.step.cmp(&b.step));
    for same in elements.chunk_by(|a, b| a.step == b.step) {
        let (before, after) = same.split_at(same.partition_point(|one| !one.is_new));
        if before.iter().map(|one| one.value).eq(after.iter().map(|one| one.value)) {
            continue;
        }
        let step = Step::clone(&same[0].step);
        let (old, new) = (before.first().map(|one| one.value), after.first().map(|one| one.value));
        if before.len() <= 1 && after.len() <= 1 {
            places.put(step, differing(element(schema), old, new));
        } else if after.is_empty() {
            // Elements that cannot be told apart are compared all at once.
            places.removed.put(step, Node::leaf());
        } else {
            places.changed.put(step, Node::leaf());
        }
    }
}
