//! `autoscaling.x-k8s.io`: how nodes are asked for.

use std::collections::BTreeMap;

use crate::meta::{Condition, object};
use crate::wire::wire_struct;

const GROUP: &str = "autoscaling.x-k8s.io";
const VERSION: &str = "v1";

/// On a pod: the request whose nodes it may use.
pub const CONSUME_ANNOTATION: &str = "autoscaling.x-k8s.io/consume-provisioning-request";
/// On a pod: the class of that request.
pub const CLASS_ANNOTATION: &str = "autoscaling.x-k8s.io/provisioning-class-name";

/// The autoscaler takes care of the request.
pub const ACCEPTED: &str = "Accepted";
/// The nodes are there.
pub const PROVISIONED: &str = "Provisioned";
/// There will be no nodes.
pub const FAILED: &str = "Failed";
/// The nodes are not kept free any longer.
pub const BOOKING_EXPIRED: &str = "BookingExpired";
/// The nodes are gone.
pub const CAPACITY_REVOKED: &str = "CapacityRevoked";

object! {
    /// Asks for nodes for some pods, all or none.
    pub struct ProvisioningRequest in GROUP/VERSION/"provisioningrequests", namespaced: true {
        /// What is asked for.
        pub spec?: ProvisioningRequestSpec,
        /// What the autoscaler says to it.
        pub status?: ProvisioningRequestStatus,
    }
}

wire_struct! {
    /// What is asked for.
    pub struct ProvisioningRequestSpec {
        /// The pods.
        pub pod_sets?: Vec<RequestedPodSet>,
        /// The sort of request.
        pub provisioning_class_name?: String,
        /// What that sort wants to know besides.
        pub parameters?: BTreeMap<String, String>,
    }
}

wire_struct! {
    /// Pods that are the same.
    pub struct RequestedPodSet {
        /// What they are like.
        pub pod_template_ref: PodTemplateReference,
        /// How many.
        pub count: i32,
    }
}

wire_struct! {
    /// A PodTemplate in the same namespace.
    pub struct PodTemplateReference {
        /// Its name.
        pub name: String,
    }
}

wire_struct! {
    /// What the autoscaler says to a request.
    pub struct ProvisioningRequestStatus {
        /// How far it is.
        pub conditions?: Vec<Condition>,
        /// What its class has to tell.
        pub provisioning_class_details?: BTreeMap<String, String>,
    }
}
