//! JSON patch (RFC 6902), as Kubernetes understands it: replacing an absent key of an object adds it.

use crate::json::Value;
use crate::schema::go::kind_of;

/// Why an operation cannot be carried out, in the words of a real server; the whole patch is refused.
pub type Impossible = String;

const MISSING: &str = "missing value";

/// Applies all operations, or none that matters: the caller drops the object on an error.
pub fn apply(target: &mut Value, operations: &Value) -> Result<(), Impossible> {
    for operation in operations.as_array().into_iter().flatten() {
        apply_one(target, operation)?;
    }
    Ok(())
}

/// Refuses what is no list of operations; returns the unknown fields of those that are.
pub fn check(operations: &Value) -> Result<Vec<String>, String> {
    let of_type = |value: &Value, what: &str| format!("json: cannot unmarshal {} into Go {what}", kind_of(value));
    let listed = match operations {
        Value::Null => &[][..],
        Value::Array(listed) => listed,
        other => return Err(of_type(other, "value of type []handlers.jsonPatchOp")),
    };
    let mut unknown = Vec::new();
    for (index, operation) in listed.iter().enumerate() {
        let Value::Object(fields) = operation else {
            if operation.is_null() {
                continue;
            }
            return Err(of_type(operation, "value of type handlers.jsonPatchOp"));
        };
        for (name, value) in fields {
            match name.as_str() {
                "value" => {}
                "op" | "path" | "from" if value.is_string() || value.is_null() => {}
                "op" | "path" | "from" => {
                    return Err(of_type(value, &format!("struct field jsonPatchOp.{name} of type string")));
                }
                _ => unknown.push(format!("unknown field \"[{index}].{name}\"")),
            }
        }
    }
    Ok(unknown)
}

fn apply_one(target: &mut Value, operation: &Value) -> Result<(), Impossible> {
    let kind = operation["op"].as_str().unwrap_or("unknown");
    let text = |name: &str| {
        let given = operation[name].as_str();
        given.ok_or_else(|| format!("{kind} operation failed to decode {name}: unable to decode path: {MISSING}"))
    };
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    match kind {
        "add" => add(target, text("path")?, value()),
        "remove" => remove(target, text("path")?, kind).map(|_| ()),
        "replace" => replace(target, text("path")?, value()),
        "test" => {
            let path = text("path")?;
            match find(target, &pointer(path)) {
                Some(found) if *found == value() => Ok(()),
                _ => Err(format!("testing value {path} failed: test failed")),
            }
        }
        "copy" => {
            let from = text("from")?;
            let missing = || format!("copy operation does not apply: doc is missing from path: {from}: {MISSING}");
            let found = find(target, &pointer(from)).cloned().ok_or_else(missing)?;
            add(target, text("path")?, found)
        }
        "move" => {
            let from = text("from")?;
            if find(target, &pointer(from)).is_none() {
                return Err(format!("move operation does not apply: doc is missing from path: {from}: {MISSING}"));
            }
            let moved = remove(target, from, kind)?;
            add(target, text("path")?, moved)
        }
        other => Err(format!("Unexpected kind: {other}")),
    }
}

/// `/a/b~1c` as its parts.
fn pointer(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    // What stands before the first slash is not looked at.
    text.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect()
}

fn find<'v>(target: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(target, |value, part| match value {
        Value::Object(object) => object.get(part),
        Value::Array(items) => items.get(index(part, items.len())?),
        _ => None,
    })
}

fn find_mut<'v>(target: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(target, |value, part| match value {
        Value::Object(object) => object.get_mut(part),
        Value::Array(items) => {
            let index = index(part, items.len())?;
            items.get_mut(index)
        }
        _ => None,
    })
}

/// The place of an element that is there; negative numbers count from the end.
fn index(part: &str, length: usize) -> Option<usize> {
    place(part, length, length).ok().filter(|index| *index < length && part != "-")
}

/// The object or list that holds what a path names, and the name in it.
fn parent<'v>(target: &'v mut Value, path: &str, kind: &str) -> Result<(&'v mut Value, String), Impossible> {
    let missing = || format!("{kind} operation does not apply: doc is missing path: {path:?}: {MISSING}");
    let mut parts = pointer(path);
    let last = parts.pop().ok_or_else(missing)?;
    let value = find_mut(target, &parts).filter(|value| value.is_object() || value.is_array()).ok_or_else(missing)?;
    Ok((value, last))
}

/// A place in a list of this many: `-` is behind the last one, negative numbers count from there.
fn place(part: &str, length: usize, last: usize) -> Result<usize, String> {
    if part == "-" && last == length {
        return Ok(length);
    }
    let number: i64 = part.parse().map_err(|_| {
        format!("value was not a proper array index: '{part}': strconv.Atoi: parsing {part:?}: invalid syntax")
    })?;
    let index = if number < 0 { number + length as i64 } else { number };
    let invalid = || format!("Unable to access invalid index: {number}: invalid index referenced");
    usize::try_from(index).ok().filter(|index| *index <= last && *index <= length).ok_or_else(invalid)
}

fn add(target: &mut Value, path: &str, value: Value) -> Result<(), Impossible> {
    if path.is_empty() {
        *target = value;
        return Ok(());
    }
    let (parent, last) = parent(target, path, "add")?;
    match parent {
        Value::Array(items) => {
            let index = place(&last, items.len(), items.len())
                .map_err(|why| format!("error in add for path: '{path}': {why}"))?;
            items.insert(index, value);
        }
        parent => parent[&last] = value,
    }
    Ok(())
}

