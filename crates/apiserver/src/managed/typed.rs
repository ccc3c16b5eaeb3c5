//! Objects seen through their schema: which fields they have, how two differ, how one is merged into another.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use super::set::{self, FieldSet, Node, Step};
use crate::json::{Map, Value, write_text};
use crate::schema::{Form, ListType, Schema, Unset};

mod compare;

pub use compare::{Difference, compare, is_changed_by};

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

/// A field as a step of a path, and its schema.
fn step_to<'s>(schema: &'s Schema, name: &str) -> (Step, &'s Schema) {
    match schema.declared(name) {
        Some((name, field)) => (Arc::clone(name.step()), field),
        None => (format!("f:{name}").into(), field(schema, name)),
    }
}

/// What tells an element of a list apart, as a step of a path. Keys that are missing have their default.
pub fn identity(schema: &Schema, list: &ListType, item: &Value) -> Step {
    let mut text = Vec::with_capacity(64);
    write_identity(schema, list, item, &mut text);
    std::str::from_utf8(&text).expect("JSON is text").into()
}

fn write_identity(schema: &Schema, list: &ListType, item: &Value, out: &mut Vec<u8>) {
    let ListType::Map(keys) = list else {
        out.extend_from_slice(b"v:");
        return item.write(out);
    };
    let items = element(schema);
    let mut names: Cow<'_, [String]> = keys.into();
    if !names.is_sorted() {
        names.to_mut().sort();
    }
    out.extend_from_slice(b"k:{");
    for name in names.iter() {
        let default = || items.field(name).and_then(|field| key_default(field)).map(Cow::Owned);
        let Some(value) = item.get(name).map(Cow::Borrowed).or_else(default) else { continue };
        if !out.ends_with(b"{") {
            out.push(b',');
        }
        write_text(name, out);
        out.push(b':');
        value.write(out);
    }
    out.push(b'}');
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
    let mut node = Node::default();
    match view(schema, value) {
        View::Leaf => Some(Node::leaf()),
        View::Map => {
            let object = value.as_object()?;
            for (name, inner) in object {
                let (step, below) = step_to(schema, name);
                let inside = owned(below, inner);
                let inside = if schema.declared(name).is_some() { inside } else { Some(itself_too(inside)) };
                if let Some(inside) = inside {
                    node.put(step, inside);
                }
            }
            node.is_member = object.is_empty();
            (!node.is_empty()).then_some(node)
        }
        View::List(list) => {
            for item in value.as_array().into_iter().flatten() {
                let step = identity(schema, list, item);
                // Of elements that cannot be told apart only the place is owned.
                let is_unique = node.child(&step).is_none();
                node.put(step, if is_unique { itself_too(owned(element(schema), item)) } else { Node::leaf() });
            }
            (!node.is_empty()).then_some(node)
        }
    }
}

fn itself_too(inside: Option<Node>) -> Node {
    let mut node = inside.unwrap_or_default();
    node.is_member = true;
    node
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
            **present = merge_lists(schema, list, std::mem::take(&mut **present), wanted);
        }
        _ => *live = config.clone(),
    }
}

/// Elements that only the live list has keep their place before the next shared one; the order of the others is the
/// configuration's.
fn merge_lists(schema: &Schema, list: &ListType, live: Vec<Value>, config: &[Value]) -> Vec<Value> {
    let name = |item: &Value| identity(schema, list, item);
    let live_names: Vec<Step> = live.iter().map(name).collect();
    let config_names: Vec<Step> = config.iter().map(name).collect();
    let config_has: BTreeSet<&Step> = config_names.iter().collect();
    let mut places: BTreeMap<&Step, Vec<usize>> = BTreeMap::new();
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
            for (step, below) in gone.children() {
                let Some(name) = set::field_name(step) else { continue };
                let Some(inner) = object.get_mut(name) else { continue };
                if below.is_member {
                    object.remove(name);
                } else if !remove_below(field(schema, name), inner, below) {
                    *inner = Value::Null;
                }
            }
            !object.is_empty()
        }
        (View::List(list), Value::Array(items)) => {
            items.retain_mut(|item| match gone.child(&identity(schema, list, item)) {
                None => true,
                Some(below) if below.is_member => false,
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
