//! Strategic merge patch: lists merge by key where the type says so, and directives say the rest.

use crate::json::{Map, Name, Value};
use crate::schema::go::{printed, printed_map};
use crate::schema::{Schema, Strategy};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

static PLAIN: Strategy = Strategy { merges: false, retains_keys: false, merge_key: None };

/// Why a patch cannot be applied.
#[derive(Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Its form is not that of a patch: the client's mistake.
    Form(&'static str),
    /// It could not be merged; a real server takes that for its own mistake.
    Merge(String),
}

const RETAIN_KEYS_FORM: Wrong = Wrong::Form("invalid patch format of retainKeys");
const DELETE_FORM: Wrong = Wrong::Form("invalid patch format of primitive list");

type Result<T> = std::result::Result<T, Wrong>;

/// Changes the object.
pub fn apply(schema: &Schema, object: &mut Value, patch: &Value) -> Result<()> {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => merge_objects(Some(schema), object, patch),
        _ => Ok(()),
    }
}

fn merge_objects(schema: Option<&Schema>, object: &mut Map, patch: &Map) -> Result<()> {
    match patch.get(PATCH) {
        None => {}
        Some(directive) if directive == "delete" => {
            *object = Map::new();
            return Ok(());
        }
        Some(directive) if directive == "replace" => {
            *object = patch.iter().filter(|(name, _)| *name != PATCH).map(|(k, v)| (k.clone(), v.clone())).collect();
            return Ok(());
        }
        Some(directive) => return Err(unknown(directive, patch)),
    }
    retain_keys(object, patch)?;
    for (key, order) in patch {
        let Some(name) = key.strip_prefix(ORDER) else { continue };
        let below = schema.and_then(|schema| schema.field(name)).map(|field| &**field);
        merge_in_order(below, object, name, patch.get(name), order)?;
    }
    for (key, value) in patch {
        let is_done = patch.contains_key(&format!("{ORDER}{key}"));
        if key == RETAIN_KEYS || key.starts_with(ORDER) || is_done {
            continue;
        }
        if let Some(name) = key.strip_prefix(DELETE_FROM) {
            let gone = value.as_array().ok_or(DELETE_FORM)?;
            if let Some(items) = object.get_mut(name).and_then(Value::as_array_mut) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        let below = schema.and_then(|schema| schema.field(key)).map(|field| &**field);
        merge_value(below, object, key, value)?;
    }
    Ok(())
}

fn unknown(directive: &Value, patch: &Map) -> Wrong {
    Wrong::Merge(format!("unknown patch type: {} in map: {}", printed(directive), printed_map(patch)))
}

/// Drops what the patch does not want to keep. It may only set what it keeps.
fn retain_keys(object: &mut Map, patch: &Map) -> Result<()> {
    let Some(kept) = patch.get(RETAIN_KEYS) else { return Ok(()) };
    let kept = kept.as_array().ok_or(RETAIN_KEYS_FORM)?;
    let is_kept = |name: &Name| kept.iter().any(|known| known == name.as_str());
    let is_directive = |name: &str| name == RETAIN_KEYS || name.starts_with(DELETE_FROM) || name.starts_with(ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !is_kept(name)) {
        return Err(RETAIN_KEYS_FORM);
    }
    object.retain(|name, _| is_kept(name));
    Ok(())
}

fn merge_value(schema: Option<&Schema>, object: &mut Map, name: &str, patch: &Value) -> Result<()> {
    if patch.is_null() {
        object.remove(name);
        return Ok(());
    }
    let strategy = schema.map_or(&PLAIN, |schema| &schema.strategy);
    match (object.get_mut(name), patch) {
        (Some(Value::Object(present)), Value::Object(patch)) => merge_objects(schema, present, patch),
        (Some(Value::Array(present)), Value::Array(items)) => {
            **present = merge_lists(schema, strategy, std::mem::take(&mut **present), items)?;
            Ok(())
        }
        // What is new has nothing to merge with, and directives have nothing to say about it.
        _ => {
            match plain(patch) {
                Some(value) => object.insert(name, value),
                None => object.remove(name),
            };
            Ok(())
        }
    }
}

/// A value without nulls and directives; nothing when it is a directive itself.
fn plain(value: &Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Some(kept.filter_map(|(name, value)| Some((name.clone(), plain(value)?))).collect::<Map>().into())
        }
        Value::Array(items) => Some(items.iter().filter_map(plain).collect()),
        scalar => Some(scalar.clone()),
    }
}

