//! Objects seen through their schema: which fields they have, how two differ, how one is merged into another.

use serde_json::{Map, Value};

use super::set::{Element, FieldSet, Scalar, shown};
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

static NO_SCHEMA: std::sync::LazyLock<std::sync::Arc<Schema>> = std::sync::LazyLock::new(Schema::any);

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

/// What tells an element of a list apart. Keys that are missing have their default.
fn identity(schema: &Schema, list: &ListType, item: &Value) -> Element {
    match list {
        ListType::Map(keys) => {
            let items = element(schema);
            let key = |name: &String| {
                let default = || items.field(name).and_then(|field| key_default(field));
                let value = item.get(name).cloned().or_else(default)?;
                Some((name.clone(), Scalar::of(&value)))
            };
            Element::Key(keys.iter().filter_map(key).collect())
        }
        _ => Element::Member(Scalar::of(item)),
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
    let mut set = FieldSet::default();
    match view(schema, value) {
        View::Leaf => set.is_member = true,
        View::Map => {
            for (name, inner) in value.as_object().into_iter().flatten() {
                let mut node = fields(field(schema, name), inner);
                let is_declared = matches!(&*schema.form, Form::Struct { fields, .. } if fields.contains_key(name));
                let is_empty = inner.is_null() || inner.as_object().is_some_and(Map::is_empty);
                node.is_member |= is_empty || !is_declared;
                set.children.insert(Element::Field(name.clone()), node);
            }
        }
        View::List(list) => {
            for item in value.as_array().into_iter().flatten() {
                let mut node = fields(element(schema), item);
                node.is_member = true;
                set.children.insert(identity(schema, list, item), node);
            }
        }
    }
    set
}

/// How `new` differs from `old`.
pub fn compare(schema: &Schema, old: &Value, new: &Value) -> Difference {
    let mut difference = Difference::default();
    walk(schema, Some(old), Some(new), &mut Vec::new(), &mut difference);
    difference
}

fn walk(
    schema: &Schema,
    old: Option<&Value>,
    new: Option<&Value>,
    path: &mut Vec<Element>,
    difference: &mut Difference,
) {
    let is_empty = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(object)) => object.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    };
    let shape = [new, old].into_iter().flatten().find(|value| !value.is_null()).unwrap_or(&Value::Null);
    let is_leaf = is_empty(old) && is_empty(new) || matches!(view(schema, shape), View::Leaf);
    match (old, new) {
        (None, _) => difference.added.insert(path),
        (_, None) => difference.removed.insert(path),
        (Some(old), Some(new)) if is_leaf && old != new => difference.modified.insert(path),
        _ => {}
    }
    if is_leaf {
        return;
    }
    for (element, below) in children(schema, old, new) {
        let at = |value: Option<&Value>| value.and_then(|value| child(schema, value, &element).cloned());
        let (old, new) = (at(old), at(new));
        path.push(element);
        walk(below, old.as_ref(), new.as_ref(), path, difference);
        path.pop();
    }
}

/// The children that either object has.
fn children<'a>(schema: &'a Schema, old: Option<&Value>, new: Option<&Value>) -> Vec<(Element, &'a Schema)> {
    let mut found: Vec<(Element, &Schema)> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for value in [old, new].into_iter().flatten() {
        match view(schema, value) {
            View::Leaf => {}
            View::Map => {
                for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
                    let element = Element::Field(name.clone());
                    if seen.insert(element.clone()) {
                        found.push((element, field(schema, name)));
                    }
                }
            }
            View::List(list) => {
                for item in value.as_array().into_iter().flatten() {
                    let one = identity(schema, list, item);
                    if seen.insert(one.clone()) {
                        found.push((one, element(schema)));
                    }
                }
            }
        }
    }
    found
}

fn child<'v>(schema: &Schema, value: &'v Value, wanted: &Element) -> Option<&'v Value> {
    match wanted {
        Element::Field(name) => value.get(name),
        _ => value.as_array()?.iter().find(|item| identity(schema, &schema.list, item) == *wanted),
    }
}

