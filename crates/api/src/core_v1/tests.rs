//! A view gives back what it was given.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{PodTemplateSpec, Toleration};

fn round_trip(template: &Value) -> Value {
    let decoded: PodTemplateSpec = serde_json::from_value(template.clone()).unwrap();
    serde_json::to_value(&decoded).unwrap()
}

/// The value without fields that are `null`.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let given = map.iter().filter(|(_, value)| !value.is_null());
            Value::Object(given.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}

/// Whatever a newer Kubernetes may put where we look for nothing.
fn anything() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text(),
        Just(json!([])),
        Just(json!({})),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map("[a-z]{1,3}", inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
    .boxed()
}

fn text() -> BoxedStrategy<Value> {
    "[a-z/.]{0,4}".prop_map(Value::from).boxed()
}

fn list(item: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    vec(item, 0..3).prop_map(Value::from).boxed()
}

fn map_of(value: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    btree_map("[a-z]{1,3}", value, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())).boxed()
}

/// An object with some of the fields given, some `null`, some missing, and up to two that no view knows.
fn object(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let known: Vec<BoxedStrategy<Option<(String, Value)>>> = fields
        .into_iter()
        .map(|(key, value)| {
            let given = value.prop_map(move |value| Some((key.to_owned(), value)));
            prop_oneof![2 => given, 1 => Just(Some((key.to_owned(), Value::Null))), 3 => Just(None)].boxed()
        })
        .collect();
    (known, btree_map("x-[a-z]{1,2}", anything(), 0..3))
        .prop_map(|(known, unknown)| Value::Object(known.into_iter().flatten().chain(unknown).collect::<Map<_, _>>()))
        .boxed()
}

fn quantities() -> BoxedStrategy<Value> {
    map_of(prop_oneof![Just("0"), Just("1"), Just("250m"), Just("3Gi"), Just("-2")].prop_map(Value::from).boxed())
}

fn container() -> BoxedStrategy<Value> {
    let claim = object(vec![("name", text()), ("request", text())]);
    let resources = object(vec![("requests", quantities()), ("limits", quantities()), ("claims", list(claim))]);
    object(vec![("name", text()), ("resources", resources), ("restartPolicy", text())])
}

fn affinity() -> BoxedStrategy<Value> {
    let requirement = object(vec![("key", text()), ("operator", text()), ("values", list(text()))]);
    let term = object(vec![("matchExpressions", list(requirement.clone())), ("matchFields", list(requirement))]);
    let preferred = object(vec![("weight", any::<i32>().prop_map(Value::from).boxed()), ("preference", term.clone())]);
    let node = object(vec![
        ("requiredDuringSchedulingIgnoredDuringExecution", object(vec![("nodeSelectorTerms", list(term))])),
        ("preferredDuringSchedulingIgnoredDuringExecution", list(preferred)),
    ]);
    object(vec![("nodeAffinity", node), ("podAffinity", anything())])
}

fn template() -> BoxedStrategy<Value> {
    let number = any::<i32>().prop_map(Value::from).boxed();
    let toleration = object(vec![("key", text()), ("operator", text()), ("tolerationSeconds", number.clone())]);
    let spec = object(vec![
        ("initContainers", list(container())),
        ("containers", list(container())),
        ("resources", object(vec![("requests", quantities())])),
        ("overhead", quantities()),
        ("nodeSelector", map_of(text())),
        ("affinity", affinity()),
        ("tolerations", list(toleration)),
        ("schedulingGates", list(object(vec![("name", text())]))),
        ("priorityClassName", text()),
        ("priority", number),
        ("runtimeClassName", text()),
        ("resourceClaims", list(object(vec![("name", text()), ("resourceClaimName", text())]))),
        ("restartPolicy", text()),
        ("nodeName", text()),
    ]);
    let metadata = object(vec![("labels", map_of(text())), ("annotations", map_of(text()))]);
    object(vec![("metadata", metadata), ("spec", spec)])
}

proptest! {
    #[test]
    fn a_pod_template_comes_back_as_it_was(template in template()) {
        prop_assert_eq!(without_nulls(&round_trip(&template)), without_nulls(&template));
    }

    #[test]
    fn anything_at_all_is_read_or_refused(value in anything()) {
        if let Ok(read) = serde_json::from_value::<PodTemplateSpec>(value.clone()) {
            let again = serde_json::from_value(serde_json::to_value(&read).unwrap()).unwrap();
            prop_assert_eq!(read, again);
        }
    }
}

#[test]
fn what_was_given_empty_is_given_back_empty() {
    let template = json!({
        "metadata": {"labels": {}, "creationTimestamp": null},
        "spec": {"containers": [{"name": "", "resources": {}}], "tolerations": [], "affinity": {}, "nodeName": "",
                 "volumes": [{"name": "v", "emptyDir": {}}]},
    });
    assert_eq!(round_trip(&template), template);
}

#[test]
fn a_field_filled_later_replaces_what_was_given_empty() {
    let mut template: PodTemplateSpec = serde_json::from_value(json!({"spec": {"tolerations": []}})).unwrap();
    template.spec.tolerations.push(Toleration { key: "gpu".to_owned(), ..Toleration::default() });
    assert_eq!(serde_json::to_string(&template).unwrap(), r#"{"spec":{"tolerations":[{"key":"gpu"}]}}"#);
}

#[test]
fn empty_and_missing_are_equal_and_zero_is_not() {
    let spec = |spec: Value| serde_json::from_value::<PodTemplateSpec>(json!({"spec": spec})).unwrap();
    assert_eq!(spec(json!({"tolerations": [], "nodeName": "", "volumes": [], "affinity": null})), spec(json!({})));
    assert_eq!(spec(json!({"containers": [{"resources": {}, "env": []}]})), spec(json!({"containers": [{}]})));
    assert_ne!(spec(json!({"priority": 0})), spec(json!({})));
    assert_ne!(spec(json!({"terminationGracePeriodSeconds": 0})), spec(json!({})));
    assert_ne!(spec(json!({"containers": [{"image": "a"}]})), spec(json!({"containers": [{"image": "b"}]})));
}

#[test]
fn null_is_not_given_at_every_depth() {
    let template = json!({"metadata": {"labels": {"a": null}}, "spec": {"containers": [null, {"resources": null}],
        "affinity": null, "priority": null, "nodeSelector": null}});
    let read: PodTemplateSpec = serde_json::from_value(template).unwrap();
    assert_eq!(read.metadata.labels["a"], "");
    assert_eq!(read.spec.containers.len(), 2);
    assert_eq!(read.spec.affinity, None);
    assert_eq!(serde_json::from_value::<PodTemplateSpec>(Value::Null).unwrap(), PodTemplateSpec::default());
}

#[test]
fn quantities_come_back_in_canonical_form() {
    let requests = |cpu: Value| json!({"spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}});
    assert_eq!(round_trip(&requests(json!("1000m"))), requests(json!("1")));
    assert_eq!(round_trip(&requests(json!(2))), requests(json!("2")));
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |template: Value| serde_json::from_value::<PodTemplateSpec>(template).unwrap_err().to_string();
    expect_test::expect![[r#"
        invalid type: integer `3`, expected a string
        invalid type: map, expected a sequence
        invalid type: boolean `true`, expected a string
        invalid type: string "pod", expected an object"#]]
    .assert_eq(
        &[
            json!({"spec": {"containers": [{}, {"name": 3}]}}),
            json!({"spec": {"tolerations": {}}}),
            json!({"metadata": {"labels": {"a": true}}}),
            json!("pod"),
        ]
        .map(refused)
        .join("\n"),
    );
}
