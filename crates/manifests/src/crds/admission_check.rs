//! AdmissionCheck: a further condition for admission.

use super::status::conditions;
use crate::crd::{Conversion, Kind, Scope, Version, default_columns};
use crate::schema::{Rule, Schema, int64, object, object_name, string};

pub(super) const KIND: Kind = Kind {
    name: "AdmissionCheck",
    plural: "admissionchecks",
    short_names: &["ac"],
    scope: Scope::Cluster,
    versions: &[Version::V1Beta2, Version::V1Beta1],
    deprecated: &[Version::V1Beta1],
    conversion: Conversion::None,
    has_status: true,
    selectable_fields: &[],
    columns: default_columns,
    schema,
};

fn schema(version: Version) -> Schema {
    let status = object().field(
        "conditions",
        conditions(),
        "Active is True when the check can be used; ClusterQueues that name an inactive check are inactive too.",
    );
    object()
        .doc(
            "An AdmissionCheck is a condition that a job has to meet besides quota, such as nodes being provisioned \
             for it first. A ClusterQueue names its checks; the controller named here answers for each job.",
        )
        .field("spec", spec(version), "Who decides, and with which parameters.")
        .field("status", status, "Whether the check can be used.")
}

fn spec(version: Version) -> Schema {
    let parameters = object()
        .required(
            "apiGroup",
            object_name().min_len(1),
            "The API group of the parameters' kind, such as kueue.x-k8s.io.",
        )
        .required(
            "kind",
            string().pattern("^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$").min_len(1).max_len(63),
            "The kind of the parameters, such as ProvisioningRequestConfig or MultiKueueConfig.",
        )
        .required("name", string().dns1123_label().min_len(1), "The name of the parameters object.");
    object()
        .required(
            "controllerName",
            string().min_len(1).max_len(253).rule(Rule::new("self == oldSelf", "field is immutable")),
            "The controller that runs the check, such as kueue.x-k8s.io/provisioning-request or \
             kueue.x-k8s.io/multikueue. Cannot be changed.",
        )
        .field("parameters", parameters, "The object that holds the settings of the check, if it has any.")
        .when(version < Version::V1Beta2, |spec| {
            spec.field("retryDelayMinutes", int64().default(15), "Accepted and not used. Gone in v1beta2.")
        })
}
