use kueue_core::field::Path;

use super::super::load::custom;
use super::validate;
use crate::json::{Value, json};

fn say(schema: &Value, value: Value) -> Vec<String> {
    let schema = custom(&json!({"type": "object", "properties": {"x": schema}}));
    let mut object = json!({});
    object["x"] = value;
    validate(&schema, &object, None, &Path::default()).iter().map(ToString::to_string).collect()
}

#[test]
fn each_keyword_has_its_words() {
    let cases = [
        (
            json!({"type": "string", "minLength": 2}),
            json!("a"),
            r#"x: Invalid value: "a": x in body should be at least 2 chars long"#,
        ),
        (json!({"type": "string", "maxLength": 1}), json!("ab"), "x: Too long: may not be more than 1 bytes"),
        (
            json!({"type": "string", "pattern": "^b"}),
            json!("a"),
            r#"x: Invalid value: "a": x in body should match '^b'"#,
        ),
        (json!({"type": "string", "enum": ["b"]}), json!("a"), r#"x: Unsupported value: "a": supported values: "b""#),
        (
            json!({"type": "string"}),
            json!(1),
            r#"x: Invalid value: "integer": x in body must be of type string: "integer""#,
        ),
        (
            json!({"type": "integer", "format": "int32"}),
            json!(3_000_000_000_i64),
            r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x"#,
        ),
        (
            json!({"type": "integer", "minimum": 2}),
            json!(1),
            "x: Invalid value: 1: x in body should be greater than or equal to 2",
        ),
        (
            json!({"type": "integer", "maximum": 2, "exclusiveMaximum": true}),
            json!(2),
            "x: Invalid value: 2: x in body should be less than 2",
        ),
        (
            json!({"type": "number", "multipleOf": 0.5}),
            json!(0.7),
            "x: Invalid value: 0.7: x in body should be a multiple of 0.5",
        ),
        (
            json!({"type": "array", "minItems": 1}),
            json!([]),
            "x: Invalid value: 0: x in body should have at least 1 items",
        ),
        (json!({"type": "array", "maxItems": 1}), json!([1, 2]), "x: Too many: 2: must have at most 1 items"),
        (json!({"type": "object", "required": ["a"]}), json!({}), "x.a: Required value"),
        (
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
            json!(["a", "a"]),
            r#"x[1]: Duplicate value: "a""#,
        ),
        (
            json!({"type": "object", "not": {"required": ["a"]}}),
            json!({"a": 1}),
            r#"<nil>: Invalid value: "": "x" must not validate the schema (not)"#,
        ),
        (
            json!({"type": "string", "format": "ipv4"}),
            json!("1"),
            r#"x: Invalid value: "1": x in body must be of type ipv4: "1""#,
        ),
    ];
    for (schema, value, text) in cases {
        assert_eq!(say(&schema, value), [text], "{schema}");
    }
}

#[test]
fn a_number_that_is_no_integer_is_told_twice() {
    assert_eq!(
        say(&json!({"type": "integer"}), json!(1.5)),
        [
            r#"x: Invalid value: "number": x in body must be of type integer: "number""#,
            r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in x"#,
        ]
    );
}

#[test]
fn a_value_that_did_not_change_is_not_judged_again() {
    let schema = custom(&json!({"type": "object", "properties": {
        "x": {"type": "string", "maxLength": 1}, "y": {"type": "string", "maxLength": 1}}}));
    let (old, new) = (json!({"x": "long", "y": "a"}), json!({"x": "long", "y": "long"}));
    let errors = validate(&schema, &new, Some(&old), &Path::default());
    assert_eq!(
        errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["y: Too long: may not be more than 1 bytes"]
    );
}

#[test]
fn one_alternative_that_fits_is_enough() {
    let quantity = json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]});
    let bounded =
        json!({"type": "integer", "anyOf": [{"type": "integer", "minimum": 5}, {"type": "integer", "maximum": 2}]});
    for (schema, value) in
        [(&quantity, json!(1)), (&quantity, json!("1Gi")), (&bounded, json!(7)), (&bounded, json!(1))]
    {
        assert_eq!(say(schema, value), Vec::<String>::new());
    }
    for (schema, value) in [(&quantity, json!(true)), (&bounded, json!(3))] {
        let told = say(schema, value);
        assert!(told.iter().any(|one| one.contains("must validate at least one schema (anyOf)")), "{told:?}");
    }
}

#[test]
fn an_element_is_there_once() {
    let list = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
        "items": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}});
    assert_eq!(say(&list, json!([{"a": "x", "b": 1}, {"a": "x", "b": 2}, {"a": "x"}])), Vec::<String>::new());
    let thrice = say(&list, json!([{"a": "x", "b": 1}, {"b": 1, "a": "x"}, {"a": "x", "b": 1}]));
    assert_eq!(thrice, [r#"x[1]: Duplicate value: {"a":"x","b":1}"#]);
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    assert_eq!(say(&set, json!(["p", "q", "p"])), [r#"x[2]: Duplicate value: "p""#]);
}
