//! Reads JSON.
//!
//! `serde_json` tells no positions, but a raw value is a slice of the text, so where it begins says its line.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Budget, DEPTH_MAX, Data, Entry, Node, syntax_error};
use crate::config::problem::Problem;

/// Reads the one value of `text`.
pub(super) fn parse(text: &str) -> Result<Node, Problem> {
    let root: &RawValue =
        serde_json::from_str(text).map_err(|error| not_json(u32::try_from(error.line()).ok(), &error))?;
    let mut reader = Reader { lines: Lines::of(text), budget: Budget::new() };
    reader.node(root, 0)
}

struct Reader<'t> {
    lines: Lines<'t>,
    budget: Budget,
}

impl<'t> Reader<'t> {
    fn node(&mut self, raw: &'t RawValue, depth: usize) -> Result<Node, Problem> {
        let line = self.lines.at(raw);
        self.budget.spend(1, line)?;
        if depth > DEPTH_MAX {
            return Err(syntax_error(Some(line), format!("the text is more than {DEPTH_MAX} levels deep")));
        }
        let data = match raw.get().as_bytes().first() {
            Some(b'{') => {
                let Fields(fields) = self.read(raw)?;
                let mut entries = Vec::with_capacity(fields.len());
                for (key, value) in fields {
                    let value = self.node(value, depth + 1)?;
                    entries.push(Entry { key, line: value.line, value });
                }
                Data::Map(entries)
            }
            Some(b'[') => {
                let items: Vec<&'t RawValue> = self.read(raw)?;
                Data::List(items.into_iter().map(|item| self.node(item, depth + 1)).collect::<Result<_, _>>()?)
            }
            Some(b'"') => Data::String(self.read(raw)?),
            Some(b't' | b'f') => Data::Bool(self.read(raw)?),
            Some(b'n') => Data::Null,
            _ => Data::Number(self.read(raw)?),
        };
        Ok(Node { line, data })
    }

    /// One level of a value; it was read as a whole before, so only a number out of range or half a character can fail.
    fn read<T: Deserialize<'t>>(&self, raw: &'t RawValue) -> Result<T, Problem> {
        serde_json::from_str(raw.get()).map_err(|error| not_json(Some(self.lines.at(raw)), &error))
    }
}

/// The reason alone: the position in it counts from the beginning of a value, not of the text.
fn not_json(line: Option<u32>, error: &serde_json::Error) -> Problem {
    let words = error.to_string();
    let reason = words.split(" at line ").next().unwrap_or_default();
    syntax_error(line, format!("not JSON: {reason}"))
}

/// The fields of an object in order, repeated ones included.
struct Fields<'t>(Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// Where the lines of a text begin.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    fn at(&self, slice: &RawValue) -> u32 {
        let offset = (slice.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let line = self.starts.partition_point(|start| *start <= offset);
        u32::try_from(line).unwrap_or(u32::MAX)
    }
}
