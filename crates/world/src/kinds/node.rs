//! Nodes.

use kueue_api::core_v1::{NodeSpec, ResourceList};
use kueue_api::meta::object;
use kueue_api::wire::wire_struct;
use serde_json::{Map, Value};

use super::Condition;

const GROUP: &str = "";
const VERSION: &str = "v1";

object! {
    /// A machine that pods run on.
    pub struct Node in GROUP/VERSION/"nodes", namespaced: false {
        pub spec?: NodeSpec,
        pub status?: NodeStatus,
    }
}

wire_struct! {
    pub struct NodeStatus {
        pub capacity?: ResourceList,
        /// What pods can be given.
        pub allocatable?: ResourceList,
        pub conditions?: Vec<Condition>,
        pub addresses?: Vec<Value>,
        pub node_info?: Map<String, Value>,
    }
}
