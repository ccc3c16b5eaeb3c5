//! The declared fields of an object, in the order of their names.

use std::sync::Arc;

use super::{FieldName, Schema};
use crate::json::{Map, Name};

/// Few fields are found faster by looking at all than by halving.
const FEW: usize = 12;

#[derive(Debug, Clone, Default)]
pub struct Fields(Vec<(FieldName, Arc<Schema>)>);

impl Fields {
    fn place(&self, name: &str) -> Option<usize> {
        if self.0.len() <= FEW {
            return self.0.iter().position(|(own, _)| **own == *name);
        }
        self.0.binary_search_by(|(own, _)| (**own).cmp(name)).ok()
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Schema>> {
        self.place(name).map(|place| &self.0[place].1)
    }

    /// With the name, which managed fields share.
    pub fn get_key_value(&self, name: &str) -> Option<(&FieldName, &Arc<Schema>)> {
        self.place(name).map(|place| (&self.0[place].0, &self.0[place].1))
    }

    /// The names in an object that are no fields. Both are in order.
    pub fn undeclared(&self, object: &Map) -> Vec<Name> {
        let mut declared = self.0.iter().map(|(name, _)| &**name).peekable();
        let is_no_field = |name: &&Name| {
            while declared.next_if(|declared| *declared < name.as_str()).is_some() {}
            declared.next_if_eq(&name.as_str()).is_none()
        };
        object.keys().filter(is_no_field).cloned().collect()
    }

    pub fn insert(&mut self, name: FieldName, schema: Arc<Schema>) {
        match self.0.binary_search_by(|(own, _)| own.cmp(&name)) {
            Ok(place) => self.0[place].1 = schema,
            Err(place) => self.0.insert(place, (name, schema)),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&FieldName, &Arc<Schema>)> {
        self.0.iter().map(|(name, schema)| (name, schema))
    }
}

impl FromIterator<(FieldName, Arc<Schema>)> for Fields {
    fn from_iter<I: IntoIterator<Item = (FieldName, Arc<Schema>)>>(fields: I) -> Self {
        let mut all = Self::default();
        fields.into_iter().for_each(|(name, schema)| all.insert(name, schema));
        all
    }
}
