//! A feature gate that nothing reads says so in its row, and one that is read does not.

use super::{assert_clean, files};

const TABLE: &str = "crates/core/src/gates/table.rs";
const OWN_FOLDER: &str = "crates/core/src/gates";

/// Name and `unread` mark of every row of the table's macro call.
fn rows(table: &str) -> Vec<(String, bool)> {
    let body = table.split_once("\ngates! {").map_or("", |(_, body)| body);
    let body: String = body.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let names = body.split('}').zip(body.split('}').skip(1));
    names
        .filter_map(|(before, after)| {
            let name = before.rsplit_once('{')?.0.rsplit(';').next()?;
            let marks = after.split(';').next().unwrap_or_default();
            Some((name.trim().to_owned(), marks.contains("unread")))
        })
        .filter(|(name, _)| !name.is_empty())
        .collect()
}

#[test]
fn gates_are_marked_unread_exactly_while_nothing_reads_them() {
    let sources = files(&[".rs"]);
    let table = sources.iter().find(|file| file.path == TABLE).expect("the table of gates exists");
    let rows = rows(&table.text);
    assert!(rows.len() >= 80, "only {} rows were found in {TABLE}", rows.len());
    let readers: Vec<_> = sources
        .iter()
        .filter(|file| file.path.contains("/src/") && !file.path.starts_with(OWN_FOLDER))
        .filter(|file| !file.path.ends_with("tests.rs") && !file.path.starts_with("crates/conformance"))
        .collect();
    let mut violations = Vec::new();
    for (name, is_unread) in rows {
        let mention = format!("Gate::{name}");
        let is_read = readers.iter().any(|file| {
            let code = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            code.match_indices(&mention).any(|(at, _)| {
                let after = code[at + mention.len()..].chars().next();
                !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
            })
        });
        if is_read == is_unread {
            violations.push(format!(
                "{name} is {}",
                if is_read { "read: remove `unread`" } else { "not read: mark it `unread`" }
            ));
        }
    }
    assert_clean(&format!("the rows of {TABLE} and the code disagree"), &violations);
}

#[test]
fn rows_of_the_table_are_found_with_their_marks() {
    let table = "x\ngates! {\n    /// Doc; with { signs }.\n    A { \"0.1\": alpha, off; \"0.2\": beta, on }, unread;\n    B { \"0.1\": alpha, off }\n        needs [A];\n}\n";
    assert_eq!(rows(table), [("A".to_owned(), true), ("B".to_owned(), false)]);
}
