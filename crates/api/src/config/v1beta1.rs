//! `config.kueue.x-k8s.io/v1beta1`: still read, and turned into v1beta2 at once.

use std::collections::BTreeMap;

use kueue_core::duration::Duration;
use kueue_core::selector::LabelSelector;

use super::blocks::{
    AdmissionFairSharing, ClientConnection, Controller, Health, InternalCertManagement, LeaderElection,
    LocalQueueMetrics, MultiKueueExternalFramework, ObjectRetentionPolicies, PreemptionStrategy, RequeuingStrategy,
    ResourceTransformation, Tls, Webhook,
};
use crate::wire::wire_struct;

/// As `apiVersion` says it.
pub const API_VERSION: &str = "config.kueue.x-k8s.io/v1beta1";

wire_struct! {
    /// What an administrator can set.
    pub struct Configuration {
        /// Where Kueue runs.
        pub namespace?: Option<String>,
        pub webhook: Webhook,
        pub leader_election?: Option<LeaderElection>,
        pub metrics: Metrics,
        pub health: Health,
        /// Empty turns profiling off.
        pub pprof_bind_address?: String,
        pub controller?: Option<Controller>,
        pub tls?: Option<Tls>,
        /// Whether jobs that name no queue are held back too.
        pub manage_jobs_without_queue_name: bool,
        /// The namespaces in which jobs are managed.
        pub managed_jobs_namespace_selector?: Option<LabelSelector>,
        pub internal_cert_management?: Option<InternalCertManagement>,
        pub wait_for_pods_ready?: Option<WaitForPodsReady>,
        pub client_connection?: Option<ClientConnection>,
        pub integrations?: Option<Integrations>,
        /// Accepted and without effect.
        pub queue_visibility?: Option<QueueVisibility>,
        pub multi_kueue?: Option<MultiKueue>,
        pub fair_sharing?: Option<FairSharing>,
        pub admission_fair_sharing?: Option<AdmissionFairSharing>,
        pub resources?: Option<Resources>,
        /// Excludes the flag `--feature-gates`, even when empty.
        pub feature_gates?: Option<BTreeMap<String, bool>>,
        pub object_retention_policies?: Option<ObjectRetentionPolicies>,
    }
}

wire_struct! {
    /// What is measured and where it is served.
    pub struct Metrics {
        pub bind_address?: String,
        /// Whether quota and usage per ClusterQueue, flavor and resource are reported.
        pub enable_cluster_queue_resources?: bool,
        pub custom_labels?: Vec<CustomLabel>,
        pub local_queue_metrics?: Option<LocalQueueMetrics>,
    }
}

wire_struct! {
    /// A label or annotation that becomes a label `custom_<name>` of metrics.
    pub struct CustomLabel {
        pub name: String,
        pub source_label_key?: String,
        pub source_annotation_key?: String,
    }
}

wire_struct! {
    /// Evicts workloads whose pods are not all ready in time; here it must be turned on.
    pub struct WaitForPodsReady {
        pub enable?: bool,
        pub timeout?: Option<Duration>,
        pub block_admission?: Option<bool>,
        pub requeuing_strategy?: Option<RequeuingStrategy>,
        pub recovery_timeout?: Option<Duration>,
    }
}

wire_struct! {
    /// Which kinds of jobs are managed.
    pub struct Integrations {
        pub frameworks?: Vec<String>,
        pub external_frameworks?: Vec<String>,
        /// Accepted and without effect.
        pub pod_options?: Option<PodOptions>,
        pub label_keys_to_copy?: Vec<String>,
    }
}

wire_struct! {
    /// Which pods were managed, before `managedJobsNamespaceSelector`.
    pub struct PodOptions {
        pub namespace_selector?: Option<LabelSelector>,
        pub pod_selector?: Option<LabelSelector>,
    }
}

wire_struct! {
    /// What ClusterQueues said of their pending workloads, before the visibility server.
    pub struct QueueVisibility {
        pub cluster_queues?: Option<ClusterQueueVisibility>,
        pub update_interval_seconds?: i32,
    }
}

wire_struct! {
    /// How many pending workloads were named.
    pub struct ClusterQueueVisibility {
        pub max_count?: i32,
    }
}

wire_struct! {
    /// Sends workloads to other clusters.
    pub struct MultiKueue {
        pub gc_interval: Option<Duration>,
        pub origin?: Option<String>,
        pub worker_lost_timeout?: Option<Duration>,
        pub dispatcher_name?: Option<String>,
        pub external_frameworks?: Vec<MultiKueueExternalFramework>,
    }
}

wire_struct! {
    /// Shares quota by weight; here it must be turned on.
    pub struct FairSharing {
        pub enable: bool,
        pub preemption_strategies?: Vec<PreemptionStrategy>,
    }
}

wire_struct! {
    /// How what pods ask for becomes what counts against quota.
    pub struct Resources {
        pub exclude_resource_prefixes?: Vec<String>,
        pub transformations?: Vec<ResourceTransformation>,
        pub device_class_mappings?: Vec<DeviceClassMapping>,
    }
}

wire_struct! {
    /// The resource that devices of some classes count as.
    pub struct DeviceClassMapping {
        pub name: String,
        pub device_class_names: Vec<String>,
    }
}
