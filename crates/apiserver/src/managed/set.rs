//! Sets of fields: who owns what, kept as `fieldsV1` writes it.
//!
//! A node is an object whose keys are steps of a path: `f:name` a field, `k:{"name":"a"}` the element of a list by its
//! keys, `v:"x"` the member of a set. A node belongs to the set when it is empty or has the key `.`. Because that is the
//! form in which sets are stored, reading and writing one costs nothing.

use serde_json::{Map, Value};

use crate::schema::{Form, Schema};

/// One node of a set, and everything below it. The root never belongs to the set itself.
pub type Node = Map<String, Value>;

const SELF: &str = ".";

#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldSet(Node);

/// Whether the node itself is in the set. Not to be asked of the root.
pub fn is_member(node: &Node) -> bool {
    node.is_empty() || node.contains_key(SELF)
}

/// What stands below the node at a step.
pub fn child<'n>(node: &'n Node, step: &str) -> Option<&'n Node> {
    node.get(step).and_then(Value::as_object)
}

/// The steps below a node.
pub fn children(node: &Node) -> impl Iterator<Item = (&String, &Node)> {
    node.iter().filter(|(step, _)| *step != SELF).filter_map(|(step, below)| Some((step, below.as_object()?)))
}

/// The name of a field that a step stands for.
pub fn field_name(step: &str) -> Option<&str> {
    step.strip_prefix("f:")
}

impl FieldSet {
    pub fn of(root: Node) -> Self {
        Self(root)
    }

    /// Reads `fieldsV1` as a client wrote it; nothing when it is no set of fields.
    pub fn parse(value: &Value) -> Option<Self> {
        canonical(value.as_object()?).map(Self)
    }

    /// The set in an entry that this server wrote.
    pub fn stored(value: Value) -> Self {
        match value {
            Value::Object(root) => Self(root),
            _ => Self::default(),
        }
    }

    pub fn into_value(self) -> Value {
        self.0.into()
    }

