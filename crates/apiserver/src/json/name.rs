//! Names of fields.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashSet;

/// Most objects have the same few names, so that they share the texts of these.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// How many names are remembered, and how long they may be: what clients invent is not kept for ever.
const REMEMBERED_MAX: usize = 4096;
const LENGTH_MAX: usize = 64;

thread_local! {
    static REMEMBERED: RefCell<FxHashSet<Arc<str>>> = RefCell::default();
}

impl Name {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        if name.len() > LENGTH_MAX {
            return Self(name.into());
        }
        REMEMBERED.with_borrow_mut(|remembered| {
            if let Some(known) = remembered.get(name) {
                return Self(Arc::clone(known));
            }
            let name: Arc<str> = name.into();
            if remembered.len() < REMEMBERED_MAX {
                remembered.insert(Arc::clone(&name));
            }
            Self(name)
        })
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        name.as_str().into()
    }
}

impl From<&String> for Name {
    fn from(name: &String) -> Self {
        name.as_str().into()
    }
}

impl From<&Name> for Name {
    fn from(name: &Name) -> Self {
        name.clone()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.to_string()
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialEq<String> for Name {
    fn eq(&self, other: &String) -> bool {
        **self == **other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
