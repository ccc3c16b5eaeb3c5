//! From a message to the JSON that the same object would be sent as.

use jiff::Timestamp;
use kueue_core::time::{MicroTime, Time};

use super::Node;
use super::messages::{Form, Message, Messages, SCHEMA};
use super::wire::{Fields, Wire};
use crate::base64;
use crate::json::{Map, Number, Value, json};

/// How deep messages may lie inside each other; schemas of CRDs are the only ones without an end of their own.
const DEPTH_MAX: usize = 200;

/// The object that a message holds.
pub fn object(messages: &Messages, message: &Message, bytes: &[u8]) -> Result<Value, String> {
    let mut object = Map::new();
    Reader { messages, depth: 0 }.message(message, bytes, &mut object)?;
    Ok(object.into())
}

struct Reader<'m> {
    messages: &'m Messages,
    depth: usize,
}

impl Reader<'_> {
    fn message(&mut self, message: &Message, bytes: &[u8], object: &mut Map) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("proto: messages are nested too deeply".into());
        }
        let mut fields = Fields(bytes);
        while let Some((number, held)) = fields.next()? {
            match message.0.get(&number) {
                // What is not known was added by a newer client and is left out, as everywhere in protobuf.
                None => {}
                Some(Node::Inlined(inner)) => self.message(inner, bytes_of(held, "an inlined struct")?, object)?,
                Some(Node::Field { name, form }) => self.field(name, form, held, object)?,
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn field(&mut self, name: &str, form: &Form, held: Wire<'_>, object: &mut Map) -> Result<(), String> {
        match form {
            Form::List(element) => {
                let mut read = Vec::new();
                match (&**element, held) {
                    // Numbers may come one by one or all in one.
                    (Form::Integer | Form::Boolean, Wire::Bytes(packed)) => {
                        let mut packed = Fields(packed);
                        while !packed.0.is_empty() {
                            read.push(self.value(name, element, Wire::Number(packed.varint()?))?);
                        }
                    }
                    _ => read.push(self.value(name, element, held)?),
                }
                if let Value::Array(items) = object.entry(name).or_insert_with(|| json!([])) {
                    items.append(&mut read);
                }
            }
            Form::Map(values) => {
                let mut entry = Fields(bytes_of(held, name)?);
                let (mut key, mut value) = (String::new(), zero(values));
                while let Some((number, held)) = entry.next()? {
                    match number {
                        1 => key = text(bytes_of(held, name)?),
                        2 => value = self.value(name, values, held)?,
                        _ => {}
                    }
                }
                if let Value::Object(map) = object.entry(name).or_insert_with(|| json!({})) {
                    map.insert(key, value);
                }
            }
            _ => {
                let value = self.value(name, form, held)?;
                object.insert(name, value);
            }
        }
        Ok(())
    }

    fn value(&mut self, name: &str, form: &Form, held: Wire<'_>) -> Result<Value, String> {
        if let Form::Boolean | Form::Integer | Form::Double = form {
            let Wire::Number(number) = held else { return Err(wrong_type(2, name)) };
            return Ok(match form {
                Form::Boolean => (number != 0).into(),
                Form::Integer => (number as i64).into(),
                _ => Number::from_f64(f64::from_bits(number)).map_or(Value::Null, Value::Number),
            });
        }
        let bytes = bytes_of(held, name)?;
        match form {
            Form::Text => Ok(text(bytes).into()),
            Form::Bytes => Ok(base64::STANDARD.encode(bytes).into()),
            Form::Time => instant(bytes).map(|time| time.map_or(Value::Null, |time| json!(Time::new(time)))),
            Form::MicroTime => instant(bytes).map(|time| time.map_or(Value::Null, |time| json!(MicroTime::new(time)))),
            Form::Quantity => {
                Ok(first_text(bytes)?.filter(|text| !text.is_empty()).unwrap_or_else(|| "0".into()).into())
            }
            Form::IntOrString => int_or_string(bytes),
            Form::Raw => match first_bytes(bytes)? {
                Some(raw) => serde_json::from_slice(raw).map_err(|error| error.to_string()),
                None => Ok(Value::Null),
            },
            Form::SchemaOrBoolean | Form::SchemaOrSchemas | Form::SchemaOrNames => self.schema_or(form, bytes),
            Form::Message(type_name) => {
                let mut object = Map::new();
                if let Some(message) = self.messages.of_type(type_name) {
                    self.message(message, bytes, &mut object)?;
                }
                Ok(object.into())
            }
            // Lists inside of lists and maps are messages whose first field is the list.
            Form::List(_) | Form::Map(_) => {
                let message = Message([(1, Node::Field { name: "items".into(), form: form.clone() })].into());
                let mut object = Map::new();
                self.message(&message, bytes, &mut object)?;
                Ok(object.remove("items").unwrap_or_else(|| zero(form)))
            }
            Form::Boolean | Form::Integer | Form::Double => unreachable!("read above"),
        }
    }

    fn schema_or(&mut self, form: &Form, bytes: &[u8]) -> Result<Value, String> {
        let mut fields = Fields(bytes);
        let (mut schema, mut other) = (None, Vec::new());
        while let Some((number, held)) = fields.next()? {
            match (form, number) {
                (Form::SchemaOrBoolean, 1) => other.push(self.value("allows", &Form::Boolean, held)?),
                (Form::SchemaOrNames, 2) => other.push(self.value("property", &Form::Text, held)?),
                (Form::SchemaOrSchemas, 2) => other.push(self.value("schemas", &Form::Message(SCHEMA.into()), held)?),
                (_, 1 | 2) => schema = Some(self.value("schema", &Form::Message(SCHEMA.into()), held)?),
                _ => {}
            }
        }
        Ok(match (schema, form) {
            (Some(schema), _) => schema,
            (None, Form::SchemaOrBoolean) => other.pop().unwrap_or(Value::Bool(false)),
            (None, _) => other.into(),
        })
    }
}

fn bytes_of<'b>(held: Wire<'b>, name: &str) -> Result<&'b [u8], String> {
    match held {
        Wire::Bytes(bytes) => Ok(bytes),
        Wire::Number(_) => Err(wrong_type(0, name)),
    }
}

