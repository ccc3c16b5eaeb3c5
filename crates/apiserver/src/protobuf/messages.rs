//! Which field of which type has which number: read once from the committed types.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::json::Value;
use crate::kinds::{BuiltIn, group_version};

/// All messages, by the name of their type.
#[derive(Debug)]
pub struct Messages {
    by_type: BTreeMap<String, Message>,
    /// Types by apiVersion and kind.
    kinds: BTreeMap<(String, String), String>,
    /// What an object travels in.
    pub envelope: Message,
}

/// The fields of a message by their numbers.
#[derive(Debug, Default, Clone)]
pub struct Message(pub BTreeMap<u32, Node>);

#[derive(Debug, Clone)]
pub enum Node {
    Field {
        name: String,
        form: Form,
    },
    /// A message whose fields JSON writes as if they were the outer one's.
    Inlined(Message),
}

/// What a field holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    Text,
    Bytes,
    Boolean,
    Integer,
    Double,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// JSON inside a message with one field.
    Raw,
    /// A schema or a boolean, a list of schemas, a list of names: the schema is the second field, or the first.
    SchemaOrBoolean,
    SchemaOrSchemas,
    SchemaOrNames,
    Message(String),
    List(Box<Form>),
    Map(Box<Form>),
}

/// The type of schemas in CRDs, which the three forms above hold.
pub const SCHEMA: &str = "apiextensions.v1.JSONSchemaProps";

fn text() -> Form {
    Form::Text
}

fn named(name: &str) -> Form {
    Form::Message(name.to_owned())
}

type Unwritten = (&'static str, &'static [(u32, &'static str, fn() -> Form)]);

/// Messages that OpenAPI does not describe: what objects travel in, and objects of which only the metadata is shown.
const UNWRITTEN: [Unwritten; 4] = [
    ("runtime.Unknown", &[(1, "typeMeta", || named("runtime.TypeMeta")), (2, "raw", || Form::Bytes)]),
    ("runtime.TypeMeta", &[(1, "apiVersion", text), (2, "kind", text)]),
    ("meta.v1.PartialObjectMetadata", &[(1, "metadata", || named("meta.v1.ObjectMeta"))]),
    (
        "meta.v1.PartialObjectMetadataList",
        &[
            (1, "metadata", || named("meta.v1.ListMeta")),
            (2, "items", || Form::List(Box::new(named("meta.v1.PartialObjectMetadata")))),
        ],
    ),
];

impl Messages {
    pub fn get() -> &'static Self {
        static MESSAGES: LazyLock<Messages> = LazyLock::new(Messages::load);
        &MESSAGES
    }

    fn load() -> Self {
        let sources = BuiltIn::sources();
        let mut by_type: BTreeMap<String, Message> =
            sources.iter().map(|(name, source)| (name.clone(), message(source))).collect();
        let mut kinds = BTreeMap::new();
        for kind in BuiltIn::kinds() {
            kinds.insert(
                (group_version(&kind.group, &kind.version), format!("{}List", kind.kind)),
                format!("{}List", kind.type_name),
            );
            kinds.insert((group_version(&kind.group, &kind.version), kind.kind), kind.type_name);
        }
        for (name, fields) in UNWRITTEN {
            let field = |(number, name, form): &(u32, &str, fn() -> Form)| {
                (*number, Node::Field { name: (*name).to_owned(), form: form() })
            };
            by_type.insert(name.to_owned(), Message(fields.iter().map(field).collect()));
        }
        let envelope = by_type.remove("runtime.Unknown").unwrap_or_default();
        Self { by_type, kinds, envelope }
    }

    pub fn of_type(&self, name: &str) -> Option<&Message> {
        self.by_type.get(name)
    }

    /// The message of a kind. Options and Status belong to every version.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Message> {
        let name = match (api_version, kind) {
            (_, "DeleteOptions" | "Status")
            | ("meta.k8s.io/v1", "PartialObjectMetadata" | "PartialObjectMetadataList") => {
                format!("meta.v1.{kind}")
            }
            _ => self.kinds.get(&(api_version.to_owned(), kind.to_owned()))?.clone(),
        };
        self.by_type.get(&name)
    }
}

/// The message of a type with properties; others have none.
fn message(source: &Value) -> Message {
    let mut message = Message::default();
    for (name, property) in source["properties"].as_object().into_iter().flatten() {
        let numbers: Vec<u32> = match &property["number"] {
            Value::Array(numbers) => numbers.iter().filter_map(number).collect(),
            one => number(one).into_iter().collect(),
        };
        let Some((last, outer)) = numbers.split_last() else { continue };
        let mut place = &mut message;
        for number in outer {
            let inner = place.0.entry(*number).or_insert_with(|| Node::Inlined(Message::default()));
            let Node::Inlined(inner) = inner else { unreachable!("a number is a field or a message, never both") };
            place = inner;
        }
        place.0.insert(*last, Node::Field { name: name.to_string(), form: form(property) });
    }
    message
}

fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

fn form(source: &Value) -> Form {
    if let Some(name) = source["ref"].as_str() {
        return match name {
            "meta.v1.Time" => Form::Time,
            "meta.v1.MicroTime" => Form::MicroTime,
            "api.resource.Quantity" => Form::Quantity,
            "util.intstr.IntOrString" => Form::IntOrString,
            "runtime.RawExtension" | "meta.v1.FieldsV1" | "apiextensions.v1.JSON" => Form::Raw,
            "apiextensions.v1.JSONSchemaPropsOrBool" => Form::SchemaOrBoolean,
            "apiextensions.v1.JSONSchemaPropsOrArray" => Form::SchemaOrSchemas,
            "apiextensions.v1.JSONSchemaPropsOrStringArray" => Form::SchemaOrNames,
            name => Form::Message(name.to_owned()),
        };
    }
    match (source["type"].as_str(), source["format"].as_str()) {
        (Some("boolean"), _) => Form::Boolean,
        (Some("integer"), _) => Form::Integer,
        (Some("number"), _) => Form::Double,
        (Some("string"), Some("byte")) => Form::Bytes,
        (Some("array"), _) => Form::List(Box::new(form(&source["items"]))),
        (Some("object"), _) => Form::Map(Box::new(form(&source["additionalProperties"]))),
        _ => Form::Text,
    }
}
