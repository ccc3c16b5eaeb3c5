//! Roles for people: an editor and a viewer for each kind, gathered into `batch-admin` and `batch-user` by labels.
//!
//! Viewers of what lives in a namespace are also part of Kubernetes' own view, edit and admin roles.

use serde_json::{Value, json};

use super::{EVERYTHING, READ};
use crate::crd::GROUP;
use crate::install::metadata;

/// Who gets the roles of a kind besides the batch administrators.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Nobody: cluster-wide objects that administrators set up.
    Admins,
    /// Batch users may read: set up by administrators, of interest to those whose jobs wait there.
    UsersRead,
    /// Batch users may do everything: the jobs themselves.
    Users,
}

struct Resource {
    group: &'static str,
    name: &'static str,
    plural: &'static str,
    has_status: bool,
    audience: Audience,
}

const fn ours(name: &'static str, plural: &'static str, has_status: bool, audience: Audience) -> Resource {
    Resource { group: GROUP, name, plural, has_status, audience }
}

const fn job(group: &'static str, name: &'static str, plural: &'static str) -> Resource {
    Resource { group, name, plural, has_status: true, audience: Audience::Users }
}

const RESOURCES: &[Resource] = &[
    ours("clusterqueue", "clusterqueues", true, Audience::Admins),
    ours("cohort", "cohorts", false, Audience::Admins),
    job("kubeflow.org", "jaxjob", "jaxjobs"),
    job("batch", "job", "jobs"),
    job("jobset.x-k8s.io", "jobset", "jobsets"),
    job("leaderworkerset.x-k8s.io", "leaderworkerset", "leaderworkersets"),
    ours("localqueue", "localqueues", true, Audience::UsersRead),
    job("kubeflow.org", "mpijob", "mpijobs"),
    job("kubeflow.org", "paddlejob", "paddlejobs"),
    job("kubeflow.org", "pytorchjob", "pytorchjobs"),
    job("ray.io", "raycluster", "rayclusters"),
    job("ray.io", "rayjob", "rayjobs"),
    job("ray.io", "rayservice", "rayservices"),
    ours("resourceflavor", "resourceflavors", false, Audience::Admins),
    job("sparkoperator.k8s.io", "sparkapplication", "sparkapplications"),
    job("kubeflow.org", "tfjob", "tfjobs"),
    ours("topology", "topologies", false, Audience::Admins),
    job("trainer.kubeflow.org", "trainjob", "trainjobs"),
    ours("workload", "workloads", true, Audience::UsersRead),
    job("kubeflow.org", "xgboostjob", "xgboostjobs"),
];

pub(super) fn objects() -> Vec<Value> {
    let mut objects = vec![gathered("batch-admin"), gathered("batch-user")];
    for resource in RESOURCES {
        objects.push(resource.editor());
        objects.push(resource.viewer());
    }
    objects.push(pending_workloads("cq", "clusterqueues", false));
    objects.push(pending_workloads("lq", "localqueues", true));
    objects
}

/// A role whose rules the API server collects from all roles with its label.
fn gathered(audience: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata(&format!("kueue-{audience}-role")),
        "aggregationRule": {
            "clusterRoleSelectors": [{"matchLabels": {format!("rbac.kueue.x-k8s.io/{audience}"): "true"}}],
        },
    })
}

impl Resource {
    fn editor(&self) -> Value {
        let labels = Labels { users: self.audience == Audience::Users, kubernetes_roles: &[] };
        cluster_role(&format!("{}-editor", self.name), &labels, &self.rules(EVERYTHING))
    }

    fn viewer(&self) -> Value {
        let in_namespace = self.audience != Audience::Admins;
        let labels = Labels {
            users: in_namespace,
            kubernetes_roles: if in_namespace { &["admin", "edit", "view"] } else { &["admin"] },
        };
        cluster_role(&format!("{}-viewer", self.name), &labels, &self.rules(READ))
    }

    fn rules(&self, verbs: &[&str]) -> Vec<Value> {
        let mut rules = vec![json!({"apiGroups": [self.group], "resources": [self.plural], "verbs": verbs})];
        if self.has_status {
            let status = format!("{}/status", self.plural);
            rules.push(json!({"apiGroups": [self.group], "resources": [status], "verbs": ["get"]}));
        }
        rules
    }
}

/// Reading the waiting line of a queue through the visibility API.
fn pending_workloads(short: &str, plural: &str, users: bool) -> Value {
    let labels = Labels { users, kubernetes_roles: &["admin", "edit", "view"] };
    let rule = json!({
        "apiGroups": ["visibility.kueue.x-k8s.io"],
        "resources": [format!("{plural}/pendingworkloads")],
        "verbs": READ,
    });
    cluster_role(&format!("pending-workloads-{short}-viewer"), &labels, &[rule])
}

/// Which gathered roles a role becomes part of, besides batch-admin.
struct Labels {
    users: bool,
    kubernetes_roles: &'static [&'static str],
}

fn cluster_role(name: &str, labels: &Labels, rules: &[Value]) -> Value {
    let mut metadata = metadata(&format!("kueue-{name}-role"));
    metadata["labels"]["rbac.kueue.x-k8s.io/role"] = name.into();
    metadata["labels"]["rbac.kueue.x-k8s.io/batch-admin"] = "true".into();
    if labels.users {
        metadata["labels"]["rbac.kueue.x-k8s.io/batch-user"] = "true".into();
    }
    for role in labels.kubernetes_roles {
        metadata["labels"][format!("rbac.authorization.k8s.io/aggregate-to-{role}")] = "true".into();
    }
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": rules,
    })
}
