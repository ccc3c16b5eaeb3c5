use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use kueue_core::duration::Duration;
use kueue_core::quantity::Quantity;

use super::super::document::Document;
use super::*;
use crate::wire::wire_struct;

wire_struct! {
    /// One field of each sort.
    pub struct Sample {
        pub name?: String,
        pub port?: Option<i32>,
        pub ratio?: f64,
        pub enable?: bool,
        pub every?: Option<Duration>,
        pub amounts?: BTreeMap<String, Quantity>,
        pub names?: Vec<String>,
        pub inner?: Option<Inner>,
        pub list?: Vec<Inner>,
    }
}

wire_struct! {
    /// Something in a sample.
    pub struct Inner {
        pub bind_address?: String,
        pub count?: i64,
    }
}

/// Shows what was decoded and everything that was wrong.
fn check(text: &str, expected: &Expect) {
    let document = Document::parse(text).unwrap();
    let (sample, problems): (Sample, _) = decode(&document.root, &["kind"]);
    let problems: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    expected.assert_eq(&format!("{}\n{problems}", serde_json::to_string(&sample).unwrap()));
}

#[test]
fn every_sort_of_field_is_read() {
    check(
        "kind: Sample\nname: a\nport: 8080\nratio: 2\nenable: yes\nevery: 90s\namounts: {cpu: 10, memory: 5Gi}\nnames: [x]\n\
         inner: {bindAddress: b}\nlist: [{count: 3}]\n",
        &expect![[r#"
            {"name":"a","port":8080,"ratio":2.0,"enable":true,"every":"1m30s","amounts":{"cpu":"10","memory":"5Gi"},"names":["x"],"inner":{"bindAddress":"b"},"list":[{"count":3}]}
        "#]],
    );
}

#[test]
fn null_is_the_zero_value_everywhere() {
    check(
        "kind:\nname:\nport:\nratio:\nenable:\nevery:\namounts:\nnames: [~, a]\ninner:\nlist: [~]\n",
        &expect![[r#"
        {"names":["","a"],"list":[{}]}
    "#]],
    );
    check(
        "",
        &expect![[r#"
        {}
    "#]],
    );
}

#[test]
fn all_unknown_fields_are_named_and_a_close_one_proposed() {
    check(
        "nam: a\nkind: x\nNames: []\ninner:\n  bindAdress: b\n  kind: x\nlist:\n- count: 1\n- cuont: 1\nzzz: 1\n",
        &expect![[r#"
            {"inner":{},"list":[{"count":1},{}]}
            line 3: Names: Unknown field: did you mean "names"?
            line 5: inner.bindAdress: Unknown field: did you mean "bindAddress"?
            line 6: inner.kind: Unknown field
            line 9: list[1].cuont: Unknown field: did you mean "count"?
            line 1: nam: Unknown field: did you mean "name"?
            line 10: zzz: Unknown field
        "#]],
    );
}

#[test]
fn all_wrong_types_are_told_and_the_rest_is_kept() {
    check(
        "name: 5\nport: 3000000000\nratio: big\nenable: maybe\nevery: 5\namounts: {cpu: x, memory: 1}\nnames: [a, 1, b]\n\
         inner: 7\nlist:\n- count: 1.5\n- {count: 2}\n",
        &expect![[r#"
            {"amounts":{"memory":"1"},"names":["a","b"],"list":[{},{"count":2}]}
            line 6: amounts[cpu]: Invalid value: "x": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
            line 4: enable: Invalid value: "maybe": must be true or false
            line 5: every: Invalid value: 5: must be a string: put it in quotes
            line 8: inner: Invalid value: 7: must be a mapping
            line 10: list[0].count: Invalid value: 1.5: must be a whole number
            line 1: name: Invalid value: 5: must be a string: put it in quotes
            line 7: names[1]: Invalid value: 1: must be a string: put it in quotes
            line 2: port: Invalid value: 3000000000: must lie between -2147483648 and 2147483647
            line 3: ratio: Invalid value: "big": must be a number
        "#]],
    );
    check(
        "every: 5x\n",
        &expect![[r#"
        {}
        line 1: every: Invalid value: "5x": time: unknown unit "x" in duration "5x"
    "#]],
    );
    check(
        "amounts: {cpu: ~}\n",
        &expect![[r#"
        {"amounts":{"cpu":"0"}}
    "#]],
    );
    check(
        "- a\n",
        &expect![[r#"
            {}
            line 1: Invalid value: "list": must be a mapping
        "#]],
    );
    check(
        "names: a\namounts: [1]\nport: 1.5\n",
        &expect![[r#"
            {}
            line 2: amounts: Invalid value: "list": must be a mapping
            line 1: names: Invalid value: "a": must be a list
            line 3: port: Invalid value: 1.5: must be a whole number
        "#]],
    );
}

#[test]
fn the_number_of_problems_is_bounded() {
    let unknown: String = (0..500).map(|n| format!("a{n}: 1\n")).collect();
    let wrong: String = (0..500).map(|n| format!("- x{n}\n")).collect();
    let document = Document::parse(&format!("{unknown}list:\n{wrong}")).unwrap();
    let (_, problems): (Sample, _) = decode(&document.root, &[]);
    assert_eq!(problems.len(), 2 * PROBLEMS_MAX);
}
