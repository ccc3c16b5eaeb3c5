//! What holds where the file says nothing.

use kueue_core::duration::Duration;
use kueue_core::selector::{LabelSelector, Operator, Requirement};

use super::blocks::{
    ClientConnection, Float, Health, InternalCertManagement, LeaderElection, LocalQueueMetrics, RequeuingStrategy,
    RequeuingTimestamp, ResourceTransformation, TransformationStrategy, Webhook,
};
use super::convert::{V1BETA1_PODS_READY_TIMEOUT, v1beta1_preemption_strategies};
use super::{v1beta1, v1beta2};

/// Where Kueue runs when neither the file nor its service account says so.
pub const DEFAULT_NAMESPACE: &str = "kueue-system";

/// The label that every namespace carries its own name in.
pub(super) const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// Jobs in here are the cluster's own.
pub(super) const SYSTEM_NAMESPACE: &str = "kube-system";

const PODS_READY_TIMEOUT: Duration = Duration::from_seconds(30 * 60);
const GC_INTERVAL: Duration = Duration::from_seconds(60);
const WORKER_LOST_TIMEOUT: Duration = Duration::from_seconds(15 * 60);
const SAMPLING_INTERVAL: Duration = Duration::from_seconds(5 * 60);

impl v1beta2::Configuration {
    /// Fills in the defaults; `operator_namespace` is where this process runs.
    pub fn set_defaults(&mut self, operator_namespace: &str) {
        let namespace = self.namespace.get_or_insert_with(|| operator_namespace.to_owned());
        self.managed_jobs_namespace_selector.get_or_insert_with(|| outside_of(namespace));
        webhook(&mut self.webhook);
        or_text(&mut self.metrics.bind_address, ":8443");
        self.metrics.local_queue_metrics.get_or_insert_with(all_local_queues);
        health(&mut self.health);
        leader_election(self.leader_election.get_or_insert_default());
        internal_certs(self.internal_cert_management.get_or_insert_default());
        client_connection(self.client_connection.get_or_insert_default());
        frameworks(&mut self.integrations.get_or_insert_default().frameworks);

        let pods_ready = self.wait_for_pods_ready.get_or_insert_default();
        or_duration(&mut pods_ready.timeout, PODS_READY_TIMEOUT);
        pods_ready.block_admission.get_or_insert(false);
        pods_ready.recovery_timeout.get_or_insert(pods_ready.timeout);
        requeuing(pods_ready.requeuing_strategy.get_or_insert_default());

        let multi_kueue = self.multi_kueue.get_or_insert_default();
        multi_kueue.gc_interval.get_or_insert(GC_INTERVAL);
        origin(&mut multi_kueue.origin);
        multi_kueue.worker_lost_timeout.get_or_insert(WORKER_LOST_TIMEOUT);
        let dispatcher = multi_kueue.dispatcher_name.get_or_insert_with(all_at_once);
        if dispatcher == v1beta2::DISPATCHER_INCREMENTAL {
            multi_kueue.incremental_dispatcher_config.get_or_insert_default().step_size.get_or_insert(3);
        }

        if let Some(sharing) = &mut self.admission_fair_sharing {
            or_duration(&mut sharing.usage_sampling_interval, SAMPLING_INTERVAL);
        }
        self.visibility_server.get_or_insert_default().bind_port.get_or_insert(v1beta2::VISIBILITY_PORT);
        if let Some(resources) = &mut self.resources {
            transformations(&mut resources.transformations);
        }
    }
}

impl v1beta1::Configuration {
    /// Fills in the defaults; `operator_namespace` is where this process runs.
    pub fn set_defaults(&mut self, operator_namespace: &str) {
        let namespace = self.namespace.get_or_insert_with(|| operator_namespace.to_owned());
        self.managed_jobs_namespace_selector.get_or_insert_with(|| outside_of(namespace));
        webhook(&mut self.webhook);
        or_text(&mut self.metrics.bind_address, ":8443");
        self.metrics.local_queue_metrics.get_or_insert_with(all_local_queues);
        health(&mut self.health);
        leader_election(self.leader_election.get_or_insert_default());
        internal_certs(self.internal_cert_management.get_or_insert_default());
        client_connection(self.client_connection.get_or_insert_default());
        frameworks(&mut self.integrations.get_or_insert_default().frameworks);

        let pods_ready = self.wait_for_pods_ready.get_or_insert_default();
        if pods_ready.enable {
            let timeout = *pods_ready.timeout.get_or_insert(V1BETA1_PODS_READY_TIMEOUT);
            pods_ready.recovery_timeout.get_or_insert(timeout);
            pods_ready.block_admission.get_or_insert(true);
            requeuing(pods_ready.requeuing_strategy.get_or_insert_default());
        }

        let multi_kueue = self.multi_kueue.get_or_insert_default();
        multi_kueue.gc_interval.get_or_insert(GC_INTERVAL);
        origin(&mut multi_kueue.origin);
        multi_kueue.worker_lost_timeout.get_or_insert(WORKER_LOST_TIMEOUT);
        multi_kueue.dispatcher_name.get_or_insert_with(all_at_once);

        if let Some(sharing) = &mut self.fair_sharing
            && sharing.enable
            && sharing.preemption_strategies.is_empty()
        {
            sharing.preemption_strategies = v1beta1_preemption_strategies();
        }
        if let Some(sharing) = &mut self.admission_fair_sharing {
            or_duration(&mut sharing.usage_sampling_interval, SAMPLING_INTERVAL);
        }
        if let Some(resources) = &mut self.resources {
            transformations(&mut resources.transformations);
        }
    }
}

