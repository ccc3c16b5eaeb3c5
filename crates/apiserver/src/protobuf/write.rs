//! From an object to the message that holds it.
//!
//! Objects have the form of their kind when they get here; what has not is left out. Zero values are left out too: who
//! reads the message has them already.

use kueue_core::time::{MicroTime, Time};

use super::Node;
use super::messages::{Form, Message, Messages, SCHEMA};
use super::wire::{put_bytes, put_double, put_number};
use crate::base64;
use crate::json::Value;

/// The fields of an object as a message.
pub fn object(messages: &Messages, message: &Message, object: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, node) in &message.0 {
        match node {
            Node::Inlined(inner) => {
                let inner = self::object(messages, inner, object);
                if !inner.is_empty() {
                    put_bytes(&mut bytes, *number, &inner);
                }
            }
            Node::Field { name, form } => {
                if let Some(value) = object.get(name).filter(|value| !value.is_null()) {
                    field(messages, &mut bytes, *number, form, value);
                }
            }
        }
    }
    bytes
}

fn field(messages: &Messages, bytes: &mut Vec<u8>, number: u32, form: &Form, value: &Value) {
    match form {
        Form::Boolean => put_number(bytes, number, i64::from(value.as_bool().unwrap_or_default())),
        Form::Integer => put_number(bytes, number, value.as_i64().unwrap_or_default()),
        Form::Double => put_double(bytes, number, value.as_f64().unwrap_or_default()),
        Form::List(element) => {
            for item in value.as_array().into_iter().flatten() {
                element_field(messages, bytes, number, element, item);
            }
        }
        Form::Map(values) => {
            for (key, inner) in value.as_object().into_iter().flatten() {
                let mut entry = Vec::new();
                put_bytes(&mut entry, 1, key.as_bytes());
                element_field(messages, &mut entry, 2, values, inner);
                put_bytes(bytes, number, &entry);
            }
        }
        form => put_bytes(bytes, number, &held(messages, form, value)),
    }
}

/// An element of a list or map; a list or map in there is a message of its own.
fn element_field(messages: &Messages, bytes: &mut Vec<u8>, number: u32, form: &Form, value: &Value) {
    match form {
        Form::List(_) | Form::Map(_) => {
            let mut inner = Vec::new();
            field(messages, &mut inner, 1, form, value);
            put_bytes(bytes, number, &inner);
        }
        form => field(messages, bytes, number, form, value),
    }
}

/// What stands between the length and the end.
fn held(messages: &Messages, form: &Form, value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap_or_default();
    let mut bytes = Vec::new();
    match form {
        Form::Text => bytes.extend_from_slice(text.as_bytes()),
        Form::Bytes => bytes = base64::STANDARD.decode(text).unwrap_or_default(),
        Form::Time => {
            let time = text.parse::<Time>().unwrap_or_default().timestamp();
            put_number(&mut bytes, 1, time.as_second());
            put_number(&mut bytes, 2, 0);
        }
        Form::MicroTime => {
            let time = text.parse::<MicroTime>().unwrap_or_default().timestamp();
            put_number(&mut bytes, 1, time.as_second());
            put_number(&mut bytes, 2, i64::from(time.subsec_nanosecond()));
        }
        Form::Quantity => put_bytes(&mut bytes, 1, text.as_bytes()),
        Form::IntOrString => {
            put_number(&mut bytes, 1, i64::from(value.is_string()));
            put_number(&mut bytes, 2, value.as_i64().unwrap_or_default());
            put_bytes(&mut bytes, 3, text.as_bytes());
        }
        Form::Raw => put_bytes(&mut bytes, 1, value.to_string().as_bytes()),
        Form::Message(type_name) => {
            if let Some(message) = messages.of_type(type_name) {
                bytes = object(messages, message, value);
            }
        }
        Form::SchemaOrBoolean | Form::SchemaOrSchemas | Form::SchemaOrNames => {
            schema_or(messages, &mut bytes, form, value);
        }
        Form::Boolean | Form::Integer | Form::Double | Form::List(_) | Form::Map(_) => {}
    }
    bytes
}

fn schema_or(messages: &Messages, bytes: &mut Vec<u8>, form: &Form, value: &Value) {
    let schema = Form::Message(SCHEMA.into());
    match (form, value) {
        (Form::SchemaOrBoolean, Value::Object(_)) => {
            put_number(bytes, 1, 1);
            field(messages, bytes, 2, &schema, value);
        }
        (Form::SchemaOrBoolean, _) => field(messages, bytes, 1, &Form::Boolean, value),
        (_, Value::Object(_)) => field(messages, bytes, 1, &schema, value),
        (Form::SchemaOrNames, _) => field(messages, bytes, 2, &Form::List(Box::new(Form::Text)), value),
        _ => field(messages, bytes, 2, &Form::List(Box::new(schema)), value),
    }
}
