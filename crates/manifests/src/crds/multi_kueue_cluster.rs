//! MultiKueueCluster: how to reach a worker cluster.

use super::status::conditions;
use crate::crd::{Column, Conversion, Kind, Scope, Version};
use crate::schema::{Rule, Schema, object, one_of, string};

pub(super) const KIND: Kind = Kind {
    name: "MultiKueueCluster",
    plural: "multikueueclusters",
    short_names: &["mkc"],
    scope: Scope::Cluster,
    versions: &[Version::V1Beta2, Version::V1Beta1],
    deprecated: &[Version::V1Beta1],
    conversion: Conversion::Webhook,
    has_status: true,
    selectable_fields: &[],
    columns,
    schema,
};

fn columns(_: Version) -> Vec<Column> {
    vec![
        Column::new(
            "Connected",
            "string",
            ".status.conditions[?(@.type=='Active')].status",
            "Whether the worker cluster can be reached.",
        ),
        Column::age(),
    ]
}

fn schema(version: Version) -> Schema {
    let status =
        object().field("conditions", conditions(), "Active is True while the connection to the cluster works.");
    object()
        .doc("A MultiKueueCluster is a worker cluster that MultiKueue can send jobs to, and how to reach it.")
        .field("spec", spec(version), "How to reach the cluster.")
        .field("status", status, "Whether it is reached.")
}

fn spec(version: Version) -> Schema {
    const KUBECONFIG_DOC: &str = "A kubeconfig for the worker cluster.";
    const PROFILE_DOC: &str = "A ClusterProfile object, in the namespace of the manager, to connect through.";
    if version < Version::V1Beta2 {
        object().required("kubeConfig", kubeconfig(version), KUBECONFIG_DOC).field(
            "clusterProfileRef",
            profile(),
            PROFILE_DOC,
        )
    } else {
        let source = object()
            .field("kubeConfig", kubeconfig(version), KUBECONFIG_DOC)
            .field("clusterProfileRef", profile(), PROFILE_DOC)
            .rule(Rule::new(
                "has(self.kubeConfig) != has(self.clusterProfileRef)",
                "exactly one of the fields in [kubeConfig clusterProfileRef] must be set",
            ));
        object().required("clusterSource", source, "Where the credentials come from: exactly one of the two ways.")
    }
}

fn kubeconfig(version: Version) -> Schema {
    // In v1beta1 the field is required, so a cluster with a clusterProfileRef has an empty location.
    let location = string().max_len(256).when(version >= Version::V1Beta2, |location| location.min_len(1));
    object()
        .required(
            "location",
            location,
            "The Secret in the namespace of the manager, whose key kubeconfig holds the file; or, when locationType is Path, \
             the path of a file in the manager's container.",
        )
        .field(
            "locationType",
            one_of(&["Secret", "Path"]).default("Secret"),
            "What location names: a Secret (the default) or a Path.",
        )
}

fn profile() -> Schema {
    object().required("name", string().min_len(1).max_len(256), "The name of the ClusterProfile.")
}
