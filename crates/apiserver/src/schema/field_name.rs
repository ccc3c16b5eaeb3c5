//! Names of declared fields.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

const PREFIX: &str = "f:";

/// The name of a declared field. It is kept as the step of a path that managed fields write for it, `f:name`, so that
/// the sets of all objects share one text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldName(Arc<str>);

impl FieldName {
    /// The name as a step of a path.
    pub fn step(&self) -> &Arc<str> {
        &self.0
    }
}

impl Deref for FieldName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0[PREFIX.len()..]
    }
}

/// Names compare as their steps do, because all begin alike.
impl Borrow<str> for FieldName {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<&str> for FieldName {
    fn from(name: &str) -> Self {
        Self(format!("{PREFIX}{name}").into())
    }
}

impl fmt::Display for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
