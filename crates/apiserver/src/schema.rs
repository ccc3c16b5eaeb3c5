//! What a kind's objects look like: one tree for built-in kinds (from `data/types.json`) and for CRDs.
//!
//! Each concern that walks objects along the tree is a module: [`go`] writes built-in objects as Go would, [`prune`],
//! [`defaults`] and [`validate`] treat custom ones. Patches and managed fields read the list and map types.

use std::sync::Arc;

use crate::json::{Map, Value};

pub mod defaults;
pub mod embedded;
mod field_name;
mod fields;
pub mod go;
mod keywords;
pub mod load;
pub mod prune;
pub mod validate;

pub use field_name::FieldName;
pub use fields::Fields;
pub use keywords::Keywords;

/// One node: the form of the value and how it is treated where it stands.
#[derive(Debug, Clone)]
pub struct Schema {
    pub form: Arc<Form>,
    /// How server-side apply sees the elements of a list.
    pub list: ListType,
    /// Whether a map or struct has one owner as a whole.
    pub is_atomic: bool,
    /// What Go writes when the field is not set.
    pub unset: Unset,
    pub default: Option<Value>,
    /// How a strategic merge patch treats the value.
    pub strategy: Strategy,
    pub is_nullable: bool,
    pub keeps_unknown: bool,
    /// Holds a whole object with apiVersion, kind and metadata.
    pub is_embedded: bool,
    /// What a CRD demands of the value.
    pub keywords: Option<Arc<Keywords>>,
}

#[derive(Debug, Clone)]
pub enum Form {
    /// Named fields, and perhaps others that are all alike; `name` is Go's name of the struct.
    Struct {
        name: String,
        fields: Fields,
        /// Of a CRD's `properties` beside `additionalProperties`.
        others: Option<Arc<Schema>>,
    },
    Map(Arc<Schema>),
    List(Arc<Schema>),
    Text,
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    Integer {
        is_32_bit: bool,
    },
    Number,
    Boolean,
    /// Anything at all.
    Any,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListType {
    #[default]
    Atomic,
    Set,
    Map(Vec<String>),
}

/// What Go's JSON encoder does with a field that has its zero value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unset {
    /// Left out.
    #[default]
    Omitted,
    /// Left out when absent; an explicit zero is something else and is kept.
    Pointer,
    /// The zero value is written.
    Always,
    /// `null` is written.
    Null,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strategy {
    pub merges: bool,
    pub retains_keys: bool,
    /// The field that tells elements of a list apart; none for lists of scalars.
    pub merge_key: Option<String>,
}

impl Schema {
    pub fn of(form: Form) -> Self {
        Self {
            form: Arc::new(form),
            list: ListType::Atomic,
            is_atomic: false,
            unset: Unset::Omitted,
            default: None,
            strategy: Strategy::default(),
            is_nullable: false,
            keeps_unknown: false,
            is_embedded: false,
            keywords: None,
        }
    }

    pub fn any() -> Arc<Self> {
        Arc::new(Self { keeps_unknown: true, ..Self::of(Form::Any) })
    }

    /// The schema of the field of an object.
    pub fn field(&self, name: &str) -> Option<&Arc<Schema>> {
        match &*self.form {
            Form::Struct { fields, others, .. } => fields.get(name).or(others.as_ref()),
            Form::Map(value) => Some(value),
            _ => None,
        }
    }

    /// The name and schema of a field that is declared by its name.
    pub fn declared(&self, name: &str) -> Option<(&FieldName, &Arc<Schema>)> {
        match &*self.form {
            Form::Struct { fields, .. } => fields.get_key_value(name),
            _ => None,
        }
    }

    /// The schema of the elements of a list.
    pub fn element(&self) -> Option<&Arc<Schema>> {
        match &*self.form {
            Form::List(element) => Some(element),
            _ => None,
        }
    }

    /// A struct's schema with one field replaced.
    #[must_use]
    pub fn with_field(&self, name: &str, schema: Arc<Schema>) -> Self {
        let form = match &*self.form {
            Form::Struct { name: of, fields, others } => {
                let mut fields = fields.clone();
                fields.insert(name.into(), schema);
                Form::Struct { name: of.clone(), fields, others: others.clone() }
            }
            Form::Any => Form::Struct {
                name: String::new(),
                fields: [(name.into(), schema)].into_iter().collect(),
                others: None,
            },
            other => other.clone(),
        };
        Self { form: Arc::new(form), ..self.clone() }
    }
}

/// An object's map at `path`, made where it is missing; nothing when something else stands there.
pub fn object_at<'v>(value: &'v mut Value, path: &[&str]) -> Option<&'v mut Map> {
    let mut place = value;
    for name in path {
        let object = place.as_object_mut()?;
        place = object.entry(*name).or_insert_with(|| Value::Object(Map::new()));
    }
    place.as_object_mut()
}
