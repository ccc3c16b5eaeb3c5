//! Objects seen through their schema: which fields they have, how two differ, how one is merged into another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::set::{self, FieldSet, Node};
use crate::schema::{Form, ListType, Schema, Unset};

/// Where two objects differ.
#[derive(Debug, Default)]
pub struct Difference {
    pub added: FieldSet,
    pub modified: FieldSet,
    pub removed: FieldSet,
}

/// What a node is to server-side apply.
enum View<'a> {
    /// One owner for all of it.
    Leaf,
    Map,
    /// Elements are told apart by key or by value.
    List(&'a ListType),
}

static NO_SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(Schema::any);

fn view<'a>(schema: &'a Schema, value: &Value) -> View<'a> {
    match (&*schema.form, value) {
        _ if schema.is_atomic => View::Leaf,
        (Form::Struct { .. } | Form::Map(_) | Form::Any, Value::Object(_)) => View::Map,
        (Form::List(_), Value::Array(_)) if schema.list != ListType::Atomic => View::List(&schema.list),
        _ => View::Leaf,
    }
}

fn field<'a>(schema: &'a Schema, name: &str) -> &'a Schema {
    schema.field(name).map_or(&**NO_SCHEMA, |field| field)
}

fn element(schema: &Schema) -> &Schema {
    schema.element().map_or(&**NO_SCHEMA, |element| element)
}

fn is_declared(schema: &Schema, name: &str) -> bool {
    matches!(&*schema.form, Form::Struct { fields, .. } if fields.contains_key(name))
}

/// What tells an element of a list apart, as a step of a path. Keys that are missing have their default.
pub fn identity(schema: &Schema, list: &ListType, item: &Value) -> String {
    match list {
        ListType::Map(keys) => {
            let items = element(schema);
            let key = |name: &String| {
                let default = || items.field(name).and_then(|field| key_default(field));
                Some((name.clone(), item.get(name).cloned().or_else(default)?))
            };
            let keys: Map<String, Value> = keys.iter().filter_map(key).collect();
            format!("k:{}", Value::Object(keys))
        }
        _ => format!("v:{item}"),
    }
}

/// The value of a key that is not given: its default, or the zero that Go always writes.
fn key_default(field: &Schema) -> Option<Value> {
    let zero = || match (&*field.form, field.unset) {
        (Form::Text, Unset::Always) => Some("".into()),
        (Form::Integer { .. }, Unset::Always) => Some(0.into()),
        _ => None,
    };
    field.default.clone().or_else(zero)
}

/// Every field that an applied configuration owns.
pub fn fields(schema: &Schema, value: &Value) -> FieldSet {
    FieldSet::of(owned(schema, value).unwrap_or_default())
}

/// What is owned of a value: itself if it is a leaf or has nothing in it, else what is inside; nothing of a list
/// without elements. Its parent may add that the value itself is owned as well.
fn owned(schema: &Schema, value: &Value) -> Option<Node> {
    let mut node = Node::new();
    match view(schema, value) {
        View::Leaf => Some(node),
        View::Map => {
            let object = value.as_object()?;
            for (name, inner) in object {
                let inside = owned(field(schema, name), inner);
                let inside = if is_declared(schema, name) { inside } else { Some(itself_too(inside)) };
                if let Some(inside) = inside {
                    node.insert(format!("f:{name}"), inside.into());
                }
            }
            (object.is_empty() || !node.is_empty()).then_some(node)
        }
        View::List(list) => {
            for item in value.as_array().into_iter().flatten() {
                let inside = itself_too(owned(element(schema), item));
                let step = identity(schema, list, item);
                // Of elements that cannot be told apart only the place is owned.
                let inside = if node.contains_key(&step) { Node::new() } else { inside };
                node.insert(step, inside.into());
            }
            (!node.is_empty()).then_some(node)
        }
    }
}

fn itself_too(inside: Option<Node>) -> Node {
    let mut node = inside.unwrap_or_default();
    if !node.is_empty() {
        node.insert(".".into(), Map::new().into());
    }
    node
}

/// How `new` differs from `old`.
pub fn compare(schema: &Schema, old: &Value, new: &Value) -> Difference {
    let mut walk = Walk { path: Vec::new(), difference: Difference::default() };
    if old != new {
        walk.both(schema, Some(old), Some(new));
    }
    walk.difference
}

struct Walk {
    path: Vec<String>,
    difference: Difference,
}

impl Walk {
    /// The two are known to differ.
    fn both(&mut self, schema: &Schema, old: Option<&Value>, new: Option<&Value>) {
        let shape = [new, old].into_iter().flatten().find(|value| !value.is_null()).unwrap_or(&Value::Null);
        let view = view(schema, shape);
        let is_leaf = is_empty(old) && is_empty(new) || matches!(view, View::Leaf);
        match (old, new) {
            (None, _) => self.difference.added.insert(&self.path),
            (_, None) => self.difference.removed.insert(&self.path),
            _ if is_leaf => self.difference.modified.insert(&self.path),
            _ => {}
        }
        if is_leaf {
            return;
        }
        match view {
            View::Leaf => {}
            View::Map => self.objects(schema, old.and_then(Value::as_object), new.and_then(Value::as_object)),
            View::List(list) => self.lists(schema, list, old, new),
        }
    }

