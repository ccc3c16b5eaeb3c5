//! JSON values that share what did not change.
//!
//! Objects and lists are counted references: copying a value copies nothing, and changing a place in it copies only the
//! objects and lists on the way to that place. So the versions of an object have in common what a write did not touch,
//! and [`Value::is_same_as`] knows that without looking inside.

use std::mem;
use std::ops::{Index, IndexMut};

pub use serde_json::Number;

mod convert;
mod list;
mod map;
mod name;
mod wire;

pub use convert::read;
pub use list::List;
pub use map::{Iter, Map};
pub use name::Name;
pub use wire::write_text;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(List),
    Object(Map),
}

/// A value written as JSON, with expressions in it.
macro_rules! json {
    ({}) => { $crate::json::Value::Object($crate::json::Map::new()) };
    ([]) => { $crate::json::Value::Array($crate::json::List::default()) };
    ($($json:tt)+) => { $crate::json::Value::from(serde_json::json!($($json)+)) };
}
pub(crate) use json;

static NULL: Value = Value::Null;

impl Value {
    /// Whether both are known to be equal at once: scalars that are, and what is shared.
    pub fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Object(own), Self::Object(other)) => own.is_shared_with(other),
            (Self::Array(own), Self::Array(other)) => own.is_shared_with(other),
            (Self::Object(_) | Self::Array(_), _) => false,
            (own, other) => own == other,
        }
    }

    /// The field of an object or the element of a list.
    pub fn get(&self, place: impl Place) -> Option<&Self> {
        place.find(self)
    }

    pub fn get_mut(&mut self, place: impl Place) -> Option<&mut Self> {
        place.find_mut(self)
    }

    pub fn take(&mut self) -> Self {
        mem::take(self)
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub fn is_boolean(&self) -> bool {
        matches!(self, Self::Bool(_))
    }

    pub fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    pub fn is_i64(&self) -> bool {
        matches!(self, Self::Number(number) if number.is_i64())
    }

    pub fn is_f64(&self) -> bool {
        matches!(self, Self::Number(number) if number.is_f64())
    }

    pub fn is_string(&self) -> bool {
        matches!(self, Self::String(_))
    }

    pub fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_object(&self) -> Option<&Map> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// What a JSON pointer points at.
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        steps(pointer)?.try_fold(self, |value, step| match value {
            Self::Object(object) => object.get(&step),
            Self::Array(items) => items.get(index(&step)?),
            _ => None,
        })
    }

    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Self> {
        steps(pointer)?.try_fold(self, |value, step| match value {
            Self::Object(object) => object.get_mut(&step),
            Self::Array(items) => items.get_mut(index(&step)?),
            _ => None,
        })
    }
}

/// The steps of a JSON pointer.
fn steps(pointer: &str) -> Option<impl Iterator<Item = String>> {
    let mut parts = pointer.split('/');
    parts.next().filter(|root| root.is_empty())?;
    Some(parts.map(|part| part.replace("~1", "/").replace("~0", "~")))
}

/// The place of an element in a JSON pointer.
fn index(step: &str) -> Option<usize> {
    let is_odd = step.starts_with('+') || step.starts_with('0') && step.len() > 1;
    if is_odd { None } else { step.parse().ok() }
}

/// What stands for a place in a value: the name of a field, or the number of an element.
pub trait Place {
    fn find(self, value: &Value) -> Option<&Value>;
    fn find_mut(self, value: &mut Value) -> Option<&mut Value>;
    /// The place in an object or list that must have it; a field is made where there is none.
    fn make(self, value: &mut Value) -> &mut Value;
}

impl Place for usize {
    fn find(self, value: &Value) -> Option<&Value> {
        value.as_array()?.get(self)
    }

    fn find_mut(self, value: &mut Value) -> Option<&mut Value> {
        value.as_array_mut()?.get_mut(self)
    }

    fn make(self, value: &mut Value) -> &mut Value {
        self.find_mut(value).expect("only elements that a list has can be changed")
    }
}

impl<T: AsRef<str> + ?Sized> Place for &T {
    fn find(self, value: &Value) -> Option<&Value> {
        value.as_object()?.get(self.as_ref())
    }

    fn find_mut(self, value: &mut Value) -> Option<&mut Value> {
        value.as_object_mut()?.get_mut(self.as_ref())
    }

    fn make(self, value: &mut Value) -> &mut Value {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        let object = value.as_object_mut().expect("only fields of objects can be set");
        object.entry(self.as_ref()).or_insert(Value::Null)
    }
}

/// What is not there is null.
impl<P: Place> Index<P> for Value {
    type Output = Value;

    fn index(&self, place: P) -> &Value {
        place.find(self).unwrap_or(&NULL)
    }
}

impl<P: Place> IndexMut<P> for Value {
    fn index_mut(&mut self, place: P) -> &mut Value {
        place.make(self)
    }
}

#[cfg(test)]
mod tests;
