//! The JSON patch (RFC 6902) that makes one object of another.

use serde_json::{Value, json};

/// Members of objects are told one by one; a list that differs is told as a whole.
pub(super) fn between(before: &Value, after: &Value) -> Vec<Value> {
    let mut operations = Vec::new();
    compare(before, after, "", &mut operations);
    operations
}

fn compare(before: &Value, after: &Value, path: &str, operations: &mut Vec<Value>) {
    if before == after {
        return;
    }
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        // "add" replaces what is there, and does not mind if the server spells nothing as null.
        operations.push(json!({"op": "add", "path": path, "value": after}));
        return;
    };
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        operations.push(json!({"op": "remove", "path": below(path, key)}));
    }
    for (key, value) in new {
        match old.get(key) {
            Some(known) => compare(known, value, &below(path, key), operations),
            None => operations.push(json!({"op": "add", "path": below(path, key), "value": value})),
        }
    }
}

/// The path of a member; two characters mean something in paths.
fn below(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}
