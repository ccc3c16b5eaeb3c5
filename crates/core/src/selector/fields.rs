//! The text form of field selectors, as `fieldSelector=` carries it: `metadata.name=a,status.phase!=b`.
//!
//! Which fields can be asked for depends on the kind and is the API server's to say. In a value `\`, `,` and `=` are
//! written with a `\` before them.

use std::fmt;
use std::str::FromStr;

use super::ParseSelectorError;

/// All terms must hold; without any, everything is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    pub terms: Vec<FieldTerm>,
}

/// One condition on a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTerm {
    pub field: String,
    /// Whether the field must have the value, or must not.
    pub is_equal: bool,
    pub value: String,
}

impl FieldSelector {
    /// `get` returns the value of a field, empty when it is not set.
    pub fn matches<'v>(&self, get: impl Fn(&str) -> &'v str) -> bool {
        self.terms.iter().all(|term| (get(&term.field) == term.value) == term.is_equal)
    }
}

impl FromStr for FieldSelector {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let Some((field, is_equal, value)) = split_term(part) else {
                return Err(ParseSelectorError(format!("invalid selector: '{text}'; can't understand '{part}'")));
            };
            let value = unescape(value)?;
            if !(field.is_empty() && value.is_empty()) {
                terms.push(FieldTerm { field: field.to_owned(), is_equal, value });
            }
        }
        // Ordered by how they print, so that a printed selector reads back as the same one.
        terms.sort_by_cached_key(ToString::to_string);
        Ok(Self { terms })
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{term}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FieldTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.is_equal { "=" } else { "!=" };
        write!(f, "{}{operator}", self.field)?;
        for char in self.value.chars() {
            let escape = if is_special(char) { "\\" } else { "" };
            write!(f, "{escape}{char}")?;
        }
        Ok(())
    }
}

/// Splits at commas that no `\` precedes.
fn split_terms(text: &str) -> Vec<&str> {
    let mut is_escaped = false;
    text.split(|char| {
        let separates = char == ',' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        separates
    })
    .collect()
}

/// Splits at the first `=`, `==` or `!=`.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let (before, after) = term.split_once('=')?;
    match before.strip_suffix('!') {
        Some(field) => Some((field, false, after)),
        None => Some((before, true, after.strip_prefix('=').unwrap_or(after))),
    }
}

fn unescape(value: &str) -> Result<String, ParseSelectorError> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(escaped) if is_special(escaped) => plain.push(escaped),
                other => {
                    let sequence: String = ['\\'].into_iter().chain(other).collect();
                    let why = format!("invalid field selector: invalid escape sequence: {sequence}");
                    return Err(ParseSelectorError(why));
                }
            },
            // Named by its number, as Kubernetes does.
            ',' | '=' => {
                let why = format!("invalid field selector: unescaped character in value: {}", u32::from(char));
                return Err(ParseSelectorError(why));
            }
            _ => plain.push(char),
        }
    }
    Ok(plain)
}

fn is_special(char: char) -> bool {
    matches!(char, '\\' | ',' | '=')
}
