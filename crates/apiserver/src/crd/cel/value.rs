//! Objects as rules see them: by the types of the schema, with names that CEL can write.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use kube_cel::cel::Value as Cel;
use kube_cel::cel::common::ast::IdedExpr;
use kube_cel::cel::objects::{Key, Map};

use super::rule::{evaluate, parse};
use crate::admission::cel::Reads;
use crate::json::{self, Name, Value};

/// How a value of a schema becomes one of CEL.
#[derive(Debug)]
pub enum Shape {
    /// As JSON says.
    Plain,
    /// Whole numbers are numbers like others.
    Number,
    /// A text that stands for something else, which a function makes of it.
    Made(&'static str),
    Text,
    List(Box<Shape>),
    Object {
        fields: BTreeMap<String, Shape>,
    },
    Map(Box<Shape>),
    Other(&'static str),
}

/// Words that cannot be names.
const RESERVED: [&str; 22] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
    "__",
];

/// A field's name as a rule writes it; nothing when it cannot.
pub fn escaped(name: &str) -> Option<String> {
    let is_letter = |char: char| char.is_ascii_alphanumeric() || "_.-/".contains(char);
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) || !name.chars().all(is_letter) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(if name == "__" { "__underscores__".to_owned() } else { format!("__{name}__") });
    }
    let name = name.replace("__", "__underscores__").replace('.', "__dot__");
    Some(name.replace('-', "__dash__").replace('/', "__slash__"))
}

impl Shape {
    /// `is_resource`: the root of a resource has a type and metadata without saying so.
    pub fn of(schema: &Value, is_resource: bool) -> Self {
        let text = |name: &str| schema[name].as_str().unwrap_or_default();
        match (text("type"), text("format")) {
            ("string", "date" | "date-time") => Self::Made("timestamp"),
            ("string", "duration") => Self::Made("duration"),
            ("string", "byte") => Self::Made("base64.decode"),
            ("string", _) => Self::Text,
            ("number", _) => Self::Number,
            ("integer", _) => Self::Other("integer"),
            ("boolean", _) => Self::Other("boolean"),
            ("array", _) => Self::List(Box::new(Self::of(&schema["items"], false))),
            ("object", _) => match schema["properties"].as_object() {
                None if schema["additionalProperties"].is_object() => {
                    Self::Map(Box::new(Self::of(&schema["additionalProperties"], false)))
                }
                properties => {
                    let field = |(name, field): (&Name, &Value)| {
                        (name.to_string(), Self::of(field, field["x-kubernetes-embedded-resource"] == true))
                    };
                    let mut fields: BTreeMap<String, Shape> = properties.into_iter().flatten().map(field).collect();
                    if is_resource {
                        fields.insert("metadata".into(), Self::Plain);
                    }
                    Self::Object { fields }
                }
            },
            _ => Self::Plain,
        }
    }

    /// As messages name it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Number => "number",
            Self::Made(_) | Self::Text => "string",
            Self::List(_) => "array",
            Self::Object { .. } | Self::Map(_) => "object",
            Self::Other(name) => name,
        }
    }

    /// The part of a value that is looked at.
    pub fn convert_part(&self, value: &Value, reads: &Reads) -> Cel {
        let Some(object) = value.as_object().filter(|_| !reads.is_whole()) else { return self.convert(value) };
        map(reads.iter().filter_map(|(name, inside)| {
            let converted = match self {
                Self::Object { fields } => {
                    let (own, value) = unescaped(object, name)?;
                    fields.get(own.as_str()).unwrap_or(&Self::Plain).convert_part(value, inside)
                }
                Self::Map(values) => values.convert_part(object.get(name)?, inside),
                _ => Self::Plain.convert_part(object.get(name)?, inside),
            };
            Some((name.to_owned(), converted))
        }))
    }

    pub fn convert(&self, value: &Value) -> Cel {
        match (self, value) {
            (Self::Number, Value::Number(number)) => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
            (Self::Made(function), Value::String(text)) => made(function, text),
            (Self::List(items), Value::Array(list)) => {
                Cel::List(Arc::new(list.iter().map(|item| items.convert(item)).collect()))
            }
            (Self::Map(values), Value::Object(object)) => {
                map(object.iter().map(|(name, value)| (name.to_string(), values.convert(value))))
            }
            (Self::Object { fields }, Value::Object(object)) => map(object.iter().filter_map(|(name, value)| {
                let converted = fields.get(name.as_str()).unwrap_or(&Self::Plain).convert(value);
                Some((escaped(name)?, converted))
            })),
            (_, plain) => convert_plain(plain),
        }
    }
}

/// The field that a rule names.
fn unescaped<'o>(object: &'o json::Map, name: &str) -> Option<(&'o Name, &'o Value)> {
    object.iter().find(|(own, _)| match name.contains("__") {
        true => escaped(own).as_deref() == Some(name),
        false => ***own == *name,
    })
}

fn map(entries: impl Iterator<Item = (String, Cel)>) -> Cel {
    let entries: HashMap<Key, Cel> = entries.map(|(name, value)| (Key::String(Arc::new(name)), value)).collect();
    Cel::Map(Map { map: Arc::new(entries) })
}

fn convert_plain(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(flag) => Cel::Bool(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Cel::Int(whole),
            None => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(convert_plain).collect())),
        Value::Object(object) => map(object.iter().map(|(name, value)| (name.to_string(), convert_plain(value)))),
    }
}

/// Adds texts to an object.
pub fn insert(object: &mut Cel, texts: &[(&str, &str)]) {
    if let Cel::Map(map) = object {
        let entries = Arc::make_mut(&mut map.map);
        for (name, text) in texts {
            entries.insert(Key::String(Arc::new((*name).to_owned())), Cel::String(Arc::new((*text).to_owned())));
        }
    }
}

static MAKERS: LazyLock<BTreeMap<&str, IdedExpr>> = LazyLock::new(|| {
    let maker = |name| Some((name, parse(&format!("{name}(text)")).ok()?));
    ["timestamp", "duration", "base64.decode"].into_iter().filter_map(maker).collect()
});

/// What a function makes of a text; the text itself when it cannot.
fn made(function: &str, text: &str) -> Cel {
    let plain = Cel::String(Arc::new(text.to_owned()));
    // A date is the beginning of its day.
    let whole =
        if function == "timestamp" && !text.contains('T') { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let made = MAKERS.get(function).and_then(|maker| evaluate(maker, &[("text", Cel::String(Arc::new(whole)))]).ok());
    made.unwrap_or(plain)
}
