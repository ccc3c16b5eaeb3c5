//! Templates of pods that stand for themselves.

use super::{GROUP, PodTemplateSpec, VERSION};
use crate::meta::object;

object! {
    /// What pods would be like, for somebody who is to make room for them.
    pub struct PodTemplate in GROUP/VERSION/"podtemplates", namespaced: true {
        /// The pods.
        pub template?: PodTemplateSpec,
    }
}
