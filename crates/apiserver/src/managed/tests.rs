use serde_json::{Value, json};

use super::{ApplyError, Conflict, Intent, apply, track};
use crate::schema::Schema;
use crate::schema::load::custom;

mod property;

fn schema() -> Schema {
    custom(&json!({"type": "object", "properties": {
        "data": {"type": "object", "additionalProperties": {"type": "string"}},
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
                 "items": {"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "string"}}}},
    }}))
}

fn intent(manager: &str) -> Intent {
    Intent {
        manager: manager.into(),
        api_version: "v1".into(),
        subresource: String::new(),
        resets: &super::NOTHING,
        time: "2026-01-01T00:00:00Z".parse().unwrap(),
    }
}

fn applied(
    live: Option<&Value>,
    manager: &str,
    config: &Value,
    force: bool,
) -> Result<Value, Vec<(String, Vec<String>)>> {
    apply(&schema(), live, config, &intent(manager), force).map_err(|error| match error {
        ApplyError::Conflicts(conflicts) => {
            conflicts.into_iter().map(|Conflict { manager, fields }| (manager, fields.paths())).collect()
        }
        ApplyError::Typed(why) => panic!("{why}"),
    })
}

/// What each manager owns, as text.
fn owners(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let show = |entry: &Value| {
        format!("{} {} {}", entry["operation"].as_str().unwrap(), entry["manager"].as_str().unwrap(), entry["fieldsV1"])
    };
    entries.iter().map(show).collect()
}

#[test]
fn what_is_no_longer_said_goes_unless_somebody_else_says_it() {
    let live = applied(None, "a", &json!({"data": {"x": "1", "y": "1"}}), false).unwrap();
    let live = applied(Some(&live), "b", &json!({"data": {"y": "1"}}), false).unwrap();
    let live = applied(Some(&live), "a", &json!({"data": {"z": "1"}}), false).unwrap();
    assert_eq!(live["data"], json!({"y": "1", "z": "1"}));
    // Only a says when: b has changed nothing.
    assert_eq!(owners(&live), [r#"Apply b {"f:data":{"f:y":{}}}"#, r#"Apply a {"f:data":{"f:z":{}}}"#]);
}

#[test]
fn another_owner_is_a_conflict_until_forced() {
    let live = applied(None, "a", &json!({"data": {"x": "1"}}), false).unwrap();
    let conflicts = applied(Some(&live), "b", &json!({"data": {"x": "2"}}), false).unwrap_err();
    assert_eq!(conflicts, [("\"a\"".to_owned(), vec![".data.x".to_owned()])]);
    let live = applied(Some(&live), "b", &json!({"data": {"x": "2"}}), true).unwrap();
    assert_eq!(owners(&live), [r#"Apply b {"f:data":{"f:x":{}}}"#]);
}

#[test]
fn a_plain_write_takes_what_it_changes() {
    let live = applied(None, "a", &json!({"data": {"x": "1", "y": "1"}}), false).unwrap();
    let mut new = live.clone();
    new["data"]["x"] = "2".into();
    track(&schema(), Some(&live), &mut new, &intent("u"));
    assert_eq!(owners(&new), [r#"Apply a {"f:data":{"f:y":{}}}"#, r#"Update u {"f:data":{"f:x":{}}}"#]);
}

#[test]
fn an_element_goes_with_its_last_owner() {
    let live = applied(None, "a", &json!({"list": [{"n": "x", "v": "1"}, {"n": "y"}]}), false).unwrap();
    let live = applied(Some(&live), "a", &json!({"list": [{"n": "y"}]}), false).unwrap();
    assert_eq!(live["list"], json!([{"n": "y"}]));
}

#[test]
fn what_was_there_before_anybody_applied_has_an_owner() {
    let live = json!({"metadata": {"name": "n"}, "data": {"x": "1"}});
    let applied = applied(Some(&live), "a", &json!({"data": {"y": "1"}}), false).unwrap();
    assert_eq!(
        owners(&applied),
        [r#"Apply a {"f:data":{"f:y":{}}}"#, r#"Update before-first-apply {"f:data":{".":{},"f:x":{}}}"#]
    );
}
