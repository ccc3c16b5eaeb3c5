//! `ProvisioningRequestConfig`: how an admission check asks the cluster autoscaler for nodes.

use std::collections::BTreeMap;

use crate::kueue::GROUP;
use crate::kueue::v1beta2::VERSION;
use crate::meta::object;
use crate::wire::{string_enum, wire_struct};

object! {
    /// How to ask the autoscaler for nodes.
    pub struct ProvisioningRequestConfig in GROUP/VERSION/"provisioningrequestconfigs", namespaced: false {
        /// The settings.
        pub spec: ProvisioningRequestConfigSpec,
    }
}

wire_struct! {
    /// How to ask the autoscaler for nodes.
    pub struct ProvisioningRequestConfigSpec {
        /// The sort of request, as the autoscaler knows it.
        pub provisioning_class_name?: String,
        /// Passed on to the autoscaler.
        pub parameters?: BTreeMap<String, String>,
        /// Only pod sets that request one of these are asked for; empty means all.
        pub managed_resources?: Vec<String>,
        /// What to do after a refusal.
        pub retry_strategy?: Option<ProvisioningRequestRetryStrategy>,
        /// What to change in the pods once nodes are there.
        pub pod_set_updates?: Option<ProvisioningRequestPodSetUpdates>,
        /// Which pod sets are asked for as one.
        pub pod_set_merge_policy?: Option<ProvisioningRequestConfigPodSetMergePolicy>,
    }
}

string_enum! {
    /// Which pod sets are asked for as one.
    pub enum ProvisioningRequestConfigPodSetMergePolicy {
        /// Those whose templates are the same.
        IdenticalPodTemplates,
        /// Those that are the same to the scheduler.
        IdenticalWorkloadSchedulingRequirements,
    }
}

wire_struct! {
    /// What to change in the pods once nodes are there.
    pub struct ProvisioningRequestPodSetUpdates {
        /// Node labels to ask for.
        pub node_selector?: Vec<ProvisioningRequestPodSetUpdatesNodeSelector>,
    }
}

wire_struct! {
    /// A node label whose value the autoscaler tells.
    pub struct ProvisioningRequestPodSetUpdatesNodeSelector {
        /// The node label.
        pub key?: String,
        /// The detail of the autoscaler's answer that is its value.
        pub value_from_provisioning_class_detail?: String,
    }
}

wire_struct! {
    /// What to do after a refusal; the pause doubles each time.
    pub struct ProvisioningRequestRetryStrategy {
        /// How often to ask again.
        pub backoff_limit_count?: Option<i32>,
        /// The first pause.
        pub backoff_base_seconds?: Option<i32>,
        /// The longest pause.
        pub backoff_max_seconds?: Option<i32>,
    }
}
