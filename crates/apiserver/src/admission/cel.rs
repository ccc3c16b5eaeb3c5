//! Expressions of webhooks and policies, evaluated by kube-cel, with errors in the words of a real server.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use kube_cel::KubeCelExt as _;
pub use kube_cel::cel::Value as CelValue;
use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, operators};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, Program};

use crate::json::Value;

/// What every scope knows beside its variables. Making it costs more than most expressions do.
static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());

/// An expression that could be read.
pub struct Expression {
    pub text: String,
    program: Program,
}

/// Which parts of values are looked at, by name; all that is inside where nothing more is said.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Reads(BTreeMap<String, Reads>);

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
        Self(FUNCTIONS.new_inner_scope())
    }
}

impl Scope {
    /// Sets a variable that is looked at as told, and never otherwise.
    pub fn set(&mut self, name: &str, value: &Value, reads: &Reads) {
        self.0.add_variable_from_value(name, part_to_cel(value, reads));
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

    /// What the expression looks at.
    pub fn reads(&self) -> Reads {
        Reads::by(self.program.expression())
    }

    /// Variables that the expression names and nobody declares.
    pub fn undeclared(&self, declared: &[&str]) -> Vec<String> {
        let mut unknown = BTreeSet::new();
        find_undeclared(self.program.expression(), declared, &mut unknown);
        unknown.into_iter().collect()
    }
}

/// What an expression is made of, one level down.
fn parts(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(all) => {
            vec![&all.iter_range, &all.accu_init, &all.loop_cond, &all.loop_step, &all.result]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => {
            let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => Some([&entry.key, &entry.value]),
                EntryExpr::StructField(_) => None,
            });
            entries.flatten().collect()
        }
        Expr::Select(select) => vec![&select.operand],
        Expr::Ident(_) | Expr::Struct(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

/// Macros such as `exists` declare variables for what is inside them.
fn find_undeclared(expression: &IdedExpr, declared: &[&str], unknown: &mut BTreeSet<String>) {
    match &expression.expr {
        Expr::Ident(name) if !declared.contains(&name.as_str()) => drop(unknown.insert(name.clone())),
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
        _ => parts(expression).into_iter().for_each(|part| find_undeclared(part, declared, unknown)),
    }
}

impl Reads {
    /// What an expression looks at.
    pub fn by(expression: &IdedExpr) -> Self {
        let mut reads = Self::default();
        find_reads(expression, &mut reads);
        reads
    }

    /// Whether all that is inside is looked at.
    pub fn is_whole(&self) -> bool {
        self.0.is_empty()
    }

    /// The names that are looked at, and what of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.0.iter().map(|(name, inside)| (name.as_str(), inside))
    }

    /// All of these.
    pub fn whole<const N: usize>(names: [&str; N]) -> Self {
        Self(names.into_iter().map(|name| (name.to_owned(), Self::default())).collect())
    }

    /// Only whether there is anything: a field that nothing has.
    fn presence() -> Self {
        Self::whole([""])
    }

    /// What is read of something; nothing when it is not looked at.
    pub fn of(&self, name: &str) -> Option<&Self> {
        self.0.get(name)
    }

    /// Adds what another one reads.
    pub fn join(&mut self, other: Self) {
        for (name, inside) in other.0 {
            match self.0.entry(name) {
                Entry::Vacant(place) => drop(place.insert(inside)),
                Entry::Occupied(mut place) if inside.0.is_empty() => place.get_mut().0.clear(),
                Entry::Occupied(mut place) if !place.get().0.is_empty() => place.get_mut().join(inside),
                // All of it is read already.
                Entry::Occupied(_) => {}
            }
        }
    }
}

/// A variable of a macro may have the name of a declared one: then more is read than necessary, never less.
fn find_reads(expression: &IdedExpr, reads: &mut Reads) {
    let (mut inside, mut place) = (Reads::default(), expression);
    while let Expr::Select(select) = &place.expr {
        inside = Reads(BTreeMap::from([(select.field.clone(), inside)]));
        place = &select.operand;
    }
    match &place.expr {
        Expr::Ident(name) => reads.join(Reads(BTreeMap::from([(name.clone(), inside)]))),
        Expr::Call(call) if is_comparison(&call.func_name) && call.args.iter().any(is_null) => {
            for side in call.args.iter().filter(|side| !is_null(side)) {
                find_reads_inside(side, &Reads::presence(), reads);
            }
        }
        // Of what a macro goes through is read what the macro reads of its variable.
        Expr::Comprehension(all) if all.iter_var2.is_none() && matches!(all.iter_range.expr, Expr::List(_)) => {
            let mut within = Reads::default();
            for part in [&all.loop_cond, &all.loop_step, &all.result] {
                find_reads(part, &mut within);
            }
            let of_each = within.0.remove(&all.iter_var).unwrap_or_default();
            reads.join(within);
            find_reads(&all.accu_init, reads);
            parts(&all.iter_range).into_iter().for_each(|element| find_reads_inside(element, &of_each, reads));
        }
        _ => parts(place).into_iter().for_each(|part| find_reads(part, reads)),
    }
}

/// The same for an expression of whose value only a part is looked at.
fn find_reads_inside(expression: &IdedExpr, part: &Reads, reads: &mut Reads) {
    match &expression.expr {
        Expr::Ident(name) => reads.join(Reads(BTreeMap::from([(name.clone(), part.clone())]))),
        _ => find_reads(expression, reads),
    }
}

fn is_comparison(function: &str) -> bool {
    matches!(function, operators::EQUALS | operators::NOT_EQUALS)
}

fn is_null(expression: &IdedExpr) -> bool {
    matches!(expression.expr, Expr::Literal(LiteralValue::Null))
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

/// The part of an object that is looked at. What is looked into but no object stays as it is, for its error.
fn part_to_cel(value: &Value, reads: &Reads) -> CelValue {
    match value {
        Value::Object(object) if !reads.0.is_empty() => {
            let part = |(name, inside): (&String, &Reads)| {
                object.get(name).map(|value| (Key::from(name.as_str()), part_to_cel(value, inside)))
            };
            CelValue::Map(Map { map: Arc::new(reads.0.iter().filter_map(part).collect()) })
        }
        _ => to_cel(value),
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
        let expression = Expression::parse(text)?;
        let mut scope = Scope::default();
        if let Some(reads) = expression.reads().of("object") {
            scope.set("object", &json!({"n": 3, "l": [1], "labels": {"a": "b"}, "none": null}), reads);
        }
        expression.is_true(&scope)
    }

    #[test]
    fn expressions_see_objects_as_they_are_written() {
        for text in ["object.n == 3", "has(object.labels.a)", "'a' in object.labels", "object.l.all(i, i > 0)"] {
            assert_eq!(evaluated(text), Ok(true), "{text}");
        }
        assert_eq!(evaluated("has(object.other)"), Ok(false));
    }

    #[test]
    fn only_what_is_looked_at_is_read() {
        for (text, wanted) in [
            ("has(object.metadata.labels) && 'a' in object.metadata.labels", "object{metadata{labels{}}}"),
            ("object.a.b == object.a && request.operation != 'x'", "object{a{}}request{operation{}}"),
            ("object.a == object.a.b", "object{a{}}"),
            ("object.l.exists(i, i.n == object.n)", "@result{}i{n{}}object{l{}n{}}"),
            ("object.a['b'].c == 1 && size(oldObject) > 0", "object{a{}}oldObject{}"),
            ("[object.a, {'k': object.b}].size() == 2", "object{a{}b{}}"),
            ("!has(object.metadata.labels) || object == null", "object{{}metadata{labels{}}}"),
            ("object != null", "object{{}}"),
            ("object == null || object == oldObject", "object{}oldObject{}"),
            (
                "[object, oldObject].exists(o, o != null && has(o.a.b) && o.c == n)",
                "@result{}n{}object{{}a{b{}}c{}}oldObject{{}a{b{}}c{}}",
            ),
            ("[object.a, {'k': object.b}].all(o, o.c.exists(p, p == o.d))", "@result{}object{a{}b{}}p{}"),
            ("[object].exists(o, true) && [oldObject].all(o, o == 1)", "@result{}object{}oldObject{}"),
        ] {
            fn told(reads: &Reads) -> String {
                reads.0.iter().map(|(name, inside)| format!("{name}{{{}}}", told(inside))).collect()
            }
            assert_eq!(told(&Expression::parse(text).unwrap().reads()), wanted, "{text}");
        }
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
