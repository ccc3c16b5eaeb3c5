//! `config.kueue.x-k8s.io/v1beta2`: the configuration that the rest of the program works with.

use std::collections::BTreeMap;

use kueue_core::duration::Duration;
use kueue_core::gates::{Gate, Gates};
use kueue_core::selector::LabelSelector;

use super::blocks::{
    AdmissionFairSharing, ClientConnection, Controller, Health, InternalCertManagement, LeaderElection,
    LocalQueueMetrics, MultiKueueExternalFramework, ObjectRetentionPolicies, PreemptionStrategy, RequeuingStrategy,
    ResourceTransformation, Tls, Webhook,
};
use crate::meta::ObjectMeta;
use crate::wire::{string_enum, wire_struct};

/// As `apiVersion` says it.
pub const API_VERSION: &str = "config.kueue.x-k8s.io/v1beta2";

wire_struct! {
    /// What an administrator can set.
    pub struct Configuration {
        /// Where Kueue runs; part of the DNS names in its certificates.
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
        pub multi_kueue?: Option<MultiKueue>,
        pub fair_sharing?: Option<FairSharing>,
        pub admission_fair_sharing?: Option<AdmissionFairSharing>,
        pub resources?: Option<Resources>,
        /// Excludes the flag `--feature-gates`, even when empty.
        pub feature_gates?: Option<BTreeMap<String, bool>>,
        pub object_retention_policies?: Option<ObjectRetentionPolicies>,
        pub visibility_server?: Option<VisibilityServer>,
    }
}

impl Configuration {
    /// Whether workloads are evicted when their pods do not become ready in time.
    pub fn waits_for_pods_ready(&self, gates: Gates) -> bool {
        self.wait_for_pods_ready.is_some() && !gates.enabled(Gate::DisableWaitForPodsReady)
    }

    /// Whether certificates are made and kept up by us, and not by somebody like cert-manager.
    pub fn manages_certificates(&self) -> bool {
        self.internal_cert_management.as_ref().and_then(|certificates| certificates.enable).unwrap_or(true)
    }

    /// The address and port at which who waits in queues can be asked; all addresses when there is none.
    pub fn visibility_endpoint(&self) -> (Option<&str>, i32) {
        let server = self.visibility_server.as_ref();
        let address = server.and_then(|server| server.bind_address.as_deref());
        (address, server.and_then(|server| server.bind_port).unwrap_or(VISIBILITY_PORT))
    }
}

/// The port of the visibility server unless the file says otherwise.
pub(super) const VISIBILITY_PORT: i32 = 8082;

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

string_enum! {
    /// The kind of object that a custom metric label is read from.
    pub enum SourceKind {
        Cohort,
        LocalQueue,
        ClusterQueue,
        Workload,
    }
}

wire_struct! {
    /// A label or annotation of an object that becomes a label `custom_<name>` of its metrics.
    pub struct CustomLabel {
        pub name: String,
        /// The name, when neither key is set.
        pub source_label_key?: String,
        pub source_annotation_key?: String,
        /// ClusterQueue when not set.
        pub source_kind?: Option<SourceKind>,
        /// The values that are reported; others are lumped together. Empty means all.
        pub tracked_values?: Vec<String>,
    }
}

/// Stands for every value that is not tracked, so that users cannot make metrics grow without bound.
const UNTRACKED: &str = "kueue.x-k8s.io/_UNTRACKED_VALUE_";

impl CustomLabel {
    /// Whether it is read from objects of that kind.
    pub fn is_of(&self, kind: &SourceKind) -> bool {
        self.source_kind.as_ref().unwrap_or(&SourceKind::ClusterQueue) == kind
    }

    /// Its value for an object.
    pub fn value_of<'a>(&self, meta: &'a ObjectMeta) -> &'a str {
        let value = if !self.source_annotation_key.is_empty() {
            meta.annotations.get(&self.source_annotation_key)
        } else if !self.source_label_key.is_empty() {
            meta.labels.get(&self.source_label_key)
        } else {
            meta.labels.get(&self.name)
        };
        let value = value.map_or("", String::as_str);
        let is_tracked = self.tracked_values.is_empty() || self.tracked_values.iter().any(|known| known == value);
        if is_tracked { value } else { UNTRACKED }
    }
}

wire_struct! {
    /// Evicts workloads whose pods are not all ready in time.
    pub struct WaitForPodsReady {
        pub timeout: Duration,
        /// Whether nothing further is admitted until the pods of all before are ready.
        pub block_admission?: Option<bool>,
        pub requeuing_strategy?: Option<RequeuingStrategy>,
        /// How long pods may be missing later on; 0 does not look.
        pub recovery_timeout?: Option<Duration>,
    }
}

