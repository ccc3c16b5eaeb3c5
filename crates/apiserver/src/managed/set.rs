//! Sets of fields: who owns what.
//!
//! A set is a tree of steps. It is shared by all objects that have it: copying one costs nothing, and what would not
//! change a set does not copy it. As `fieldsV1` it is written once.

use std::sync::{Arc, OnceLock};

use crate::json::{Map, Value};
use crate::schema::Schema;

mod node;

pub use node::{Node, Step};

#[derive(Debug, Clone, Default)]
pub struct FieldSet(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Never belongs to the set itself.
    root: Node,
    json: OnceLock<Box<[u8]>>,
}

impl Clone for Shared {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), json: OnceLock::new() }
    }
}

impl PartialEq for FieldSet {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.root() == other.root()
    }
}

/// The name of a field that a step stands for.
pub fn field_name(step: &str) -> Option<&str> {
    step.strip_prefix("f:")
}

impl FieldSet {
    pub fn of(mut root: Node) -> Self {
        root.is_member = false;
        Self(Arc::new(Shared { root, json: OnceLock::new() }))
    }

    /// Reads `fieldsV1`; nothing when it is no set of fields.
    pub fn parse(value: &Value) -> Option<Self> {
        Node::parse(value.as_object()?).map(Self::of)
    }

    /// The set as `fieldsV1` writes it.
    pub fn json(&self) -> &[u8] {
        self.0.json.get_or_init(|| {
            let mut json = Vec::with_capacity(1024);
            self.root().write(&mut json);
            json.as_slice().into()
        })
    }

    #[cfg(test)]
    pub fn to_value(&self) -> Value {
        serde_json::from_slice(self.json()).unwrap()
    }

    pub fn root(&self) -> &Node {
        &self.0.root
    }

    fn root_mut(&mut self) -> &mut Node {
        let shared = Arc::make_mut(&mut self.0);
        shared.json.take();
        &mut shared.root
    }

    pub fn is_empty(&self) -> bool {
        self.root().is_empty()
    }

    pub fn insert(&mut self, path: &[Step]) {
        let place = path.iter().fold(self.root_mut(), |node, step| node.child_mut(step));
        place.is_member = true;
    }

    pub fn unite(&mut self, other: &Self) {
        if self.is_empty() {
            *self = other.clone();
        } else if !self.root().covers(other.root()) {
            self.root_mut().unite(other.root());
        }
    }

    /// Takes away what is there, path by path.
    pub fn subtract(&mut self, other: &Self) {
        if !self.root().is_disjoint(other.root()) {
            self.root_mut().subtract(other.root());
        }
    }

    /// Takes away what is there and everything below it.
    pub fn subtract_below(&mut self, other: &Self) {
        if !self.is_empty() && !other.is_empty() {
            self.root_mut().subtract_below(other.root());
        }
    }

    #[must_use]
    pub fn union(mut self, other: &Self) -> Self {
        self.unite(other);
        self
    }

    #[must_use]
    pub fn difference(mut self, other: &Self) -> Self {
        self.subtract(other);
        self
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self::of(self.root().intersection(other.root()))
    }

    /// The set with every declared field on the way to a member, so that what is left empty can go as well.
    #[must_use]
    pub fn with_named_fields(&self, schema: &Schema) -> Self {
        let mut root = self.root().clone();
        name_fields(&mut root, Some(schema));
        Self::of(root)
    }

    /// Every member as messages write it, in order.
    pub fn paths(&self) -> Vec<String> {
        let mut found = Vec::new();
        collect(self.root(), "", &mut found);
        found
    }
}

fn name_fields(node: &mut Node, schema: Option<&Schema>) {
    node.change_children(|step, below| {
        let name = field_name(step);
        let inner = schema.and_then(|schema| match name {
            Some(name) => schema.field(name),
            None => schema.element(),
        });
        name_fields(below, inner.map(|inner| &**inner));
        below.is_member |= schema.zip(name).is_some_and(|(schema, name)| schema.declared(name).is_some());
    });
}

fn collect(node: &Node, path: &str, found: &mut Vec<String>) {
    if node.is_member {
        found.push(path.to_owned());
    }
    for (step, below) in node.children() {
        collect(below, &format!("{path}{}", shown(step)), found);
    }
}

