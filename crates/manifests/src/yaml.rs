//! Writes JSON values as YAML that Go programs read back unchanged.
//!
//! The output must be stable (keys sorted, so that a generated file only changes when its meaning does), pleasant to
//! review (long sentences are folded, files are literal blocks), and safe for readers of YAML 1.1, where a bare `yes`,
//! `on` or `0777` is not a string. So: a string is bare only when it is plainly a word, and quoted as JSON otherwise.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The column where folded text is wrapped.
const WIDTH: usize = 110;

/// Several objects as one stream of documents.
pub fn documents<'a>(objects: impl IntoIterator<Item = &'a Value>) -> String {
    let texts: Vec<String> = objects.into_iter().map(document).collect();
    texts.join("---\n")
}

/// One object as a YAML document.
pub fn document(object: &Value) -> String {
    let mut out = String::new();
    match object {
        Value::Object(fields) if !fields.is_empty() => write_map(&mut out, fields, 0, false),
        Value::Array(items) if !items.is_empty() => write_list(&mut out, items, 0),
        other => {
            write_scalar(&mut out, other, 0);
            out.push('\n');
        }
    }
    out
}

/// `inline` means that the first key continues a line, after a list's dash.
fn write_map(out: &mut String, fields: &Map<String, Value>, indent: usize, inline: bool) {
    let mut keys: Vec<&String> = fields.keys().collect();
    keys.sort();
    for (position, key) in keys.into_iter().enumerate() {
        if position > 0 || !inline {
            pad(out, indent);
        }
        out.push_str(&key_text(key));
        out.push(':');
        match &fields[key] {
            Value::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                write_map(out, inner, indent + 2, false);
            }
            Value::Array(inner) if !inner.is_empty() => {
                out.push('\n');
                write_list(out, inner, indent);
            }
            scalar => {
                out.push(' ');
                write_scalar(out, scalar, indent + 2);
                out.push('\n');
            }
        }
    }
}

fn write_list(out: &mut String, items: &[Value], indent: usize) {
    for item in items {
        pad(out, indent);
        out.push_str("- ");
        match item {
            Value::Object(fields) if !fields.is_empty() => write_map(out, fields, indent + 2, true),
            scalar => {
                write_scalar(out, scalar, indent + 2);
                out.push('\n');
            }
        }
    }
}

/// A scalar, an empty list or map, or a list in a list, which is written as JSON: that is YAML too. `indent` is where the
/// lines of a block go.
fn write_scalar(out: &mut String, value: &Value, indent: usize) {
    let Value::String(text) = value else {
        let _ = write!(out, "{value}");
        return;
    };
    let fits = indent + text.len() <= WIDTH || !text.contains(' ');
    if fits && is_plain(text) {
        out.push_str(text);
    } else if text.contains('\n') && is_literal(text) {
        write_literal(out, text, indent);
    } else if !fits && is_foldable(text) {
        write_folded(out, text, indent);
    } else {
        let _ = write!(out, "{value}");
    }
}

fn write_folded(out: &mut String, text: &str, indent: usize) {
    out.push_str(">-");
    let mut column = usize::MAX;
    for word in text.split(' ') {
        if column.saturating_add(1 + word.len()) > WIDTH {
            out.push('\n');
            pad(out, indent);
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
}

fn write_literal(out: &mut String, text: &str, indent: usize) {
    let body = text.strip_suffix('\n');
    out.push_str(if body.is_some() { "|" } else { "|-" });
    for line in body.unwrap_or(text).split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(out, indent);
            out.push_str(line);
        }
    }
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn key_text(key: &str) -> String {
    if is_plain(key) { key.to_owned() } else { Value::from(key).to_string() }
}

/// Whether every YAML reader takes the bare text for this very string.
fn is_plain(text: &str) -> bool {
    let starts_as_word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_' || c == '.');
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || " -_./+=()$@,;:".contains(c);
    starts_as_word
        && text.chars().all(is_harmless)
        && !text.ends_with([' ', ':'])
        && !text.contains("  ")
        && !text.contains(": ")
        && !is_reserved(text)
        && text.parse::<f64>().is_err()
        && text != "..."
}

/// Words that YAML 1.1 reads as booleans or null.
fn is_reserved(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    matches!(lower.as_str(), "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null" | ".nan" | ".inf")
}

/// Whether folding and unfolding at single spaces gives the text back.
fn is_foldable(text: &str) -> bool {
    is_printable(text) && !text.starts_with(' ') && !text.ends_with(' ') && !text.contains("  ") && !text.contains('\n')
}

/// Whether a literal block can hold the text: its first line sets the indentation, so it is not empty and not indented,
/// and at most one line break ends it.
fn is_literal(text: &str) -> bool {
    is_printable(text) && !text.starts_with([' ', '\n']) && !text.ends_with("\n\n") && !text.ends_with(' ')
}

fn is_printable(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || !c.is_control())
}

#[cfg(test)]
mod tests;
