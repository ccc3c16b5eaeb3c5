//! Between v1beta1 and v1beta2.
//!
//! v1beta1 turns fair sharing and waiting for pods on with `enable`; v1beta2 by the block being there. What only
//! v1beta2 can say is lost on the way back, what v1beta1 accepts without effect on the way forth.

use kueue_core::duration::Duration;

use super::blocks::PreemptionStrategy;
use super::{v1beta1, v1beta2};

/// What v1beta1 waits for pods when nothing is said.
pub(super) const V1BETA1_PODS_READY_TIMEOUT: Duration = Duration::from_seconds(5 * 60);

/// What v1beta1 tries when fair sharing is on and nothing is said.
pub(super) fn v1beta1_preemption_strategies() -> Vec<PreemptionStrategy> {
    vec![PreemptionStrategy::LessThanOrEqualToFinalShare, PreemptionStrategy::LessThanInitialShare]
}

impl From<v1beta1::Configuration> for v1beta2::Configuration {
    fn from(old: v1beta1::Configuration) -> Self {
        Self {
            namespace: old.namespace,
            webhook: old.webhook,
            leader_election: old.leader_election,
            metrics: old.metrics.into(),
            health: old.health,
            pprof_bind_address: old.pprof_bind_address,
            controller: old.controller,
            tls: old.tls,
            manage_jobs_without_queue_name: old.manage_jobs_without_queue_name,
            managed_jobs_namespace_selector: old.managed_jobs_namespace_selector,
            internal_cert_management: old.internal_cert_management,
            wait_for_pods_ready: old.wait_for_pods_ready.filter(|block| block.enable).map(Into::into),
            client_connection: old.client_connection,
            integrations: old.integrations.map(Into::into),
            multi_kueue: old.multi_kueue.map(Into::into),
            fair_sharing: old.fair_sharing.filter(|block| block.enable).map(Into::into),
            admission_fair_sharing: old.admission_fair_sharing,
            resources: old.resources.map(Into::into),
            feature_gates: old.feature_gates,
            object_retention_policies: old.object_retention_policies,
            visibility_server: None,
        }
    }
}

impl From<v1beta2::Configuration> for v1beta1::Configuration {
    fn from(new: v1beta2::Configuration) -> Self {
        Self {
            namespace: new.namespace,
            webhook: new.webhook,
            leader_election: new.leader_election,
            metrics: new.metrics.into(),
            health: new.health,
            pprof_bind_address: new.pprof_bind_address,
            controller: new.controller,
            tls: new.tls,
            manage_jobs_without_queue_name: new.manage_jobs_without_queue_name,
            managed_jobs_namespace_selector: new.managed_jobs_namespace_selector,
            internal_cert_management: new.internal_cert_management,
            wait_for_pods_ready: new.wait_for_pods_ready.map(Into::into),
            client_connection: new.client_connection,
            integrations: new.integrations.map(Into::into),
            queue_visibility: None,
            multi_kueue: new.multi_kueue.map(Into::into),
            fair_sharing: new.fair_sharing.map(Into::into),
            admission_fair_sharing: new.admission_fair_sharing,
            resources: new.resources.map(Into::into),
            feature_gates: new.feature_gates,
            object_retention_policies: new.object_retention_policies,
        }
    }
}

impl From<v1beta1::Metrics> for v1beta2::Metrics {
    fn from(old: v1beta1::Metrics) -> Self {
        Self {
            bind_address: old.bind_address,
            enable_cluster_queue_resources: old.enable_cluster_queue_resources,
            custom_labels: old.custom_labels.into_iter().map(Into::into).collect(),
            local_queue_metrics: old.local_queue_metrics,
        }
    }
}

impl From<v1beta2::Metrics> for v1beta1::Metrics {
    fn from(new: v1beta2::Metrics) -> Self {
        Self {
            bind_address: new.bind_address,
            enable_cluster_queue_resources: new.enable_cluster_queue_resources,
            custom_labels: new.custom_labels.into_iter().map(Into::into).collect(),
            local_queue_metrics: new.local_queue_metrics,
        }
    }
}

impl From<v1beta1::CustomLabel> for v1beta2::CustomLabel {
    fn from(old: v1beta1::CustomLabel) -> Self {
        Self {
            name: old.name,
            source_label_key: old.source_label_key,
            source_annotation_key: old.source_annotation_key,
            source_kind: None,
            tracked_values: Vec::new(),
        }
    }
}

