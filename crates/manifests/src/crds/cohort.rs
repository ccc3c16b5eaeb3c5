//! Cohort: queues that share quota.

use super::quota::{
    Holder, WEIGHTED_SHARE_DOC, admission_fair_sharing_status, fair_sharing, group_rules, resource_groups,
};
use crate::crd::{Conversion, Kind, Scope, Version, default_columns};
use crate::schema::{Schema, int64, object, object_name};

pub(super) const KIND: Kind = Kind {
    name: "Cohort",
    plural: "cohorts",
    short_names: &["co"],
    scope: Scope::Cluster,
    versions: &[Version::V1Beta2, Version::V1Beta1, Version::V1Alpha1],
    deprecated: &[Version::V1Beta1, Version::V1Alpha1],
    conversion: Conversion::Webhook,
    has_status: true,
    selectable_fields: &[],
    columns: default_columns,
    schema,
};

fn schema(version: Version) -> Schema {
    object()
        .doc(
            "A Cohort is a group of ClusterQueues, and of other Cohorts, that lend each other the quota they do not use. It \
             can have quota of its own for its members to share. A ClusterQueue may name a Cohort that does not exist: \
             its members then share what they have, without further limits.",
        )
        .field("spec", spec(version), "The place of the Cohort in the hierarchy, and its quota.")
        .field("status", status(version), "The share of resources that the Cohort's members hold together.")
}

fn spec(version: Version) -> Schema {
    let parent = if version == Version::V1Alpha1 { "parent" } else { "parentName" };
    let spec = object()
        .field(
            parent,
            object_name(),
            "The Cohort above this one. Members can then also borrow from there, within this Cohort's limits. Without it \
             this Cohort is the root of its tree. When Cohorts form a circle, the ClusterQueues below them are stopped \
             until it is undone.",
        )
        .field(
            "resourceGroups",
            resource_groups(Holder::Cohort),
            "Quota that belongs to no single queue: any member may use it. Limits say how much may be borrowed from and \
             lent to the parent's other members.",
        )
        .field(
            "fairSharing",
            fair_sharing(),
            "The Cohort's claim to unused resources of the parent. Used when fair sharing is switched on in the manager's \
             configuration.",
        );
    group_rules(spec, Holder::Cohort, parent)
}

fn status(version: Version) -> Schema {
    let share =
        object().required("weightedShare", int64(), WEIGHTED_SHARE_DOC).when(version == Version::V1Beta1, |share| {
            share.field(
                "admissionFairSharingStatus",
                admission_fair_sharing_status(),
                "Not written for Cohorts. Gone in v1beta2.",
            )
        });
    object().field("fairSharing", share, "The Cohort's share, written when fair sharing is switched on.")
}
