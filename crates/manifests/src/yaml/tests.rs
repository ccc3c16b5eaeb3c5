use expect_test::expect;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// What any of our readers makes of the text that we write.
fn read_back(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn keys_are_sorted_lists_are_flush_and_long_text_is_folded() {
    let long = "A sentence long enough to need more than one line of the file, as most descriptions of fields do, \
                is folded at spaces.";
    let value = json!({
        "kind": "Example",
        "apiVersion": "v1",
        "list": [{"name": "a", "value": 1}, "b", {}],
        "empty": {"list": [], "map": {}},
        "doc": long,
        "file": "first: 1\n\nsecond: 2\n",
        "two-lines": "one\ntwo",
        "pattern": r"^\.[a-z]$",
        "rule": "self.all(x, x == 'a')",
    });
    let text = document(&value);
    expect![[r#"
        apiVersion: v1
        doc: >-
          A sentence long enough to need more than one line of the file, as most descriptions of fields do, is folded
          at spaces.
        empty:
          list: []
          map: {}
        file: |
          first: 1

          second: 2
        kind: Example
        list:
        - name: a
          value: 1
        - b
        - {}
        pattern: "^\\.[a-z]$"
        rule: "self.all(x, x == 'a')"
        two-lines: |-
          one
          two
    "#]]
    .assert_eq(&text);
    assert_eq!(read_back(&text), value);
}

#[test]
fn strings_that_look_like_something_else_are_quoted() {
    let tricky = [
        "yes",
        "No",
        "on",
        "y",
        "null",
        "~",
        "true",
        "1",
        "1.5",
        "1e3",
        "0777",
        "0x1F",
        ".5",
        ".inf",
        "",
        " a",
        "a ",
        "a: b",
        "a:",
        "a #b",
        "#a",
        "- a",
        "-",
        "? a",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a",
        "{a",
        "[a",
        "'a'",
        "\"a\"",
        "a\tb",
        "2001-01-01",
        "12:30:45",
        "=",
        "<<",
        "é",
        "a  b",
        "\n",
        "a\n\n",
        " a\nb",
        "...",
        "---",
        "|",
        ">",
    ];
    for text in tricky {
        let value = json!({ "key": text, text: 1, "list": [text] });
        assert_eq!(read_back(&document(&value)), value, "{}", document(&value));
    }
    assert_eq!(
        document(&json!({"y": "yes", "n": "0777", "t": "1.36"})),
        "\"n\": \"0777\"\nt: \"1.36\"\n\"y\": \"yes\"\n"
    );
}

#[test]
fn documents_are_separated() {
    assert_eq!(documents([&json!({"a": 1}), &json!({"b": 2})]), "a: 1\n---\nb: 2\n");
}

proptest! {
    #[test]
    fn any_text_is_read_back_as_it_was(text in text(), key in "[ -~]{0,8}") {
        let value = json!({ "text": text, "list": [text, {"key": text}], "map": { key: text } });
        prop_assert_eq!(read_back(&document(&value)), value);
    }
}

/// Words that mean something in YAML, spaces, line breaks and other signs, in any order.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ -~]{1,12}",
        "[a-z]{1,40}",
        prop::sample::select(vec![
            " ", "  ", "\n", "\n ", ": ", " #", "- ", "|", ">", "'", "\"", "é", "\t", "0x1", "1e3", "no"
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}