fn remove(target: &mut Value, path: &str, kind: &str) -> Result<Value, Impossible> {
    let told = |why: String| format!("error in remove for path: '{path}': {why}");
    let (parent, last) = parent(target, path, kind)?;
    match parent {
        Value::Array(items) => {
            let index = place(&last, items.len(), items.len().saturating_sub(1)).map_err(told)?;
            if index < items.len() {
                Ok(items.remove(index))
            } else {
                Err(told(format!("Unable to access invalid index: {index}: invalid index referenced")))
            }
        }
        parent => {
            let removed = parent.as_object_mut().and_then(|object| object.remove(&last));
            removed.ok_or_else(|| told(format!("Unable to remove nonexistent key: {last}: {MISSING}")))
        }
    }
}

fn replace(target: &mut Value, path: &str, value: Value) -> Result<(), Impossible> {
    if path.is_empty() {
        *target = value;
        return Ok(());
    }
    let (parent, last) = parent(target, path, "replace")?;
    match parent {
        Value::Array(items) => {
            let missing = || format!("replace operation does not apply: doc is missing key: {path}: {MISSING}");
            let index = place(&last, items.len(), items.len().saturating_sub(1)).map_err(|_| missing())?;
            *items.get_mut(index).ok_or_else(missing)? = value;
        }
        parent => parent[&last] = value,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    fn patched(target: Value, operations: &Value) -> Result<Value, Impossible> {
        let mut target = target;
        apply(&mut target, operations).map(|()| target)
    }

    #[test]
    fn each_operation_does_what_it_says() {
        let object = || json!({"a": 1, "l": [1, 2], "x/y": {"z": 1}});
        let cases = [
            (json!({"op": "add", "path": "/l/-", "value": 3}), json!({"a": 1, "l": [1, 2, 3], "x/y": {"z": 1}})),
            (json!({"op": "add", "path": "/l/0", "value": 0}), json!({"a": 1, "l": [0, 1, 2], "x/y": {"z": 1}})),
            (json!({"op": "remove", "path": "/x~1y"}), json!({"a": 1, "l": [1, 2]})),
            (
                json!({"op": "replace", "path": "/new", "value": 1}),
                json!({"a": 1, "l": [1, 2], "new": 1, "x/y": {"z": 1}}),
            ),
            (json!({"op": "copy", "from": "/a", "path": "/b"}), json!({"a": 1, "b": 1, "l": [1, 2], "x/y": {"z": 1}})),
            (json!({"op": "move", "from": "/l/0", "path": "/a"}), json!({"a": 1, "l": [2], "x/y": {"z": 1}})),
        ];
        for (operation, wanted) in cases {
            assert_eq!(patched(object(), &json!([operation])), Ok(wanted), "{operation}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let cases = [
            (
                json!({"op": "remove", "path": "/none"}),
                "error in remove for path: '/none': Unable to remove nonexistent key: none: missing value",
            ),
            (json!({"op": "test", "path": "/a", "value": 2}), "testing value /a failed: test failed"),
            (json!({"op": "test", "path": "/none", "value": null}), "testing value /none failed: test failed"),
            (
                json!({"op": "add", "path": "/no/where", "value": 1}),
                "add operation does not apply: doc is missing path: \"/no/where\": missing value",
            ),
            (
                json!({"op": "add", "path": "/l/7", "value": 1}),
                "error in add for path: '/l/7': Unable to access invalid index: 7: invalid index referenced",
            ),
            (json!({"op": "odd", "path": "/a"}), "Unexpected kind: odd"),
            (
                json!({"op": "remove", "path": "/l/-"}),
                "error in remove for path: '/l/-': Unable to access invalid index: 0: invalid index referenced",
            ),
            (
                json!({"op": "add", "path": "a", "value": 1}),
                "add operation does not apply: doc is missing path: \"a\": missing value",
            ),
            (
                json!({"op": "replace", "path": "/l/7", "value": 1}),
                "replace operation does not apply: doc is missing key: /l/7: missing value",
            ),
            (
                json!({"op": "move", "from": "/b", "path": "/c"}),
                "move operation does not apply: doc is missing from path: /b: missing value",
            ),
        ];
        for (operation, why) in cases {
            assert_eq!(patched(json!({"a": 1, "l": []}), &json!([operation])), Err(why.to_owned()), "{operation}");
        }
    }

    #[test]
    fn elements_are_counted_from_the_end_as_well() {
        let operations =
            json!([{"op": "add", "path": "/l/-1/x", "value": 1}, {"op": "test", "path": "/l/1/x", "value": 1}]);
        assert_eq!(patched(json!({"l": [{}, {}]}), &operations), Ok(json!({"l": [{}, {"x": 1}]})));
    }

    #[test]
    fn what_is_no_operation_is_told_in_gos_words() {
        let cases = [
            (json!({}), "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
            (json!(["x"]), "json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"),
            (json!([{"op": 1}]), "json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        ];
        for (operations, wanted) in cases {
            assert_eq!(check(&operations), Err(wanted.to_owned()));
        }
        assert_eq!(check(&json!([{"op": "add", "odd": 1}])), Ok(vec!["unknown field \"[0].odd\"".to_owned()]));
    }
}
