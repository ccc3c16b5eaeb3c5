//! The declared fields of an object, in the order of their names.

use std::sync::Arc;

use super::{FieldName, Schema};

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

    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_some()
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
