//! The parts of a configuration that v1beta1 and v1beta2 share.

use std::collections::BTreeMap;

use kueue_core::duration::Duration;
use kueue_core::quantity::Quantity;
use kueue_core::selector::LabelSelector;
use serde::{Deserialize, Serialize, Serializer};

use crate::wire::{string_enum, wire_struct};

wire_struct! {
    /// The server of the admission and conversion webhooks.
    pub struct Webhook {
        pub port?: Option<i64>,
        /// The address to listen on; empty means all.
        pub host?: String,
        /// Where `tls.crt` and `tls.key` are.
        pub cert_dir?: String,
    }
}

wire_struct! {
    /// How one of several replicas is chosen to act.
    pub struct LeaderElection {
        pub leader_elect: Option<bool>,
        /// How long the others wait after the last sign of life before they take over.
        pub lease_duration: Duration,
        /// How long the leader tries to renew before it gives up.
        pub renew_deadline: Duration,
        /// The pause between two attempts.
        pub retry_period: Duration,
        /// The kind of object that is used as lock.
        pub resource_lock: String,
        pub resource_name: String,
        /// Empty means the namespace Kueue runs in.
        pub resource_namespace: String,
    }
}

wire_struct! {
    /// Which LocalQueues have metrics of their own.
    pub struct LocalQueueMetrics {
        pub enable?: bool,
        /// All of them when not set.
        pub local_queue_selector?: Option<LabelSelector>,
    }
}

wire_struct! {
    /// The probes the kubelet asks.
    pub struct Health {
        pub health_probe_bind_address?: String,
        /// `readyz` when empty.
        pub readiness_endpoint_name?: String,
        /// `healthz` when empty.
        pub liveness_endpoint_name?: String,
    }
}

wire_struct! {
    /// Options of all controllers.
    pub struct Controller {
        /// How many objects are reconciled at once, by `Kind.group`; 1 where nothing is said.
        pub group_kind_concurrency?: BTreeMap<String, i64>,
        /// In nanoseconds, because Kueue declares it as a bare integer.
        pub cache_sync_timeout?: Option<i64>,
    }
}

wire_struct! {
    /// What clients of the webhook, metrics and visibility servers must be able to speak.
    pub struct Tls {
        /// `VersionTLS12` or `VersionTLS13`.
        pub min_version?: String,
        /// Go's names; cannot be chosen with TLS 1.3.
        pub cipher_suites?: Vec<String>,
        /// IANA numbers of key exchange groups.
        pub curve_preferences?: Vec<i32>,
    }
}

wire_struct! {
    /// Certificates that Kueue makes for itself.
    pub struct InternalCertManagement {
        pub enable?: Option<bool>,
        pub webhook_service_name?: Option<String>,
        pub webhook_secret_name?: Option<String>,
    }
}

string_enum! {
    /// From which moment a workload queues again after its pods did not become ready.
    pub enum RequeuingTimestamp {
        /// When it was created.
        Creation,
        /// When it was evicted.
        Eviction,
    }
}

wire_struct! {
    /// How a workload comes back after its pods did not become ready.
    pub struct RequeuingStrategy {
        pub timestamp?: Option<RequeuingTimestamp>,
        /// After so many attempts the workload is deactivated; never when not set.
        pub backoff_limit_count?: Option<i32>,
        /// The first pause; each further one is twice as long.
        pub backoff_base_seconds?: Option<i32>,
        pub backoff_max_seconds?: Option<i32>,
    }
}

wire_struct! {
    /// How fast we may ask the API server.
    pub struct ClientConnection {
        /// Requests per second; negative means no limit on our side.
        pub qps?: Option<Float>,
        pub burst?: Option<i32>,
    }
}

wire_struct! {
    /// A kind, as `kind.version.group`, that MultiKueue handles without a built-in adapter.
    pub struct MultiKueueExternalFramework {
        pub name: String,
    }
}

string_enum! {
    /// What becomes of the input of a transformation.
    pub enum TransformationStrategy {
        /// It counts beside the outputs.
        Retain,
        /// Only the outputs count.
        Replace,
    }
}

wire_struct! {
    /// Turns a resource that pods ask for into others that count against quota.
    pub struct ResourceTransformation {
        pub input: String,
        pub strategy?: Option<TransformationStrategy>,
        /// A resource whose amount multiplies the input.
        pub multiply_by?: String,
        /// What one unit of the input counts as.
        pub outputs?: BTreeMap<String, Quantity>,
    }
}

string_enum! {
    /// A condition that a preemption under fair sharing must meet.
    pub enum PreemptionStrategy {
        /// The preemptor's share with the workload is at most the other's share without its victim.
        LessThanOrEqualToFinalShare,
        /// The preemptor's share with the workload is less than the other's share as it is.
        LessThanInitialShare,
    }
}

wire_struct! {
    /// Orders workloads by what their LocalQueue has used up to now.
    pub struct AdmissionFairSharing {
        /// After this time past usage counts half; 0 forgets it at once.
        pub usage_half_life_time: Duration,
        /// How often usage is recorded.
        pub usage_sampling_interval: Duration,
        /// How much a unit of a resource weighs; 1 where nothing is said.
        pub resource_weights?: BTreeMap<String, Float>,
    }
}

wire_struct! {
    /// When objects that are done with are deleted.
    pub struct ObjectRetentionPolicies {
        pub workloads?: Option<WorkloadRetentionPolicy>,
    }
}

wire_struct! {
    /// When Workloads are deleted: never where nothing is said, at once for 0.
    pub struct WorkloadRetentionPolicy {
        pub after_finished?: Option<Duration>,
        pub after_deactivated_by_kueue?: Option<Duration>,
    }
}

/// A number that may have a fraction; printed as Go does, without one when it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Float(pub f64);

impl Serialize for Float {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT_MAX: f64 = (1u64 << 53) as f64;
        match self.0.fract() == 0.0 && self.0.abs() <= EXACT_MAX {
            true => serializer.serialize_i64(self.0 as i64),
            false => serializer.serialize_f64(self.0),
        }
    }
}
