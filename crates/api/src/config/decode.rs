//! Strict decoding: from a [`Document`] to a type, with every unknown field and every wrong type reported at once.
//!
//! Types need nothing but their ordinary `Deserialize`. A struct announces its fields, so what it does not know is
//! noticed here; a value that does not fit is reported, left out, and the rest decoded again. A `null` is the zero
//! value, as in Go.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use kueue_core::field::{self, Path};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::document::{Data, Entry, Node};
use super::problem::{Cause, PROBLEMS_MAX, Problem};

#[cfg(test)]
mod tests;

/// What could be decoded, and all that was wrong with the rest; `envelope` names top-level fields that are not the type's.
pub(super) fn decode<T: DeserializeOwned + Default>(root: &Node, envelope: &[&str]) -> (T, Vec<Problem>) {
    let mut rejected = BTreeSet::new();
    let mut problems = Vec::new();
    loop {
        let context = Context { envelope, rejected: &rejected, unknown: RefCell::default() };
        let cursor = Cursor { node: root, path: Path::default(), context: &context };
        let result = T::deserialize(cursor);
        let unknown = context.unknown.into_inner();
        match result {
            Err(Mismatch { problem: Some(problem), .. })
                if problems.len() < PROBLEMS_MAX && rejected.insert(problem.field.to_string()) =>
            {
                problems.push(*problem);
            }
            result => {
                problems.extend(unknown);
                return (result.unwrap_or_default(), problems);
            }
        }
    }
}

/// What all cursors of one attempt share.
struct Context<'c> {
    envelope: &'c [&'c str],
    /// Fields found wrong in an earlier attempt: they count as absent.
    rejected: &'c BTreeSet<String>,
    unknown: RefCell<Vec<Problem>>,
}

/// A place in the document, as a deserializer.
struct Cursor<'n, 'c> {
    node: &'n Node,
    path: Path,
    context: &'c Context<'c>,
}

impl<'n, 'c> Cursor<'n, 'c> {
    fn to(&self, node: &'n Node, path: Path) -> Self {
        Self { node, path, context: self.context }
    }

    /// Decodes what is here; an error that has no place yet gets this one.
    fn decode<'de, T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mismatch> {
        let here = self.to(self.node, self.path.clone());
        seed.deserialize(self).map_err(|error| match error.problem {
            Some(_) => error,
            None => here.mismatch(&error.reason),
        })
    }

    fn mismatch(&self, reason: &str) -> Mismatch {
        let value = match &self.node.data {
            Data::List(_) => "list".into(),
            Data::Map(_) => "mapping".into(),
            _ => self.node.to_value(),
        };
        let error = field::Error::type_invalid(&self.path, value, reason);
        Mismatch { problem: Some(Box::new(Problem::invalid(Some(self.node.line), error))), reason: String::new() }
    }

    /// Hands a whole number to a visitor if it lies between the two.
    fn integer<'de, V: Visitor<'de>>(self, visitor: V, min: i64, max: i64) -> Result<V::Value, Mismatch> {
        let value = match &self.node.data {
            Data::Null => Some(0),
            Data::Number(number) => number.as_i64(),
            _ => None,
        };
        match value {
            Some(value) if (min..=max).contains(&value) => visitor.visit_i64(value),
            Some(_) => Err(self.mismatch(&format!("must lie between {min} and {max}"))),
            None => Err(self.mismatch("must be a whole number")),
        }
    }

    fn string<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.node.data {
            Data::Null => visitor.visit_str(""),
            Data::String(text) => visitor.visit_str(text),
            Data::Bool(_) | Data::Number(_) => Err(self.mismatch("must be a string: put it in quotes")),
            Data::List(_) | Data::Map(_) => Err(self.mismatch("must be a string")),
        }
    }

    /// The entries to decode: each key once, of which the last wins as in Go; duplicates are reported elsewhere.
    fn entries(&self) -> Result<Vec<&'n Entry>, Mismatch> {
        let entries = match &self.node.data {
            Data::Null => &[][..],
            Data::Map(entries) => entries,
            _ => return Err(self.mismatch("must be a mapping")),
        };
        let mut seen = BTreeSet::new();
        let mut kept: Vec<&Entry> = entries.iter().rev().filter(|entry| seen.insert(entry.key.as_str())).collect();
        kept.reverse();
        Ok(kept)
    }

    fn is_rejected(&self, path: &Path) -> bool {
        !self.context.rejected.is_empty() && self.context.rejected.contains(&path.to_string())
    }

    fn report_unknown(&self, entry: &Entry, fields: &'static [&'static str]) {
        let mut unknown = self.context.unknown.borrow_mut();
        if unknown.len() < PROBLEMS_MAX {
            let cause = Cause::Unknown { meant: closest(&entry.key, fields) };
            unknown.push(Problem { line: Some(entry.line), field: self.path.child(&entry.key), cause });
        }
    }
}

