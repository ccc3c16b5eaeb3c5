use super::*;
use crate::json::{Value, json};

const OF: TypeOf<'_> = TypeOf { api_version: "example.com/v1", kind: "Widget" };

/// What the rules of a schema of `spec` say about a new and an old one.
fn say(spec: &Value, new: Value, old: Option<Value>) -> Vec<String> {
    let rules = Rules::compile(&json!({"type": "object", "properties": {"spec": spec}}));
    let object = |spec: Value| json!({"metadata": {"name": "n"}, "spec": spec});
    let (new, old) = (object(new), old.map(object));
    let errors = rules.judge(&new, old.as_ref(), OF, Errors::new());
    errors.iter().map(ToString::to_string).collect()
}

fn with_rule(properties: &Value, rule: &Value) -> Value {
    json!({"type": "object", "properties": properties, "x-kubernetes-validations": [rule]})
}

#[test]
fn a_rule_is_told_by_its_message_reason_and_path() {
    let fields = json!({"a": {"type": "integer"}, "m": {"type": "object", "additionalProperties": {"type": "string"}}});
    let cases = [
        (json!({"rule": "self.a > 1"}), "spec: Invalid value: failed rule: self.a > 1"),
        (json!({"rule": "self.a > 1", "message": " more "}), "spec: Invalid value: more"),
        (json!({"rule": "self.a > 1", "messageExpression": "'is ' + string(self.a)"}), "spec: Invalid value: is 1"),
        (
            json!({"rule": "self.a > 1", "message": "m", "messageExpression": "string(self.none)"}),
            "spec: Invalid value: m",
        ),
        (json!({"rule": "self.a > 1", "message": "m", "messageExpression": "' '"}), "spec: Invalid value: m"),
        (json!({"rule": "self.a > 1", "message": "m", "reason": "FieldValueForbidden"}), "spec: Forbidden: m"),
        (json!({"rule": "self.a > 1", "message": "m", "reason": "FieldValueRequired"}), "spec: Required value: m"),
        (json!({"rule": "self.a > 1", "message": "m", "reason": "FieldValueDuplicate"}), "spec: Duplicate value"),
        (json!({"rule": "self.a > 1", "message": "m", "fieldPath": ".m['x.y']"}), "spec.m[x.y]: Invalid value: m"),
        (
            json!({"rule": "10 / (self.a - 1) > 1"}),
            "spec: Invalid value: \"object\": division by zero evaluating rule: 10 / (self.a - 1) > 1",
        ),
        (
            json!({"rule": "self.m.x == 'y'", "message": "m"}),
            "spec: Invalid value: \"object\": no such key: x evaluating rule: m",
        ),
    ];
    for (rule, wanted) in cases {
        assert_eq!(say(&with_rule(&fields, &rule), json!({"a": 1, "m": {}}), None), [wanted], "{rule}");
        assert!(!say(&with_rule(&fields, &rule), json!({"a": 1, "m": {}}), None).is_empty());
    }
}

#[test]
fn scalars_are_shown_and_lists_are_not() {
    let rule = json!([{"rule": "self == self && false", "message": "no"}]);
    let schema = json!({"type": "object", "properties": {
        "s": {"type": "string", "x-kubernetes-validations": rule},
        "l": {"type": "array", "items": {"type": "integer", "x-kubernetes-validations": rule}, "x-kubernetes-validations": rule}}});
    assert_eq!(
        say(&schema, json!({"s": "x", "l": [1]}), None),
        ["spec.l: Invalid value: no", "spec.l[0]: Invalid value: 1: no", "spec.s: Invalid value: \"x\": no"]
    );
}

#[test]
fn a_transition_is_judged_where_there_was_something() {
    let rule = json!({"rule": "self.a >= oldSelf.a", "message": "only up"});
    let schema = with_rule(&json!({"a": {"type": "integer"}}), &rule);
    assert!(say(&schema, json!({"a": 1}), None).is_empty());
    assert_eq!(say(&schema, json!({"a": 1}), Some(json!({"a": 2}))), ["spec: Invalid value: only up"]);
    let items = json!({"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.v >= oldSelf.v", "message": "only up"}]});
    let keyed =
        json!({"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"]});
    let (new, old) = (json!([{"n": "b", "v": 1}, {"n": "a", "v": 1}]), json!([{"n": "a", "v": 2}]));
    assert_eq!(say(&keyed, new, Some(old)), ["spec[1]: Invalid value: only up"]);
}

#[test]
fn an_optional_old_value_is_there_or_not() {
    let rule = json!({"rule": "!oldSelf.hasValue() ? self != 'never' : self == oldSelf.value()", "message": "once", "optionalOldSelf": true});
    let schema = json!({"type": "string", "x-kubernetes-validations": [rule]});
    assert_eq!(say(&schema, json!("never"), None), ["spec: Invalid value: \"never\": once"]);
    assert!(say(&schema, json!("x"), None).is_empty());
    assert_eq!(say(&schema, json!("y"), Some(json!("x"))), ["spec: Invalid value: \"y\": once"]);
}

