//! Expressions of webhooks and policies, evaluated by kube-cel, with errors in the words of a real server.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use kube_cel::KubeCelExt as _;
pub use kube_cel::cel::Value as CelValue;
use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, Program};

use crate::json::Value;

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
        let mut unknown = BTreeSet::new();
        find_undeclared(self.program.expression(), declared, &mut unknown);
        unknown.into_iter().collect()
    }
}

/// Macros such as `exists` declare variables for what is inside them.
fn find_undeclared(expression: &IdedExpr, declared: &[&str], unknown: &mut BTreeSet<String>) {
    match &expression.expr {
        Expr::Ident(name) if !declared.contains(&name.as_str()) => drop(unknown.insert(name.clone())),
        Expr::Call(call) => {
            call.target.iter().for_each(|target| find_undeclared(target, declared, unknown));
            call.args.iter().for_each(|argument| find_undeclared(argument, declared, unknown));
        }
        Expr::Comprehension(all) => {
            find_undeclared(&all.iter_range, declared, unknown);
            find_undeclared(&all.accu_init, declared, unknown);
            let mut inside = declared.to_vec();
            inside.extend([all.iter_var.as_str(), all.accu_var.as_str()]);
            inside.extend(all.iter_var2.as_deref());
            for part in [&all.loop_cond, &all.loop_step, &all.result] {
                find_undeclared(part, &inside, unknown);
            }
        }
        Expr::List(list) => list.elements.iter().for_each(|element| find_undeclared(element, declared, unknown)),
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    find_undeclared(&entry.key, declared, unknown);
                    find_undeclared(&entry.value, declared, unknown);
                }
            }
        }
        Expr::Select(select) => find_undeclared(&select.operand, declared, unknown),
        Expr::Ident(_) | Expr::Struct(_) | Expr::Literal(_) | Expr::Unspecified => {}
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
                object.iter().map(|(key, value)| (Key::from(key.as_str()), to_cel(value))).collect();
            CelValue::Map(Map { map: Arc::new(map) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

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
    fn variables_are_known_inside_what_declares_them() {
        for (text, wanted) in [
            ("object.l.exists(o, o > n)", vec!["n"]),
            ("[object, old].all(o, has(o.a) && o.b.exists(p, p == o))", vec!["old"]),
            ("object.l.map(o, o).size() > 0 && o == 1", vec!["o"]),
            ("{'a': object}.a == x", vec!["x"]),
        ] {
            assert_eq!(Expression::parse(text).unwrap().undeclared(&["object"]), wanted, "{text}");
        }
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
