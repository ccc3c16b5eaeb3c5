//! Built-in objects as Go reads and writes them.
//!
//! A real server decodes into structs and encodes those: fields it does not know vanish, an empty list may be the same as
//! none, quantities and times have one spelling, and some zero values are always written. Clients see all of that.

use std::fmt::Write as _;
use std::sync::Arc;

use kueue_core::quantity::Quantity;
use kueue_core::time::{MicroTime, Time};

use super::{FieldName, Fields, Form, Schema, Unset};
use crate::json::{Map, Value, json};

mod bytes;
mod print;

pub use print::{printed, printed_as_source, printed_map};

/// Makes the object what Go would print after reading it. Returns the paths of the fields it did not know; an error is
/// what Go's decoder would say of a value of the wrong type. What is shared with `old`, an object that has this form, is
/// passed over.
pub fn canonical(schema: &Schema, value: &mut Value, old: Option<&Value>) -> Result<Vec<String>, String> {
    let mut walk = Walk { path: String::new(), owner: "", unknown: Vec::new() };
    walk.value(schema, value, old)?;
    Ok(walk.unknown)
}

struct Walk<'s> {
    /// Where we are, as Go's messages write it: `spec.containers`, without indexes in struct paths.
    path: String,
    /// The Go name of the struct we are in.
    owner: &'s str,
    unknown: Vec<String>,
}

impl<'s> Walk<'s> {
    fn value(&mut self, schema: &'s Schema, value: &mut Value, old: Option<&Value>) -> Result<(), String> {
        if old.is_some_and(|old| value.is_same_as(old)) {
            return Ok(());
        }
        match &*schema.form {
            Form::Any => Ok(()),
            Form::Struct { name, fields, .. } => {
                let Value::Object(object) = value else { return Err(self.wrong(value, name)) };
                let outer = std::mem::replace(&mut self.owner, name);
                self.fields(fields, object, old.and_then(Value::as_object))?;
                self.owner = outer;
                Ok(())
            }
            Form::Map(values) => {
                let Value::Object(object) = value else {
                    return Err(self.wrong(value, &format!("map[string]{}", go_type(values))));
                };
                for (key, inner) in object.iter_mut() {
                    if inner.is_null() {
                        *inner = zero(values);
                    }
                    let before = old.and_then(|old| old.get(key));
                    self.inside(["[", key, "]"], |walk| walk.value(values, inner, before))?;
                }
                Ok(())
            }
            Form::List(element) => {
                let Value::Array(items) = value else {
                    return Err(self.wrong(value, &format!("[]{}", go_type(element))));
                };
                for (index, item) in items.iter_mut().enumerate() {
                    if item.is_null() {
                        *item = zero(element);
                    }
                    let before = old.and_then(|old| old.get(index));
                    self.inside(["[", &index.to_string(), "]"], |walk| walk.value(element, item, before))?;
                }
                Ok(())
            }
            form => self.scalar(form, value),
        }
    }

    /// Fields are declared, given and were there before in the order of their names, so that all three are gone through
    /// side by side.
    fn fields(&mut self, fields: &'s Fields, object: &mut Map, old: Option<&Map>) -> Result<(), String> {
        for name in fields.undeclared(object) {
            object.remove(&name);
            self.unknown.push(join(&self.path, &name));
        }
        let mut before = old.into_iter().flatten().peekable();
        let mut place = 0;
        for (name, schema) in fields.iter() {
            if object.name_at(place).is_some_and(|given| **given == **name) {
                while before.next_if(|(known, _)| ***known < **name).is_some() {}
                let before = before.next_if(|(known, _)| ***known == **name).map(|(_, before)| before);
                if self.keeps(name, schema, object, place, before)? {
                    place += 1;
                    continue;
                }
                object.remove_at(place);
            }
            let zero = match schema.unset {
                Unset::Always => zero(schema),
                Unset::Null => Value::Null,
                Unset::Omitted | Unset::Pointer => continue,
            };
            object.insert_at(place, &**name, zero);
            place += 1;
        }
        Ok(())
    }

    /// Gives a field its form; tells whether it is written at all.
    fn keeps(
        &mut self,
        name: &str,
        schema: &'s Schema,
        object: &mut Map,
        place: usize,
        before: Option<&Value>,
    ) -> Result<bool, String> {
        let given = object.value_at(place);
        if before.is_some_and(|before| given.is_same_as(before)) {
            return Ok(true);
        }
        if given.is_null() {
            return Ok(false);
        }
        let dot = if self.path.is_empty() { "" } else { "." };
        let inner = object.value_at_mut(place);
        self.inside([dot, name, ""], |walk| walk.value(schema, inner, before))?;
        let is_list = matches!(&*schema.form, Form::List(_) | Form::Map(_));
        // Storage does not tell an empty list from none.
        Ok(!(is_left_out(schema, inner) || is_list && is_empty(inner)))
    }