#[test]
fn what_has_not_changed_does_not_block() {
    let rule = json!({"rule": "self.a > 1", "message": "m"});
    let schema = json!({"type": "object", "properties": {
        "x": with_rule(&json!({"a": {"type": "integer"}}), &rule), "y": {"type": "string"}}});
    let (new, old) = (json!({"x": {"a": 1}, "y": "2"}), json!({"x": {"a": 1}, "y": "1"}));
    assert!(say(&schema, new, Some(old.clone())).is_empty());
    assert_eq!(say(&schema, json!({"x": {"a": 0}}), Some(old)), ["spec.x: Invalid value: m"]);
}

#[test]
fn rules_see_types_names_and_functions() {
    let schema = |rule: &str| {
        let fields = json!({
            "at": {"type": "string", "format": "date-time"}, "for": {"type": "string", "format": "duration"},
            "bytes": {"type": "string", "format": "byte"}, "num": {"type": "number"}, "a-b": {"type": "string"},
            "x.y": {"type": "string"}, "ios": {"x-kubernetes-int-or-string": true}, "opt": {"type": "string"},
            "l": {"type": "array", "items": {"type": "string"}}});
        with_rule(&fields, &json!({"rule": rule}))
    };
    let value = json!({"at": "2020-01-01T00:00:00Z", "for": "1h", "bytes": "YWI=", "num": 1, "a-b": "1", "x.y": "2",
        "ios": "50%", "l": ["a", "b"]});
    for rule in [
        "self.at < timestamp('2021-01-01T00:00:00Z') && self.at.getFullYear() == 2020",
        "self.__for__ == duration('60m')",
        "size(self.bytes) == 2",
        "self.num == 1.0",
        "self.a__dash__b == '1' && self.x__dot__y == '2'",
        "type(self.ios) == string && self.ios.endsWith('%')",
        "!has(self.opt) && self.?opt.orValue('d') == 'd'",
        "self.l.all(x, x in ['a', 'b']) && self.l.exists_one(x, x == 'a') && self.l.map(x, x + '!') == ['a!', 'b!']",
        "quantity('1Gi').isGreaterThan(quantity('500Mi')) && isIP('10.0.0.1') && cidr('10.0.0.0/8').containsIP('10.1.1.1')",
        "url('https://example.com/a').getHost() == 'example.com' && semver('1.2.3').major() == 1",
        "'a-b'.split('-') == ['a', 'b'] && 'x%d'.format([1]) == 'x1' && sets.contains([1, 2], [1])",
    ] {
        assert_eq!(say(&schema(rule), value.clone(), None), Vec::<String>::new(), "{rule}");
    }
    let root = json!({"type": "object", "x-kubernetes-validations": [
        {"rule": "self.metadata.name == 'n' && self.kind == 'Widget' && self.apiVersion == 'example.com/v1'"}]});
    assert!(Rules::compile(&root).judge(&json!({"metadata": {"name": "n"}}), None, OF, Errors::new()).is_empty());
}

#[test]
fn mistakes_of_the_compiler_are_told_with_their_place() {
    let types = Types::of(&json!({"type": "object", "properties": {
        "s": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object", "properties": {"x": {"type": "string"}}},
        "l": {"type": "array", "items": {"type": "string"}}, "m": {"type": "object", "additionalProperties": {"type": "integer"}}}}));
    let cases = [
        ("self.s + 1", "found no matching overload for '_+_' applied to '(string, int)'", "1:8"),
        ("self.none == 1", "undefined field 'none'", "1:5"),
        ("self.o.x.y == 1", "type 'string' does not support field selection", "1:9"),
        ("foo == 1", "undeclared reference to 'foo' (in container '')", "1:1"),
        ("self.s.nope()", "undeclared reference to 'nope' (in container '')", "1:12"),
        ("self.n.startsWith('a')", "found no matching overload for 'startsWith' applied to 'int.(string)'", "1:18"),
        ("self.l[0] == 1", "found no matching overload for '_==_' applied to '(string, int)'", "1:11"),
        ("self.m.all(k, k > 1)", "found no matching overload for '_>_' applied to '(string, int)'", "1:17"),
        (
            "self.s.all(k, true)",
            "expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)",
            "1:5",
        ),
        ("!self.n", "found no matching overload for '!_' applied to '(int)'", "1:1"),
        ("self.n in self.l", "found no matching overload for '@in' applied to '(int, list(string))'", "1:8"),
    ];
    for (rule, what, at) in cases {
        let error = types.compile(&json!({"rule": rule})).error.unwrap_or_default();
        let column: usize = at.split(':').nth(1).unwrap().parse().unwrap();
        let wanted =
            format!("compilation failed: ERROR: <input>:{at}: {what}\n | {rule}\n | {}^", ".".repeat(column - 1));
        assert_eq!(error, wanted, "{rule}");
    }
    let compile = |rule: Value| types.compile(&rule);
    assert_eq!(compile(json!({"rule": "self.n"})).error.as_deref(), Some("cel expression must evaluate to a bool"));
    let message = compile(json!({"rule": "true", "messageExpression": "self.n"}));
    assert_eq!(message.message_error.as_deref(), Some("messageExpression must evaluate to a string"));
    assert!(compile(json!({"rule": "self.s == oldSelf.s"})).uses_old_self);
    assert!(
        compile(json!({"rule": "self.nope("}))
            .error
            .unwrap()
            .starts_with("compilation failed: ERROR: <input>:1:11: Syntax error: mismatched input '<EOF>'")
    );
}
