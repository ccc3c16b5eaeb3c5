//! A configuration file as a tree that knows its lines.
//!
//! Problems are told to people with the line they come from, also those that are found long after reading, so every
//! value keeps its line. Reading is bounded: size, depth and what aliases expand to all have a limit.

mod json;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, btree_map};

use kueue_core::field::Path;
use serde_json::{Number, Value};

use super::problem::{Cause, PROBLEMS_MAX, Problem};

/// A ConfigMap holds at most 1 MiB, so a configuration that is larger cannot come from one.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// A configuration is at most nine levels deep.
const DEPTH_MAX: usize = 64;

/// How many values a file may hold once every alias is replaced by what it stands for.
const NODES_MAX: usize = 100_000;

/// How the text was written; Kueue words and orders its complaints accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Yaml,
    Json,
}

/// One file: its value and how it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub syntax: Syntax,
    pub root: Node,
}

/// A value and the line it begins on, counted from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub line: u32,
    pub data: Data,
}

/// What JSON can express; a mapping keeps repeated keys so that they can be reported.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One `key: value` of a mapping, with the line of the key.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: String,
    pub line: u32,
    pub value: Node,
}

impl Document {
    /// Reads JSON if the text begins with `{`, YAML otherwise.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(syntax_error(None, format!("the text is larger than {TEXT_BYTES_MAX} bytes")));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match text.trim_start().starts_with('{') {
            true => Ok(Self { syntax: Syntax::Json, root: json::parse(text)? }),
            false => Ok(Self { syntax: Syntax::Yaml, root: yaml::parse(text)? }),
        }
    }

    /// What a text that says nothing reads as.
    pub fn empty() -> Self {
        Self { syntax: Syntax::Yaml, root: Node { line: 1, data: Data::Null } }
    }

    /// Every key that its mapping has already, in the order of the file.
    pub fn duplicates(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        collect_duplicates(&self.root, &mut Vec::new(), &mut found);
        found.sort_by_key(|problem| problem.line);
        found
    }

    /// The line of a field, or of the closest field around it that the file has.
    pub fn line_of(&self, field: &Path) -> Option<u32> {
        let path = field.to_string();
        let mut rest = path.as_str();
        let mut node = &self.root;
        let mut line = None;
        while let Some((step, tail)) = next_step(rest) {
            let Some((step_line, inner)) = node.child(step) else { break };
            (line, node, rest) = (Some(step_line), inner, tail);
        }
        line
    }
}

impl Node {
    pub fn get(&self, key: &str) -> Option<&Self> {
        match &self.data {
            Data::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            _ => None,
        }
    }

    /// The element or field that a step of a path names, and where it begins.
    fn child(&self, step: &str) -> Option<(u32, &Self)> {
        match &self.data {
            Data::Map(entries) => {
                entries.iter().find(|entry| entry.key == step).map(|entry| (entry.line, &entry.value))
            }
            Data::List(items) => {
                step.parse().ok().and_then(|index: usize| items.get(index)).map(|item| (item.line, item))
            }
            _ => None,
        }
    }

    /// The value alone, to be shown in a message.
    pub fn to_value(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(value) => Value::Bool(*value),
            Data::Number(number) => Value::Number(number.clone()),
            Data::String(text) => Value::String(text.clone()),
            Data::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Data::Map(entries) => {
                Value::Object(entries.iter().map(|entry| (entry.key.clone(), entry.value.to_value())).collect())
            }
        }
    }
}

/// Splits `a`, `.a` or `[a]` off a path.
fn next_step(path: &str) -> Option<(&str, &str)> {
    if let Some(bracketed) = path.strip_prefix('[') {
        return bracketed.split_once(']');
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    let end = path.find(['.', '[']).unwrap_or(path.len());
    (end > 0).then(|| path.split_at(end))
}

/// One step from a value to a value in it.
#[derive(Clone, Copy)]
enum Step<'n> {
    Field(&'n str),
    Index(usize),
}

/// Paths are built only for what is found: the keys on the way may be long.
fn collect_duplicates<'n>(node: &'n Node, steps: &mut Vec<Step<'n>>, found: &mut Vec<Problem>) {
    match &node.data {
        Data::List(items) => {
            for (index, item) in items.iter().enumerate() {
                steps.push(Step::Index(index));
                collect_duplicates(item, steps, found);
                steps.pop();
            }
        }
        Data::Map(entries) => {
            let mut first_lines = BTreeMap::new();
            for entry in entries {
                steps.push(Step::Field(&entry.key));
                collect_duplicates(&entry.value, steps, found);
                match first_lines.entry(entry.key.as_str()) {
                    btree_map::Entry::Vacant(free) => {
                        free.insert(entry.line);
                    }
                    btree_map::Entry::Occupied(first) if found.len() < PROBLEMS_MAX => {
                        let (key, first_line) = (entry.key.clone(), *first.get());
                        let cause = Cause::Duplicate { key, first_line, value_line: entry.value.line };
                        found.push(Problem { line: Some(entry.line), field: path_of(steps), cause });
                    }
                    btree_map::Entry::Occupied(_) => {}
                }
                steps.pop();
            }
        }
        _ => {}
    }
}

fn path_of(steps: &[Step<'_>]) -> Path {
    steps.iter().fold(Path::default(), |path, step| match step {
        Step::Field(name) => path.child(name),
        Step::Index(index) => path.index(*index),
    })
}

fn syntax_error(line: Option<u32>, text: impl Into<String>) -> Problem {
    Problem { line, field: Path::default(), cause: Cause::Syntax(text.into()) }
}

/// Counts values while reading, so that no text can make us hold more than [`NODES_MAX`] of them.
struct Budget {
    nodes_left: usize,
}

impl Budget {
    fn new() -> Self {
        Self { nodes_left: NODES_MAX }
    }

    fn spend(&mut self, nodes: usize, line: u32) -> Result<(), Problem> {
        match self.nodes_left.checked_sub(nodes) {
            Some(left) => {
                self.nodes_left = left;
                Ok(())
            }
            None => Err(syntax_error(Some(line), format!("the text holds more than {NODES_MAX} values"))),
        }
    }
}