/// A step as messages write it: `.spec`, `[name="a"]`, `[="x"]`, `[0]`.
pub fn shown(step: &str) -> String {
    match step.split_once(':') {
        Some(("f", name)) => format!(".{name}"),
        Some(("v", value)) => format!("[={value}]"),
        Some(("k", keys)) => {
            let keys: Map = serde_json::from_str(keys).unwrap_or_default();
            let parts: Vec<String> = keys.iter().map(|(name, key)| format!("{name}={key}")).collect();
            format!("[{}]", parts.join(","))
        }
        Some((_, index)) => format!("[{index}]"),
        None => step.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    fn set(value: &Value) -> FieldSet {
        FieldSet::parse(value).unwrap()
    }

    #[test]
    fn fields_read_back_as_written() {
        let fields = json!({"f:spec": {"f:list": {"k:{\"n\":\"a\"}": {".": {}, "f:v": {}}}, "f:set": {"v:\"x\"": {}}}});
        assert_eq!(set(&fields).to_value(), fields);
        let paths = set(&fields).paths();
        assert_eq!(paths, [".spec.list[n=\"a\"]", ".spec.list[n=\"a\"].v", ".spec.set[=\"x\"]"]);
    }

    #[test]
    fn a_set_has_one_spelling() {
        let odd = json!({"f:l": {".": {}, "k:{ \"b\": 1, \"a\":\"x\" }": {".": {}}}});
        assert_eq!(set(&odd).to_value(), json!({"f:l": {".": {}, "k:{\"a\":\"x\",\"b\":1}": {}}}));
        for wrong in [json!({"x": {}}), json!({"v:{": {}}), json!({"k:1": {}}), json!({"f:a": 1}), json!([])] {
            assert_eq!(FieldSet::parse(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sets_add_and_subtract() {
        let one = || set(&json!({"f:a": {}, "f:b": {"f:c": {}}}));
        let two = || set(&json!({"f:b": {"f:c": {}, "f:d": {}}}));
        assert_eq!(one().union(&two()).to_value(), json!({"f:a": {}, "f:b": {"f:c": {}, "f:d": {}}}));
        assert_eq!(one().intersection(&two()).to_value(), json!({"f:b": {"f:c": {}}}));
        assert_eq!(two().difference(&one()).to_value(), json!({"f:b": {"f:d": {}}}));
        let mut left = two();
        left.subtract_below(&set(&json!({"f:b": {}})));
        assert!(left.is_empty());
    }

    #[test]
    fn a_member_keeps_its_place_when_what_is_below_changes() {
        let leaf = || set(&json!({"f:a": {}}));
        let deep = || set(&json!({"f:a": {".": {}, "f:b": {}}}));
        let below = || set(&json!({"f:a": {"f:b": {}}}));
        assert_eq!(leaf().union(&below()), deep());
        assert_eq!(deep().difference(&below()), leaf());
        assert_eq!(deep().difference(&leaf()), below());
        assert_eq!(deep().intersection(&leaf()), leaf());
        assert!(leaf().intersection(&below()).is_empty());
        let mut inserted = leaf();
        inserted.insert(&["f:a".into(), "f:b".into()]);
        assert_eq!(inserted, deep());
        let mut inserted = FieldSet::default();
        inserted.insert(&["f:a".into(), "f:b".into()]);
        assert_eq!(inserted, below());
        inserted.insert(&["f:a".into()]);
        assert_eq!(inserted, deep());
    }

    #[test]
    fn a_set_that_does_not_change_is_not_copied() {
        let whole = set(&json!({"f:a": {}, "f:b": {"f:c": {}}}));
        let mut same = whole.clone();
        same.unite(&set(&json!({"f:b": {"f:c": {}}})));
        same.subtract(&set(&json!({"f:b": {}, "f:x": {}})));
        assert!(Arc::ptr_eq(&whole.0, &same.0));
        assert_eq!(same.to_value(), json!({"f:a": {}, "f:b": {"f:c": {}}}));
        same.subtract(&set(&json!({"f:a": {}})));
        assert_eq!(same.to_value(), json!({"f:b": {"f:c": {}}}));
        assert_eq!(whole.to_value(), json!({"f:a": {}, "f:b": {"f:c": {}}}));
    }
}
