//! Strategic merge patch: lists merge by key where the type says so, and directives say the rest.

use serde_json::{Map, Value};

use crate::schema::{Schema, Strategy};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

static PLAIN: Strategy = Strategy { merges: false, retains_keys: false, merge_key: None };

/// Changes the object; an error is what the server answers with code 500.
pub fn apply(schema: &Schema, object: &mut Value, patch: &Value) -> Result<(), String> {
    match (object.as_object_mut(), patch.as_object()) {
        (Some(object), Some(patch)) => merge_objects(Some(schema), object, patch),
        _ => Err("expected an object".to_owned()),
    }
}

fn merge_objects(
    schema: Option<&Schema>,
    object: &mut Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<(), String> {
    match patch.get(PATCH).and_then(Value::as_str) {
        None | Some("merge") => {}
        Some("delete") => {
            object.clear();
            return Ok(());
        }
        Some("replace") => {
            *object = patch.iter().filter(|(name, _)| *name != PATCH).map(|(k, v)| (k.clone(), v.clone())).collect();
            return Ok(());
        }
        Some(other) => {
            return Err(format!("Unknown patch type \"{other}\" found in map with fields {}", go_map(patch)));
        }
    }
    if let Some(kept) = patch.get(RETAIN_KEYS).and_then(Value::as_array) {
        object.retain(|name, _| kept.iter().any(|known| known == name.as_str()));
    }
    for (name, value) in patch {
        if name == PATCH || name == RETAIN_KEYS || name.starts_with(ORDER) {
            continue;
        }
        if let Some(list) = name.strip_prefix(DELETE_FROM) {
            let gone = value.as_array().map(Vec::as_slice).unwrap_or_default();
            if let Some(items) = object.get_mut(list).and_then(Value::as_array_mut) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        if value.is_null() {
            object.remove(name);
            continue;
        }
        let below = schema.and_then(|schema| schema.field(name)).map(|field| &**field);
        let order = patch.get(&format!("{ORDER}{name}"));
        merge_value(below, object, name, value, order)?;
    }
    // An order may be given for a list that the patch does not touch otherwise.
    for (name, order) in patch {
        if let Some(list) = name.strip_prefix(ORDER).filter(|list| !patch.contains_key(*list)) {
            let below = schema.and_then(|schema| schema.field(list));
            if let Some(items) = object.get_mut(list).and_then(Value::as_array_mut) {
                let before = items.clone();
                reorder(items, order, &before, below.and_then(|field| field.strategy.merge_key.as_deref()));
            }
        }
    }
    Ok(())
}

fn merge_value(
    schema: Option<&Schema>,
    object: &mut Map<String, Value>,
    name: &str,
    patch: &Value,
    order: Option<&Value>,
) -> Result<(), String> {
    let strategy = schema.map_or(&PLAIN, |schema| &schema.strategy);
    match patch {
        Value::Object(patch) => {
            let present = object.entry(name.to_owned()).or_insert_with(|| Value::Object(Map::new()));
            if !present.is_object() {
                *present = Value::Object(Map::new());
            }
            match present.as_object_mut() {
                Some(present) => merge_objects(schema, present, patch),
                None => Ok(()),
            }
        }
        Value::Array(items) if strategy.merges => {
            let before = object.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
            let mut merged = merge_lists(schema, strategy, before.clone(), items)?;
            // Without an order of its own the patch gives its elements': they come before what only the object has,
            // unless that stood before them.
            let own = Value::Array(items.clone());
            reorder(&mut merged, order.unwrap_or(&own), &before, strategy.merge_key.as_deref());
            object.insert(name.to_owned(), merged.into());
            Ok(())
        }
        other => {
            object.insert(name.to_owned(), other.clone());
            Ok(())
        }
    }
}

fn merge_lists(
    schema: Option<&Schema>,
    strategy: &Strategy,
    mut items: Vec<Value>,
    patch: &[Value],
) -> Result<Vec<Value>, String> {
    let Some(key) = strategy.merge_key.as_deref() else {
        for item in patch {
            if !items.contains(item) {
                items.push(item.clone());
            }
        }
        return Ok(items);
    };
    let element = schema.and_then(|schema| schema.element()).map(|element| &**element);
    let replaces = patch.iter().any(|item| item[PATCH] == "replace");
    if replaces {
        return Ok(patch.iter().filter(|item| item[PATCH] != "replace").cloned().collect());
    }
    for item in patch {
        let Value::Object(fields) = item else {
            return Err(format!("expected an object in a list with merge key {key}"));
        };
        let Some(own) = fields.get(key) else {
            return Err(format!("map: {} does not contain declared merge key: {key}", go_map(fields)));
        };
        let found = items.iter().position(|known| known.get(key) == Some(own));
        match (fields.get(PATCH).and_then(Value::as_str), found) {
            (Some("delete"), _) => items.retain(|known| known.get(key) != Some(own)),
            (_, Some(index)) => {
                if let Some(known) = items[index].as_object_mut() {
                    merge_objects(element, known, fields)?;
                }
            }
            (_, None) => {
                let mut new = Map::new();
                merge_objects(element, &mut new, fields)?;
                items.push(new.into());
            }
        }
    }
    Ok(items)
}

/// Puts a list into a given order. What the order does not name stays before what it stood before.
fn reorder(items: &mut Vec<Value>, order: &Value, before: &[Value], key: Option<&str>) {
    let order = order.as_array().map(Vec::as_slice).unwrap_or_default();
    let identity = |item: &Value| key.map_or_else(|| item.clone(), |key| item[key].clone());
    let rank = |item: &Value| order.iter().position(|wanted| identity(wanted) == identity(item));
    let stood = |item: &Value| before.iter().position(|known| identity(known) == identity(item));
    let mut named: Vec<Value> = items.iter().filter(|item| rank(item).is_some()).cloned().collect();
    named.sort_by_key(|item| rank(item));
    let mut others = items.iter().filter(|item| rank(item).is_none()).cloned().peekable();
    let mut merged = Vec::with_capacity(items.len());
    for item in named {
        while let Some(other) = others.next_if(|other| stood(other).is_some() && stood(other) < stood(&item)) {
            merged.push(other);
        }
        merged.push(item);
    }
    merged.extend(others);
    *items = merged;
}

/// How Go prints a map.
fn go_map(map: &Map<String, Value>) -> String {
    fn go(value: &Value) -> String {
        match value {
            Value::Object(map) => go_map(map),
            Value::Array(items) => format!("[{}]", items.iter().map(go).collect::<Vec<_>>().join(" ")),
            Value::String(text) => text.clone(),
            Value::Null => "<nil>".to_owned(),
            other => other.to_string(),
        }
    }
    let parts: Vec<String> = map.iter().map(|(name, value)| format!("{name}:{}", go(value))).collect();
    format!("map[{}]", parts.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::BuiltIn;

    fn patched(target: Value, patch: &Value) -> Result<Value, String> {
        let mut target = target;
        apply(&BuiltIn::types().get("core.v1.Pod"), &mut target, patch).map(|()| target)
    }

    fn pod(names: &str) -> Value {
        let containers: Vec<Value> =
            names.chars().map(|name| json!({"name": name.to_string(), "image": "i"})).collect();
        json!({"spec": {"containers": containers}})
    }

    fn names(pod: &Value) -> String {
        let containers = pod["spec"]["containers"].as_array().unwrap();
        containers.iter().map(|container| container["name"].as_str().unwrap()).collect()
    }

    #[test]
    fn lists_merge_by_key_and_keep_their_order() {
        let result =
            patched(pod("ab"), &json!({"spec": {"containers": [{"name": "b", "image": "x"}, {"name": "c"}]}})).unwrap();
        assert_eq!(names(&result), "abc");
        assert_eq!(result["spec"]["containers"][1]["image"], "x");
    }

    #[test]
    fn directives_delete_replace_and_order() {
        let delete = json!({"spec": {"containers": [{"$patch": "delete", "name": "a"}]}});
        assert_eq!(names(&patched(pod("ab"), &delete).unwrap()), "b");
        let replace = json!({"spec": {"containers": [{"$patch": "replace"}, {"name": "z"}]}});
        assert_eq!(names(&patched(pod("ab"), &replace).unwrap()), "z");
        let order = json!({"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}], "containers": [{"name": "c"}]}});
        assert_eq!(names(&patched(pod("ab"), &order).unwrap()), "cab");
        let finalizers = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}});
        let result = patched(json!({"metadata": {"finalizers": ["x", "y"]}}), &finalizers).unwrap();
        assert_eq!(result["metadata"]["finalizers"], json!(["y"]));
    }

    #[test]
    fn a_missing_key_is_told() {
        let patch = json!({"spec": {"containers": [{"image": "x"}]}});
        assert_eq!(
            patched(pod("a"), &patch).unwrap_err(),
            "map: map[image:x] does not contain declared merge key: name"
        );
    }
}
