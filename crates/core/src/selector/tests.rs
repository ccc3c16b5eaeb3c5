use expect_test::expect;
use proptest::prelude::*;
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

#[test]
fn a_selector_of_an_object_says_why_it_cannot_be_evaluated() {
    let evaluated =
        |json| Selector::try_from(&selector(json)).map_or_else(|error| error.to_string(), |it| it.to_string());
    let expression = |operator: &str, values: &[&str]| json!({"matchLabels": {"b": "1"}, "matchExpressions": [{"key": "a", "operator": operator, "values": values}]});
    assert_eq!(evaluated(expression("NotIn", &["x", "y"])), "a notin (x,y),b=1");
    assert_eq!(evaluated(expression("Near", &[])), "\"Near\" is not a valid label selector operator");
    assert_eq!(
        evaluated(expression("In", &[])),
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
    );
    assert_eq!(
        evaluated(expression("Exists", &["x"])),
        "values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist"
    );
}

/// Reads a query and prints it back, or the refusal.
fn canonical(query: &str) -> String {
    query.parse::<Selector>().map_or_else(|error| format!("error: {error}"), |selector| selector.to_string())
}

#[test]
fn queries_print_back_in_canonical_form() {
    let cases = [
        ("", ""),
        ("  ", ""),
        ("a", "a"),
        ("!a", "!a"),
        ("a=b", "a=b"),
        ("a = b", "a=b"),
        ("a==b", "a==b"),
        ("a!=b", "a!=b"),
        ("a=", "a="),
        ("a=,b", "a=,b"),
        ("x>5, y<3", "x>5,y<3"),
        ("g,!f,\td!=e,a in (c,b,c)", "a in (b,c),d!=e,!f,g"),
        ("a notin ( b )", "a notin (b)"),
        ("a in ()", "a in ()"),
        ("a in (,b)", "a in (,b)"),
        ("a in (b,)", "a in (,b)"),
        ("a in (b,,c)", "a in (,b,c)"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin=in", "notin=in"),
        ("example.com/a=b,!example.com/b", "example.com/a=b,!example.com/b"),
    ];
    for (query, printed) in cases {
        assert_eq!(canonical(query), printed, "{query}");
    }
}

#[test]
fn mistakes_in_queries_are_named_in_the_api_servers_words() {
    let cases = [
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!!a", "unable to parse requirement: found '!', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a (b)", "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a in (,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a==(", "unable to parse requirement: found '(', expected: identifier"),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        (
            "a>b",
            r#"unable to parse requirement: values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the value must be an integer"#,
        ),
    ];
    for (query, message) in cases {
        assert_eq!(canonical(query), format!("error: {message}"), "{query}");
    }
    expect![[r#"error: unable to parse requirement: <nil>: Invalid value: "a/": name part must be non-empty; name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#]]
    .assert_eq(&canonical("a/"));
    expect![[r#"error: unable to parse requirement: [values[0][a]: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'), values[2][a]: Invalid value: "c.": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]"#]]
    .assert_eq(&canonical("a in (b,c.,-)"));
}

#[test]
fn queries_select_as_kubernetes_does() {
    let cases = [
        ("", [true, true, true]),
        ("a", [true, true, false]),
        ("!a", [false, false, true]),
        ("a=5", [true, false, false]),
        ("a!=5", [false, true, true]),
        ("a in (5,6)", [true, false, false]),
        ("a notin (5,6)", [false, true, true]),
        ("a>4", [true, false, false]),
        ("a<4", [false, false, false]),
        ("a>5", [false, false, false]),
        ("a,b!=x", [true, true, false]),
    ];
    for (query, expected) in cases {
        let selector: Selector = query.parse().unwrap();
        assert_eq!(["a=5", "a=z", "b=x"].map(|text| selector.matches(&labels(text))), expected, "{query}");
        assert_eq!(selector.is_empty(), query.is_empty());
    }
}

#[test]
fn field_selectors_print_back_in_canonical_form() {
    let cases = [
        ("", ""),
        ("=", ""),
        ("a=b", "a=b"),
        ("a==b", "a=b"),
        ("status.phase!=b,metadata.name=a", "metadata.name=a,status.phase!=b"),
        ("a=b,,", "a=b"),
        ("a=", "a="),
        ("=b", "=b"),
        (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
        ("a", "error: invalid selector: 'a'; can't understand 'a'"),
        ("b=c,a", "error: invalid selector: 'b=c,a'; can't understand 'a'"),
        ("a=b=c", "error: invalid field selector: unescaped character in value: 61"),
        (r"a=\n", r"error: invalid field selector: invalid escape sequence: \n"),
        ("a=\\", "error: invalid field selector: invalid escape sequence: \\"),
    ];
    for (text, printed) in cases {
        let result = text.parse::<FieldSelector>();
        let actual = result.map_or_else(|error| format!("error: {error}"), |selector| selector.to_string());
        assert_eq!(actual, printed, "{text}");
    }
}

#[test]
fn field_selectors_compare_values() {
    let get = |field: &str| if field == "metadata.name" { "a" } else { "" };
    let cases = [("metadata.name=a", true), ("metadata.name!=a", false), ("x=", true), ("x!=,metadata.name=a", false)];
    for (text, expected) in cases {
        assert_eq!(text.parse::<FieldSelector>().unwrap().matches(get), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_accepted_prints_back_to_something_equal(query in "([!a-c=<>(), ]|in|notin|\\PC|5){0,12}") {
        if let Ok(selector) = query.parse::<Selector>() {
            prop_assert_eq!(selector.to_string().parse::<Selector>(), Ok(selector));
        }
        if let Ok(selector) = query.parse::<FieldSelector>() {
            prop_assert_eq!(selector.to_string().parse::<FieldSelector>(), Ok(selector));
        }
    }
}
