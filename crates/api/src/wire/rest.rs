//! Reads a struct, and puts aside the fields that it has no place for.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

/// What a derived struct is read from, so that fields it does not know are kept.
#[derive(Debug)]
pub struct Rest<'r, D> {
    source: D,
    rest: &'r mut Map<String, Value>,
}

impl<'r, D> Rest<'r, D> {
    pub fn new(source: D, rest: &'r mut Map<String, Value>) -> Self {
        Self { source, rest }
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Rest<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.source.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        // A list of the values without their names is no struct here.
        self.source.deserialize_map(Sorting { visitor, known, rest: self.rest })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Tells the visitor of a struct the fields that it knows.
struct Sorting<'r, V> {
    visitor: V,
    known: &'static [&'static str],
    rest: &'r mut Map<String, Value>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Sorting<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Fields { fields, known: self.known, rest: self.rest })
    }
}

struct Fields<'r, A> {
    fields: A,
    known: &'static [&'static str],
    rest: &'r mut Map<String, Value>,
}

/// The name of a field, copied only when it is kept.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(Name(name)) = self.fields.next_key()? {
            match name {
                Cow::Borrowed(name) if self.known.contains(&name) => {
                    return seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some);
                }
                Cow::Owned(name) if self.known.contains(&name.as_str()) => {
                    return seed.deserialize(StrDeserializer::new(&name)).map(Some);
                }
                name => drop(self.rest.insert(name.into_owned(), self.fields.next_value()?)),
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.fields.next_value_seed(seed)
    }
}
