use kueue_core::field::{Error, Path};

use super::patch::between;
use super::*;

#[test]
fn a_patch_says_what_changed_and_no_more() {
    let add = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
    for (before, after, expected) in [
        (json!({"a": 1}), json!({"a": 1}), vec![]),
        (json!({"a": 1}), json!({"a": 2, "b": [1]}), vec![add("/a", json!(2)), add("/b", json!([1]))]),
        (json!({"m": {"x/y": 1, "z": 2}}), json!({"m": {"z": 2}}), vec![json!({"op": "remove", "path": "/m/x~1y"})]),
        (json!({"l": [1, 2]}), json!({"l": [2]}), vec![add("/l", json!([2]))]),
        (json!({"m": {"a~b": 1}}), json!({"m": {"a~b": 2}}), vec![add("/m/a~0b", json!(2))]),
    ] {
        assert_eq!(between(&before, &after), expected, "{before} {after}");
    }
}

#[test]
fn answers_are_spelled_as_the_api_server_reads_them() {
    let answer = |verdict: &Verdict| verdict.answer("admission.k8s.io/v1", "u")["response"].clone();
    assert_eq!(answer(&Verdict::ALLOWED), json!({"uid": "u", "allowed": true}));
    let changes = vec![json!({"op": "add", "path": "/a", "value": 1})];
    let changed = answer(&Verdict::new(Decision::Allowed { changes }));
    let patch = base64::STANDARD.decode(changed["patch"].as_str().unwrap()).unwrap();
    assert_eq!(String::from_utf8(patch).unwrap(), r#"[{"op":"add","path":"/a","value":1}]"#);
    assert_eq!(changed["patchType"], "JSONPatch");
    let wrong = |field: &str| Error::invalid(&Path::new(field), 1, "no");
    let denied = answer(&Verdict::of(&vec![wrong("a"), wrong("b")]));
    let status = json!({"status": "Failure", "code": 403, "reason": "Forbidden",
        "message": "[a: Invalid value: 1: no, b: Invalid value: 1: no]"});
    assert_eq!(denied, json!({"uid": "u", "allowed": false, "status": status}));
    let warned = answer(&Verdict::ALLOWED.warning(vec!["odd".to_owned()]));
    assert_eq!(warned, json!({"uid": "u", "allowed": true, "warnings": ["odd"]}));
}
