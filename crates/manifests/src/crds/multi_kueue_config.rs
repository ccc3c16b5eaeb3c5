//! MultiKueueConfig: the worker clusters of a MultiKueue admission check.

use crate::crd::{Conversion, Kind, Scope, Version, default_columns};
use crate::schema::{Rule, Schema, list, object, one_of, string};

pub(super) const KIND: Kind = Kind {
    name: "MultiKueueConfig",
    plural: "multikueueconfigs",
    short_names: &["mkconf"],
    scope: Scope::Cluster,
    versions: &[Version::V1Beta2, Version::V1Beta1],
    deprecated: &[],
    conversion: Conversion::None,
    has_status: false,
    selectable_fields: &[],
    columns: default_columns,
    schema,
};

fn schema(version: Version) -> Schema {
    object()
        .doc(
            "A MultiKueueConfig lists the worker clusters that an admission check of the controller \
             kueue.x-k8s.io/multikueue may send jobs to.",
        )
        .field("spec", spec(version), "The clusters and how quota is kept in step with them.")
}

fn spec(version: Version) -> Schema {
    let names = list(string().max_len(256), 20).min_items(1);
    let clusters = if version < Version::V1Beta2 {
        names.set_list()
    } else {
        names.atomic_list().rule(Rule::new("self.all(a, self.exists_one(b, a == b))", "must be unique"))
    };
    object()
        .required(
            "clusters",
            clusters,
            "The names of the MultiKueueCluster objects. The incremental dispatcher tries them in this order.",
        )
        .when(version >= Version::V1Beta2, |spec| {
            spec.field(
                "quotaManagement",
                one_of(&["Manual", "Automated"]),
                "Automated keeps the quota of this cluster's ClusterQueue equal to what the workers offer together. \
                 Manual, the default, leaves it to you.",
            )
        })
}
