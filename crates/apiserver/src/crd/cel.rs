//! The rules of a CRD: `x-kubernetes-validations`, evaluated by the `cel` crate with Kubernetes' functions.
//!
//! Rules stand at nodes of the schema. A rule that looks at `oldSelf` is asked only where the value had a counterpart
//! before; a value that has not changed does not block what changed elsewhere.

use std::collections::BTreeMap;

use kueue_core::field::{Error, ErrorKind, Errors, Path};

use crate::admission::cel::Reads;
use crate::json::Value;

mod check;
mod cost;
pub mod device;
mod functions;
mod parse;
mod rule;
mod types;
mod value;

use rule::Rule;
pub use types::Types;
use value::Shape;

const NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

/// The compiled rules of one version; nothing when it has none.
#[derive(Debug)]
pub struct Rules(Option<Node>);

/// The rules at a node of the schema, and below it where there are any.
#[derive(Debug)]
struct Node {
    rules: Vec<Rule>,
    shape: Shape,
    /// Whether messages show the value: objects and lists are not shown.
    shows_value: bool,
    fields: BTreeMap<String, Node>,
    others: Option<Box<Node>>,
    items: Option<Box<Node>>,
    /// What tells elements of the list apart.
    keys: Vec<String>,
}

/// What a custom resource says it is, which is not stored with it.
#[derive(Debug, Clone, Copy)]
pub struct TypeOf<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
}

impl Rules {
    /// Compiles the rules of a schema that has any.
    pub fn compile(schema: &Value) -> Self {
        Self(Node::compile(schema, true))
    }

    /// Adds the rules' mistakes to those of the schema. Rules look only at what the schema accepts.
    pub fn judge(&self, value: &Value, old: Option<&Value>, of: TypeOf<'_>, mut errors: Errors) -> Errors {
        let Some(root) = &self.0 else { return errors };
        if !errors.is_empty() {
            errors.push(Error {
                kind: ErrorKind::Invalid,
                field: Path::new("<nil>"),
                value: Some(Value::Null.into()),
                detail: NOT_CHECKED.into(),
            });
            return errors;
        }
        root.judge(Seen { value, old, is_parent_same: false }, Some(of), &Path::default(), &mut errors);
        errors
    }

    /// What the rules have to say of a default: as a value that stays and as one that is new.
    pub fn judge_default(&self, default: &Value) -> Errors {
        let mut errors = Errors::new();
        if let Some(root) = &self.0 {
            let seen = Seen { value: default, old: None, is_parent_same: false };
            root.judge(seen, None, &Path::default(), &mut errors);
            if errors.is_empty() {
                root.judge(Seen { old: Some(default), ..seen }, None, &Path::default(), &mut errors);
            }
        }
        errors
    }
}

/// A value, what stood there before, and whether the nearest value above that can be compared is as it was.
#[derive(Debug, Clone, Copy)]
struct Seen<'v> {
    value: &'v Value,
    old: Option<&'v Value>,
    is_parent_same: bool,
}

impl Node {
    fn compile(schema: &Value, is_root: bool) -> Option<Self> {
        let below = |schema: &Value| Node::compile(schema, schema["x-kubernetes-embedded-resource"] == true);
        let properties = schema["properties"].as_object().into_iter().flatten();
        let fields: BTreeMap<String, Node> =
            properties.filter_map(|(name, field)| Some((name.to_string(), below(field)?))).collect();
        let others = schema.get("additionalProperties").filter(|others| others.is_object()).and_then(below);
        let items = schema.get("items").filter(|items| items.is_object()).and_then(below);
        let listed = schema["x-kubernetes-validations"].as_array().map(Vec::as_slice).unwrap_or_default();
        if listed.is_empty() && fields.is_empty() && others.is_none() && items.is_none() {
            return None;
        }
        let keys = schema["x-kubernetes-list-map-keys"].as_array().map(Vec::as_slice).unwrap_or_default();
        Some(Self {
            rules: listed.iter().map(|rule| Rule::compile(rule, schema)).collect(),
            shape: if listed.is_empty() { Shape::Plain } else { Shape::of(schema, is_root) },
            shows_value: !["object", "array"].contains(&schema["type"].as_str().unwrap_or_default()),
            fields,
            others: others.map(Box::new),
            items: items.map(Box::new),
            keys: keys.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    }

    fn judge(&self, seen: Seen<'_>, of: Option<TypeOf<'_>>, path: &Path, errors: &mut Errors) {
        if seen.value.is_null() {
            return;
        }
        let old = seen.old.filter(|old| !old.is_null());
        let is_same = old.map_or(seen.is_parent_same, |old| old == seen.value);
        self.judge_here(seen.value, old, is_same, of, path, errors);
        let below = |value, old| Seen { value, old, is_parent_same: is_same };
        match seen.value {
            Value::Object(object) => {
                for (name, value) in object {
                    let old = old.and_then(|old| old.get(name));
                    if let Some(others) = &self.others {
                        others.judge(below(value, old), None, &path.key(name), errors);
                    }
                    if let Some(field) = self.fields.get(name.as_str()) {
                        field.judge(below(value, old), None, &path.child(name), errors);
                    }
                }
            }
            Value::Array(list) => {
                let Some(items) = &self.items else { return };
                for (index, value) in list.iter().enumerate() {
                    let old = old.and_then(|old| self.counterpart(old, value));
                    items.judge(below(value, old), None, &path.index(index), errors);
                }
            }
            _ => {}
        }
    }

    fn counterpart<'v>(&self, old: &'v Value, item: &Value) -> Option<&'v Value> {
        let is_it = |other: &&Value| self.keys.iter().all(|key| other.get(key) == item.get(key));
        old.as_array().filter(|_| !self.keys.is_empty())?.iter().find(is_it)
    }

    fn judge_here(
        &self,
        value: &Value,
        old: Option<&Value>,
        is_same: bool,
        of: Option<TypeOf<'_>>,
        path: &Path,
        errors: &mut Errors,
    ) {
        if self.rules.is_empty() {
            return;
        }
        let part = |value: &Value, reads: &Reads| {
            let mut converted = self.shape.convert_part(value, reads);
            if let Some(of) = of {
                value::insert(&mut converted, &[("apiVersion", of.api_version), ("kind", of.kind)]);
            }
            converted
        };
        for rule in &self.rules {
            let Some(mistake) = rule.ask(value, old, part) else { continue };
            if is_same && !rule.uses_old_self && mistake.is_verdict {
                continue;
            }
            let at = mistake.at.as_ref().map_or_else(|| path.clone(), |inside| path.child(inside));
            let field = if at.to_string().is_empty() { Path::new("<nil>") } else { at };
            let shown = match mistake.is_verdict {
                true => self.shows_value.then(|| value.into()),
                false => Some(self.shape.type_name().into()),
            };
            errors.push(Error { kind: mistake.kind, field, value: shown, detail: mistake.detail });
        }
    }
}

#[cfg(test)]
mod tests;
