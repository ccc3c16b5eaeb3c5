//! Reads the body of a request: JSON or YAML into a value, with the keys that occur twice.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::json::{Map, Name, Number, Value};
use crate::status::{Result, Status};

pub mod syntax;
mod yaml;

/// Bodies above this are refused, as by a real server.
pub const BYTES_MAX: usize = 3 << 20;

/// A body that could be read.
#[derive(Debug)]
pub struct Parsed {
    pub value: Value,
    /// What is told of keys that were given more than once; the last one counts.
    pub duplicates: Vec<String>,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Json,
    Yaml,
}

/// The encoding that a `Content-Type` names. None at all means JSON.
pub fn encoding(content_type: Option<&str>) -> Result<Encoding> {
    let media = content_type.unwrap_or("application/json").split(';').next().unwrap_or_default().trim();
    match media.to_ascii_lowercase().as_str() {
        "application/json" | "" => Ok(Encoding::Json),
        "application/yaml" => Ok(Encoding::Yaml),
        _ => Err(Status::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: application/json, \
             application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

/// Reads a body; an error is what Go's reader would say.
pub fn parse(bytes: &[u8], encoding: Encoding) -> std::result::Result<Parsed, String> {
    match encoding {
        Encoding::Json => parse_json(bytes),
        Encoding::Yaml => parse_yaml(bytes),
    }
}

fn parse_json(bytes: &[u8]) -> std::result::Result<Parsed, String> {
    let mut duplicates = Vec::new();
    // What is no text is replaced, not refused.
    let text = std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    let seed = Tracked { at: Place::Root, duplicates: &mut duplicates };
    let read = seed.deserialize(&mut deserializer);
    match read.and_then(|value| deserializer.end().map(|()| value)) {
        Ok(value) => Ok(Parsed { value, duplicates }),
        Err(error) => Err(syntax::problem(bytes).unwrap_or_else(|| match error.to_string() {
            // Go takes texts that lie deeper; nobody else writes them.
            text if text.contains("recursion limit") => "invalid character exceeded max depth".to_owned(),
            text => text,
        })),
    }
}

fn parse_yaml(bytes: &[u8]) -> std::result::Result<Parsed, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "yaml: invalid leading UTF-8 octet".to_owned())?;
    yaml::parse(text)
}

/// Builds a value and notes duplicate keys on the way.
struct Tracked<'d> {
    at: Place<'d>,
    duplicates: &'d mut Vec<String>,
}

/// Where a value is. Spelled out only for what is wrong: most keys occur once.
#[derive(Clone, Copy)]
enum Place<'p> {
    Root,
    Field(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => Ok(()),
            Place::Field(Place::Root, name) => f.write_str(name),
            Place::Field(parent, name) => write!(f, "{parent}.{name}"),
            Place::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Tracked<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tracked<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, flag: bool) -> std::result::Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> std::result::Result<Value, E> {
        // Integers are 64 bits with a sign; above that Go reads a float.
        match i64::try_from(number) {
            Ok(number) => Ok(number.into()),
            Err(_) => self.visit_f64(number as f64),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> std::result::Result<Value, E> {
        let is_whole = number.fract() == 0.0 && number.abs() < 9.2e18;
        if is_whole {
            return Ok((number as i64).into());
        }
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> std::result::Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            let at = Place::Item(&self.at, items.len());
            match access.next_element_seed(Tracked { at, duplicates: self.duplicates })? {
                Some(item) => items.push(item),
                None => return Ok(items.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> std::result::Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = access.next_key::<Name>()? {
            let at = Place::Field(&self.at, &name);
            if object.contains_key(&name) {
                self.duplicates.push(format!("duplicate field \"{at}\""));
            }
            let value = access.next_value_seed(Tracked { at, duplicates: self.duplicates })?;
            object.insert(name, value);
        }
        object.shrink_to_fit();
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn duplicate_keys_are_noted_and_the_last_one_counts() {
        let parsed = parse(br#"{"a":{"b":1,"b":2},"l":[{"c":1,"c":1}]}"#, Encoding::Json).unwrap();
        assert_eq!(parsed.value, json!({"a": {"b": 2}, "l": [{"c": 1}]}));
        assert_eq!(parsed.duplicates, [r#"duplicate field "a.b""#, r#"duplicate field "l[0].c""#]);
    }

    #[test]
    fn whole_numbers_are_integers() {
        let read = |text: &str| parse(text.as_bytes(), Encoding::Json).unwrap().value;
        assert_eq!(read("[1.0,1e2,9223372036854775807]"), json!([1, 100, i64::MAX]));
        assert!(read("9223372036854775808").is_f64());
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        let deep = "[".repeat(100_000);
        assert!(parse(deep.as_bytes(), Encoding::Json).is_err());
    }
}
