//! The manager as it runs in a cluster: namespace, configuration, certificate, services, deployment, aggregated API.

use serde_json::{Value, json};

use crate::install::{NAMESPACE, Options, metadata, namespaced};

pub(crate) const SERVICE_ACCOUNT: &str = "kueue-controller-manager";

/// The configuration that an install starts with; tests read it with the loader that the manager uses.
pub const CONFIGURATION: &str = include_str!("manager/controller_manager_config.yaml");

const CONFIG_MAP: &str = "kueue-manager-config";
const CONFIG_KEY: &str = "controller_manager_config.yaml";
const WEBHOOK_SECRET: &str = "kueue-webhook-server-cert";
const VISIBILITY_SERVICE: &str = "kueue-visibility-server";

const HEALTH_PORT: u16 = 8081;
const VISIBILITY_PORT: u16 = 8082;
const METRICS_PORT: u16 = 8443;
const WEBHOOK_PORT: u16 = 9443;

pub(crate) fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(NAMESPACE)})
}

pub(crate) fn objects(options: &Options) -> Vec<Value> {
    vec![
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": namespaced(CONFIG_MAP),
            "data": {CONFIG_KEY: CONFIGURATION},
        }),
        // Empty: the manager writes its certificate into it, and the pod can mount it before that.
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": namespaced(WEBHOOK_SECRET)}),
        service(
            "kueue-controller-manager-metrics-service",
            "metrics-service",
            &json!({"name": "https", "port": METRICS_PORT, "protocol": "TCP", "targetPort": METRICS_PORT}),
        ),
        service(
            VISIBILITY_SERVICE,
            "visibility-service",
            &json!({"name": "https", "port": 443, "protocol": "TCP", "targetPort": VISIBILITY_PORT}),
        ),
        service(
            "kueue-webhook-service",
            "webhook-service",
            &json!({"port": 443, "protocol": "TCP", "targetPort": WEBHOOK_PORT}),
        ),
        deployment(options),
        api_service("v1beta1"),
        api_service("v1beta2"),
    ]
}

fn component(name: &str, component: &str) -> Value {
    let mut metadata = namespaced(name);
    metadata["labels"]["app.kubernetes.io/component"] = component.into();
    metadata
}

fn service(name: &str, role: &str, port: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": component(name, role),
        "spec": {"ports": [port], "selector": selector()},
    })
}

/// What tells the manager's pods apart. A Deployment's selector cannot be changed, so it is the one that is there
/// when we are installed over Kueue.
fn selector() -> Value {
    json!({"control-plane": "controller-manager"})
}

fn deployment(options: &Options) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": component("kueue-controller-manager", "controller"),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": selector()},
            "template": {
                "metadata": {
                    "annotations": {"kubectl.kubernetes.io/default-container": "manager"},
                    "labels": metadata("")["labels"],
                },
                "spec": {
                    "containers": [container(options)],
                    "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                    "serviceAccountName": SERVICE_ACCOUNT,
                    "terminationGracePeriodSeconds": 10,
                    "volumes": [
                        {"name": "visibility", "emptyDir": {}},
                        {"name": "cert", "secret": {"secretName": WEBHOOK_SECRET}},
                        {"name": "manager-config", "configMap": {"name": CONFIG_MAP}},
                    ],
                },
            },
        },
    })
}

fn container(options: &Options) -> Value {
    let port = |name: &str, number: u16| json!({"name": name, "containerPort": number, "protocol": "TCP"});
    let file = format!("/{CONFIG_KEY}");
    json!({
        "name": "manager",
        "image": options.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/kueue", "manager"],
        "args": [format!("--config={file}"), "--zap-log-level=2"],
        "ports": [port("metrics", METRICS_PORT), port("visibility", VISIBILITY_PORT), port("webhook-server", WEBHOOK_PORT)],
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": HEALTH_PORT},
            "initialDelaySeconds": 15,
            "periodSeconds": 20,
        },
        "readinessProbe": {
            "httpGet": {"path": "/readyz", "port": HEALTH_PORT},
            "initialDelaySeconds": 5,
            "periodSeconds": 10,
        },
        "resources": {
            "limits": {"cpu": "2", "memory": "512Mi"},
            "requests": {"cpu": "500m", "memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        },
        "volumeMounts": [
            {"name": "visibility", "mountPath": "/visibility"},
            {"name": "cert", "mountPath": "/tmp/k8s-webhook-server/serving-certs", "readOnly": true},
            {"name": "manager-config", "mountPath": file, "subPath": CONFIG_KEY},
        ],
    })
}

/// Has the API server forward requests for the group to the manager.
fn api_service(version: &str) -> Value {
    const GROUP: &str = "visibility.kueue.x-k8s.io";
    json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": metadata(&format!("{version}.{GROUP}")),
        "spec": {
            "group": GROUP,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": true,
            "service": {"name": VISIBILITY_SERVICE, "namespace": NAMESPACE},
        },
    })
}