    fn scalar(&mut self, form: &Form, value: &mut Value) -> Result<(), String> {
        match form {
            Form::Text if value.is_string() => Ok(()),
            Form::Text => Err(self.wrong(value, "string")),
            Form::Bytes => match value.as_str().map(bytes::illegal_byte) {
                Some(None) => Ok(()),
                Some(Some(place)) => Err(format!("illegal base64 data at input byte {place}")),
                None => Err(self.wrong(value, "[]uint8")),
            },
            Form::Boolean if value.is_boolean() => Ok(()),
            Form::Boolean => Err(self.wrong(value, "bool")),
            Form::Number if value.is_number() => Ok(()),
            Form::Number => Err(self.wrong(value, "float64")),
            Form::Integer { is_32_bit } => self.integer(*is_32_bit, value),
            Form::Time => respell(value, |text| Ok(json!(text.parse::<Time>().map_err(|error| error.to_string())?))),
            Form::MicroTime => {
                respell(value, |text| Ok(json!(text.parse::<MicroTime>().map_err(|error| error.to_string())?)))
            }
            Form::Quantity => self.quantity(value),
            Form::IntOrString if value.is_string() || value.is_i64() => Ok(()),
            Form::IntOrString => Err(self.wrong(value, "int32")),
            Form::Struct { .. } | Form::Map(_) | Form::List(_) | Form::Any => Ok(()),
        }
    }

    fn integer(&mut self, is_32_bit: bool, value: &mut Value) -> Result<(), String> {
        let name = if is_32_bit { "int32" } else { "int64" };
        // 1.0 is an integer to the decoder Kubernetes uses.
        if let Some(whole) =
            value.as_f64().filter(|number| value.is_f64() && number.fract() == 0.0 && number.abs() < 9.2e18)
        {
            *value = json!(whole as i64);
        }
        let fits = value.as_i64().is_some_and(|number| !is_32_bit || i32::try_from(number).is_ok());
        if fits {
            return Ok(());
        }
        if value.is_number() {
            let place = self.place();
            return Err(format!("json: cannot unmarshal number {value} into Go struct field {place} of type {name}"));
        }
        Err(self.wrong(value, name))
    }

    fn quantity(&mut self, value: &mut Value) -> Result<(), String> {
        let text = match &*value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return Err(self.wrong(value, "resource.Quantity")),
        };
        let quantity: Quantity = text.parse().map_err(|_| QUANTITY_SYNTAX.to_owned())?;
        *value = quantity.to_string().into();
        Ok(())
    }

    fn inside(&mut self, part: [&str; 3], visit: impl FnOnce(&mut Self) -> Result<(), String>) -> Result<(), String> {
        let length = self.path.len();
        self.path.extend(part);
        visit(self)?;
        self.path.truncate(length);
        Ok(())
    }

    /// Where we are, in the decoder's words: the struct's bare name and the path of field names.
    fn place(&self) -> String {
        let owner = self.owner.rsplit('.').next().unwrap_or_default();
        let mut path = String::new();
        let mut depth = 0;
        for char in self.path.chars() {
            match char {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ if depth == 0 => path.push(char),
                _ => {}
            }
        }
        format!("{owner}.{path}")
    }

    fn wrong(&self, value: &Value, wanted: &str) -> String {
        let found = kind_of(value);
        let place = self.place();
        let mut text = format!("json: cannot unmarshal {found} into Go ");
        let written = if place.ends_with('.') {
            write!(text, "value of type {wanted}")
        } else {
            write!(text, "struct field {place} of type {wanted}")
        };
        written.expect("writing to a string does not fail");
        text
    }
}

/// What Go's decoder calls a JSON value.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

const QUANTITY_SYNTAX: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn respell(value: &mut Value, spell: impl Fn(&str) -> Result<Value, String>) -> Result<(), String> {
    let Value::String(text) = &*value else {
        return Err("parsing time: the value is not a string".to_owned());
    };
    if !text.is_empty() {
        *value = spell(text)?;
    }
    Ok(())
}

/// Whether Go's encoder leaves this value of a field out.
fn is_left_out(schema: &Schema, value: &Value) -> bool {
    match (&schema.unset, &*schema.form) {
        (Unset::Omitted, Form::Struct { .. } | Form::Any) => false,
        // A pointer to a list or map does not exist: their empty values are left out as well.
        (Unset::Omitted, _) | (Unset::Pointer, Form::List(_) | Form::Map(_)) => is_empty(value),
        _ => false,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}

/// The zero value as Go prints it.
fn zero(schema: &Schema) -> Value {
    match &*schema.form {
        Form::Struct { fields, .. } => {
            let written = |(name, schema): (&FieldName, &Arc<Schema>)| match schema.unset {
                Unset::Always => Some((name.to_string(), zero(schema))),
                Unset::Null => Some((name.to_string(), Value::Null)),
                Unset::Omitted | Unset::Pointer => None,
            };
            Value::Object(fields.iter().filter_map(written).collect())
        }
        Form::Map(_) | Form::List(_) | Form::Any | Form::Time | Form::MicroTime => Value::Null,
        Form::Text | Form::Bytes => "".into(),
        Form::Quantity => "0".into(),
        Form::IntOrString | Form::Integer { .. } | Form::Number => 0.into(),
        Form::Boolean => false.into(),
    }
}

/// What Go calls the type.
fn go_type(schema: &Schema) -> String {
    match &*schema.form {
        Form::Struct { name, .. } => name.clone(),
        Form::Map(values) => format!("map[string]{}", go_type(values)),
        Form::List(element) => format!("[]{}", go_type(element)),
        Form::Text => "string".into(),
        Form::Bytes => "[]uint8".into(),
        Form::Time => "v1.Time".into(),
        Form::MicroTime => "v1.MicroTime".into(),
        Form::Quantity => "resource.Quantity".into(),
        Form::IntOrString => "intstr.IntOrString".into(),
        Form::Integer { is_32_bit } => if *is_32_bit { "int32" } else { "int64" }.into(),
        Form::Number => "float64".into(),
        Form::Boolean => "bool".into(),
        Form::Any => "interface {}".into(),
    }
}

#[cfg(test)]
mod tests;