impl<'de> de::Deserializer<'de> for Cursor<'_, '_> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.node.data {
            Data::Null => visitor.visit_unit(),
            Data::Bool(value) => visitor.visit_bool(*value),
            Data::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(value), _, _) => visitor.visit_i64(value),
                (_, Some(value), _) => visitor.visit_u64(value),
                (_, _, value) => visitor.visit_f64(value.unwrap_or_default()),
            },
            Data::String(text) => visitor.visit_str(text),
            Data::List(_) => self.deserialize_seq(visitor),
            Data::Map(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.node.data {
            Data::Null => visitor.visit_bool(false),
            Data::Bool(value) => visitor.visit_bool(*value),
            _ => Err(self.mismatch("must be true or false")),
        }
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.integer(visitor, i32::MIN.into(), i32::MAX.into())
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.integer(visitor, i64::MIN, i64::MAX)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.node.data {
            Data::Null => visitor.visit_f64(0.0),
            Data::Number(number) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            _ => Err(self.mismatch("must be a number")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.node.data {
            Data::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let items = match &self.node.data {
            Data::Null => &[][..],
            Data::List(items) => items,
            _ => return Err(self.mismatch("must be a list")),
        };
        let kept: Vec<Cursor<'_, '_>> = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.to(item, self.path.index(index)))
            .filter(|item| !self.is_rejected(&item.path))
            .collect();
        visitor.visit_seq(Items(kept.into_iter()))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let fields = self.entries()?.into_iter().map(|entry| (entry, self.path.key(&entry.key))).collect();
        visitor.visit_map(Fields::new(self, fields, None))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        let is_root = self.path == Path::default();
        let is_envelope = |entry: &&Entry| is_root && self.context.envelope.contains(&entry.key.as_str());
        let entries = self.entries()?.into_iter().filter(|entry| !is_envelope(entry));
        let fields = entries.map(|entry| (entry, self.path.child(&entry.key))).collect();
        visitor.visit_map(Fields::new(self, fields, Some(known)))
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
        ignored_any
    }
}

struct Items<'n, 'c>(std::vec::IntoIter<Cursor<'n, 'c>>);

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mismatch> {
        self.0.next().map(|item| item.decode(seed)).transpose()
    }
}

/// The entries of a mapping, one after the other.
struct Fields<'n, 'c> {
    mapping: Cursor<'n, 'c>,
    rest: std::vec::IntoIter<(&'n Entry, Path)>,
    /// The fields of a struct; a map has any.
    known: Option<&'static [&'static str]>,
    value: Option<Cursor<'n, 'c>>,
}

impl<'n, 'c> Fields<'n, 'c> {
    fn new(mapping: Cursor<'n, 'c>, fields: Vec<(&'n Entry, Path)>, known: Option<&'static [&'static str]>) -> Self {
        Self { mapping, rest: fields.into_iter(), known, value: None }
    }
}

impl<'de> MapAccess<'de> for Fields<'_, '_> {
    type Error = Mismatch;

    /// Passes over what the struct does not know, and what has no value: the struct fills in its own zero value.
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mismatch> {
        for (entry, path) in self.rest.by_ref() {
            if let Some(known) = self.known {
                if !known.contains(&entry.key.as_str()) {
                    self.mapping.report_unknown(entry, known);
                    continue;
                }
                if entry.value.data == Data::Null {
                    continue;
                }
            }
            if !self.mapping.is_rejected(&path) {
                self.value = Some(self.mapping.to(&entry.value, path));
                return seed.deserialize(entry.key.as_str().into_deserializer()).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mismatch> {
        self.value.take().expect("serde asks for a value only after its key").decode(seed)
    }
}

/// A value that does not fit its type; the place is filled in on the way out.
#[derive(Debug)]
struct Mismatch {
    problem: Option<Box<Problem>>,
    reason: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Mismatch {}

impl de::Error for Mismatch {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self { problem: None, reason: reason.to_string() }
    }
}

/// The field that was probably meant: the same but for case, or at most two letters away.
fn closest(key: &str, fields: &'static [&'static str]) -> Option<&'static str> {
    let distance = |field: &&'static str| match field.eq_ignore_ascii_case(key) {
        true => 0,
        false => edit_distance(key, field),
    };
    let limit = if key.len() < 5 { 1 } else { 2 };
    fields.iter().copied().map(|field| (distance(&field), field)).filter(|(far, _)| *far <= limit).min().map(|(_, f)| f)
}

/// How many letters must be added, dropped or replaced to get from one name to the other.
fn edit_distance(a: &str, b: &str) -> usize {
    const NAME_CHARS_MAX: usize = 64;
    if a.len() > NAME_CHARS_MAX {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
