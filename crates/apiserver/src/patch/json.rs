//! JSON patch (RFC 6902), as Kubernetes understands it: replacing an absent key of an object adds it.

use serde_json::Value;

/// An operation that cannot be carried out; the whole patch is refused.
#[derive(Debug, PartialEq, Eq)]
pub struct Impossible;

/// Applies all operations, or none that matters: the caller drops the object on an error.
pub fn apply(target: &mut Value, operations: &Value) -> Result<(), Impossible> {
    for operation in operations.as_array().into_iter().flatten() {
        apply_one(target, operation)?;
    }
    Ok(())
}

/// What Go calls the type of a JSON value.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
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
    let text = |name: &str| operation[name].as_str().ok_or(Impossible);
    let path = pointer(text("path")?)?;
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    match text("op")? {
        "add" => add(target, &path, value()),
        "remove" => remove(target, &path).map(|_| ()),
        "replace" => replace(target, &path, value()),
        "test" => match find(target, &path) {
            Some(found) if *found == value() => Ok(()),
            _ => Err(Impossible),
        },
        "copy" => {
            let found = find(target, &pointer(text("from")?)?).cloned().ok_or(Impossible)?;
            add(target, &path, found)
        }
        "move" => {
            let moved = remove(target, &pointer(text("from")?)?)?;
            add(target, &path, moved)
        }
        _ => Err(Impossible),
    }
}

/// `/a/b~1c` as its parts.
fn pointer(text: &str) -> Result<Vec<String>, Impossible> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let rest = text.strip_prefix('/').ok_or(Impossible)?;
    Ok(rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect())
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
    place(part, length).ok().filter(|index| *index < length && part != "-")
}

fn parent<'v, 'p>(target: &'v mut Value, path: &'p [String]) -> Result<(&'v mut Value, &'p str), Impossible> {
    let (last, parents) = path.split_last().ok_or(Impossible)?;
    let value = find_mut(target, parents).ok_or(Impossible)?;
    Ok((value, last))
}

/// A place in a list: `-` is behind the last one, negative numbers count from there.
fn place(part: &str, length: usize) -> Result<usize, Impossible> {
    if part == "-" {
        return Ok(length);
    }
    let number: i64 = part.parse().map_err(|_| Impossible)?;
    let index = if number < 0 { number + length as i64 } else { number };
    usize::try_from(index).ok().filter(|index| *index <= length).ok_or(Impossible)
}

fn add(target: &mut Value, path: &[String], value: Value) -> Result<(), Impossible> {
    if path.is_empty() {
        *target = value;
        return Ok(());
    }
    let (parent, last) = parent(target, path)?;
    match parent {
        Value::Object(object) => {
            object.insert(last.to_owned(), value);
            Ok(())
        }
        Value::Array(items) => {
            let index = place(last, items.len())?;
            items.insert(index, value);
            Ok(())
        }
        _ => Err(Impossible),
    }
}

fn remove(target: &mut Value, path: &[String]) -> Result<Value, Impossible> {
    let (parent, last) = parent(target, path)?;
    match parent {
        Value::Object(object) => object.remove(last).ok_or(Impossible),
        Value::Array(items) => {
            let index = place(last, items.len())?;
            if index < items.len() { Ok(items.remove(index)) } else { Err(Impossible) }
        }
        _ => Err(Impossible),
    }
}

fn replace(target: &mut Value, path: &[String], value: Value) -> Result<(), Impossible> {
    if path.is_empty() {
        *target = value;
        return Ok(());
    }
    let (parent, last) = parent(target, path)?;
    match parent {
        Value::Object(object) => {
            object.insert(last.to_owned(), value);
            Ok(())
        }
        Value::Array(items) => {
            let index = place(last, items.len())?;
            *items.get_mut(index).ok_or(Impossible)? = value;
            Ok(())
        }
        _ => Err(Impossible),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
        for operation in [
            json!({"op": "remove", "path": "/none"}),
            json!({"op": "test", "path": "/a", "value": 2}),
            json!({"op": "test", "path": "/none", "value": null}),
            json!({"op": "add", "path": "/no/where", "value": 1}),
            json!({"op": "odd", "path": "/a"}),
            json!({"op": "replace", "path": "/l/7", "value": 1}),
            json!({"op": "remove", "path": "/l/-"}),
            json!({"op": "copy", "from": "/none", "path": "/b"}),
            json!({"op": "move", "from": "/none", "path": "/b"}),
            json!({"op": "add", "path": "a", "value": 1}),
        ] {
            assert_eq!(patched(json!({"a": 1, "l": []}), &json!([operation])), Err(Impossible), "{operation}");
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