fn merge_lists(schema: Option<&Schema>, strategy: &Strategy, items: Vec<Value>, patch: &[Value]) -> Result<Vec<Value>> {
    if !strategy.merges {
        return Ok(patch.to_vec());
    }
    let before = items.clone();
    let Some(key) = strategy.merge_key.as_deref() else {
        let mut merged = Vec::with_capacity(items.len() + patch.len());
        for item in items.into_iter().chain(patch.iter().cloned()) {
            if !merged.contains(&item) {
                merged.push(item);
            }
        }
        return reordered(&merged, patch, &before, None);
    };
    let element = schema.and_then(|schema| schema.element()).map(|element| &**element);
    let Some((mut items, wanted)) = follow_directives(items, patch, key)? else {
        let kept = patch.iter().filter(|item| item.get(PATCH).is_none());
        return Ok(kept.cloned().collect());
    };
    for item in &wanted {
        let fields = as_object(item)?;
        let own = fields.get(key).ok_or_else(|| without_key(fields, key))?;
        match items.iter_mut().find(|known| known.get(key) == Some(own)) {
            Some(Value::Object(known)) => merge_objects(element, known, fields)?,
            _ => items.push(item.clone()),
        }
    }
    reordered(&items, &wanted, &before, Some(key))
}

/// What the directives leave of a list, and the other elements of the patch; nothing when these replace the list.
fn follow_directives(mut items: Vec<Value>, patch: &[Value], key: &str) -> Result<Option<(Vec<Value>, Vec<Value>)>> {
    let (mut wanted, mut replaces) = (Vec::new(), false);
    for item in patch {
        let fields = as_object(item)?;
        match fields.get(PATCH) {
            None => wanted.push(item.clone()),
            Some(directive) if directive == "delete" => {
                let own = fields.get(key).ok_or_else(|| without_key(fields, key))?;
                items.retain(|known| known.get(key) != Some(own));
            }
            Some(directive) if directive == "replace" => replaces = true,
            Some(directive) if directive == "merge" => {
                return Err(Wrong::Merge("merging lists cannot yet be specified in the patch".into()));
            }
            Some(directive) => return Err(unknown(directive, fields)),
        }
    }
    Ok((!replaces).then_some((items, wanted)))
}

fn as_object(item: &Value) -> Result<&Map> {
    item.as_object().ok_or_else(|| Wrong::Merge(format!("list element types are not identical: {}", printed(item))))
}

fn without_key(fields: &Map, key: &str) -> Wrong {
    Wrong::Merge(format!("map: {} does not contain declared merge key: {key}", printed_map(fields)))
}

/// Merges a list and puts it into a given order.
fn merge_in_order(
    schema: Option<&Schema>,
    object: &mut Map,
    name: &str,
    patch: Option<&Value>,
    order: &Value,
) -> Result<()> {
    let strategy = schema.map_or(&PLAIN, |schema| &schema.strategy);
    let list = |value: &Value| -> Result<Vec<Value>> {
        let wrong = || Wrong::Merge(format!("expected a []interface {{}}, but received a {}", kind_of(value)));
        value.as_array().cloned().ok_or_else(wrong)
    };
    let key = strategy.merge_key.as_deref();
    let order = list(order)?;
    let before = object.get(name).map(list).transpose()?;
    let patch = patch.map(list).transpose()?;
    check_order(patch.as_deref().unwrap_or_default(), &order, key)?;
    let merged = match (&before, &patch) {
        (None, None) => return Ok(()),
        (Some(before), None) => before.clone(),
        (None, Some(patch)) => patch.iter().filter_map(plain).collect(),
        (Some(before), Some(patch)) => merge_lists(schema, strategy, before.clone(), patch)?,
    };
    object.insert(name, reordered(&merged, &order, &before.unwrap_or_default(), key)?.into());
    Ok(())
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// What the patch has must come in the order that is given.
fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<()> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let identity = |item: &Value| key.map_or_else(|| item.clone(), |key| item[key].clone());
    let mut left = order.iter();
    for item in patch.iter().filter(|item| item.get(PATCH).is_none()) {
        if !left.any(|wanted| identity(wanted) == identity(item)) {
            let (patch, order) = (printed(&patch.into()), printed(&order.into()));
            let what = format!("The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n");
            return Err(Wrong::Merge(what));
        }
    }
    Ok(())
}

/// A list in a given order. What the order does not name stays before what it stood before.
fn reordered(items: &[Value], order: &[Value], before: &[Value], key: Option<&str>) -> Result<Vec<Value>> {
    if let Some(key) = key
        && let Some(fields) = items.iter().filter_map(Value::as_object).find(|fields| !fields.contains_key(key))
    {
        return Err(without_key(fields, key));
    }
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
    Ok(merged)
}

#[cfg(test)]
mod tests;
