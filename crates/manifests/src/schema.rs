//! A small builder for structural schemas, the subset of JSON Schema that a CustomResourceDefinition may carry.
//!
//! A kind is written as Rust expressions, each field with its type, its limits and the sentence that `kubectl explain`
//! shows. Only what Kubernetes accepts can be said, and the API server's cost limits for CEL are kept in reach because
//! every list, map and string has its bound where it is declared.

use serde_json::{Map, Value, json};

/// The longest label key: a DNS subdomain, a slash and a name of 63 characters.
pub const LABEL_KEY_LENGTH: u32 = 253 + 1 + 63;

/// Room for any quantity a person writes. The API server needs a bound to price a rule that parses the value.
const QUANTITY_LENGTH: u32 = 64;

const DNS1123_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const DNS1123_SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const LABEL_KEY: &str =
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
const LABEL_VALUE: &str = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// A schema under construction: its keywords as they will be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema(Map<String, Value>);

/// A validation rule in CEL, evaluated by the API server.
#[derive(Clone, Debug)]
pub struct Rule {
    expression: String,
    message: String,
    message_expression: Option<String>,
    field: Option<&'static str>,
}

/// An object with the fields declared on it; the API server drops all others.
pub fn object() -> Schema {
    Schema::of_type("object")
}

/// An object that may hold anything; nothing in it is checked or dropped.
pub fn anything() -> Schema {
    object().with("x-kubernetes-preserve-unknown-fields", true)
}

/// A list of at most `max_items` elements.
pub fn list(items: Schema, max_items: u32) -> Schema {
    Schema::of_type("array").with("items", items.0).with("maxItems", max_items)
}

/// A map from strings to `values`.
pub fn map(values: Schema) -> Schema {
    object().with("additionalProperties", values.0)
}

pub fn string() -> Schema {
    Schema::of_type("string")
}

/// A string with a fixed set of values.
pub fn one_of(values: &[&str]) -> Schema {
    string().with("enum", values)
}

pub fn boolean() -> Schema {
    Schema::of_type("boolean")
}

pub fn int32() -> Schema {
    Schema::of_type("integer").with("format", "int32")
}

pub fn int64() -> Schema {
    Schema::of_type("integer").with("format", "int64")
}

/// An RFC 3339 time.
pub fn time() -> Schema {
    string().with("format", "date-time")
}

/// An amount such as `3`, `500m` or `20Gi`: a number or a string.
pub fn quantity() -> Schema {
    Schema(Map::new())
        .with("anyOf", json!([{"type": "integer"}, {"type": "string"}]))
        .with("x-kubernetes-int-or-string", true)
        .pattern(QUANTITY)
        .max_len(QUANTITY_LENGTH)
}

/// The name of an object whose name is a DNS subdomain.
pub fn object_name() -> Schema {
    string().dns1123_subdomain()
}

/// The key of a label, a taint or a resource: `name` or `domain/name`.
pub fn label_key() -> Schema {
    string().pattern(LABEL_KEY).min_len(1).max_len(LABEL_KEY_LENGTH)
}

/// A map from label keys to label values.
pub fn labels(max_entries: u32) -> Schema {
    map(label_value()).max_entries(max_entries).rule(Rule::new(
        format!("self.all(k, size(k) <= {LABEL_KEY_LENGTH} && k.matches(r'{LABEL_KEY}'))"),
        "a label key must be a name of at most 63 letters, digits, '-', '_' and '.', or such a name after a domain and '/'",
    ))
}

/// Like [`label_key`], where an empty key means any.
pub fn label_key_or_empty() -> Schema {
    string().pattern(&format!("^$|{LABEL_KEY}")).max_len(LABEL_KEY_LENGTH)
}

pub fn label_value() -> Schema {
    string().pattern(LABEL_VALUE).max_len(63)
}

impl Schema {
    fn of_type(name: &str) -> Self {
        Self(Map::new()).with("type", name)
    }

    fn with(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        self.0.insert(keyword.to_owned(), value.into());
        self
    }

    /// Declares an optional field.
    #[must_use]
    pub fn field(mut self, name: &str, schema: Schema, doc: &str) -> Self {
        assert!(!doc.is_empty(), "field {name} is not described");
        let fields = self.0.entry("properties").or_insert_with(|| json!({}));
        let previous = fields
            .as_object_mut()
            .expect("properties is an object")
            .insert(name.to_owned(), Value::Object(schema.doc(doc).0));
        assert!(previous.is_none(), "field {name} is declared twice");
        self
    }