wire_struct! {
    /// Which kinds of jobs are managed.
    pub struct Integrations {
        /// The built-in ones, by name.
        pub frameworks?: Vec<String>,
        /// Those managed by others on our behalf, as `Kind.version.group`.
        pub external_frameworks?: Vec<String>,
        /// Labels that the Workload takes over from its job.
        pub label_keys_to_copy?: Vec<String>,
    }
}

/// Offers a workload to all workers at once.
pub const DISPATCHER_ALL_AT_ONCE: &str = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once";
/// Offers a workload to a few workers first, then to more.
pub const DISPATCHER_INCREMENTAL: &str = "kueue.x-k8s.io/multikueue-dispatcher-incremental";

wire_struct! {
    /// Sends workloads to other clusters.
    pub struct MultiKueue {
        /// How often objects left over in the workers are looked for; 0 never.
        pub gc_interval: Option<Duration>,
        /// Tells the objects of this manager from those of others in the same worker.
        pub origin?: Option<String>,
        /// How long a workload keeps its place when its worker cannot be reached.
        pub worker_lost_timeout?: Option<Duration>,
        pub dispatcher_name?: Option<String>,
        pub external_frameworks?: Vec<MultiKueueExternalFramework>,
        pub cluster_profile?: Option<ClusterProfile>,
        pub incremental_dispatcher_config?: Option<IncrementalDispatcherConfig>,
    }
}

wire_struct! {
    /// How many workers the incremental dispatcher adds at a time.
    pub struct IncrementalDispatcherConfig {
        pub step_size?: Option<i32>,
    }
}

wire_struct! {
    /// How workers found as ClusterProfiles are accessed.
    pub struct ClusterProfile {
        pub access_providers?: Vec<AccessProvider>,
        /// The old name of the same list.
        pub credentials_providers?: Vec<AccessProvider>,
    }
}

wire_struct! {
    /// A program that prints credentials.
    pub struct AccessProvider {
        pub name: String,
        pub exec_config: ExecConfig,
    }
}

string_enum! {
    /// Whether the program reads standard input.
    pub enum InteractiveMode {
        Never,
        IfAvailable,
        Always,
    }
}

wire_struct! {
    /// How the program is started, as a kubeconfig says it.
    pub struct ExecConfig {
        pub command: String,
        pub args: Option<Vec<String>>,
        pub env: Option<Vec<ExecEnvVar>>,
        pub api_version?: String,
        /// Shown when the program is missing.
        pub install_hint?: String,
        pub provide_cluster_info: bool,
        pub interactive_mode?: InteractiveMode,
    }
}

wire_struct! {
    /// A variable that the program gets.
    pub struct ExecEnvVar {
        pub name: String,
        pub value: String,
    }
}

wire_struct! {
    /// Shares quota by weight; being there turns it on.
    pub struct FairSharing {
        /// Tried in this order.
        pub preemption_strategies: Vec<PreemptionStrategy>,
    }
}

string_enum! {
    /// What happens to resources that a ClusterQueue does not cover.
    pub enum QuotaCheckStrategy {
        /// They do not count.
        IgnoreUndeclared,
        /// They keep the workload out.
        BlockUndeclared,
    }
}

wire_struct! {
    /// How what pods ask for becomes what counts against quota.
    pub struct Resources {
        pub quota_check_strategy?: Option<QuotaCheckStrategy>,
        /// Resources whose name begins so do not count.
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
        /// What of a device counts; the device itself when empty.
        pub sources?: Vec<DeviceClassSource>,
    }
}

wire_struct! {
    /// Exactly one of the two.
    pub struct DeviceClassSource {
        pub counter?: Option<DeviceQuantity>,
        pub capacity?: Option<DeviceQuantity>,
    }
}

wire_struct! {
    /// A counter or capacity of the devices that a driver publishes.
    pub struct DeviceQuantity {
        pub name: String,
        pub driver: String,
        pub device_selector: DeviceSelector,
    }
}

wire_struct! {
    /// Which devices are meant.
    pub struct DeviceSelector {
        pub cel?: Option<CelDeviceSelector>,
    }
}

wire_struct! {
    /// A CEL expression over `device`.
    pub struct CelDeviceSelector {
        pub expression: String,
    }
}

wire_struct! {
    /// The server behind `kubectl get --raw …/pendingworkloads`.
    pub struct VisibilityServer {
        /// All addresses when not set.
        pub bind_address?: Option<String>,
        pub bind_port?: Option<i32>,
    }
}
