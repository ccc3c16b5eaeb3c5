//! Pod templates and the parts of a pod that decide what it needs and where it may run.

use std::collections::BTreeMap;

use kueue_core::resource_list::ResourceList;

use super::affinity::Affinity;
use super::taint::Toleration;

view! {
    /// What every pod of a pod set is made from.
    pub struct PodTemplateSpec {
        "metadata" => pub metadata: TemplateMeta,
        "spec" => pub spec: PodSpec,
    }

    /// The metadata that pods inherit from their template.
    pub struct TemplateMeta {
        "labels" => pub labels: BTreeMap<String, String>,
        "annotations" => pub annotations: BTreeMap<String, String>,
    }

    pub struct PodSpec {
        "initContainers" => pub init_containers: Vec<Container>,
        "containers" => pub containers: Vec<Container>,
        /// Resources of the pod as a whole, which stand in for the sum of its containers.
        "resources" => pub resources: Option<ResourceRequirements>,
        /// What running the pod costs beyond its containers.
        "overhead" => pub overhead: ResourceList,
        "nodeSelector" => pub node_selector: BTreeMap<String, String>,
        "affinity" => pub affinity: Option<Affinity>,
        "tolerations" => pub tolerations: Vec<Toleration>,
        "schedulingGates" => pub scheduling_gates: Vec<PodSchedulingGate>,
        "priorityClassName" => pub priority_class_name: String,
        "priority" => pub priority: Option<i32>,
        "runtimeClassName" => pub runtime_class_name: Option<String>,
        "resourceClaims" => pub resource_claims: Vec<PodResourceClaim>,
        "restartPolicy" => pub restart_policy: String,
        "schedulerName" => pub scheduler_name: String,
        "serviceAccountName" => pub service_account_name: String,
        "nodeName" => pub node_name: String,
    }

    pub struct Container {
        "name" => pub name: String,
        "resources" => pub resources: ResourceRequirements,
        /// `Always` makes an init container a sidecar, which runs beside the others.
        "restartPolicy" => pub restart_policy: Option<String>,
    }

    pub struct ResourceRequirements {
        "requests" => pub requests: ResourceList,
        "limits" => pub limits: ResourceList,
        "claims" => pub claims: Vec<ClaimUse>,
    }

    /// A container's use of one of the pod's resource claims.
    pub struct ClaimUse {
        "name" => pub name: String,
        /// One request of the claim; the whole claim when empty.
        "request" => pub request: String,
    }

    /// A device claim of the pod, existing or made from a template.
    pub struct PodResourceClaim {
        "name" => pub name: String,
        "resourceClaimName" => pub resource_claim_name: Option<String>,
        "resourceClaimTemplateName" => pub resource_claim_template_name: Option<String>,
    }

    /// While a pod has any gate it is not scheduled.
    pub struct PodSchedulingGate {
        "name" => pub name: String,
    }
}
