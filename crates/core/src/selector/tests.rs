use expect_test::expect;
use serde_json::json;

use super::*;

fn selector(json: serde_json::Value) -> LabelSelector {
    serde_json::from_value(json).unwrap()
}

fn requirement(operator: &str, values: &[&str]) -> LabelSelector {
    selector(json!({"matchExpressions": [{"key": "a", "operator": operator, "values": values}]}))
}

fn labels(text: &str) -> BTreeMap<String, String> {
    let entries = text.split_whitespace().map(|entry| entry.split_once('=').unwrap());
    entries.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

#[test]
fn operators_select_as_kubernetes_does() {
    let cases = [
        ("In", &["x", "y"][..], [true, false, false]),
        ("NotIn", &["x", "y"], [false, true, true]),
        ("Exists", &[], [true, true, false]),
        ("DoesNotExist", &[], [false, false, true]),
        ("In", &[], [false, false, false]),
        ("NotIn", &[], [false, false, false]),
        ("Exists", &["x"], [false, false, false]),
        ("DoesNotExist", &["x"], [false, false, false]),
        ("Near", &["x"], [false, false, false]),
    ];
    for (operator, values, expected) in cases {
        let selected = ["a=x", "a=z", "b=x"].map(|text| requirement(operator, values).matches(&labels(text)));
        assert_eq!(selected, expected, "{operator} {values:?}");
    }
}

#[test]
fn all_parts_must_hold_and_no_part_selects_everything() {
    assert!(LabelSelector::default().matches(&labels("")));
    let both = selector(json!({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}));
    assert!(both.matches(&labels("a=1 b=2")));
    assert!(!both.matches(&labels("a=1")));
    assert!(!both.matches(&labels("b=2")));
}

#[test]
fn every_mistake_is_reported() {
    let wrong = selector(json!({
        "matchLabels": {"a": "-"},
        "matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "b", "operator": "Exists", "values": ["x", "."]},
            {"key": "", "operator": "Near"},
        ],
    }));
    let text: String = wrong.validate(&Path::new("s")).iter().map(|error| format!("{error}\n")).collect();
    expect![[r#"
        s.matchLabels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
        s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'
        s.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'
        s.matchExpressions[1].values[1]: Invalid value: ".": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
        s.matchExpressions[2].operator: Invalid value: "Near": not a valid selector operator
        s.matchExpressions[2].key: Invalid value: "": name part must be non-empty
        s.matchExpressions[2].key: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
    "#]]
    .assert_eq(&text);
}

#[test]
fn json_keeps_unknown_operators_and_drops_what_is_empty() {
    let json = json!({"matchExpressions": [{"key": "a", "operator": "Near", "values": ["x"]}]});
    assert_eq!(serde_json::to_value(selector(json.clone())).unwrap(), json);
    let nulls = json!({"matchLabels": null, "matchExpressions": null});
    assert_eq!(serde_json::to_value(selector(nulls)).unwrap(), json!({}));
}