/// The live object with the configuration laid over it.
pub fn merge(schema: &Schema, live: Option<&Value>, config: &Value) -> Value {
    let Some(live) = live.filter(|live| !live.is_null()) else { return config.clone() };
    match (view(schema, config), live) {
        (View::Map, Value::Object(present)) => {
            let mut merged = present.clone();
            for (name, inner) in config.as_object().into_iter().flatten() {
                let value = merge(field(schema, name), present.get(name), inner);
                merged.insert(name.clone(), value);
            }
            merged.into()
        }
        (View::List(list), Value::Array(present)) => {
            let wanted = config.as_array().map(Vec::as_slice).unwrap_or_default();
            merge_lists(schema, list, present, wanted).into()
        }
        _ => config.clone(),
    }
}

/// Elements that only the live list has keep their place before the next shared one; the order of the others is the
/// configuration's.
fn merge_lists(schema: &Schema, list: &ListType, live: &[Value], config: &[Value]) -> Vec<Value> {
    let name = |item: &Value| identity(schema, list, item);
    let (live_names, config_names): (Vec<Element>, Vec<Element>) =
        (live.iter().map(name).collect(), config.iter().map(name).collect());
    let mut merged = Vec::with_capacity(live.len() + config.len());
    let mut at = 0;
    for (item, own) in config.iter().zip(&config_names) {
        let shared = live_names.iter().position(|other| other == own);
        // Up to the element we are at, whatever only the live object has goes first.
        if shared.is_none_or(|shared| shared >= at) {
            while at < live.len() && Some(at) != shared {
                if config_names.contains(&live_names[at]) {
                    if shared.is_none() {
                        break;
                    }
                } else {
                    merged.push(live[at].clone());
                }
                at += 1;
            }
            if Some(at) == shared {
                at += 1;
            }
        }
        merged.push(merge(element(schema), shared.map(|shared| &live[shared]), item));
    }
    for (item, own) in live.iter().zip(&live_names).skip(at) {
        if !config_names.contains(own) {
            merged.push(item.clone());
        }
    }
    merged
}

/// The object without the fields of a set; what becomes empty by that goes too.
pub fn remove(schema: &Schema, value: &Value, set: &FieldSet) -> Option<Value> {
    match view(schema, value) {
        View::Leaf => Some(value.clone()),
        View::Map => {
            let object = value.as_object()?;
            let mut kept = Map::new();
            for (name, inner) in object {
                match set.child(&Element::Field(name.clone())) {
                    None => {
                        kept.insert(name.clone(), inner.clone());
                    }
                    Some(node) if node.is_member => {}
                    Some(node) => {
                        if let Some(left) = remove(field(schema, name), inner, node) {
                            kept.insert(name.clone(), left);
                        }
                    }
                }
            }
            (object.is_empty() || !kept.is_empty()).then(|| kept.into())
        }
        View::List(list) => {
            let items = value.as_array()?;
            let mut kept = Vec::new();
            for item in items {
                match set.child(&identity(schema, list, item)) {
                    None => kept.push(item.clone()),
                    Some(node) if node.is_member => {}
                    Some(node) => kept.extend(remove(element(schema), item, node)),
                }
            }
            (items.is_empty() || !kept.is_empty()).then(|| kept.into())
        }
    }
}

/// What is wrong with an applied configuration, in the words of the typed reader.
pub fn check(schema: &Schema, value: &Value) -> Result<(), String> {
    check_at(schema, value, &mut Vec::new())
}

fn check_at(schema: &Schema, value: &Value, path: &mut Vec<Element>) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    let at = |path: &[Element], what: String| Err(format!("{}: {what}", shown(path)));
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match &*schema.form {
        Form::Struct { .. } | Form::Map(_) => {
            let Value::Object(object) = value else {
                return at(path, format!("expected map, got &{{{}}}", plain(value)));
            };
            for (name, inner) in object {
                path.push(Element::Field(name.clone()));
                match schema.field(name) {
                    Some(field) => check_at(field, inner, path)?,
                    None if schema.keeps_unknown => {}
                    None => return at(path, "field not declared in schema".into()),
                }
                path.pop();
            }
            Ok(())
        }
        Form::List(items) => {
            let Value::Array(list) = value else {
                return at(path, format!("expected list, got &{{{}}}", plain(value)));
            };
            check_elements(schema, list, path)?;
            for (index, item) in list.iter().enumerate() {
                path.push(match schema.list {
                    ListType::Atomic => Element::Index(index),
                    _ => identity(schema, &schema.list, item),
                });
                check_at(items, item, path)?;
                path.pop();
            }
            Ok(())
        }
        Form::Text | Form::Bytes | Form::Time | Form::MicroTime if !value.is_string() => {
            at(path, format!("expected string, got &{{{}}}", plain(value)))
        }
        Form::Integer { .. } | Form::Number if !value.is_number() => {
            at(path, format!("expected numeric (int or float), got {}", go_kind(value)))
        }
        Form::Boolean if !value.is_boolean() => at(path, format!("expected boolean, got &{{{}}}", plain(value))),
        _ => Ok(()),
    }
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
        Value::Null | Value::Number(_) => "null",
    }
}