/// Every namespace but the cluster's own and Kueue's.
fn outside_of(namespace: &str) -> LabelSelector {
    let requirement = Requirement {
        key: NAMESPACE_NAME_LABEL.to_owned(),
        operator: Operator::NotIn,
        values: vec![SYSTEM_NAMESPACE.to_owned(), namespace.to_owned()],
    };
    LabelSelector { match_expressions: vec![requirement], ..LabelSelector::default() }
}

fn webhook(webhook: &mut Webhook) {
    webhook.port.get_or_insert(9443);
    or_text(&mut webhook.cert_dir, "/tmp/k8s-webhook-server/serving-certs");
}

fn all_local_queues() -> LocalQueueMetrics {
    LocalQueueMetrics { enable: true, local_queue_selector: None }
}

fn health(health: &mut Health) {
    or_text(&mut health.health_probe_bind_address, ":8081");
}

fn leader_election(election: &mut LeaderElection) {
    election.leader_elect.get_or_insert(true);
    or_text(&mut election.resource_name, "c1f6bfd2.kueue.x-k8s.io");
    or_text(&mut election.resource_lock, "leases");
    or_duration(&mut election.lease_duration, Duration::from_seconds(15));
    or_duration(&mut election.renew_deadline, Duration::from_seconds(10));
    or_duration(&mut election.retry_period, Duration::from_seconds(2));
}

fn internal_certs(certs: &mut InternalCertManagement) {
    if *certs.enable.get_or_insert(true) {
        certs.webhook_service_name.get_or_insert_with(|| "kueue-webhook-service".to_owned());
        certs.webhook_secret_name.get_or_insert_with(|| "kueue-webhook-server-cert".to_owned());
    }
}

/// How fast we ask where nobody said anything.
const USUAL_RATE: (Float, i32) = (Float(300.0), 500);

impl ClientConnection {
    /// Whether it says no more than where nobody said anything.
    pub fn is_usual(&self) -> bool {
        (self.qps, self.burst) == (Some(USUAL_RATE.0), Some(USUAL_RATE.1))
    }
}

fn client_connection(connection: &mut ClientConnection) {
    connection.qps.get_or_insert(USUAL_RATE.0);
    connection.burst.get_or_insert(USUAL_RATE.1);
}

fn frameworks(frameworks: &mut Vec<String>) {
    if frameworks.is_empty() {
        frameworks.push("batch/job".to_owned());
    }
}

fn requeuing(strategy: &mut RequeuingStrategy) {
    strategy.timestamp.get_or_insert(RequeuingTimestamp::Eviction);
    strategy.backoff_base_seconds.get_or_insert(60);
    strategy.backoff_max_seconds.get_or_insert(3600);
}

fn origin(origin: &mut Option<String>) {
    or_text(origin.get_or_insert_default(), "multikueue");
}

fn all_at_once() -> String {
    v1beta2::DISPATCHER_ALL_AT_ONCE.to_owned()
}

fn transformations(transformations: &mut [ResourceTransformation]) {
    for transformation in transformations {
        let strategy = transformation.strategy.get_or_insert_default();
        if strategy.as_str().is_empty() {
            *strategy = TransformationStrategy::Retain;
        }
    }
}

/// An empty text is one that was not set.
fn or_text(text: &mut String, default: &str) {
    if text.is_empty() {
        default.clone_into(text);
    }
}

/// No time at all is one that was not set.
fn or_duration(duration: &mut Duration, default: Duration) {
    if *duration == Duration::ZERO {
        *duration = default;
    }
}