fn wrong_type(kind: u8, name: &str) -> String {
    // Go's names of fields are the words of JSON with a capital letter, but for this one.
    let name = if name == "metadata" { "objectMeta" } else { name };
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("proto: wrong wireType = {kind} for field {first}{}", letters.as_str())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn first_bytes(bytes: &[u8]) -> Result<Option<&[u8]>, String> {
    let mut fields = Fields(bytes);
    let mut found = None;
    while let Some((number, held)) = fields.next()? {
        if let (1, Wire::Bytes(bytes)) = (number, held) {
            found = Some(bytes);
        }
    }
    Ok(found)
}

fn first_text(bytes: &[u8]) -> Result<Option<String>, String> {
    Ok(first_bytes(bytes)?.map(text))
}

/// Seconds and nanoseconds since 1970; nothing at all is no time.
fn instant(bytes: &[u8]) -> Result<Option<Timestamp>, String> {
    let mut fields = Fields(bytes);
    let (mut seconds, mut nanos) = (0, 0);
    while let Some((number, held)) = fields.next()? {
        match (number, held) {
            (1, Wire::Number(number)) => seconds = number as i64,
            (2, Wire::Number(number)) => nanos = number as i32,
            _ => {}
        }
    }
    if bytes.is_empty() { Ok(None) } else { Ok(Timestamp::new(seconds, nanos).ok()) }
}

fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let mut fields = Fields(bytes);
    let (mut is_text, mut whole, mut written) = (false, 0, String::new());
    while let Some((number, held)) = fields.next()? {
        match (number, held) {
            (1, Wire::Number(number)) => is_text = number == 1,
            (2, Wire::Number(number)) => whole = number as i64,
            (3, Wire::Bytes(bytes)) => written = text(bytes),
            _ => {}
        }
    }
    Ok(if is_text { written.into() } else { whole.into() })
}

/// What an entry of a map holds that does not say it.
fn zero(form: &Form) -> Value {
    match form {
        Form::Text | Form::Bytes => "".into(),
        Form::Boolean => false.into(),
        Form::Integer | Form::Double | Form::IntOrString => 0.into(),
        Form::Quantity => "0".into(),
        Form::List(_) => json!([]),
        Form::Map(_) | Form::Message(_) => json!({}),
        _ => Value::Null,
    }
}
