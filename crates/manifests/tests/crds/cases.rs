//! Runs the tables of `cases/`: an accepted object of each kind, and changes to it with what is said about them.

use std::fs;
use std::path::Path;

use expect_test::ExpectFile;
use serde_json::Value;

use crate::api_server::ApiServer;

/// Makes changes: at each JSON pointer the value is put, or removed when it is `null`.
fn apply(object: &Value, changes: Option<&Value>) -> Value {
    let mut object = object.clone();
    for (pointer, value) in changes.and_then(Value::as_object).into_iter().flatten() {
        set(&mut object, pointer, value.clone());
    }
    object
}

fn set(object: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer starts with a slash");
    let parent = object.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer} has no parent"));
    match (parent, value) {
        (Value::Object(fields), Value::Null) => {
            fields.remove(&name.replace("~1", "/"));
        }
        (Value::Object(fields), value) => {
            fields.insert(name.replace("~1", "/"), value);
        }
        (Value::Array(items), Value::Null) => {
            items.remove(index(name));
        }
        (Value::Array(items), value) if name == "-" => items.push(value),
        (Value::Array(items), value) => items[index(name)] = value,
        (other, _) => panic!("{pointer} points into {other}"),
    }
}

fn index(name: &str) -> usize {
    name.parse().expect("an element of a list is pointed at by its index")
}

/// Runs one table and writes what was said under each case, in the order of the table.
fn run(server: &ApiServer, table: &Value) -> String {
    let base = &table["accepted"];
    assert_eq!(server.problems(None, base), Vec::<String>::new(), "the accepted object");
    let mut text = String::new();
    for case in table["cases"].as_array().expect("a table has cases") {
        let base = case.get("object").unwrap_or(base);
        let new = apply(base, case.get("set"));
        let old = case.get("before").map(|before| apply(base, Some(before)));
        let found = server.problems(old.as_ref(), &new);
        text.push_str(&format!("{}\n", case["it"].as_str().expect("a case has a name")));
        if found.is_empty() {
            text.push_str("  accepted\n");
        }
        for problem in found {
            text.push_str(&format!("  {problem}\n"));
        }
    }
    text
}

#[test]
fn objects_are_accepted_and_refused_as_the_tables_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crds/cases");
    let mut tables: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    tables.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    tables.sort();
    assert!(!tables.is_empty());
    let server = ApiServer::new();
    for path in tables {
        let table: Value = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let outcome = run(&server, &table);
        ExpectFile { path: path.with_extension("txt"), position: "tests/crds/cases.rs" }.assert_eq(&outcome);
    }
}
