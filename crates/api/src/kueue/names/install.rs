//! What an installation is called. Users have these names in their scripts.

/// Where the manager runs.
pub const NAMESPACE: &str = "kueue-system";
/// What all names of an installation begin with.
pub const NAME_PREFIX: &str = "kueue-";
/// Deployment and ServiceAccount of the manager.
pub const MANAGER: &str = "kueue-controller-manager";
/// The container of the manager.
pub const MANAGER_CONTAINER: &str = "manager";
/// ConfigMap with the configuration.
pub const CONFIG_MAP: &str = "kueue-manager-config";
/// The file in the ConfigMap.
pub const CONFIG_MAP_KEY: &str = "controller_manager_config.yaml";
/// Service of the webhooks.
pub const WEBHOOK_SERVICE: &str = "kueue-webhook-service";
/// Secret with the certificate of the webhooks.
pub const WEBHOOK_CERT_SECRET: &str = "kueue-webhook-server-cert";
/// Where the certificate of the webhooks is mounted.
pub const WEBHOOK_CERT_DIR: &str = "/tmp/k8s-webhook-server/serving-certs";
/// The mutating webhooks.
pub const MUTATING_WEBHOOKS: &str = "kueue-mutating-webhook-configuration";
/// The validating webhooks.
pub const VALIDATING_WEBHOOKS: &str = "kueue-validating-webhook-configuration";
/// Service of the visibility API.
pub const VISIBILITY_SERVICE: &str = "kueue-visibility-server";
/// Where the certificate of the visibility API is mounted.
pub const VISIBILITY_CERT_DIR: &str = "/visibility";
/// Service of the metrics.
pub const METRICS_SERVICE: &str = "kueue-controller-manager-metrics-service";
/// Where the certificate of the metrics is mounted.
pub const METRICS_CERT_DIR: &str = "/etc/kueue/metrics/certs";
/// Lease that the leader holds.
pub const LEADER_LEASE: &str = "c1f6bfd2.kueue.x-k8s.io";
/// Key of a worker cluster's Secret.
pub const MULTIKUEUE_SECRET_KEY: &str = "kubeconfig";
/// Folder that kubeconfig files of worker clusters must be in.
pub const MULTIKUEUE_KUBECONFIG_DIR: &str = "/etc/multikueue/kubeconfigs/";
