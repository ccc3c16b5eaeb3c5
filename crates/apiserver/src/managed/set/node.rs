//! The tree of a set: what belongs to it at a place, and what stands below.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::json::{Map, Value, write_text};

/// A step of a path, as `fieldsV1` writes it: `f:name` a field, `k:{"name":"a"}` the element of a list by its keys,
/// `v:"x"` the member of a set. Steps of declared fields are shared with the schema.
pub type Step = Arc<str>;

/// How `fieldsV1` says that a place with something below it belongs to the set as well.
const SELF: &str = ".";

/// One place and everything below it. Below the root, a place that does not belong to the set has something below it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node {
    pub is_member: bool,
    /// In the order of the steps.
    below: Vec<(Step, Node)>,
}

fn order(a: &Step, b: &str) -> Ordering {
    // Most steps come from one schema.
    if std::ptr::eq(&raw const **a, b) { Ordering::Equal } else { (**a).cmp(b) }
}

impl Node {
    /// A place that belongs to the set, with nothing below.
    pub fn leaf() -> Self {
        Self { is_member: true, below: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        !self.is_member && self.below.is_empty()
    }

    pub fn has_children(&self) -> bool {
        !self.below.is_empty()
    }

    pub fn children(&self) -> impl ExactSizeIterator<Item = (&Step, &Node)> {
        self.below.iter().map(|(step, node)| (step, node))
    }

    pub fn child(&self, step: &str) -> Option<&Node> {
        self.place(step).ok().map(|index| &self.below[index].1)
    }

    /// The same with its number.
    pub fn numbered_child(&self, step: &str) -> Option<(usize, &Node)> {
        self.place(step).ok().map(|index| (index, &self.below[index].1))
    }

    fn place(&self, step: &str) -> Result<usize, usize> {
        self.below.binary_search_by(|(own, _)| order(own, step))
    }

    /// What stands at a step, made if there is nothing yet.
    pub fn child_mut(&mut self, step: &Step) -> &mut Node {
        let index = match self.place(step) {
            Ok(index) => index,
            Err(index) => {
                self.below.insert(index, (Arc::clone(step), Node::default()));
                index
            }
        };
        &mut self.below[index].1
    }

    /// Puts something at a step that comes after all others, or replaces what is there.
    pub fn put(&mut self, step: Step, node: Node) {
        match self.below.last().map(|(last, _)| order(last, &step)) {
            None => {
                // Many places have one place below them, and there are many of those.
                self.below.reserve_exact(1);
                self.below.push((step, node));
            }
            Some(Ordering::Less) => self.below.push((step, node)),
            Some(_) => *self.child_mut(&step) = node,
        }
    }

    /// Changes all children; those that become empty go.
    pub fn change_children(&mut self, mut change: impl FnMut(&Step, &mut Node)) {
        self.below.retain_mut(|(step, node)| {
            change(step, node);
            !node.is_empty()
        });
    }

    pub fn covers(&self, other: &Self) -> bool {
        (self.is_member || !other.is_member)
            && other.children().all(|(step, theirs)| self.child(step).is_some_and(|own| own.covers(theirs)))
    }

    pub fn is_disjoint(&self, other: &Self) -> bool {
        !(self.is_member && other.is_member)
            && other.children().all(|(step, theirs)| self.child(step).is_none_or(|own| own.is_disjoint(theirs)))
    }

    pub fn unite(&mut self, other: &Self) {
        self.is_member |= other.is_member;
        if self.below.is_empty() {
            self.below.clone_from(&other.below);
            return;
        }
        for (step, theirs) in other.children() {
            self.child_mut(step).unite(theirs);
        }
    }

    pub fn subtract(&mut self, other: &Self) {
        self.is_member &= !other.is_member;
        self.lessen(other, Self::subtract);
    }

    /// Takes away the members of the other and everything below them.
    pub fn subtract_below(&mut self, other: &Self) {
        if other.is_member {
            *self = Self::default();
        } else {
            self.lessen(other, Self::subtract_below);
        }
    }

    fn lessen(&mut self, other: &Self, take: fn(&mut Self, &Self)) {
        for (step, theirs) in other.children() {
            if let Ok(index) = self.place(step) {
                let own = &mut self.below[index].1;
                take(own, theirs);
                if own.is_empty() {
                    self.below.remove(index);
                }
            }
        }
    }

    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = Self { is_member: self.is_member && other.is_member, below: Vec::new() };
        for (step, theirs) in other.children() {
            let shared = self.child(step).map(|own| own.intersection(theirs)).unwrap_or_default();
            if !shared.is_empty() {
                both.below.push((Arc::clone(step), shared));
            }
        }
        both
    }

    /// Reads a node in any spelling; nothing when it is none.
    pub fn parse(object: &Map) -> Option<Self> {
        let mut node = Self { is_member: object.is_empty() || object.contains_key(SELF), below: Vec::new() };
        for (step, below) in object.iter().filter(|(step, _)| *step != SELF) {
            let below = Self::parse(below.as_object()?)?;
            node.put(spelled(step)?.into(), below);
        }
        Some(node)
    }

    /// Writes the node as JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        if self.is_member && self.has_children() {
            out.extend_from_slice(b"\".\":{}");
        }
        for (step, below) in self.children() {
            if out.last() != Some(&b'{') {
                out.push(b',');
            }
            write_text(step, out);
            out.push(b':');
            below.write(out);
        }
        out.push(b'}');
    }
}

/// A step in the one spelling that this server uses.
fn spelled(step: &str) -> Option<String> {
    Some(match step.split_once(':')? {
        ("f", _) => step.to_owned(),
        ("i", index) => format!("i:{}", index.parse::<i64>().ok()?),
        ("v", value) => format!("v:{}", serde_json::from_str::<Value>(value).ok()?),
        ("k", keys) => format!("k:{}", Value::Object(serde_json::from_str(keys).ok()?)),
        _ => return None,
    })
}
