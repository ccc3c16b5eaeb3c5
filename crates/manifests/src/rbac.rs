//! Who may do what: the manager, and the roles that administrators bind to people.

mod people;

use serde_json::{Value, json};

use crate::crd::GROUP;
use crate::install::{NAMESPACE, metadata, namespaced};
use crate::manager::SERVICE_ACCOUNT;

const READ: &[&str] = &["get", "list", "watch"];
const UPDATE_STATUS: &[&str] = &["get", "patch", "update"];
const CHANGE: &[&str] = &["get", "list", "patch", "update", "watch"];
const CREATE_AND_CHANGE: &[&str] = &["create", "get", "list", "patch", "update", "watch"];
const CHANGE_AND_DELETE: &[&str] = &["delete", "get", "list", "patch", "update", "watch"];
const EVERYTHING: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];

/// A rule of a role.
struct Grant {
    group: &'static str,
    resources: &'static [&'static str],
    /// Only these objects; all when empty.
    names: &'static [&'static str],
    verbs: &'static [&'static str],
}

const fn grant(group: &'static str, resources: &'static [&'static str], verbs: &'static [&'static str]) -> Grant {
    Grant { group, resources, names: &[], verbs }
}

/// What the manager does anywhere in the cluster. Wherever it changes an object it patches it, and so never drops a
/// field that it does not know; `update` stays, for tools that go by these rules.
const MANAGER: &[Grant] = &[
    grant("", &["limitranges", "namespaces", "nodes"], READ),
    grant("", &["pods"], CHANGE_AND_DELETE),
    grant("", &["pods/finalizers"], &["get", "update"]),
    grant("", &["pods/status"], &["get", "patch"]),
    grant("", &["podtemplates"], EVERYTHING),
    grant(
        "admissionregistration.k8s.io",
        &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        &["list", "watch"],
    ),
    Grant {
        group: "admissionregistration.k8s.io",
        resources: &["mutatingwebhookconfigurations"],
        names: &["kueue-mutating-webhook-configuration"],
        verbs: UPDATE_STATUS,
    },
    Grant {
        group: "admissionregistration.k8s.io",
        resources: &["validatingwebhookconfigurations"],
        names: &["kueue-validating-webhook-configuration"],
        verbs: UPDATE_STATUS,
    },
    grant("apiextensions.k8s.io", &["customresourcedefinitions"], &["list", "watch"]),
    Grant {
        group: "apiextensions.k8s.io",
        resources: &["customresourcedefinitions"],
        names: &["clusterprofiles.multicluster.x-k8s.io"],
        verbs: &["get"],
    },
    Grant {
        group: "apiextensions.k8s.io",
        resources: &["customresourcedefinitions"],
        names: &[
            "clusterqueues.kueue.x-k8s.io",
            "cohorts.kueue.x-k8s.io",
            "localqueues.kueue.x-k8s.io",
            "multikueueclusters.kueue.x-k8s.io",
            "workloads.kueue.x-k8s.io",
        ],
        verbs: UPDATE_STATUS,
    },
    grant("apps", &["deployments", "replicasets", "statefulsets"], READ),
    grant("autoscaling.x-k8s.io", &["provisioningrequests"], EVERYTHING),
    grant("autoscaling.x-k8s.io", &["provisioningrequests/status"], &["get"]),
    grant("batch", &["jobs"], CHANGE_AND_DELETE),
    grant("batch", &["jobs/finalizers", "jobs/status"], UPDATE_STATUS),
    grant("events.k8s.io", &["events"], &["create", "patch", "update", "watch"]),
    grant("flowcontrol.apiserver.k8s.io", &["flowschemas", "prioritylevelconfigurations"], &["list", "watch"]),
    grant("flowcontrol.apiserver.k8s.io", &["flowschemas/status"], &["patch"]),
    grant("jobset.x-k8s.io", &["jobsets"], CHANGE_AND_DELETE),
    grant("jobset.x-k8s.io", &["jobsets/finalizers"], &["get", "update"]),
    grant("jobset.x-k8s.io", &["jobsets/status"], UPDATE_STATUS),
    grant("kubeflow.org", &["jaxjobs"], CHANGE),
    grant("kubeflow.org", &["mpijobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs"], CHANGE_AND_DELETE),
    grant(
        "kubeflow.org",
        &[
            "jaxjobs/finalizers",
            "mpijobs/finalizers",
            "paddlejobs/finalizers",
            "pytorchjobs/finalizers",
            "tfjobs/finalizers",
            "xgboostjobs/finalizers",
        ],
        &["get", "update"],
    ),
    grant(
        "kubeflow.org",
        &[
            "jaxjobs/status",
            "mpijobs/status",
            "paddlejobs/status",
            "pytorchjobs/status",
            "tfjobs/status",
            "xgboostjobs/status",
        ],
        UPDATE_STATUS,
    ),
    grant(GROUP, &["admissionchecks", "clusterqueues", "resourceflavors", "topologies"], CHANGE),
    grant(
        GROUP,
        &[
            "admissionchecks/finalizers",
            "clusterqueues/finalizers",
            "resourceflavors/finalizers",
            "topologies/finalizers",
            "workloads/finalizers",
        ],
        &["update"],
    ),
    grant(
        GROUP,
        &[
            "admissionchecks/status",
            "clusterqueues/status",
            "cohorts/status",
            "localqueues/status",
            "multikueueclusters/status",
            "workloads/status",
        ],
        UPDATE_STATUS,
    ),
    grant(
        GROUP,
        &[
            "cohorts",
            "localqueues",
            "multikueueclusters",
            "multikueueconfigs",
            "provisioningrequestconfigs",
            "workloadpriorityclasses",
        ],
        READ,
    ),
    grant(GROUP, &["workloads"], EVERYTHING),
    grant("leaderworkerset.x-k8s.io", &["leaderworkersets"], READ),
    grant("leaderworkerset.x-k8s.io", &["leaderworkersets/status"], UPDATE_STATUS),
    grant("node.k8s.io", &["runtimeclasses"], READ),
    grant("ray.io", &["rayclusters", "rayjobs", "rayservices"], CHANGE_AND_DELETE),
    grant("ray.io", &["rayclusters/finalizers", "rayjobs/finalizers", "rayservices/finalizers"], &["get", "update"]),
    grant("ray.io", &["rayclusters/status", "rayjobs/status", "rayservices/status"], UPDATE_STATUS),
    grant("resource.k8s.io", &["deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"], READ),
    grant("scheduling.k8s.io", &["priorityclasses"], READ),
    grant("sparkoperator.k8s.io", &["sparkapplications"], CHANGE_AND_DELETE),
    grant("trainer.kubeflow.org", &["clustertrainingruntimes", "trainingruntimes"], READ),
    grant("trainer.kubeflow.org", &["trainjobs"], CHANGE),
    grant("trainer.kubeflow.org", &["trainjobs/finalizers"], &["get", "update"]),
    grant("trainer.kubeflow.org", &["trainjobs/status"], UPDATE_STATUS),
    grant("workload.codeflare.dev", &["appwrappers"], CHANGE_AND_DELETE),
    grant("workload.codeflare.dev", &["appwrappers/finalizers"], &["get", "update"]),
    grant("workload.codeflare.dev", &["appwrappers/status"], UPDATE_STATUS),
];

/// What the manager does in its own namespace, by role.
const IN_NAMESPACE: &[(&str, &[Grant])] = &[
    (
        "kueue-leader-election",
        &[
            grant("", &["configmaps"], EVERYTHING),
            grant("coordination.k8s.io", &["leases"], EVERYTHING),
            grant("", &["events"], &["create", "patch"]),
        ],
    ),
    ("kueue-manager-clusterprofiles", &[grant("multicluster.x-k8s.io", &["clusterprofiles"], READ)]),
    // A certificate that somebody deletes is made again. What is created cannot be limited by its name, and what a
    // configuration calls the Secret, or the kubeconfigs of other clusters, is not known here.
    ("kueue-manager-secrets", &[grant("", &["secrets"], CREATE_AND_CHANGE)]),
];

/// The service account, its roles, and the roles for people.
pub(crate) fn objects() -> Vec<Value> {
    let mut objects = vec![json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": namespaced(SERVICE_ACCOUNT),
    })];
    for (name, grants) in IN_NAMESPACE {
        objects.push(role("Role", &namespaced(&format!("{name}-role")), grants));
        objects.push(binding(&namespaced(&format!("{name}-rolebinding")), "Role", &format!("{name}-role")));
    }
    objects.push(role("ClusterRole", &metadata("kueue-manager-role"), MANAGER));
    objects.push(binding(&metadata("kueue-manager-rolebinding"), "ClusterRole", "kueue-manager-role"));
    objects.extend(metrics());
    objects.push(visibility_binding());
    objects.extend(people::objects());
    objects
}

