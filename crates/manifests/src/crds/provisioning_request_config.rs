//! ProvisioningRequestConfig: parameters of the check that asks the cluster autoscaler for nodes.

use serde_json::json;

use crate::crd::{Conversion, Kind, Scope, Version, default_columns};
use crate::schema::{Schema, int32, label_key, list, map, object, object_name, one_of, string};

pub(super) const KIND: Kind = Kind {
    name: "ProvisioningRequestConfig",
    plural: "provisioningrequestconfigs",
    short_names: &["prc"],
    scope: Scope::Cluster,
    versions: &[Version::V1Beta2, Version::V1Beta1],
    deprecated: &[Version::V1Beta1],
    conversion: Conversion::None,
    has_status: false,
    selectable_fields: &[],
    columns: default_columns,
    schema,
};

fn schema(version: Version) -> Schema {
    object()
        .doc(
            "A ProvisioningRequestConfig says how the admission check kueue.x-k8s.io/provisioning-request asks the cluster \
             autoscaler for capacity before a job starts.",
        )
        .field("spec", spec(version), "What is asked for, and what is done with the answer.")
}

fn spec(version: Version) -> Schema {
    object()
        .required(
            "provisioningClassName",
            object_name().min_len(1),
            "The way in which capacity is provided, such as check-capacity.autoscaling.x-k8s.io or \
             queued-provisioning.gke.io. The autoscaler defines the classes.",
        )
        .field(
            "parameters",
            map(string().max_len(255)).max_entries(100),
            "Passed on to the autoscaler as they are. A job can add its own with annotations that start with \
             provreq.kueue.x-k8s.io/.",
        )
        .field(
            "managedResources",
            list(label_key(), 100).set_list(),
            "The resources that need provisioning. Pod sets that request none of them are left out, and when no pod set \
             is left the check passes at once. Without the list every pod set is asked for.",
        )
        .field("retryStrategy", retry_strategy(), "What happens when the autoscaler could not provide the capacity.")
        .field("podSetUpdates", pod_set_updates(version), "What pods get once the capacity is there.")
        .field(
            "podSetMergePolicy",
            one_of(&["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"]),
            "Asks for pod sets together when their templates are the same (IdenticalPodTemplates) or need the same \
             nodes and resources (IdenticalWorkloadSchedulingRequirements). Without it each pod set is asked for on its own.",
        )
}

fn retry_strategy() -> Schema {
    object()
        .field(
            "backoffLimitCount",
            int32().default(3),
            "How often to try again. Afterwards the check is Rejected and the workload deactivated. 0 means never.",
        )
        .field(
            "backoffBaseSeconds",
            int32().default(60),
            "The pause before the first new attempt. It doubles each time.",
        )
        .field("backoffMaxSeconds", int32().default(1800), "The longest pause.")
        .default(json!({"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800}))
}

fn pod_set_updates(version: Version) -> Schema {
    let selector = object().required("key", label_key(), "The key of the node selector.").required(
        "valueFromProvisioningClassDetail",
        string().min_len(1).max_len(32_768),
        "The entry of the ProvisioningRequest's status.provisioningClassDetails whose value is used.",
    );
    let selectors = list(selector, 8);
    object().field(
        "nodeSelector",
        if version < Version::V1Beta2 { selectors } else { selectors.keyed_by(&["key"]) },
        "Node selectors that lead the pods to the nodes that were provided for them.",
    )
}