    pub fn root(&self) -> &Node {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn insert(&mut self, path: &[String]) {
        insert(&mut self.0, path);
    }

    pub fn unite(&mut self, other: &Self) {
        unite_children(&mut self.0, &other.0);
    }

    /// Takes away what is there, path by path.
    pub fn subtract(&mut self, other: &Self) {
        subtract_children(&mut self.0, &other.0);
    }

    /// Takes away what is there and everything below it.
    pub fn subtract_below(&mut self, other: &Self) {
        for (step, below) in children(&other.0) {
            remove_below(&mut self.0, step, below);
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
        Self(shared_children(&self.0, &other.0))
    }

    /// The set with every declared field on the way to a member, so that what is left empty can go as well.
    #[must_use]
    pub fn with_named_fields(&self, schema: &Schema) -> Self {
        Self(named(&self.0, Some(schema)))
    }

    /// Every member as messages write it, in order.
    pub fn paths(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (step, below) in children(&self.0) {
            collect(below, &shown(step), &mut found);
        }
        found
    }
}

fn insert(node: &mut Node, path: &[String]) {
    let Some((step, rest)) = path.split_first() else { return };
    match node.get_mut(step) {
        Some(Value::Object(below)) => {
            // A member must say so once something stands below it, and a node with something below once it is one.
            if below.is_empty() != rest.is_empty() {
                below.insert(SELF.into(), Map::new().into());
            }
            insert(below, rest);
        }
        _ => {
            let mut below = Node::new();
            insert(&mut below, rest);
            node.insert(step.clone(), below.into());
        }
    }
}

fn unite_children(node: &mut Node, other: &Node) {
    for (step, theirs) in children(other) {
        match node.get_mut(step) {
            Some(Value::Object(own)) => unite(own, theirs),
            _ => {
                node.insert(step.clone(), theirs.clone().into());
            }
        }
    }
}

fn unite(node: &mut Node, other: &Node) {
    let belongs = is_member(node) || is_member(other);
    unite_children(node, other);
    if belongs && !node.is_empty() && !node.contains_key(SELF) {
        node.insert(SELF.into(), Map::new().into());
    }
}

fn subtract_children(node: &mut Node, other: &Node) {
    for (step, theirs) in children(other) {
        if let Some(Value::Object(own)) = node.get_mut(step)
            && !subtract(own, theirs)
        {
            node.remove(step);
        }
    }
}

/// Tells whether anything is left.
fn subtract(node: &mut Node, other: &Node) -> bool {
    let stays = is_member(node) && !is_member(other);
    if !stays {
        node.remove(SELF);
    }
    subtract_children(node, other);
    if stays && node.len() == 1 {
        // Only the mark is left: a member with nothing below is empty.
        node.remove(SELF);
    }
    stays || !node.is_empty()
}

fn remove_below(node: &mut Node, step: &str, other: &Node) {
    let Some(Value::Object(own)) = node.get_mut(step) else { return };
    if is_member(other) {
        node.remove(step);
        return;
    }
    let belongs = is_member(own);
    for (step, below) in children(other) {
        remove_below(own, step, below);
    }
    if belongs && own.len() == 1 {
        own.remove(SELF);
    } else if !belongs && own.is_empty() {
        node.remove(step);
    }
}

fn shared_children(node: &Node, other: &Node) -> Node {
    let mut all = Node::new();
    for (step, own) in children(node) {
        if let Some(both) = child(other, step).and_then(|theirs| shared(own, theirs)) {
            all.insert(step.clone(), both.into());
        }
    }
    all
}

fn shared(node: &Node, other: &Node) -> Option<Node> {
    let mut both = shared_children(node, other);
    let belongs = is_member(node) && is_member(other);
    if belongs && !both.is_empty() {
        both.insert(SELF.into(), Map::new().into());
    }
    (belongs || !both.is_empty()).then_some(both)
}

fn named(node: &Node, schema: Option<&Schema>) -> Node {
    let mut all = Node::new();
    for (step, below) in children(node) {
        let (inner, is_declared) = match (field_name(step), schema) {
            (Some(name), Some(schema)) => {
                let declared = matches!(&*schema.form, Form::Struct { fields, .. } if fields.contains_key(name));
                (schema.field(name), declared)
            }
            (None, Some(schema)) => (schema.element(), false),
            (_, None) => (None, false),
        };
        let mut with = named(below, inner.map(|inner| &**inner));
        if (is_declared || is_member(below)) && !with.is_empty() {
            with.insert(SELF.into(), Map::new().into());
        }
        all.insert(step.clone(), with.into());
    }
    all
}

fn collect(node: &Node, path: &str, found: &mut Vec<String>) {
    if is_member(node) {
        found.push(path.to_owned());
    }
    for (step, below) in children(node) {
        collect(below, &format!("{path}{}", shown(step)), found);
    }
}

/// A step as messages write it: `.spec`, `[name="a"]`, `[="x"]`, `[0]`.
pub fn shown(step: &str) -> String {
    match step.split_once(':') {
        Some(("f", name)) => format!(".{name}"),
        Some(("v", value)) => format!("[={value}]"),
        Some(("k", keys)) => {
            let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
            let parts: Vec<String> = keys.iter().map(|(name, key)| format!("{name}={key}")).collect();
            format!("[{}]", parts.join(","))
        }
        Some((_, index)) => format!("[{index}]"),
        None => step.to_owned(),
    }
}

/// A node in the one spelling this server uses.
fn canonical(node: &Node) -> Option<Node> {
    let mut all = Node::new();
    for (step, below) in node {
        let below = below.as_object()?;
        if step == SELF {
            all.insert(SELF.into(), Map::new().into());
            continue;
        }
        let step = match step.split_once(':')? {
            ("f", _) => step.clone(),
            ("i", index) => format!("i:{}", index.parse::<i64>().ok()?),
            ("v", value) => format!("v:{}", serde_json::from_str::<Value>(value).ok()?),
            ("k", keys) => format!("k:{}", Value::Object(serde_json::from_str(keys).ok()?)),
            _ => return None,
        };
        let mut below = canonical(below)?;
        if below.len() == 1 {
            below.remove(SELF);
        }
        all.insert(step, below.into());
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(value: &Value) -> FieldSet {
        FieldSet::parse(value).unwrap()
    }

    #[test]
    fn fields_read_back_as_written() {
        let fields = json!({"f:spec": {"f:list": {"k:{\"n\":\"a\"}": {".": {}, "f:v": {}}}, "f:set": {"v:\"x\"": {}}}});
        assert_eq!(set(&fields).into_value(), fields);
        let paths = set(&fields).paths();
        assert_eq!(paths, [".spec.list[n=\"a\"]", ".spec.list[n=\"a\"].v", ".spec.set[=\"x\"]"]);
    }

    #[test]
    fn a_set_has_one_spelling() {
        let odd = json!({"f:l": {".": {}, "k:{ \"b\": 1, \"a\":\"x\" }": {".": {}}}});
        assert_eq!(set(&odd).into_value(), json!({"f:l": {".": {}, "k:{\"a\":\"x\",\"b\":1}": {}}}));
        for wrong in [json!({"x": {}}), json!({"v:{": {}}), json!({"k:1": {}}), json!({"f:a": 1}), json!([])] {
            assert_eq!(FieldSet::parse(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sets_add_and_subtract() {
        let one = || set(&json!({"f:a": {}, "f:b": {"f:c": {}}}));
        let two = || set(&json!({"f:b": {"f:c": {}, "f:d": {}}}));
        assert_eq!(one().union(&two()).into_value(), json!({"f:a": {}, "f:b": {"f:c": {}, "f:d": {}}}));
        assert_eq!(one().intersection(&two()).into_value(), json!({"f:b": {"f:c": {}}}));
        assert_eq!(two().difference(&one()).into_value(), json!({"f:b": {"f:d": {}}}));
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
}
