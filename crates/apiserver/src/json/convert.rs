//! Values from and to everything else.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use super::{List, Map, Name, Number, Value};

/// Reads a value as a type that has a JSON form.
pub fn read<T: DeserializeOwned>(value: &Value) -> serde_json::Result<T> {
    serde_json::from_value(value.into())
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(flag) => Self::Bool(flag),
            serde_json::Value::Number(number) => Self::Number(number),
            serde_json::Value::String(text) => Self::String(text),
            serde_json::Value::Array(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            serde_json::Value::Object(object) => {
                Self::Object(object.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::String(text.clone()),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(object) => {
                Self::Object(object.iter().map(|(name, value)| (name.to_string(), value.into())).collect())
            }
        }
    }
}

impl From<Value> for serde_json::Value {
    fn from(value: Value) -> Self {
        (&value).into()
    }
}

impl From<()> for Value {
    fn from((): ()) -> Self {
        Self::Null
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Number::from_f64(number).map_or(Self::Null, Self::Number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<Cow<'_, str>> for Value {
    fn from(text: Cow<'_, str>) -> Self {
        Self::String(text.into_owned())
    }
}

impl From<&Name> for Value {
    fn from(name: &Name) -> Self {
        Self::String(name.to_string())
    }
}

impl From<Map> for Value {
    fn from(object: Map) -> Self {
        Self::Object(object)
    }
}

impl From<List> for Value {
    fn from(items: List) -> Self {
        Self::Array(items)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl From<&[Value]> for Value {
    fn from(items: &[Value]) -> Self {
        Self::Array(items.iter().cloned().collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<N: Into<Name>> FromIterator<(N, Value)> for Value {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(fields: I) -> Self {
        Self::Object(fields.into_iter().collect())
    }
}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(*other)
    }
}

impl PartialEq<String> for Value {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<bool> for Value {
    fn eq(&self, other: &bool) -> bool {
        self.as_bool() == Some(*other)
    }
}

impl PartialEq<bool> for &Value {
    fn eq(&self, other: &bool) -> bool {
        **self == *other
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

macro_rules! integers {
    ($($type:ty)+) => { $(
        impl From<$type> for Value {
            fn from(number: $type) -> Self {
                Self::Number(number.into())
            }
        }

        impl PartialEq<$type> for Value {
            fn eq(&self, other: &$type) -> bool {
                matches!(self, Self::Number(number) if *number == Number::from(*other))
            }
        }

        impl PartialEq<$type> for &Value {
            fn eq(&self, other: &$type) -> bool {
                **self == *other
            }
        }
    )+ };
}

integers!(i32 i64 u8 u16 u32 u64 usize);