    fn objects(&mut self, schema: &Schema, old: Option<&Map<String, Value>>, new: Option<&Map<String, Value>>) {
        for (name, before) in old.into_iter().flatten() {
            let after = new.and_then(|new| new.get(name));
            if after != Some(before) {
                self.step(format!("f:{name}"), field(schema, name), Some(before), after);
            }
        }
        for (name, after) in new.into_iter().flatten() {
            if old.is_none_or(|old| !old.contains_key(name)) {
                self.step(format!("f:{name}"), field(schema, name), None, Some(after));
            }
        }
    }

    fn lists(&mut self, schema: &Schema, list: &ListType, old: Option<&Value>, new: Option<&Value>) {
        let mut found: BTreeMap<String, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for item in old.and_then(Value::as_array).into_iter().flatten() {
            found.entry(identity(schema, list, item)).or_default().0.push(item);
        }
        for item in new.and_then(Value::as_array).into_iter().flatten() {
            found.entry(identity(schema, list, item)).or_default().1.push(item);
        }
        for (step, (before, after)) in found {
            if before == after {
                continue;
            }
            if before.len() <= 1 && after.len() <= 1 {
                self.step(step, element(schema), before.first().copied(), after.first().copied());
                continue;
            }
            // Elements that cannot be told apart are compared all at once.
            self.path.push(step);
            match (before.is_empty(), after.is_empty()) {
                (true, _) => self.difference.added.insert(&self.path),
                (_, true) => self.difference.removed.insert(&self.path),
                _ => self.difference.modified.insert(&self.path),
            }
            self.path.pop();
        }
    }

    fn step(&mut self, step: String, schema: &Schema, old: Option<&Value>, new: Option<&Value>) {
        self.path.push(step);
        self.both(schema, old, new);
        self.path.pop();
    }
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(object)) => object.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    }
}

/// Lays a configuration over the live object.
pub fn merge(schema: &Schema, live: &mut Value, config: &Value) {
    match (view(schema, config), &mut *live) {
        (View::Map, Value::Object(present)) => {
            for (name, inner) in config.as_object().into_iter().flatten() {
                match present.get_mut(name) {
                    Some(own) => merge(field(schema, name), own, inner),
                    None => {
                        present.insert(name.clone(), inner.clone());
                    }
                }
            }
        }
        (View::List(list), Value::Array(present)) if !(present.is_empty() && is_empty(Some(config))) => {
            let wanted = config.as_array().map(Vec::as_slice).unwrap_or_default();
            *present = merge_lists(schema, list, std::mem::take(present), wanted);
        }
        _ => *live = config.clone(),
    }
}

/// Elements that only the live list has keep their place before the next shared one; the order of the others is the
/// configuration's.
fn merge_lists(schema: &Schema, list: &ListType, live: Vec<Value>, config: &[Value]) -> Vec<Value> {
    let name = |item: &Value| identity(schema, list, item);
    let live_names: Vec<String> = live.iter().map(name).collect();
    let config_names: Vec<String> = config.iter().map(name).collect();
    let config_has: BTreeSet<&String> = config_names.iter().collect();
    let mut places: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for (place, name) in live_names.iter().enumerate() {
        places.entry(name).or_default().push(place);
    }
    let mut live: Vec<Option<Value>> = live.into_iter().map(Some).collect();
    let mut merged = Vec::with_capacity(live.len() + config.len());
    let mut at = 0;
    for (item, own) in config.iter().zip(&config_names) {
        let shared = places.get(own).and_then(|places| places.first().copied());
        // Up to the element we are at, whatever only the live object has goes first.
        if shared.is_none_or(|shared| shared >= at) {
            while at < live.len() && Some(at) != shared {
                if !config_has.contains(&live_names[at]) {
                    merged.extend(live[at].take());
                } else if shared.is_none() {
                    break;
                }
                at += 1;
            }
            if Some(at) == shared {
                at += 1;
            }
        }
        // Elements that cannot be told apart give way to the one that is applied.
        let is_unique = places.get(own).is_some_and(|places| places.len() == 1);
        merged.push(match shared.filter(|_| is_unique).and_then(|shared| live[shared].take()) {
            Some(mut present) => {
                merge(element(schema), &mut present, item);
                present
            }
            None => item.clone(),
        });
    }
    for (item, own) in live.into_iter().zip(&live_names).skip(at) {
        if !config_has.contains(own) {
            merged.extend(item);
        }
    }
    merged
}

/// Takes the fields of a set out of an object. What becomes empty by that goes too, unless it is an element or an
/// undeclared field of its own: of those null is left.
pub fn remove(schema: &Schema, value: &mut Value, gone: &FieldSet) {
    if !gone.is_empty() && !remove_below(schema, value, gone.root()) {
        *value = Map::new().into();
    }
}

/// Tells whether anything is left of the value.
fn remove_below(schema: &Schema, value: &mut Value, gone: &Node) -> bool {
    match (view(schema, value), value) {
        (View::Map, Value::Object(object)) => {
            for (step, below) in set::children(gone) {
                let Some(name) = set::field_name(step) else { continue };
                let Some(inner) = object.get_mut(name) else { continue };
                if set::is_member(below) {
                    object.remove(name);
                } else if !remove_below(field(schema, name), inner, below) {
                    *inner = Value::Null;
                }
            }
            !object.is_empty()
        }
        (View::List(list), Value::Array(items)) => {
            items.retain_mut(|item| match set::child(gone, &identity(schema, list, item)) {
                None => true,
                Some(below) if set::is_member(below) => false,
                Some(below) => {
                    if !remove_below(element(schema), item, below) {
                        *item = Value::Null;
                    }
                    true
                }
            });
            !items.is_empty()
        }
        // The inside of a leaf cannot be told apart: all of it goes.
        (_, Value::Object(_) | Value::Array(_)) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
