//! Whether an expression makes sense for the types of what it looks at.

use std::collections::BTreeMap;

use super::functions::{FUNCTIONS, Overload};
use super::parse::{Kind, Node};
use super::types::Type;

/// The name that a scope has where `cel.bind` may be called.
pub const BIND: &str = "cel.bind";

/// The type of an expression, or its mistakes as a compiler prints them.
pub fn check(tree: &Node, text: &str, variables: &[(&str, Type)]) -> Result<Type, String> {
    let scope = variables.iter().map(|(name, kind)| ((*name).to_owned(), kind.clone())).collect();
    let mut checker = Checker { text, scope, mistakes: Vec::new() };
    let found = checker.node(tree);
    if checker.mistakes.is_empty() { Ok(found) } else { Err(checker.mistakes.join("\n")) }
}

struct Checker<'t> {
    text: &'t str,
    scope: Vec<(String, Type)>,
    mistakes: Vec<String>,
}

impl Checker<'_> {
    /// Tells a mistake at a place, with the line and a mark below it.
    fn say(&mut self, place: usize, what: &str) -> Type {
        let before: String = self.text.chars().take(place).collect();
        let line = before.matches('\n').count();
        let column = before.chars().rev().take_while(|char| *char != '\n').count();
        let source = self.text.lines().nth(line).unwrap_or_default();
        let (line, mark) = (line + 1, ".".repeat(column));
        self.mistakes.push(format!("ERROR: <input>:{line}:{}: {what}\n | {source}\n | {mark}^", column + 1));
        Type::Dyn
    }

    fn node(&mut self, node: &Node) -> Type {
        match &node.kind {
            Kind::Ident(name) => self.ident(node.place, name),
            Kind::Null => Type::Named("null"),
            Kind::Bool => Type::BOOL,
            Kind::Int => Type::INT,
            Kind::UInt => Type::Named("uint"),
            Kind::Double => Type::Named("double"),
            Kind::Text => Type::STRING,
            Kind::Bytes => Type::Named("bytes"),
            Kind::List(items) => {
                let kinds = items.iter().map(|item| self.node(item)).collect();
                Type::List(Box::new(joined(kinds)))
            }
            Kind::Map(entries) => {
                let keys = entries.iter().map(|(key, _)| self.node(key)).collect();
                let values = entries.iter().map(|(_, value)| self.node(value)).collect();
                Type::Map(Box::new(joined(keys)), Box::new(joined(values)))
            }
            Kind::Select { operand, field, is_optional } => {
                let of = self.node(operand);
                let found = self.select(node.place, &of, field);
                if *is_optional { optional(found) } else { found }
            }
            Kind::Index { operand, index, is_optional } => self.index(node.place, operand, index, *is_optional),
            Kind::Call { target, name, args } => self.call(node.place, target.as_deref(), name, args),
            Kind::Operator(name, args) => {
                let kinds: Vec<Type> = args.iter().map(|arg| self.node(arg)).collect();
                self.operator(node.place, name, &kinds)
            }
            Kind::Conditional(parts) => {
                let kinds: Vec<Type> = parts.iter().map(|part| self.node(part)).collect();
                self.overload(node.place, "_?_:_", None, &kinds)
            }
        }
    }

    fn ident(&mut self, place: usize, name: &str) -> Type {
        const TYPES: [&str; 10] =
            ["int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"];
        if let Some((_, kind)) = self.scope.iter().rev().find(|(known, _)| known == name) {
            return kind.clone();
        }
        if TYPES.contains(&name) {
            return Type::Named("type");
        }
        self.say(place, &format!("undeclared reference to '{name}' (in container '')"))
    }

    fn select(&mut self, place: usize, of: &Type, field: &str) -> Type {
        match of {
            Type::Object(fields) => match fields.get(field) {
                Some(found) => found.clone(),
                None => self.say(place, &format!("undefined field '{field}'")),
            },
            Type::Map(_, value) => (**value).clone(),
            Type::Optional(inner) => optional(self.select(place, inner, field)),
            Type::Dyn | Type::Variable(_) => Type::Dyn,
            other => self.say(place, &format!("type '{other}' does not support field selection")),
        }
    }

    fn index(&mut self, place: usize, operand: &Node, index: &Node, is_optional: bool) -> Type {
        let (of, by) = (self.node(operand), self.node(index));
        let (of, is_optional) = match of {
            Type::Optional(inner) => (*inner, true),
            other => (other, is_optional),
        };
        let found = self.overload(place, "_[_]", None, &[of, by]);
        if is_optional { optional(found) } else { found }
    }

    fn operator(&mut self, place: usize, name: &str, kinds: &[Type]) -> Type {
        if ["_<_", "_<=_", "_>_", "_>=_"].contains(&name) {
            return self.comparison(place, name, kinds);
        }
        self.overload(place, name, None, kinds)
    }

    /// Numbers of all types compare with each other; else both sides are alike.
    fn comparison(&mut self, place: usize, name: &str, kinds: &[Type]) -> Type {
        const NUMBERS: [&str; 3] = ["int", "uint", "double"];
        const OTHERS: [&str; 5] = ["bool", "string", "bytes", "timestamp", "duration"];
        let fits = match kinds {
            [Type::Dyn, Type::Dyn] => true,
            [Type::Named(one), Type::Dyn] | [Type::Dyn, Type::Named(one)] => {
                NUMBERS.contains(one) || OTHERS.contains(one)
            }
            [Type::Named(left), Type::Named(right)] => {
                NUMBERS.contains(left) && NUMBERS.contains(right) || left == right && OTHERS.contains(left)
            }
            _ => false,
        };
        if fits { Type::BOOL } else { self.unmatched(place, name, None, kinds) }
    }

    fn call(&mut self, place: usize, target: Option<&Node>, name: &str, args: &[Node]) -> Type {
        if let Some(found) = self.macro_call(place, target, name, args) {
            return found;
        }
        if let Some(Node { kind: Kind::Ident(library), .. }) = target {
            let qualified = format!("{library}.{name}");
            let is_variable = self.scope.iter().any(|(known, _)| known == library);
            if !is_variable && FUNCTIONS.contains_key(&qualified) {
                let kinds: Vec<Type> = args.iter().map(|arg| self.node(arg)).collect();
                // These take as many numbers as there are.
                if ["math.greatest", "math.least"].contains(&qualified.as_str()) {
                    return joined(kinds);
                }
                return self.overload(place, &qualified, None, &kinds);
            }
        }
        let of = target.map(|target| self.node(target));
        let kinds: Vec<Type> = args.iter().map(|arg| self.node(arg)).collect();
        if !FUNCTIONS.contains_key(name) {
            return self.say(place, &format!("undeclared reference to '{name}' (in container '')"));
        }
        self.overload(place, name, of.as_ref(), &kinds)
    }

    /// Macros bring names of their own.
    fn macro_call(&mut self, place: usize, target: Option<&Node>, name: &str, args: &[Node]) -> Option<Type> {
        match (target, name, args) {
            (None, "has", [Node { kind: Kind::Select { .. }, .. }]) => {
                self.node(&args[0]);
                Some(Type::BOOL)
            }
            (Some(Node { kind: Kind::Ident(library), .. }), "bind", [var, value, part])
                if library == "cel" && self.scope.iter().any(|(known, _)| known == BIND) =>
            {
                let bound = self.node(value);
                self.with(&[(var, bound)], part)
            }
            (Some(target), "all" | "exists" | "exists_one" | "existsOne" | "filter", [var, predicate]) => {
                let range = self.node(target);
                let element = self.element(target.place, &range);
                let found = self.with(&[(var, element.clone())], predicate)?;
                let operator = if name == "exists" { "_||_" } else { "_&&_" };
                self.overload(place, operator, None, &[Type::BOOL, found]);
                Some(if name == "filter" { Type::List(Box::new(element)) } else { Type::BOOL })
            }
            (Some(target), "all" | "exists" | "exists_one" | "existsOne", [first, second, predicate]) => {
                let range = self.node(target);
                let (key, value) = match &range {
                    Type::Map(key, value) => ((**key).clone(), (**value).clone()),
                    other => (Type::INT, self.element(target.place, other)),
                };
                let found = self.with(&[(first, key), (second, value)], predicate)?;
                self.overload(place, "_&&_", None, &[Type::BOOL, found]);
                Some(Type::BOOL)
            }
            (Some(target), "map", [var, rest @ ..]) if (1..=2).contains(&rest.len()) => {
                let range = self.node(target);
                let element = self.element(target.place, &range);
                let mut found = Type::Dyn;
                for part in rest {
                    found = self.with(&[(var, element.clone())], part)?;
                }
                Some(Type::List(Box::new(found)))
            }
            (Some(target), "optMap" | "optFlatMap", [var, part]) => {
                let inner = match self.node(target) {
                    Type::Optional(inner) => *inner,
                    _ => Type::Dyn,
                };
                let found = self.with(&[(var, inner)], part)?;
                Some(if name == "optMap" { optional(found) } else { found })
            }
            _ => None,
        }
    }

    /// The type of an expression in which some names stand for what a macro gives them.
    fn with(&mut self, names: &[(&Node, Type)], part: &Node) -> Option<Type> {
        let outer = self.scope.len();
        for (name, kind) in names {
            let Kind::Ident(name) = &name.kind else { return None };
            self.scope.push((name.clone(), kind.clone()));
        }
        let found = self.node(part);
        self.scope.truncate(outer);
        Some(found)
    }

    fn element(&mut self, place: usize, range: &Type) -> Type {
        match range {
            Type::List(element) => (**element).clone(),
            Type::Map(key, _) => (**key).clone(),
            Type::Dyn | Type::Variable(_) => Type::Dyn,
            other => {
                let what = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.say(place, &what)
            }
        }
    }

    /// The result of the first way to call a function that fits; several make it unknown.
    fn overload(&mut self, place: usize, name: &str, target: Option<&Type>, args: &[Type]) -> Type {
        let mut results: Vec<Type> = Vec::new();
        for overload in FUNCTIONS.get(name).into_iter().flatten() {
            if let Some(result) = result_of(overload, target, args)
                && !results.contains(&result)
            {
                results.push(result);
            }
        }
        match results.as_slice() {
            [] => self.unmatched(place, name, target, args),
            [only] => only.clone(),
            _ => Type::Dyn,
        }
    }

    fn unmatched(&mut self, place: usize, name: &str, target: Option<&Type>, args: &[Type]) -> Type {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let target = target.map(|target| format!("{target}.")).unwrap_or_default();
        let what = format!("found no matching overload for '{name}' applied to '{target}({})'", args.join(", "));
        self.say(place, &what)
    }
}