/// Elements that cannot be told apart.
fn check_elements(schema: &Schema, list: &[Value], path: &[Element]) -> Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    if schema.list == ListType::Atomic {
        return Ok(());
    }
    for (index, item) in list.iter().enumerate() {
        let own = identity(schema, &schema.list, item);
        if let (Element::Key(found), ListType::Map(keys)) = (&own, &schema.list)
            && found.is_empty()
        {
            let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Err(format!(
                "{}: element {index}: associative list with keys has an element that omits all key fields [{}] (and \
                 doesn't have default values for any key fields)",
                shown(path),
                keys.join(" ")
            ));
        }
        if !seen.insert(own.clone()) {
            return Err(format!("{}: duplicate entries for key {own}", shown(path)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::load::custom;

    fn schema() -> Schema {
        custom(&json!({"type": "object", "properties": {
            "s": {"type": "string"},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
            "plain": {"type": "array", "items": {"type": "string"}},
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
                     "items": {"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "string"}}}},
        }}))
    }

    #[test]
    fn an_object_owns_leaves_and_elements() {
        let value = json!({"s": "1", "map": {"a": "1"}, "atomic": {"a": "1"}, "plain": ["x"], "set": ["x"], "list": [{"n": "a", "v": "1"}]});
        assert_eq!(
            fields(&schema(), &value).to_value(),
            json!({"f:s": {}, "f:map": {"f:a": {}}, "f:atomic": {}, "f:plain": {}, "f:set": {"v:\"x\"": {}},
                   "f:list": {"k:{\"n\":\"a\"}": {".": {}, "f:n": {}, "f:v": {}}}})
        );
    }

    #[test]
    fn a_difference_names_what_came_changed_and_went() {
        let (old, new) =
            (json!({"s": "1", "set": ["x"], "plain": ["a"]}), json!({"s": "2", "map": {"a": "1"}, "plain": ["b"]}));
        let found = compare(&schema(), &old, &new);
        assert_eq!(found.added.to_value(), json!({"f:map": {".": {}, "f:a": {}}}));
        assert_eq!(found.modified.to_value(), json!({"f:plain": {}, "f:s": {}}));
        assert_eq!(found.removed.to_value(), json!({"f:set": {".": {}, "v:\"x\"": {}}}));
    }

    #[test]
    fn lists_merge_by_key_and_keep_what_is_only_live() {
        let items = |names: &str| -> Value { names.chars().map(|name| json!({"n": name.to_string()})).collect() };
        let merged = |live: &str, config: &str| -> String {
            let value = merge(&schema(), Some(&json!({"list": items(live)})), &json!({"list": items(config)}));
            value["list"].as_array().unwrap().iter().map(|item| item["n"].as_str().unwrap()).collect()
        };
        assert_eq!(merged("abc", "b"), "abc");
        assert_eq!(merged("abc", "cb"), "acb");
        assert_eq!(merged("ab", "xy"), "abxy");
        assert_eq!(merged("", "xy"), "xy");
    }

    #[test]
    fn a_configuration_must_fit_its_types() {
        let say = |value: Value| check(&schema(), &value).unwrap_err();
        assert_eq!(say(json!({"no": 1})), ".no: field not declared in schema");
        assert_eq!(say(json!({"list": [{"n": "a"}, {"n": "a"}]})), ".list: duplicate entries for key [n=\"a\"]");
        assert_eq!(say(json!({"set": ["a", "a"]})), ".set: duplicate entries for key [=\"a\"]");
        assert_eq!(say(json!({"plain": "x"})), ".plain: expected list, got &{x}");
    }
}
