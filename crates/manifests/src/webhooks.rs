//! The admission webhooks, as the API server is told about them.

use kueue_api::webhook_filter;
use serde_json::{Value, json};

use crate::crd::GROUP;
use crate::install::{NAMESPACE, metadata};

const CREATE: &[&str] = &["CREATE"];
const CREATE_AND_UPDATE: &[&str] = &["CREATE", "UPDATE"];

/// A kind that requests are sent to us for.
struct Hook {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    /// The last part of the path and the middle of the webhook's name.
    kind: &'static str,
    mutate: &'static [&'static str],
    validate: &'static [&'static str],
}

const fn hook(
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    kind: &'static str,
    mutate: &'static [&'static str],
) -> Hook {
    Hook { group, version, plural, kind, mutate, validate: CREATE_AND_UPDATE }
}

/// By kind, as the names of the webhooks are sorted.
const HOOKS: &[Hook] = &[
    hook("workload.codeflare.dev", "v1beta2", "appwrappers", "appwrapper", CREATE),
    hook(GROUP, "v1beta2", "clusterqueues", "clusterqueue", CREATE),
    hook(GROUP, "v1beta2", "cohorts", "cohort", &[]),
    hook("apps", "v1", "deployments", "deployment", CREATE_AND_UPDATE),
    hook("kubeflow.org", "v1", "jaxjobs", "jaxjob", CREATE),
    hook("batch", "v1", "jobs", "job", CREATE),
    hook("jobset.x-k8s.io", "v1alpha2", "jobsets", "jobset", CREATE),
    hook("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "leaderworkerset", CREATE_AND_UPDATE),
    hook("kubeflow.org", "v2beta1", "mpijobs", "mpijob", CREATE),
    hook("kubeflow.org", "v1", "paddlejobs", "paddlejob", CREATE),
    hook("", "v1", "pods", "pod", CREATE),
    hook("kubeflow.org", "v1", "pytorchjobs", "pytorchjob", CREATE),
    hook("ray.io", "v1", "rayclusters", "raycluster", CREATE),
    hook("ray.io", "v1", "rayjobs", "rayjob", CREATE),
    hook("ray.io", "v1", "rayservices", "rayservice", CREATE),
    hook(GROUP, "v1beta2", "resourceflavors", "resourceflavor", CREATE),
    hook("sparkoperator.k8s.io", "v1beta2", "sparkapplications", "sparkapplication", CREATE),
    hook("apps", "v1", "statefulsets", "statefulset", CREATE_AND_UPDATE),
    hook("kubeflow.org", "v1", "tfjobs", "tfjob", CREATE),
    hook("trainer.kubeflow.org", "v1alpha1", "trainjobs", "trainjob", CREATE),
    // Not workloads/status: a call for every status write would be the dearest part of it, and only controllers write
    // there. What others may write (answers of admission checks) is checked by the rules of the CRD.
    hook(GROUP, "v1beta2", "workloads", "workload", CREATE),
    hook("kubeflow.org", "v1", "xgboostjobs", "xgboostjob", CREATE),
];

/// Where the API server finds our webhooks: a path of the Service.
pub(crate) fn service(path: &str) -> Value {
    json!({"name": "kueue-webhook-service", "namespace": NAMESPACE, "path": path})
}

/// The two configurations. The manager fills in the certificate authority.
pub(crate) fn configurations() -> Vec<Value> {
    vec![
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": metadata("kueue-mutating-webhook-configuration"),
            "webhooks": entries("mutate", |hook| hook.mutate),
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": metadata("kueue-validating-webhook-configuration"),
            "webhooks": entries("validate", |hook| hook.validate),
        }),
    ]
}

fn entries(verb: &str, operations: fn(&Hook) -> &'static [&'static str]) -> Vec<Value> {
    HOOKS.iter().filter(|hook| !operations(hook).is_empty()).map(|hook| hook.entry(verb, operations(hook))).collect()
}

impl Hook {
    fn entry(&self, verb: &str, operations: &[&str]) -> Value {
        let path = format!("/{verb}-{}-{}-{}", self.group.replace('.', "-"), self.version, self.kind);
        let mut entry = json!({
            "name": format!("{}{}.kb.io", &verb[..1], self.kind),
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": service(&path)},
            "sideEffects": "None",
            "rules": [{
                "apiGroups": [self.group],
                "apiVersions": [self.version],
                "operations": operations,
                "resources": [self.plural],
                // The default, said here because kubectl compares the list as a whole.
                "scope": "*",
            }],
        });
        if self.group == GROUP {
            // The CRDs check our own kinds, so creating them right after the install, before the manager answers,
            // must not fail; a job that slips past the webhook, on the other hand, would start at once.
            entry["failurePolicy"] = "Ignore".into();
        } else {
            entry["failurePolicy"] = "Fail".into();
            entry["namespaceSelector"] = json!({"matchExpressions": [{
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": ["kube-system", NAMESPACE],
            }]});
            // The manager adds hooks for jobs that wait without naming a queue.
            entry["matchConditions"] =
                json!([{"name": webhook_filter::NAME, "expression": webhook_filter::expression()}]);
        }
        entry
    }
}
