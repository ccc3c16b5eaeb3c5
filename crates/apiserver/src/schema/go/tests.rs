use super::canonical;
use crate::json::{Value, json};
use crate::kinds::BuiltIn;

fn check(type_name: &str, mut given: Value, wanted: &Value) {
    let schema = BuiltIn::types().get(type_name);
    canonical(&schema, &mut given, None).unwrap();
    assert_eq!(given, *wanted, "{type_name}");
}

#[test]
fn empty_values_are_left_out_and_pointers_keep_theirs() {
    let given = json!({"hostNetwork": false, "nodeName": "", "nodeSelector": {}, "containers": [], "terminationGracePeriodSeconds": 0});
    check("core.v1.PodSpec", given, &json!({"containers": null, "terminationGracePeriodSeconds": 0}));
}

#[test]
fn what_go_always_writes_appears() {
    check("core.v1.PodSpec", json!({}), &json!({"containers": null}));
    let condition = json!({"type": "", "status": "", "lastProbeTime": null, "lastTransitionTime": null});
    check("core.v1.PodCondition", json!({}), &condition);
    check("core.v1.ServicePort", json!({"port": 1}), &json!({"port": 1, "targetPort": 0}));
}

#[test]
fn quantities_and_times_have_one_spelling() {
    let given = json!({"requests": {"cpu": "0.5", "memory": 1024}});
    check("core.v1.ResourceRequirements", given, &json!({"requests": {"cpu": "500m", "memory": "1024"}}));
    let given = json!({"deletionTimestamp": "2026-01-02T03:04:05+01:00"});
    check("meta.v1.ObjectMeta", given, &json!({"deletionTimestamp": "2026-01-02T02:04:05Z"}));
}

#[test]
fn unknown_fields_are_told_with_their_path() {
    let schema = BuiltIn::types().get("core.v1.Pod");
    let mut value = json!({"spec": {"x": 1, "containers": [{"name": "c", "y": 1}]}});
    let unknown = canonical(&schema, &mut value, None).unwrap();
    assert_eq!(unknown, ["spec.x", "spec.containers[0].y"]);
}

#[test]
fn a_wrong_type_is_told_in_the_words_of_gos_decoder() {
    let schema = BuiltIn::types().get("core.v1.Pod");
    let say = |mut value: Value| canonical(&schema, &mut value, None).unwrap_err();
    assert_eq!(
        say(json!({"spec": {"containers": "x"}})),
        "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container"
    );
    assert_eq!(
        say(json!({"spec": {"priority": 99_999_999_999_i64}})),
        "json: cannot unmarshal number 99999999999 into Go struct field PodSpec.spec.priority of type int32"
    );
}
