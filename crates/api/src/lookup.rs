//! Objects that are referred to by name and may not exist.

use std::fmt;

use crate::meta::Object;

/// There is no object of that name, in the API server's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// Plural and group of the kind: `resourceflavors.kueue.x-k8s.io`.
    pub resource: String,
    pub name: String,
}

impl NotFound {
    /// No object of this kind has the name.
    pub fn of<T: Object>(name: &str) -> Self {
        let resource = format!("{}.{}", T::PLURAL, T::GROUP);
        Self { resource: resource.trim_end_matches('.').to_owned(), name: name.to_owned() }
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} not found", self.resource, self.name)
    }
}

impl std::error::Error for NotFound {}
