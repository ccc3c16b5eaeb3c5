//! How a partial view is decoded and encoded, once for all of them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kueue_core::quantity::Quantity;
use serde::de::{Deserialize, Deserializer, MapAccess};
use serde_json::{Map, Value};

/// Something a foreign object may hold. Inside of it too, `null` means "not given".
pub(super) trait Lenient: Default + PartialEq + serde::Serialize {
    /// Reads what is not `null`.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

macro_rules! read_as_is {
    ($($type:ty),*) => {$(
        impl $crate::core_v1::view::Lenient for $type {
            fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                serde::Deserialize::deserialize(deserializer)
            }
        }
    )*};
}
read_as_is!(bool, i32, i64, String, Quantity);

impl<T: Lenient> Lenient for Option<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Some)
    }
}

impl<T: Lenient> Lenient for Vec<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::<Option<Read<T>>>::deserialize(deserializer)?;
        Ok(items.into_iter().map(or_default).collect())
    }
}

impl<T: Lenient> Lenient for BTreeMap<String, T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = BTreeMap::<String, Option<Read<T>>>::deserialize(deserializer)?;
        Ok(entries.into_iter().map(|(key, value)| (key, or_default(value))).collect())
    }
}

/// Lets serde read something lenient.
struct Read<T>(T);

impl<'de, T: Lenient> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Self)
    }
}

fn or_default<T: Lenient>(value: Option<Read<T>>) -> T {
    value.map(|Read(value)| value).unwrap_or_default()
}

/// The name of a field, copied only when it is kept.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Key<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// Reads a known field. One that is given but says nothing (`[]`, `{}`, `""`, `0`) goes to `rest`, so that it is written
/// back.
pub(super) fn known<'de, A: MapAccess<'de>, T: Lenient>(
    access: &mut A,
    key: &str,
    rest: &mut Map<String, Value>,
) -> Result<T, A::Error> {
    let Some(Read(value)) = access.next_value::<Option<Read<T>>>()? else { return Ok(T::default()) };
    if value == T::default() {
        rest.insert(key.to_owned(), serde_json::to_value(&value).map_err(serde::de::Error::custom)?);
    }
    Ok(value)
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

        read_as_is!($name);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_unit<E>(self) -> Result<$name, E> {
                        Ok($name::default())
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut access: A) -> Result<$name, A::Error> {
                        use $crate::core_v1::view::{Key, known};
                        let mut view = $name::default();
                        while let Some(Key(key)) = access.next_key()? {
                            match key.as_ref() {
                                $($key => view.$field = known(&mut access, $key, &mut view.rest)?,)*
                                _ => drop(view.rest.insert(key.into_owned(), access.next_value()?)),
                            }
                        }
                        Ok(view)
                    }
                }
                deserializer.deserialize_any(Visitor)
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
