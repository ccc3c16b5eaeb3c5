//! What an object is called.

use std::fmt;
use std::sync::Arc;

use kueue_api::meta::{Object, ObjectMeta};

/// Namespace and name of an object; the namespace is empty for kinds without namespaces.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl Key {
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of an object of a kind without namespaces.
    pub fn cluster(name: impl Into<Arc<str>>) -> Self {
        Self::new("", name)
    }

    pub fn of<T: Object>(object: &T) -> Self {
        Self::of_meta(object.metadata())
    }

    pub fn of_meta(meta: &ObjectMeta) -> Self {
        Self::new(meta.namespace.as_str(), meta.name.as_str())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.is_empty() {
            true => f.write_str(&self.name),
            false => write!(f, "{}/{}", self.namespace, self.name),
        }
    }
}