impl From<v1beta2::CustomLabel> for v1beta1::CustomLabel {
    fn from(new: v1beta2::CustomLabel) -> Self {
        Self {
            name: new.name,
            source_label_key: new.source_label_key,
            source_annotation_key: new.source_annotation_key,
        }
    }
}

impl From<v1beta1::WaitForPodsReady> for v1beta2::WaitForPodsReady {
    fn from(old: v1beta1::WaitForPodsReady) -> Self {
        Self {
            timeout: old.timeout.unwrap_or(V1BETA1_PODS_READY_TIMEOUT),
            block_admission: old.block_admission.or(Some(true)),
            requeuing_strategy: old.requeuing_strategy,
            recovery_timeout: old.recovery_timeout,
        }
    }
}

impl From<v1beta2::WaitForPodsReady> for v1beta1::WaitForPodsReady {
    fn from(new: v1beta2::WaitForPodsReady) -> Self {
        Self {
            enable: true,
            timeout: Some(new.timeout),
            block_admission: new.block_admission.or(Some(false)),
            requeuing_strategy: new.requeuing_strategy,
            recovery_timeout: new.recovery_timeout,
        }
    }
}

impl From<v1beta1::Integrations> for v1beta2::Integrations {
    fn from(old: v1beta1::Integrations) -> Self {
        Self {
            frameworks: old.frameworks,
            external_frameworks: old.external_frameworks,
            label_keys_to_copy: old.label_keys_to_copy,
        }
    }
}

impl From<v1beta2::Integrations> for v1beta1::Integrations {
    fn from(new: v1beta2::Integrations) -> Self {
        Self {
            frameworks: new.frameworks,
            external_frameworks: new.external_frameworks,
            pod_options: None,
            label_keys_to_copy: new.label_keys_to_copy,
        }
    }
}

impl From<v1beta1::MultiKueue> for v1beta2::MultiKueue {
    fn from(old: v1beta1::MultiKueue) -> Self {
        Self {
            gc_interval: old.gc_interval,
            origin: old.origin,
            worker_lost_timeout: old.worker_lost_timeout,
            dispatcher_name: old.dispatcher_name,
            external_frameworks: old.external_frameworks,
            cluster_profile: None,
            incremental_dispatcher_config: None,
        }
    }
}

impl From<v1beta2::MultiKueue> for v1beta1::MultiKueue {
    fn from(new: v1beta2::MultiKueue) -> Self {
        Self {
            gc_interval: new.gc_interval,
            origin: new.origin,
            worker_lost_timeout: new.worker_lost_timeout,
            dispatcher_name: new.dispatcher_name,
            external_frameworks: new.external_frameworks,
        }
    }
}

impl From<v1beta1::FairSharing> for v1beta2::FairSharing {
    fn from(old: v1beta1::FairSharing) -> Self {
        let preemption_strategies = match old.preemption_strategies.is_empty() {
            true => v1beta1_preemption_strategies(),
            false => old.preemption_strategies,
        };
        Self { preemption_strategies }
    }
}

impl From<v1beta2::FairSharing> for v1beta1::FairSharing {
    fn from(new: v1beta2::FairSharing) -> Self {
        Self { enable: true, preemption_strategies: new.preemption_strategies }
    }
}

impl From<v1beta1::Resources> for v1beta2::Resources {
    fn from(old: v1beta1::Resources) -> Self {
        Self {
            quota_check_strategy: None,
            exclude_resource_prefixes: old.exclude_resource_prefixes,
            transformations: old.transformations,
            device_class_mappings: old.device_class_mappings.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<v1beta2::Resources> for v1beta1::Resources {
    fn from(new: v1beta2::Resources) -> Self {
        Self {
            exclude_resource_prefixes: new.exclude_resource_prefixes,
            transformations: new.transformations,
            device_class_mappings: new.device_class_mappings.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<v1beta1::DeviceClassMapping> for v1beta2::DeviceClassMapping {
    fn from(old: v1beta1::DeviceClassMapping) -> Self {
        Self { name: old.name, device_class_names: old.device_class_names, sources: Vec::new() }
    }
}

impl From<v1beta2::DeviceClassMapping> for v1beta1::DeviceClassMapping {
    fn from(new: v1beta2::DeviceClassMapping) -> Self {
        Self { name: new.name, device_class_names: new.device_class_names }
    }
}
