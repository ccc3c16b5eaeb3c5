//! How a partial view is decoded and encoded, once for all of them.

use std::collections::BTreeMap;

use kueue_core::quantity::Quantity;
use serde::Serialize;
use serde_json::{Map, Value};

/// Something a foreign object may hold, read so that `null` means "not given" at every depth.
pub(super) trait Lenient: Default + PartialEq + Serialize {
    /// The error starts with the path below this value: `[0].name: expected a string`.
    fn read(value: Value) -> Result<Self, String>;
}

macro_rules! scalars {
    ($($type:ty),*) => {$(
        impl Lenient for $type {
            fn read(value: Value) -> Result<Self, String> {
                match value {
                    Value::Null => Ok(Self::default()),
                    value => serde_json::from_value(value).map_err(|error| format!(": {error}")),
                }
            }
        }
    )*};
}
scalars!(bool, i32, i64, String, Quantity);

impl<T: Lenient> Lenient for Option<T> {
    fn read(value: Value) -> Result<Self, String> {
        if value.is_null() { Ok(None) } else { T::read(value).map(Some) }
    }
}

impl<T: Lenient> Lenient for Vec<T> {
    fn read(value: Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(Self::new()),
            Value::Array(items) => {
                let read = |(index, item)| T::read(item).map_err(|why| format!("[{index}]{why}"));
                items.into_iter().enumerate().map(read).collect()
            }
            other => Err(misfit("a list", &other)),
        }
    }
}

impl<T: Lenient> Lenient for BTreeMap<String, T> {
    fn read(value: Value) -> Result<Self, String> {
        object(value)?
            .into_iter()
            .map(|(key, value)| match T::read(value) {
                Ok(value) => Ok((key, value)),
                Err(why) => Err(format!("[{key}]{why}")),
            })
            .collect()
    }
}

/// The fields of an object, none for `null`.
pub(super) fn object(value: Value) -> Result<Map<String, Value>, String> {
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(map) => Ok(map),
        other => Err(misfit("an object", &other)),
    }
}

/// Takes a known field out of `rest`. One that is given but says nothing (`[]`, `{}`, `""`, `0`) stays there, so that it
/// is written back.
pub(super) fn take<T: Lenient>(rest: &mut Map<String, Value>, key: &str) -> Result<T, String> {
    let Some(value) = rest.remove(key).filter(|value| !value.is_null()) else { return Ok(T::default()) };
    let read = T::read(value).map_err(|why| format!(".{key}{why}"))?;
    if read == T::default() {
        let blank = serde_json::to_value(&read).map_err(|error| format!(".{key}: {error}"))?;
        rest.insert(key.to_owned(), blank);
    }
    Ok(read)
}

/// Whether two sets of further fields say the same: empty and missing are one, as they are for the API server, and so is
/// all that is left of known fields.
pub(super) fn same_fields(a: &Map<String, Value>, b: &Map<String, Value>, known: &[&str]) -> bool {
    let says = |(key, value): &(&String, &Value)| !is_blank(value) && !known.contains(&key.as_str());
    let same = |(key, value): (&String, &Value)| b.get(key).is_some_and(|other| same_values(value, other));
    a.iter().filter(says).count() == b.iter().filter(says).count() && a.iter().filter(says).all(same)
}

fn same_values(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => same_fields(a, b, &[]),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_values(a, b)),
        _ => a == b,
    }
}

/// Whether a value says nothing. A number or a text always does: zero may differ from "not given".
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_blank),
        _ => false,
    }
}

fn misfit(expected: &str, found: &Value) -> String {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!(": expected {expected}, found {found}")
}

/// Declares a partial view: each known field with its name on the wire, the others in `rest`.
///
/// Two views are equal when they say the same, whether or not what is empty was written.
macro_rules! view {
    ($($(#[$about:meta])* pub struct $name:ident {
        $($(#[$field_about:meta])* $key:literal => pub $field:ident: $type:ty,)*
    })*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)*
            /// Fields this view has no name for, and known ones that were given but empty.
            pub rest: serde_json::Map<String, serde_json::Value>,
        }

        impl $name {
            /// Whether a known field has something to say.
            fn says(&self, key: &str) -> bool {
                match key {
                    $($key => self.$field != <$type>::default(),)*
                    _ => false,
                }
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                $(self.$field == other.$field &&)* $crate::core_v1::view::same_fields(&self.rest, &other.rest, &[$($key),*])
            }
        }

        impl Eq for $name {}

        impl $crate::core_v1::view::Lenient for $name {
            fn read(value: serde_json::Value) -> Result<Self, String> {
                let mut rest = $crate::core_v1::view::object(value)?;
                $(let $field = $crate::core_v1::view::take(&mut rest, $key)?;)*
                Ok(Self { $($field,)* rest })
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                $crate::core_v1::view::Lenient::read(value)
                    .map_err(|why| serde::de::Error::custom(why.trim_start_matches(['.', ':', ' '])))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                $(if self.says($key) {
                    map.serialize_entry($key, &self.$field)?;
                })*
                for (key, value) in self.rest.iter().filter(|(key, _)| !self.says(key)) {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    )*};
}
