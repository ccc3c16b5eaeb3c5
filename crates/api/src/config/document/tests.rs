use std::fmt::Write;

use expect_test::{Expect, expect};

use super::*;

/// Shows every value with its line, then what is repeated; or why the text cannot be read.
fn check(text: &str, expected: &Expect) {
    let shown = match Document::parse(text) {
        Ok(document) => {
            let mut shown = String::new();
            show(&document.root, &Path::default(), &mut shown);
            document.duplicates().iter().for_each(|problem| writeln!(shown, "{problem}").unwrap());
            shown
        }
        Err(problem) => format!("{problem}\n"),
    };
    expected.assert_eq(&shown);
}

fn show(node: &Node, path: &Path, out: &mut String) {
    match &node.data {
        Data::List(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(index, item)| show(item, &path.index(index), out));
        }
        Data::Map(entries) if !entries.is_empty() => {
            entries.iter().for_each(|entry| show(&entry.value, &path.child(&entry.key), out));
        }
        _ => writeln!(out, "{} {path} = {}", node.line, node.to_value()).unwrap(),
    }
}

#[test]
fn values_know_their_lines() {
    check(
        "# a comment\nmetrics:\n  bindAddress: ':8443'\n  labels:\n  - name: a\n\n  - {name: b,\n     size: 3}\nempty:\n",
        &expect![[r#"
             9 empty = null
             3 metrics.bindAddress = ":8443"
             5 metrics.labels[0].name = "a"
             7 metrics.labels[1].name = "b"
             8 metrics.labels[1].size = 3
        "#]],
    );
}

#[test]
fn json_is_read_in_the_order_of_the_text() {
    check(
        "{\n \"b\": [1, 2.5,\n\ttrue],\n \"a\": {\"x\\u00e9\\ud83d\\ude00\": null}\n}\n",
        &expect![[r#"
             2 b[0] = 1
             2 b[1] = 2.5
             3 b[2] = true
             4 a.xé😀 = null
        "#]],
    );
}

#[test]
fn plain_scalars_mean_what_they_mean_to_kueue() {
    check(
        "[yes, Off, 'yes', ~, null, '', 0777, 0x1F, 0b101, 08, 1_000, -5, +5, 1e3, 1.50, .5, 1e999, 9443.0, v1, 1.2.3, \
         2026-01-01, 18446744073709551615, -, 10Gi]",
        &expect![[r#"
            line 1: not YAML: plain scalar cannot start with '-' followed by ,[]{}
        "#]],
    );
}

#[test]
fn tags_force_a_type_and_keys_become_texts() {
    check(
        "a: !!str 5\nb: !!int '7'\non: 1\n2: x\n",
        &expect![[r#"
             4 2 = "x"
             1 a = "5"
             2 b = 7
             3 true = 1
        "#]],
    );
    check(
        "a: !!int x\n",
        &expect![[r#"
        line 1: "x" is not of type int
    "#]],
    );
    check(
        "a: !secret x\n",
        &expect![[r#"
        line 1: the tag !secret is not supported
    "#]],
    );
    check(
        "a: .inf\n",
        &expect![[r#"
        line 1: .inf is no number that JSON can hold
    "#]],
    );
    check(
        "[1]: x\n",
        &expect![[r#"
        line 1: a key must be a text
    "#]],
    );
}

#[test]
fn aliases_and_merges_are_expanded() {
    check(
        "base: &base\n  port: 1\n  host: h\nother:\n  <<: *base\n  port: 2\nlist: [*base]\n",
        &expect![[r#"
             3 base.host = "h"
             2 base.port = 1
             3 list[0].host = "h"
             2 list[0].port = 1
             3 other.host = "h"
             6 other.port = 2
        "#]],
    );
    check(
        "a: &x [*x]\n",
        &expect![[r#"
        line 1: an alias stands inside the value it refers to
    "#]],
    );
    check(
        "a: *nobody\n",
        &expect![[r#"
        line 1: not YAML: while parsing node, found unknown anchor
    "#]],
    );
    check(
        "<<: 5\n",
        &expect![[r#"
        line 1: << must name a mapping or a list of mappings
    "#]],
    );
}

#[test]
fn repeated_keys_are_all_found() {
    check(
        "a: 1\nb:\n  c: 1\n  c: 2\nl:\n- d: 1\n  d: 2\na: 3\na: 4\n",
        &expect![[r#"
            1 a = 1
            8 a = 3
            9 a = 4
            3 b.c = 1
            4 b.c = 2
            6 l[0].d = 1
            7 l[0].d = 2
            line 4: b.c: Duplicate field: already set in line 3
            line 7: l[0].d: Duplicate field: already set in line 6
            line 8: a: Duplicate field: already set in line 1
            line 9: a: Duplicate field: already set in line 1
        "#]],
    );
    check(
        "{\"a\": 1,\n\"a\": 2}",
        &expect![[r#"
            1 a = 1
            2 a = 2
            line 2: a: Duplicate field: already set in line 1
        "#]],
    );
}

#[test]
fn broken_texts_are_refused_with_their_line() {
    check(
        "a: 1\n b: 2\n",
        &expect![[r#"
        line 2: not YAML: mapping values are not allowed in this context
    "#]],
    );
    check(
        "a: [1,\n",
        &expect![[r#"
        line 1: not YAML: unclosed bracket '['
    "#]],
    );
    check(
        "a:\n\t- 1\n",
        &expect![[r#"
        line 2: not YAML: tabs disallowed within this context (block indentation)
    "#]],
    );
    check(
        "{\n\"a\": 1,\n}",
        &expect![[r#"
        line 3: not JSON: key must be a string
    "#]],
    );
    check(
        "{\"a\": \"\\ud800\"}",
        &expect![[r#"
            line 1: not JSON: unexpected end of hex escape
        "#]],
    );
    check(
        "a: 1\n---\nb: 2\n",
        &expect![[r#"
        line 3: a second document: only one is read
    "#]],
    );
}

#[test]
fn nothing_at_all_is_null() {
    for text in ["", "\n", "# only a comment\n", "---\n", "\u{feff}"] {
        assert_eq!(Document::parse(text).unwrap().root.data, Data::Null, "{text:?}");
    }
    check(
        "a: 1\n---\n",
        &expect![[r#"
             1 a = 1
        "#]],
    );
}

#[test]
fn texts_that_would_grow_are_cut_short() {
    let bomb: String = (1..20).fold("a0: &a0 [x]\n".to_owned(), |text, level| {
        let below = level - 1;
        text + &format!("a{level}: &a{level} [*a{below}, *a{below}, *a{below}, *a{below}, *a{below}]\n")
    });
    check(
        &bomb,
        &expect![[r#"
        line 8: the text holds more than 100000 values
    "#]],
    );
    check(
        &"[".repeat(1000),
        &expect![[r#"
        line 1: not YAML: recursion limit exceeded
    "#]],
    );
    check(
        &format!("{{\"a\":{}1{}}}", "[".repeat(100), "]".repeat(100)),
        &expect![[r#"
        line 1: the text is more than 64 levels deep
    "#]],
    );
    check(
        &"- ".repeat(1000),
        &expect![[r#"
        line 1: not YAML: recursion limit exceeded
    "#]],
    );
    check(
        &"- 1\n".repeat(200_000),
        &expect![[r#"
        line 100000: the text holds more than 100000 values
    "#]],
    );
    check(
        &"#".repeat(TEXT_BYTES_MAX + 1),
        &expect![[r#"
        the text is larger than 1048576 bytes
    "#]],
    );
}

#[test]
fn a_path_leads_to_the_closest_line() {
    let text = "metrics:\n  customLabels:\n  - name: a\n  - name: b\nweights:\n  example.com/gpu: 1\n";
    let document = Document::parse(text).unwrap();
    let labels = Path::new("metrics").child("customLabels");
    for (path, line) in [
        (labels.clone(), Some(2)),
        (labels.index(1).child("name"), Some(4)),
        (labels.index(1).child("sourceKind"), Some(4)),
        (labels.index(9).child("name"), Some(2)),
        (Path::new("weights").key("example.com/gpu"), Some(6)),
        (Path::new("weights").key("cpu"), Some(5)),
        (Path::new("namespace"), None),
        (Path::default(), None),
    ] {
        assert_eq!(document.line_of(&path), line, "{path}");
    }
}
