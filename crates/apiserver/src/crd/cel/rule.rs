//! One rule: compiled, asked, and told as the API server tells it.

use kube_cel::KubeCelExt as _;
use kube_cel::cel::common::ast::{Expr, IdedExpr, operators};
use kube_cel::cel::objects::{KeyRef, OptionalValue};
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, ExecutionError, Value as Cel};
use kueue_core::field::ErrorKind;
use std::sync::Arc;

use crate::admission::cel::Reads;
use crate::crd::definition::FieldPath;
use crate::json::Value;

/// Longest message that an expression may make.
const MESSAGE_BYTES_MAX: usize = 5 << 10;
/// Our own name for `a.?b`, which the interpreter refuses where there is no `b`.
const OPT_SELECT: &str = "@optSelect";

#[derive(Debug)]
pub struct Rule {
    /// The expression, or why there is none.
    program: Result<IdedExpr, String>,
    /// What it and its message look at.
    reads: Reads,
    pub uses_old_self: bool,
    has_optional_old_self: bool,
    message: Option<String>,
    message_expression: Option<IdedExpr>,
    /// As it is called where something goes wrong: its message or its text.
    name: String,
    kind: ErrorKind,
    field_path: Option<String>,
}

/// What a rule has against a value.
#[derive(Debug)]
pub struct Mistake {
    pub kind: ErrorKind,
    /// Where below the value.
    pub at: Option<String>,
    pub detail: String,
    /// Whether the rule was answered with no, and not with an error.
    pub is_verdict: bool,
}

thread_local! {
    /// All functions there are; variables are added in a scope of their own.
    static FUNCTIONS: Context<'static> = {
        let mut context = Context::default().with_all();
        context.add_function(OPT_SELECT, opt_select);
        context.add_function("type", |value: Cel| -> Result<Cel, ExecutionError> { Ok(type_named(type_name(&value))) });
        for name in TYPE_NAMES {
            context.add_variable_from_value(name, type_named(name));
        }
        context
    };
}

/// Types that a rule can name.
const TYPE_NAMES: [&str; 9] = ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "uint"];

/// A type as a value. It is no text that a rule could write.
fn type_named(name: &str) -> Cel {
    Cel::String(Arc::new(format!("\u{0}{name}")))
}

fn type_name(value: &Cel) -> &'static str {
    match value {
        Cel::Bool(_) => "bool",
        Cel::Bytes(_) => "bytes",
        Cel::Float(_) => "double",
        Cel::Int(_) => "int",
        Cel::List(_) => "list",
        Cel::Map(_) => "map",
        Cel::Null => "null_type",
        Cel::String(_) => "string",
        Cel::UInt(_) => "uint",
        _ => "dyn",
    }
}

/// The field of an object, if it is there.
#[expect(clippy::needless_pass_by_value, reason = "the interpreter calls functions with values")]
fn opt_select(object: Cel, name: Arc<String>) -> Result<Cel, ExecutionError> {
    let inner = match &object {
        Cel::Opaque(opaque) => match opaque.downcast_ref::<OptionalValue>().map(OptionalValue::value) {
            Some(inside) => inside,
            None => Some(&object),
        },
        other => Some(other),
    };
    let found = match inner {
        Some(Cel::Map(map)) => map.get(&KeyRef::String(&name)).cloned(),
        _ => None,
    };
    Ok(Cel::Opaque(Arc::new(found.map_or_else(OptionalValue::none, OptionalValue::of))))
}

/// Reads an expression; an error is what a real server says of its syntax.
pub fn parse(text: &str) -> Result<IdedExpr, String> {
    let mut parsed = Parser::new()
        .enable_optional_syntax(true)
        .parse(text)
        .map_err(|errors| errors.to_string().replace("\n| ", "\n | "))?;
    rename(&mut parsed);
    Ok(parsed)
}

/// Gives optional selections our own function.
fn rename(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(call) => {
            if call.func_name == operators::OPT_SELECT {
                OPT_SELECT.clone_into(&mut call.func_name);
            }
            call.target.iter_mut().for_each(|target| rename(target));
            call.args.iter_mut().for_each(rename);
        }
        Expr::Comprehension(all) => {
            for part in
                [&mut all.iter_range, &mut all.accu_init, &mut all.loop_cond, &mut all.loop_step, &mut all.result]
            {
                rename(part);
            }
        }
        Expr::List(list) => list.elements.iter_mut().for_each(rename),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let kube_cel::cel::common::ast::EntryExpr::MapEntry(entry) = &mut entry.expr {
                    rename(&mut entry.key);
                    rename(&mut entry.value);
                }
            }
        }
        Expr::Select(select) => rename(&mut select.operand),
        Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}

