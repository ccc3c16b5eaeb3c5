//! Limits that a namespace sets on its pods and containers. Only ever read, so nothing else is kept.

use kueue_core::resource_list::ResourceList;

use super::{GROUP, VERSION};
use crate::meta::object;
use crate::wire::wire_struct;

object! {
    /// Limits of one namespace.
    pub struct LimitRange in GROUP/VERSION/"limitranges", namespaced: true {
        /// The limits.
        pub spec?: LimitRangeSpec,
    }
}

wire_struct! {
    /// The limits.
    pub struct LimitRangeSpec {
        /// One item per type of object, though a type may have several.
        pub limits: Vec<LimitRangeItem>,
    }
}

wire_struct! {
    /// Bounds and defaults for one type of object.
    pub struct LimitRangeItem {
        /// `Pod`, `Container` or `PersistentVolumeClaim`.
        pub r#type: String,
        /// The most that may be asked for.
        pub max?: ResourceList,
        /// The least that may be asked for.
        pub min?: ResourceList,
        /// Limits of those that give none.
        pub default?: ResourceList,
        /// Requests of those that give none.
        pub default_request?: ResourceList,
        /// How many times its request a limit may be.
        pub max_limit_request_ratio?: ResourceList,
    }
}
