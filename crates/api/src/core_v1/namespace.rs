//! Namespaces. Only their labels are ever read, so nothing else is kept.

use super::{GROUP, VERSION};
use crate::meta::object;

object! {
    /// A namespace.
    pub struct Namespace in GROUP/VERSION/"namespaces", namespaced: false {}
}