/// The metrics endpoint asks the API server who a caller is and whether they may read.
fn metrics() -> Vec<Value> {
    const AUTH: &[Grant] = &[
        grant("authentication.k8s.io", &["tokenreviews"], &["create"]),
        grant("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
    ];
    let mut reader = role("ClusterRole", &metadata("kueue-metrics-reader"), &[]);
    reader["rules"] = json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]);
    vec![
        role("ClusterRole", &metadata("kueue-metrics-auth-role"), AUTH),
        binding(&metadata("kueue-metrics-auth-rolebinding"), "ClusterRole", "kueue-metrics-auth-role"),
        reader,
    ]
}

/// The visibility server reads how the API server proves itself when it forwards a request.
fn visibility_binding() -> Value {
    let mut metadata = metadata("kueue-visibility-server-auth-reader");
    metadata["namespace"] = "kube-system".into();
    binding(&metadata, "Role", "extension-apiserver-authentication-reader")
}

fn role(kind: &str, metadata: &Value, grants: &[Grant]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": grants.iter().map(Grant::to_value).collect::<Vec<_>>(),
    })
}

/// Gives a role to the manager's service account; in a namespace when `metadata` has one.
fn binding(metadata: &Value, role_kind: &str, role: &str) -> Value {
    let kind = if metadata.get("namespace").is_some() { "RoleBinding" } else { "ClusterRoleBinding" };
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": NAMESPACE}],
    })
}

impl Grant {
    fn to_value(&self) -> Value {
        let mut value = json!({"apiGroups": [self.group], "resources": self.resources, "verbs": self.verbs});
        if !self.names.is_empty() {
            value["resourceNames"] = self.names.into();
        }
        value
    }
}
