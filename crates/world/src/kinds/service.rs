//! Namespaces and what is in them beside workloads: accounts, services and where these lead.

use std::collections::BTreeMap;

use kueue_api::meta::object;
use kueue_api::wire::wire_struct;
use serde_json::{Map, Value};

const GROUP: &str = "";
const VERSION: &str = "v1";
const DISCOVERY: &str = "discovery.k8s.io";

object! {
    /// A part of the cluster.
    pub struct Namespace in GROUP/VERSION/"namespaces", namespaced: false {
    }
}

object! {
    /// Who a pod is.
    pub struct ServiceAccount in GROUP/VERSION/"serviceaccounts", namespaced: true {
    }
}

object! {
    /// A name for some pods.
    pub struct Service in GROUP/VERSION/"services", namespaced: true {
        pub spec?: ServiceSpec,
    }
}

wire_struct! {
    pub struct ServiceSpec {
        pub selector?: BTreeMap<String, String>,
        pub ports?: Vec<ServicePort>,
        pub r#type?: String,
        pub publish_not_ready_addresses?: bool,
    }
}

wire_struct! {
    pub struct ServicePort {
        pub name?: String,
        pub protocol?: String,
        pub app_protocol?: Option<String>,
        pub port?: i64,
        /// A number, or the name of a port of the pods.
        pub target_port?: Value,
    }
}

object! {
    /// The addresses behind a service, as old clients read them.
    pub struct Endpoints in GROUP/VERSION/"endpoints", namespaced: true {
        pub subsets?: Vec<Value>,
    }
}

object! {
    /// The addresses behind a service.
    pub struct EndpointSlice in DISCOVERY/VERSION/"endpointslices", namespaced: true {
        pub address_type: String,
        pub endpoints?: Vec<Value>,
        pub ports?: Vec<Map<String, Value>>,
    }
}
