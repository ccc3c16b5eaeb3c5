use super::{ApplyError, Conflict, Intent, Live, Managers, put, take};
use crate::json::{Value, json};
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

/// An object without its managed fields, and those.
fn apart(object: &Value) -> (Value, Managers) {
    let mut value = object.clone();
    let managers = take(&mut value).and_then(|entries| Managers::parse(&entries)).unwrap_or_default();
    (value, managers)
}

fn whole(mut value: Value, managers: &Managers) -> Value {
    put(&mut value, managers);
    value
}

/// An apply on objects that have their managed fields in them.
fn apply(
    schema: &Schema,
    live: Option<&Value>,
    config: &Value,
    intent: &Intent,
    is_forced: bool,
) -> Result<Value, ApplyError> {
    let live = live.map(apart);
    let live = live.as_ref().map(|(value, managers)| Live { value, managers });
    super::apply(schema, live, config, intent, is_forced).map(|(value, managers)| whole(value, &managers))
}

/// A plain write of such objects.
fn track(schema: &Schema, old: Option<&Value>, new: &mut Value, intent: &Intent) {
    let old = old.map(apart);
    let old = old.as_ref().map(|(value, managers)| Live { value, managers });
    let managers = super::track(schema, old, new, intent);
    put(new, &managers);
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

/// Who does what with which configuration.
type Step<'a> = (&'a str, &'a str, Value);

/// A life of one object: each line a manager, what it does, and with what; then what it is and who owns what.
fn life(steps: &[Step<'_>]) -> (Value, Vec<String>) {
    let mut live: Option<Value> = None;
    for (manager, what, value) in steps {
        let next = match *what {
            "applies" => applied(live.as_ref(), manager, value, false).unwrap(),
            "forces" => applied(live.as_ref(), manager, value, true).unwrap(),
            _ => {
                let mut new = value.clone();
                track(&schema(), live.as_ref(), &mut new, &intent(manager));
                new
            }
        };
        live = Some(next);
    }
    let live = live.unwrap();
    let owners = owners(&live);
    let mut content = live;
    content.as_object_mut().unwrap().remove("metadata");
    (content, owners)
}

#[test]
fn ownership_follows_what_is_said_and_done() {
    let data = |value: Value| json!({"data": value});
    let list = |value: Value| json!({"list": value});
    let cases: [(&str, Vec<Step<'_>>, Value, Vec<&str>); 8] = [
        (
            "equal values are shared",
            vec![("a", "applies", data(json!({"x": "1"}))), ("b", "applies", data(json!({"x": "1"})))],
            data(json!({"x": "1"})),
            vec![r#"Apply b {"f:data":{"f:x":{}}}"#, r#"Apply a {"f:data":{"f:x":{}}}"#],
        ),
        (
            "what is shared stays when one gives it up",
            vec![
                ("a", "applies", data(json!({"x": "1"}))),
                ("b", "applies", data(json!({"x": "1"}))),
                ("a", "applies", json!({})),
            ],
            data(json!({"x": "1"})),
            vec![r#"Apply b {"f:data":{"f:x":{}}}"#],
        ),
        (
            "force takes",
            vec![("a", "applies", data(json!({"x": "1", "y": "1"}))), ("b", "forces", data(json!({"x": "2"})))],
            data(json!({"x": "2", "y": "1"})),
            vec![r#"Apply a {"f:data":{"f:y":{}}}"#, r#"Apply b {"f:data":{"f:x":{}}}"#],
        ),
        (
            "a manager that applies and one that updates are two",
            vec![("a", "applies", data(json!({"x": "1"}))), ("a", "updates", data(json!({"x": "1", "y": "1"})))],
            data(json!({"x": "1", "y": "1"})),
            vec![r#"Apply a {"f:data":{"f:x":{}}}"#, r#"Update a {"f:data":{"f:y":{}}}"#],
        ),
        (
            "what is removed has no owner",
            vec![("a", "applies", data(json!({"x": "1", "y": "1"}))), ("u", "updates", data(json!({"y": "1"})))],
            data(json!({"y": "1"})),
            vec![r#"Apply a {"f:data":{"f:y":{}}}"#],
        ),
        (
            "an element belongs to whoever says its key",
            vec![("a", "applies", list(json!([{"n": "x"}]))), ("b", "applies", list(json!([{"n": "x", "v": "1"}])))],
            list(json!([{"n": "x", "v": "1"}])),
            vec![
                r#"Apply a {"f:list":{"k:{\"n\":\"x\"}":{".":{},"f:n":{}}}}"#,
                r#"Apply b {"f:list":{"k:{\"n\":\"x\"}":{".":{},"f:n":{},"f:v":{}}}}"#,
            ],
        ),
        (
            "nobody is asked before somebody applies",
            vec![("u", "updates", data(json!({"x": "1"}))), ("a", "applies", data(json!({"y": "1"})))],
            data(json!({"x": "1", "y": "1"})),
            vec![r#"Apply a {"f:data":{"f:y":{}}}"#, r#"Update u {"f:data":{".":{},"f:x":{}}}"#],
        ),
        (
            "nothing said is nothing owned",
            vec![("a", "applies", data(json!({"x": "1"}))), ("a", "applies", json!({}))],
            json!({}),
            vec![],
        ),
    ];
    for (claim, steps, content, owned) in cases {
        assert_eq!(life(&steps), (content, owned.into_iter().map(str::to_owned).collect()), "{claim}");
    }
}

#[test]
fn a_client_may_edit_who_owns_what() {
    let live = applied(None, "a", &json!({"data": {"x": "1"}}), false).unwrap();
    let edited = |entries: Value| {
        let mut new = live.clone();
        new["metadata"]["managedFields"] = entries;
        track(&schema(), Some(&live), &mut new, &intent("u"));
        owners(&new)
    };
    let kept = vec![r#"Apply a {"f:data":{"f:x":{}}}"#.to_owned()];
    assert_eq!(edited(json!([])), Vec::<String>::new());
    assert_eq!(edited(json!([{}])), Vec::<String>::new());
    assert_eq!(edited(Value::Null), kept);
    assert_eq!(edited(json!([{"manager": "b", "operation": "Odd"}])), kept, "what is no entry changes nothing");
    assert_eq!(
        edited(json!([{"manager": "b", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"x:y": {}}}])),
        kept,
        "what is no set changes nothing"
    );
    let other = json!([{"manager": "b", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {".": {}, "f:x": {".": {}}}}}]);
    assert_eq!(edited(other), [r#"Apply b {"f:data":{".":{},"f:x":{}}}"#]);
}

#[test]
fn the_oldest_of_many_writers_become_one() {
    let mut live = json!({"metadata": {}, "data": {}});
    track(&schema(), None, &mut live, &intent("w00"));
    for number in 1..14 {
        let mut new = live.clone();
        new["data"][&format!("k{number}")] = "1".into();
        track(&schema(), Some(&live), &mut new, &intent(&format!("w{number:02}")));
        live = new;
    }
    let names: Vec<String> = owners(&live).iter().map(|text| text.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(names.len(), 10);
    assert!(names.contains(&"ancient-changes".to_owned()) && !names.contains(&"w01".to_owned()), "{names:?}");
}

#[test]
fn what_has_become_atomic_has_one_owner() {
    let atomic = custom(&json!({"type": "object", "properties": {
        "data": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}}}}));
    let live = applied(None, "a", &json!({"data": {"x": "1"}}), false).unwrap();
    let mut new = live.clone();
    new["data"]["y"] = "1".into();
    track(&atomic, Some(&live), &mut new, &intent("u"));
    assert_eq!(owners(&new), [r#"Update u {"f:data":{}}"#]);
    let next = apply(&atomic, Some(&live), &json!({"data": {"x": "1"}}), &intent("a"), false).unwrap();
    assert_eq!(owners(&next), [r#"Apply a {"f:data":{}}"#]);
}

#[test]
fn a_write_of_a_part_leaves_the_rest_alone() {
    let schema = custom(&json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"a": {"type": "string"}}},
        "status": {"type": "object", "properties": {"b": {"type": "string"}}}}}));
    let of = |part: &str, resets: &'static super::FieldSet| Intent { subresource: part.into(), resets, ..intent("m") };
    let main = apply(&schema, None, &json!({"spec": {"a": "1"}, "status": {"b": "1"}}), &of("", &super::STATUS), false)
        .unwrap();
    assert_eq!(owners(&main), [r#"Apply m {"f:spec":{"f:a":{}}}"#]);
    let config = json!({"spec": {"a": "2"}, "status": {"b": "2"}});
    let status = apply(&schema, Some(&main), &config, &of("status", &super::SPEC), false).unwrap();
    assert_eq!(owners(&status), [r#"Apply m {"f:spec":{"f:a":{}}}"#, r#"Apply m {"f:status":{"f:b":{}}}"#]);
}
