//! Expressions of webhooks and policies, evaluated by kube-cel, with errors in the words of a real server.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::KubeCelExt as _;
pub use kube_cel::cel::Value as CelValue;
use kube_cel::cel::common::ast::{Expr, LiteralValue};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, Program};
use serde_json::Value;

/// An expression that could be read.
pub struct Expression {
    pub text: String,
    program: Program,
}

impl std::fmt::Debug for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// What expressions can name.
pub struct Scope(Context<'static>);

impl std::fmt::Debug for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scope")
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self(Context::default().with_all())
    }
}

impl Scope {
    pub fn set(&mut self, name: &str, value: &Value) {
        self.0.add_variable_from_value(name, to_cel(value));
    }

    /// Values that are already those of expressions, as one variable: `variables`.
    pub fn set_all(&mut self, name: &str, values: &HashMap<String, CelValue>) {
        let map: HashMap<Key, CelValue> =
            values.iter().map(|(name, value)| (Key::from(name.clone()), value.clone())).collect();
        self.0.add_variable_from_value(name, CelValue::Map(Map { map: Arc::new(map) }));
    }
}

impl Expression {
    /// Reads an expression; an error says where it is broken.
    pub fn parse(text: &str) -> Result<Self, String> {
        match Program::compile(text) {
            Ok(program) => Ok(Self { text: text.to_owned(), program }),
            // Only the frame around the place differs from Go.
            Err(errors) => Err(errors.to_string().replace("\n| ", "\n | ")),
        }
    }

    pub fn evaluate(&self, scope: &Scope) -> Result<CelValue, String> {
        self.program.execute(&scope.0).map_err(|error| go_text(&error))
    }

    /// What must be true or false.
    pub fn is_true(&self, scope: &Scope) -> Result<bool, String> {
        match self.evaluate(scope)? {
            CelValue::Bool(found) => Ok(found),
            other => Err(format!("cel expression evaluates to {:?}, and must evaluate to bool", other.type_of())),
        }
    }

    /// What Go calls the type, when the expression is nothing but a value.
    pub fn literal_type(&self) -> Option<&'static str> {
        match &self.program.expression().expr {
            Expr::Literal(LiteralValue::String(_)) => Some("string"),
            Expr::Literal(LiteralValue::Int(_)) => Some("int"),
            Expr::Literal(LiteralValue::Boolean(_)) => Some("bool"),
            _ => None,
        }
    }

    /// Variables that the expression names and nobody declares.
    pub fn undeclared(&self, declared: &[&str]) -> Vec<String> {
        let references = self.program.references();
        let mut unknown: Vec<String> =
            references.variables().into_iter().filter(|name| !declared.contains(name)).map(str::to_owned).collect();
        unknown.sort();
        unknown
    }
}

/// What Go's evaluator says.
fn go_text(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::UndeclaredReference(name) => format!("undeclared reference to '{name}' (in container '')"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(CelValue::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        _ => "no such overload".to_owned(),
    }
}

/// JSON as expressions see it: whole numbers have a sign.
pub fn to_cel(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(flag) => CelValue::Bool(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => CelValue::Int(whole),
            (None, float) => CelValue::Float(float.unwrap_or(f64::NAN)),
        },
        Value::String(text) => CelValue::String(Arc::new(text.clone())),
        Value::Array(items) => CelValue::List(Arc::new(items.iter().map(to_cel).collect())),
        Value::Object(object) => {
            let map: HashMap<Key, CelValue> =
                object.iter().map(|(key, value)| (Key::from(key.clone()), to_cel(value))).collect();
            CelValue::Map(Map { map: Arc::new(map) })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn evaluated(text: &str) -> Result<bool, String> {
        let mut scope = Scope::default();
        scope.set("object", &json!({"n": 3, "l": [1], "labels": {"a": "b"}, "none": null}));
        Expression::parse(text).and_then(|expression| expression.is_true(&scope))
    }

    #[test]
    fn expressions_see_objects_as_they_are_written() {
        for text in ["object.n == 3", "has(object.labels.a)", "'a' in object.labels", "object.l.all(i, i > 0)"] {
            assert_eq!(evaluated(text), Ok(true), "{text}");
        }
        assert_eq!(evaluated("has(object.other)"), Ok(false));
    }

    #[test]
    fn errors_are_told_in_go_words() {
        let cases = [
            ("object.other == 1", "no such key: other"),
            ("object.n / 0 == 1", "division by zero"),
            ("object.l[3] == 1", "index out of bounds: 3"),
            ("object.n == nothing", "undeclared reference to 'nothing' (in container '')"),
            ("object.n + 'a' == 'b'", "no such overload"),
        ];
        for (text, wanted) in cases {
            assert_eq!(evaluated(text), Err(wanted.to_owned()), "{text}");
        }
    }
}
