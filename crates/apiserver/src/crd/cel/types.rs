//! The types of CEL, and those that a schema gives to what rules see.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::value::escaped;
use super::{check, cost, parse, rule};
use crate::json::Value;

#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// Anything, known only when the rule is asked.
    Dyn,
    /// A type by its name: `int`, `string`, `kubernetes.Quantity`.
    Named(&'static str),
    /// A type that a call decides.
    Variable(char),
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Optional(Box<Type>),
    Object(Arc<BTreeMap<String, Type>>),
}

const NAMES: [&str; 16] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "null",
    "string",
    "timestamp",
    "type",
    "uint",
    "kubernetes.URL",
    "kubernetes.Quantity",
    "kubernetes.Semver",
    "kubernetes.NamedFormat",
    "net.IP",
    "net.CIDR",
];

impl Type {
    pub const BOOL: Self = Self::Named("bool");
    pub const STRING: Self = Self::Named("string");
    pub const INT: Self = Self::Named("int");

    /// A type as the table of functions writes it.
    pub fn read(text: &str) -> Self {
        let inside = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        if let Some(inner) = inside("list") {
            return Self::List(Box::new(Self::read(inner)));
        }
        if let Some(inner) = inside("optional_type") {
            return Self::Optional(Box::new(Self::read(inner)));
        }
        if let Some(inner) = inside("map") {
            let parts = Self::split(inner);
            let part = |index: usize| Box::new(parts.get(index).map_or(Self::Dyn, |part| Self::read(part)));
            return Self::Map(part(0), part(1));
        }
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(letter), None) if letter.is_ascii_uppercase() => Self::Variable(letter),
            _ => NAMES.into_iter().find(|name| *name == text).map_or(Self::Dyn, Self::Named),
        }
    }

    /// Types between commas that are not inside brackets.
    pub fn split(text: &str) -> Vec<&str> {
        let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
        for (place, char) in text.char_indices() {
            match char {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(&text[start..place]);
                    start = place + 1;
                }
                _ => {}
            }
        }
        parts.push(&text[start..]);
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// What a schema makes of a value; nothing when rules cannot see it.
    fn of(schema: &Value, is_resource: bool) -> Option<Self> {
        let text = |name: &str| schema[name].as_str().unwrap_or_default();
        if schema["x-kubernetes-int-or-string"] == true {
            return Some(Self::Dyn);
        }
        Some(match (text("type"), text("format")) {
            ("string", "byte") => Self::Named("bytes"),
            ("string", "duration") => Self::Named("duration"),
            ("string", "date" | "date-time") => Self::Named("timestamp"),
            ("string", _) => Self::STRING,
            ("integer", _) => Self::INT,
            ("number", _) => Self::Named("double"),
            ("boolean", _) => Self::BOOL,
            ("array", _) => Self::List(Box::new(Self::of(&schema["items"], false)?)),
            ("object", _) if schema["additionalProperties"].is_object() => {
                let values = Self::of(&schema["additionalProperties"], false)?;
                Self::Map(Box::new(Self::STRING), Box::new(values))
            }
            ("object", _) => Self::Object(Arc::new(Self::fields(schema, is_resource))),
            _ => return None,
        })
    }

    fn fields(schema: &Value, is_resource: bool) -> BTreeMap<String, Type> {
        let mut fields = BTreeMap::new();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let inner = Self::of(field, field["x-kubernetes-embedded-resource"] == true);
            if let (Some(name), Some(inner)) = (escaped(name), inner) {
                fields.insert(name, inner);
            }
        }
        if is_resource {
            fields.insert("apiVersion".into(), Self::STRING);
            fields.insert("kind".into(), Self::STRING);
            let names = ["name", "generateName"].map(|name| (name.to_owned(), Self::STRING));
            fields.insert("metadata".into(), Self::Object(Arc::new(names.into_iter().collect())));
        }
        fields
    }
}

/// As messages write it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn | Self::Variable(_) => f.write_str("dyn"),
            Self::Named(name) => f.write_str(name),
            Self::List(inner) => write!(f, "list({inner})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            // A real server invents a name for the type at each start.
            Self::Object(_) => f.write_str("selfType"),
        }
    }
}

/// A schema whose rules are to be compiled.
#[derive(Debug, Clone)]
pub struct Types {
    schema: Value,
    is_resource: bool,
}

/// What came of a rule.
#[derive(Debug, Default)]
pub struct Compiled {
    pub error: Option<String>,
    pub message_error: Option<String>,
    pub uses_old_self: bool,
    /// Whether nobody could wait for its answer.
    pub is_hopeless: bool,
}

impl Types {
    /// Of the root of a resource.
    pub fn of(schema: &Value) -> Self {
        Self { schema: schema.clone(), is_resource: true }
    }

    fn below(schema: &Value) -> Option<Self> {
        let is_resource = schema["x-kubernetes-embedded-resource"] == true;
        schema.is_object().then(|| Self { schema: schema.clone(), is_resource })
    }

    pub fn field(&self, name: &str) -> Option<Self> {
        Self::below(&self.schema["properties"][name])
    }

    pub fn items(&self) -> Option<Self> {
        Self::below(&self.schema["items"])
    }

    pub fn values(&self) -> Option<Self> {
        Self::below(&self.schema["additionalProperties"])
    }

    /// Compiles a rule and what makes its message.
    pub fn compile(&self, source: &Value) -> Compiled {
        let text = |name: &str| source[name].as_str().unwrap_or_default();
        let Some(own) = Type::of(&self.schema, self.is_resource) else { return Compiled::default() };
        let old = match source["optionalOldSelf"] == true {
            true => Type::Optional(Box::new(own.clone())),
            false => own.clone(),
        };
        let variables = [("self", own), ("oldSelf", old)];
        let mut compiled = Compiled::default();
        match Self::judge(text("rule"), &variables, &Type::BOOL) {
            Err(why) => {
                compiled.error = Some(why.unwrap_or_else(|| "cel expression must evaluate to a bool".into()));
                return compiled;
            }
            Ok(uses_old_self) => compiled.uses_old_self = uses_old_self,
        }
        compiled.is_hopeless = parse::parse(text("rule")).is_some_and(|tree| cost::is_hopeless(&tree, &self.schema));
        let expression = text("messageExpression");
        if !expression.is_empty()
            && let Err(why) = Self::judge(expression, &variables, &Type::STRING)
        {
            let why = why.map(|why| format!("messageExpression {why}"));
            compiled.message_error = Some(why.unwrap_or_else(|| "messageExpression must evaluate to a string".into()));
        }
        compiled
    }

    /// Whether an expression looks at `oldSelf`; an error is what is wrong with it, or nothing when it only is of
    /// another type than is wanted.
    fn judge(text: &str, variables: &[(&str, Type)], wanted: &Type) -> Result<bool, Option<String>> {
        let failed = |why: String| Some(format!("compilation failed: {why}"));
        let program = rule::parse(text).map_err(failed)?;
        if let Some(tree) = parse::parse(text) {
            let found = check::check(&tree, text, variables).map_err(failed)?;
            // What is only known when the rule is asked is not refused here.
            if found != *wanted && found != Type::Dyn {
                return Err(None);
            }
        }
        Ok(program.references().has_variable("oldSelf"))
    }
}