/// What is optional once is not so twice.
fn optional(kind: Type) -> Type {
    match kind {
        Type::Optional(_) => kind,
        other => Type::Optional(Box::new(other)),
    }
}

/// One type for several: theirs if they are alike.
fn joined(kinds: Vec<Type>) -> Type {
    let mut kinds = kinds.into_iter();
    match kinds.next() {
        Some(first) => {
            if kinds.all(|kind| kind == first) {
                first
            } else {
                Type::Dyn
            }
        }
        None => Type::Dyn,
    }
}

fn result_of(overload: &Overload, target: Option<&Type>, args: &[Type]) -> Option<Type> {
    let mut bound = BTreeMap::new();
    match (&overload.target, target) {
        (None, None) => {}
        (Some(wanted), Some(given)) if fits(wanted, given, &mut bound) => {}
        _ => return None,
    }
    let all = overload.params.len() == args.len();
    let all = all && overload.params.iter().zip(args).all(|(wanted, given)| fits(wanted, given, &mut bound));
    all.then(|| settled(&overload.result, &bound))
}

/// Whether a type may stand where another is wanted; what variables stand for is noted on the way.
fn fits(wanted: &Type, given: &Type, bound: &mut BTreeMap<char, Type>) -> bool {
    match (wanted, given) {
        (Type::Variable(letter), given) => match bound.get(letter).cloned() {
            None | Some(Type::Dyn) => {
                bound.insert(*letter, given.clone());
                true
            }
            Some(known) => fits(&known, given, bound) || fits(given, &known, bound),
        },
        (Type::Dyn, _)
        | (_, Type::Dyn | Type::Variable(_))
        | (Type::Object(_) | Type::Optional(_), Type::Named("null")) => true,
        (Type::Named(one), Type::Named(other)) => {
            one == other || *other == "null" && ["timestamp", "duration"].contains(one)
        }
        (Type::List(one), Type::List(other)) | (Type::Optional(one), Type::Optional(other)) => fits(one, other, bound),
        (Type::Map(key, value), Type::Map(other_key, other)) => {
            fits(key, other_key, bound) && fits(value, other, bound)
        }
        (Type::Object(one), Type::Object(other)) => one == other,
        _ => false,
    }
}

fn settled(kind: &Type, bound: &BTreeMap<char, Type>) -> Type {
    match kind {
        Type::Variable(letter) => bound.get(letter).cloned().unwrap_or(Type::Dyn),
        Type::List(inner) => Type::List(Box::new(settled(inner, bound))),
        Type::Optional(inner) => Type::Optional(Box::new(settled(inner, bound))),
        Type::Map(key, value) => Type::Map(Box::new(settled(key, bound)), Box::new(settled(value, bound))),
        other => other.clone(),
    }
}
