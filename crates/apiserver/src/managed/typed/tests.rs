use super::*;
use crate::json::json;
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
        "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "proto"],
                 "items": {"type": "object", "properties": {
                     "port": {"type": "integer"}, "proto": {"type": "string", "default": "TCP"}, "n": {"type": "string"}}}},
        "o": {"type": "object", "properties": {
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}}},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }}))
}

#[test]
fn an_object_owns_leaves_and_elements() {
    let cases = [
        (json!({"s": "1"}), json!({"f:s": {}})),
        (json!({"map": {"a": "1"}}), json!({"f:map": {"f:a": {}}})),
        (json!({"map": {}}), json!({"f:map": {}})),
        (json!({"atomic": {"a": "1"}}), json!({"f:atomic": {}})),
        (json!({"plain": ["x"]}), json!({"f:plain": {}})),
        (json!({"plain": []}), json!({"f:plain": {}})),
        (json!({"set": ["x"]}), json!({"f:set": {"v:\"x\"": {}}})),
        (json!({"set": []}), json!({})),
        (
            json!({"list": [{"n": "a", "v": "1"}]}),
            json!({"f:list": {"k:{\"n\":\"a\"}": {".": {}, "f:n": {}, "f:v": {}}}}),
        ),
        (
            json!({"ports": [{"port": 1}]}),
            json!({"f:ports": {"k:{\"port\":1,\"proto\":\"TCP\"}": {".": {}, "f:port": {}}}}),
        ),
        (json!({"any": {"a": {"b": 1}, "l": [1]}}), json!({"f:any": {"f:a": {".": {}, "f:b": {}}, "f:l": {}}})),
        (json!({"o": {"set": []}}), json!({})),
        (json!({"s": null}), json!({"f:s": {}})),
    ];
    for (value, wanted) in cases {
        assert_eq!(fields(&schema(), &value).to_value(), wanted, "{value}");
    }
}

#[test]
fn a_difference_names_what_came_changed_and_went() {
    let old = json!({"s": "1", "set": ["x"], "plain": ["a"], "list": [{"n": "a", "v": "1"}]});
    let new = json!({"s": "2", "map": {"a": "1"}, "plain": ["b"], "list": [{"n": "a", "v": "2"}, {"n": "b"}]});
    let found = compare(&schema(), &old, &new);
    let element = json!({".": {}, "f:n": {}});
    let list = json!({"k:{\"n\":\"a\"}": {"f:v": {}}, "k:{\"n\":\"b\"}": element});
    assert_eq!(
        found.changed.to_value(),
        json!({"f:map": {".": {}, "f:a": {}}, "f:list": list, "f:plain": {}, "f:s": {}})
    );
    assert_eq!(found.removed.to_value(), json!({"f:set": {".": {}, "v:\"x\"": {}}}));
}

#[test]
fn elements_that_cannot_be_told_apart_are_one_leaf() {
    let (old, new) = (json!({"set": ["x", "x"]}), json!({"set": ["x"]}));
    assert_eq!(compare(&schema(), &old, &new).changed.to_value(), json!({"f:set": {"v:\"x\"": {}}}));
    assert_eq!(fields(&schema(), &old).to_value(), json!({"f:set": {"v:\"x\"": {}}}));
}

#[test]
fn lists_merge_by_key_and_keep_what_is_only_live() {
    let items = |names: &str| -> Value { names.chars().map(|name| json!({"n": name.to_string()})).collect() };
    let merged = |live: &str, config: &str| -> String {
        let mut value = json!({"list": items(live)});
        merge(&schema(), &mut value, &json!({"list": items(config)}));
        value["list"].as_array().unwrap().iter().map(|item| item["n"].as_str().unwrap()).collect()
    };
    assert_eq!(merged("abc", "b"), "abc");
    assert_eq!(merged("abc", "cb"), "acb");
    assert_eq!(merged("ab", "xy"), "abxy");
    assert_eq!(merged("", "xy"), "xy");
    assert_eq!(merged("abcd", "dxb"), "acdxb");
}

#[test]
fn what_becomes_empty_goes_with_its_last_field() {
    let mut value = json!({"map": {"a": "1"}, "list": [{"n": "a"}, {"n": "b", "v": "1"}], "s": "1"});
    let gone =
        json!({"f:map": {".": {}, "f:a": {}}, "f:list": {"k:{\"n\":\"a\"}": {}, "k:{\"n\":\"b\"}": {"f:v": {}}}});
    remove(&schema(), &mut value, &FieldSet::parse(&gone).unwrap());
    assert_eq!(value, json!({"list": [{"n": "b"}], "s": "1"}));
}

#[test]
fn what_changed_is_known_again_without_comparing() {
    let values = [
        json!({}),
        json!({"s": "1"}),
        json!({"s": null}),
        json!({"map": {"a": "1"}, "s": "1"}),
        json!({"map": {"a": "1", "b": "2"}}),
        json!({"map": {}}),
        json!({"atomic": {"a": "1"}, "plain": ["x"]}),
        json!({"set": ["x", "y"]}),
        json!({"set": ["y", "x"]}),
        json!({"set": ["x", "x"]}),
        json!({"list": [{"n": "a", "v": "1"}, {"n": "b"}]}),
        json!({"list": [{"n": "b"}, {"n": "a", "v": "2"}]}),
        json!({"list": [{"n": "a"}, {"n": "b"}]}),
        json!({"ports": [{"port": 1}], "any": {"a": {"b": 1}}}),
        json!({"ports": [{"port": 1, "proto": "TCP"}]}),
        json!({"o": {"set": []}}),
    ];
    let schema = schema();
    for old in [json!({}), json!({"s": "1", "map": {"a": "1"}, "o": {}})] {
        for last in &values {
            let changed = compare(&schema, &old, last).changed;
            for new in &values {
                let is_it = compare(&schema, &old, new).changed == changed;
                let is_known = is_changed_by(&schema, &old, new, &changed);
                assert!(!is_known || is_it, "{old}: {last} and {new}");
                let has_twins = new["set"] == json!(["x", "x"]);
                assert!(is_known || !is_it || has_twins || old != json!({}), "{old}: {last} and {new}");
            }
        }
    }
}