    /// Declares a field that every object must have.
    #[must_use]
    pub fn required(mut self, name: &str, schema: Schema, doc: &str) -> Self {
        let required = self.0.entry("required").or_insert_with(|| json!([]));
        required.as_array_mut().expect("required is a list").push(name.into());
        self.field(name, schema, doc)
    }

    /// Applies `change` when `condition` holds: how a version's own fields are stated beside the common ones.
    #[must_use]
    pub fn when(self, condition: bool, change: impl FnOnce(Self) -> Self) -> Self {
        if condition { change(self) } else { self }
    }

    /// What `kubectl explain` says.
    #[must_use]
    pub fn doc(self, text: &str) -> Self {
        self.with("description", text)
    }

    /// The value that the API server fills in.
    #[must_use]
    pub fn default(self, value: impl Into<Value>) -> Self {
        self.with("default", value)
    }

    #[must_use]
    pub fn min(self, minimum: i64) -> Self {
        self.with("minimum", minimum)
    }

    #[must_use]
    pub fn min_len(self, characters: u32) -> Self {
        self.with("minLength", characters)
    }

    #[must_use]
    pub fn max_len(self, characters: u32) -> Self {
        self.with("maxLength", characters)
    }

    #[must_use]
    pub fn min_items(self, items: u32) -> Self {
        self.with("minItems", items)
    }

    /// The most entries of a map.
    #[must_use]
    pub fn max_entries(self, entries: u32) -> Self {
        self.with("maxProperties", entries)
    }

    #[must_use]
    pub fn pattern(self, regex: &str) -> Self {
        self.with("pattern", regex)
    }

    #[must_use]
    pub fn dns1123_label(self) -> Self {
        self.pattern(DNS1123_LABEL).max_len(63)
    }

    #[must_use]
    pub fn dns1123_subdomain(self) -> Self {
        self.pattern(DNS1123_SUBDOMAIN).max_len(253)
    }

    /// A list that is replaced as a whole by server-side apply.
    #[must_use]
    pub fn atomic_list(self) -> Self {
        self.with("x-kubernetes-list-type", "atomic")
    }

    /// A list of distinct scalars, merged by server-side apply.
    #[must_use]
    pub fn set_list(self) -> Self {
        self.with("x-kubernetes-list-type", "set")
    }

    /// A list whose elements are told apart by `keys`, merged element by element by server-side apply.
    #[must_use]
    pub fn keyed_by(self, keys: &[&str]) -> Self {
        self.with("x-kubernetes-list-type", "map").with("x-kubernetes-list-map-keys", keys)
    }

    /// An object or map that is replaced as a whole by server-side apply.
    #[must_use]
    pub fn atomic_map(self) -> Self {
        self.with("x-kubernetes-map-type", "atomic")
    }

    /// Adds a validation rule; rules are reported in the order they are added.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        let rules = self.0.entry("x-kubernetes-validations").or_insert_with(|| json!([]));
        rules.as_array_mut().expect("rules are a list").push(rule.into_value());
        self
    }

    /// The keywords, as a CustomResourceDefinition carries them.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

impl Rule {
    /// Refuses an object for which `expression` is false, with `message`.
    pub fn new(expression: impl Into<String>, message: impl Into<String>) -> Self {
        Self { expression: expression.into(), message: message.into(), message_expression: None, field: None }
    }

    /// Makes the message from the object: a CEL expression that is evaluated when the rule is broken. So one rule can
    /// stand for several without saying less.
    #[must_use]
    pub fn saying(self, expression: impl Into<String>) -> Self {
        Self { message_expression: Some(expression.into()), ..self }
    }

    /// Reports the mistake at `path` below the schema that has the rule, such as `.lendingLimit`.
    #[must_use]
    pub fn at(self, path: &'static str) -> Self {
        Self { field: Some(path), ..self }
    }

    fn into_value(self) -> Value {
        let mut value = json!({"rule": self.expression, "message": self.message});
        if let Some(expression) = self.message_expression {
            value["messageExpression"] = expression.into();
        }
        if let Some(path) = self.field {
            value["fieldPath"] = path.into();
        }
        value
    }
}
