//! Sets of fields: who owns what, as `fieldsV1` writes it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::schema::Schema;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    Field(String),
    /// The element of a list-map, by its keys.
    Key(BTreeMap<String, Scalar>),
    /// The member of a set.
    Member(Scalar),
    Index(usize),
}

/// A value that tells elements apart. Compared by its JSON text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scalar(String);

impl Scalar {
    pub fn of(value: &Value) -> Self {
        Self(value.to_string())
    }

    fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or(Value::Null)
    }
}

/// A set of paths as a tree: a node may belong to the set, and may have members below it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSet {
    pub is_member: bool,
    pub children: BTreeMap<Element, FieldSet>,
}

impl FieldSet {
    pub fn is_empty(&self) -> bool {
        !self.is_member && self.children.values().all(FieldSet::is_empty)
    }

    pub fn insert(&mut self, path: &[Element]) {
        let mut node = self;
        for element in path {
            node = node.children.entry(element.clone()).or_default();
        }
        node.is_member = true;
    }

    pub fn child(&self, element: &Element) -> Option<&FieldSet> {
        self.children.get(element)
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.is_member |= other.is_member;
        for (element, node) in &other.children {
            let merged = all.children.get(element).map_or_else(|| node.clone(), |own| own.union(node));
            all.children.insert(element.clone(), merged);
        }
        all
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let shared = self.children.iter().filter_map(|(element, node)| {
            let both = node.intersection(other.child(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        Self { is_member: self.is_member && other.is_member, children: shared.collect() }
    }

    /// What is here and not there, path by path.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let rest = self.children.iter().filter_map(|(element, node)| {
            let left = other.child(element).map_or_else(|| node.clone(), |known| node.difference(known));
            (!left.is_empty()).then(|| (element.clone(), left))
        });
        Self { is_member: self.is_member && !other.is_member, children: rest.collect() }
    }

    /// What is here and neither there nor below something there.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let rest = self.children.iter().filter_map(|(element, node)| {
            let left = match other.child(element) {
                None => node.clone(),
                Some(known) if known.is_member => return None,
                Some(known) => node.without(known),
            };
            (!left.is_empty()).then(|| (element.clone(), left))
        });
        Self { is_member: self.is_member && !other.is_member, children: rest.collect() }
    }

    /// The set with every declared field on the way to a member, so that what is left empty can go as well.
    #[must_use]
    pub fn with_named_fields(&self, schema: &Schema) -> Self {
        let mut all = self.clone();
        for (element, node) in &mut all.children {
            let below = match element {
                Element::Field(name) => schema.field(name),
                _ => schema.element(),
            };
            let is_declared = match element {
                Element::Field(name) => {
                    matches!(&*schema.form, crate::schema::Form::Struct { fields, .. } if fields.contains_key(name))
                }
                _ => false,
            };
            if let Some(below) = below {
                *node = node.with_named_fields(below);
            }
            node.is_member |= is_declared;
        }
        all
    }

    /// Every member with its path, in order.
    pub fn paths(&self) -> Vec<Vec<Element>> {
        let mut found = Vec::new();
        self.collect(&mut Vec::new(), &mut found);
        found
    }

    fn collect(&self, path: &mut Vec<Element>, found: &mut Vec<Vec<Element>>) {
        if self.is_member {
            found.push(path.clone());
        }
        for (element, node) in &self.children {
            path.push(element.clone());
            node.collect(path, found);
            path.pop();
        }
    }

    /// As `fieldsV1` has it.
    pub fn to_value(&self) -> Value {
        let mut object = Map::new();
        for (element, node) in self.children.iter().filter(|(_, node)| !node.is_empty()) {
            let mut inner = node.to_value();
            if node.is_member
                && let Some(map) = inner.as_object_mut()
                && !map.is_empty()
            {
                map.insert(".".into(), Value::Object(Map::new()));
            }
            object.insert(element.to_text(), inner);
        }
        object.into()
    }

    /// Reads `fieldsV1`; keys it does not know are dropped.
    pub fn from_value(value: &Value) -> Self {
        let mut set = Self::default();
        for (key, inner) in value.as_object().into_iter().flatten() {
            if key == "." {
                set.is_member = true;
                continue;
            }
            let Some(element) = Element::from_text(key) else { continue };
            let mut node = Self::from_value(inner);
            // An empty object is a leaf that belongs to the set.
            if inner.as_object().is_some_and(Map::is_empty) {
                node.is_member = true;
            }
            set.children.insert(element, node);
        }
        set
    }
}

impl Element {
    fn to_text(&self) -> String {
        match self {
            Element::Field(name) => format!("f:{name}"),
            Element::Key(keys) => {
                let object: Map<String, Value> = keys.iter().map(|(name, key)| (name.clone(), key.value())).collect();
                format!("k:{}", Value::Object(object))
            }
            Element::Member(value) => format!("v:{}", value.0),
            Element::Index(index) => format!("i:{index}"),
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "f" => Some(Element::Field(rest.to_owned())),
            "i" => rest.parse().ok().map(Element::Index),
            "v" => serde_json::from_str::<Value>(rest).ok().map(|value| Element::Member(Scalar::of(&value))),
            "k" => {
                let keys: Map<String, Value> = serde_json::from_str(rest).ok()?;
                Some(Element::Key(keys.iter().map(|(name, value)| (name.clone(), Scalar::of(value))).collect()))
            }
            _ => None,
        }
    }
}

/// As messages write it: `.spec`, `[name="a"]`, `[="x"]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Field(name) => write!(f, ".{name}"),
            Element::Key(keys) => {
                let parts: Vec<String> = keys.iter().map(|(name, key)| format!("{name}={}", key.0)).collect();
                write!(f, "[{}]", parts.join(","))
            }
            Element::Member(value) => write!(f, "[={}]", value.0),
            Element::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A path as messages write it.
pub fn shown(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(value: &Value) -> FieldSet {
        FieldSet::from_value(value)
    }

    #[test]
    fn fields_read_back_as_written() {
        let fields = json!({"f:spec": {"f:list": {"k:{\"n\":\"a\"}": {".": {}, "f:v": {}}}, "f:set": {"v:\"x\"": {}}}});
        assert_eq!(set(&fields).to_value(), fields);
        let paths: Vec<String> = set(&fields).paths().iter().map(|path| shown(path)).collect();
        assert_eq!(paths, [".spec.list[n=\"a\"]", ".spec.list[n=\"a\"].v", ".spec.set[=\"x\"]"]);
    }

    #[test]
    fn sets_add_and_subtract() {
        let (one, two) = (set(&json!({"f:a": {}, "f:b": {"f:c": {}}})), set(&json!({"f:b": {"f:c": {}, "f:d": {}}})));
        assert_eq!(one.union(&two).to_value(), json!({"f:a": {}, "f:b": {"f:c": {}, "f:d": {}}}));
        assert_eq!(one.intersection(&two).to_value(), json!({"f:b": {"f:c": {}}}));
        assert_eq!(two.difference(&one).to_value(), json!({"f:b": {"f:d": {}}}));
        assert_eq!(two.without(&set(&json!({"f:b": {}}))).to_value(), json!({}));
    }
}
