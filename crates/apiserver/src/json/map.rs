//! The fields of an object, in the order of their names.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Index;
use std::sync::Arc;
use std::{slice, vec};

use super::{NULL, Name, Value};

type Field = (Name, Value);

/// Few fields are found faster by looking at all than by halving.
const FEW: usize = 12;

/// Who changes a map that others have as well gets one of its own; what would change nothing does not.
#[derive(Clone, Eq, Default)]
pub struct Map(Arc<Vec<Field>>);

impl Map {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn place(&self, name: &str) -> Option<usize> {
        if self.0.len() <= FEW {
            return self.0.iter().position(|(own, _)| **own == *name);
        }
        self.0.binary_search_by(|(own, _)| (**own).cmp(name)).ok()
    }

    fn fields(&mut self) -> &mut Vec<Field> {
        Arc::make_mut(&mut self.0)
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.place(name).map(|place| &self.0[place].1)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.place(name).map(|place| &mut self.fields()[place].1)
    }

    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    pub fn name_at(&self, place: usize) -> Option<&Name> {
        self.0.get(place).map(|(name, _)| name)
    }

    pub fn value_at(&self, place: usize) -> &Value {
        &self.0[place].1
    }

    pub fn value_at_mut(&mut self, place: usize) -> &mut Value {
        &mut self.fields()[place].1
    }

    pub fn remove_at(&mut self, place: usize) {
        self.fields().remove(place);
    }

    /// Adds a field where its name belongs.
    pub fn insert_at(&mut self, place: usize, name: impl Into<Name>, value: Value) {
        self.fields().insert(place, (name.into(), value));
    }

    /// Sets a field; returns what it was before.
    pub fn insert(&mut self, name: impl Into<Name>, value: Value) -> Option<Value> {
        let name = name.into();
        match self.place(&name) {
            Some(place) => Some(std::mem::replace(&mut self.fields()[place].1, value)),
            None => {
                self.put(name, value);
                None
            }
        }
    }

    /// Adds a field that is not there yet.
    fn put(&mut self, name: Name, value: Value) -> &mut Value {
        let place = match self.0.last() {
            Some((last, _)) if *last > name => self.0.partition_point(|(own, _)| *own < name),
            _ => self.0.len(),
        };
        let fields = self.fields();
        fields.insert(place, (name, value));
        &mut fields[place].1
    }

    /// Makes a field what it is elsewhere; one that is that already is not touched.
    pub fn carry(&mut self, name: &str, from: Option<&Value>) {
        match from {
            Some(value) if self.get(name) == Some(value) => {}
            Some(value) => {
                self.insert(name, value.clone());
            }
            None => {
                self.remove(name);
            }
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.place(name).map(|place| self.fields().remove(place).1)
    }

    pub fn entry(&mut self, name: impl Into<Name>) -> Entry<'_> {
        Entry { map: self, name: name.into() }
    }

    pub fn retain(&mut self, mut keeps: impl FnMut(&Name, &Value) -> bool) {
        if self.iter().any(|(name, value)| !keeps(name, value)) {
            self.fields().retain(|(name, value)| keeps(name, value));
        }
    }

    pub fn iter(&self) -> Iter<'_> {
        Iter(self.0.iter())
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Name, &mut Value)> {
        self.fields().iter_mut().map(|(name, value)| (&*name, value))
    }

    pub fn keys(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().map(|(name, _)| name)
    }

    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().map(|(_, value)| value)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.fields().iter_mut().map(|(_, value)| value)
    }

    /// Gives back room that is not needed, unless others have the map as well.
    pub fn shrink_to_fit(&mut self) {
        if let Some(fields) = Arc::get_mut(&mut self.0) {
            fields.shrink_to_fit();
        }
    }

    /// Takes the fields out of another map.
    pub fn append(&mut self, other: &mut Self) {
        self.extend(std::mem::take(other));
    }

    /// A map of fields in any order; the last of those with one name counts.
    pub(super) fn of(mut fields: Vec<Field>) -> Self {
        if !fields.is_sorted_by(|a, b| a.0 < b.0) {
            fields.reverse();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            fields.dedup_by(|later, first| later.0 == first.0);
        }
        // What is kept has no room to grow.
        fields.shrink_to_fit();
        Self(Arc::new(fields))
    }
}

/// One field that may be there.
#[derive(Debug)]
pub struct Entry<'m> {
    map: &'m mut Map,
    name: Name,
}

impl<'m> Entry<'m> {
    pub fn or_insert(self, value: Value) -> &'m mut Value {
        self.or_insert_with(|| value)
    }

    pub fn or_insert_with(self, make: impl FnOnce() -> Value) -> &'m mut Value {
        match self.map.place(&self.name) {
            Some(place) => &mut self.map.fields()[place].1,
            None => self.map.put(self.name, make()),
        }
    }
}

/// All fields in order.
#[derive(Debug, Clone)]
pub struct Iter<'m>(slice::Iter<'m, Field>);

impl<'m> Iterator for Iter<'m> {
    type Item = (&'m Name, &'m Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(name, value)| (name, value))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.is_shared_with(other) || self.0 == other.0
    }
}

/// Equal ones have equal contents, shared or not.
impl Hash for Map {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Index<&str> for Map {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&NULL)
    }
}

impl<N: Into<Name>> FromIterator<(N, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(fields: I) -> Self {
        Self::of(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

impl<N: Into<Name>> Extend<(N, Value)> for Map {
    fn extend<I: IntoIterator<Item = (N, Value)>>(&mut self, fields: I) {
        for (name, value) in fields {
            self.insert(name, value);
        }
    }
}

impl IntoIterator for Map {
    type Item = Field;
    type IntoIter = vec::IntoIter<Field>;

    fn into_iter(self) -> Self::IntoIter {
        Arc::unwrap_or_clone(self.0).into_iter()
    }
}

impl<'m> IntoIterator for &'m Map {
    type Item = (&'m Name, &'m Value);
    type IntoIter = Iter<'m>;

    fn into_iter(self) -> Iter<'m> {
        self.iter()
    }
}