/// Evaluates an expression with variables.
pub fn evaluate(program: &IdedExpr, variables: &[(&str, Cel)]) -> Result<Cel, ExecutionError> {
    FUNCTIONS.with(|functions| {
        let mut scope = functions.new_inner_scope();
        for (name, value) in variables {
            scope.add_variable_from_value(*name, value.clone());
        }
        Cel::resolve(program, &scope)
    })
}

impl Rule {
    pub fn compile(source: &Value, schema: &Value) -> Self {
        let text = |name: &str| source[name].as_str().unwrap_or_default().trim().to_owned();
        let program = parse(&text("rule"));
        let given = |name: &str| Some(text(name)).filter(|text| !text.is_empty());
        let (rule, message) = (text("rule"), given("message"));
        let message_expression = given("messageExpression").and_then(|text| parse(&text).ok());
        let mut reads = Reads::default();
        program.iter().chain(&message_expression).for_each(|expression| reads.join(Reads::by(expression)));
        Self {
            uses_old_self: program.as_ref().is_ok_and(|program| program.references().has_variable("oldSelf")),
            program,
            reads,
            has_optional_old_self: source["optionalOldSelf"] == true,
            message_expression,
            name: message.clone().unwrap_or(rule),
            message,
            kind: match source["reason"].as_str() {
                Some("FieldValueForbidden") => ErrorKind::Forbidden,
                Some("FieldValueRequired") => ErrorKind::Required,
                Some("FieldValueDuplicate") => ErrorKind::Duplicate,
                _ => ErrorKind::Invalid,
            },
            field_path: given("fieldPath")
                .and_then(|path| FieldPath::parse(&path, schema, true).ok())
                .map(|found| found.path),
        }
    }

    /// What the rule has against a value, if anything. `part` makes what it looks at of a value.
    pub fn ask(&self, own: &Value, before: Option<&Value>, part: impl Fn(&Value, &Reads) -> Cel) -> Option<Mistake> {
        let failed = |detail: String| Mistake { kind: ErrorKind::Invalid, at: None, detail, is_verdict: false };
        let program = match &self.program {
            Ok(program) => program,
            Err(why) => return Some(failed(format!("rule compile error: compilation failed: {why}"))),
        };
        if self.uses_old_self && before.is_none() && !self.has_optional_old_self {
            return None;
        }
        let mut variables = Vec::new();
        if let Some(reads) = self.reads.of("self") {
            variables.push(("self", part(own, reads)));
        }
        if let Some(reads) = self.reads.of("oldSelf") {
            let before = before.map(|before| part(before, reads));
            if self.has_optional_old_self {
                let optional = before.map_or_else(OptionalValue::none, OptionalValue::of);
                variables.push(("oldSelf", Cel::Opaque(Arc::new(optional))));
            } else if let Some(before) = before {
                variables.push(("oldSelf", before));
            }
        }
        match evaluate(program, &variables) {
            Ok(Cel::Bool(true)) => None,
            Ok(_) => Some(Mistake {
                kind: self.kind,
                at: self.field_path.clone(),
                detail: if self.kind == ErrorKind::Duplicate { String::new() } else { self.verdict(&variables) },
                is_verdict: true,
            }),
            Err(error) => Some(failed(self.trouble(&error))),
        }
    }

    fn verdict(&self, variables: &[(&str, Cel)]) -> String {
        let made = self.message_expression.as_ref().and_then(|program| match evaluate(program, variables) {
            Ok(Cel::String(text)) => Some(text.trim().to_owned()),
            _ => None,
        });
        let is_usable = |text: &String| !text.is_empty() && text.len() <= MESSAGE_BYTES_MAX && !text.contains('\n');
        let said = made.filter(is_usable).or_else(|| self.message.clone());
        said.unwrap_or_else(|| format!("failed rule: {}", self.name))
    }

    /// What a real server says when a rule cannot be answered.
    fn trouble(&self, error: &ExecutionError) -> String {
        let what = match error {
            ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
            ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
            ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
            ExecutionError::Overflow(..) => "integer overflow".to_owned(),
            ExecutionError::IndexOutOfBounds(Cel::Int(index)) => format!("index out of bounds: {index}"),
            ExecutionError::FunctionError { message, .. } => message.clone(),
            ExecutionError::NoSuchOverload
            | ExecutionError::UnsupportedBinaryOperator(..)
            | ExecutionError::UnsupportedUnaryOperator(..)
            | ExecutionError::ValuesNotComparable(..) => {
                return format!(
                    "'no such overload': call arguments did not match a supported operator, function or macro signature \
                     for rule: {}",
                    self.name
                );
            }
            other => other.to_string(),
        };
        format!("{what} evaluating rule: {}", self.name)
    }
}
