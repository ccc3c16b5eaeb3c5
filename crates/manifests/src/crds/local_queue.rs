//! LocalQueue: where a namespace's jobs line up.

use super::pods::taints;
use super::quota::{WEIGHTED_SHARE_DOC, admission_fair_sharing_status, fair_sharing, flavor_usage};
use super::status::conditions;
use crate::crd::{Column, Conversion, Kind, Scope, Version};
use crate::schema::{
    LABEL_KEY_LENGTH, Rule, Schema, int32, int64, label_value, list, map, object, object_name, one_of, string,
};

pub(super) const KIND: Kind = Kind {
    name: "LocalQueue",
    plural: "localqueues",
    short_names: &["queue", "queues", "lq"],
    scope: Scope::Namespaced,
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
        Column::new("ClusterQueue", "string", ".spec.clusterQueue", "The ClusterQueue that the jobs are queued in."),
        Column::new("Pending Workloads", "integer", ".status.pendingWorkloads", "Jobs that wait."),
        Column::new("Admitted Workloads", "integer", ".status.admittedWorkloads", "Jobs that may run."),
    ]
}

fn schema(version: Version) -> Schema {
    object()
        .doc(
            "A LocalQueue is what the people of a namespace send their jobs to, with the label \
             kueue.x-k8s.io/queue-name. It passes them on to a ClusterQueue, where the quota is. A LocalQueue named \
             default also gets the jobs of its namespace that name no queue.",
        )
        .field("spec", spec(), "Where jobs go, and whether they go at all.")
        .field("status", status(version), "What is waiting, and what runs on which flavors.")
}

fn spec() -> Schema {
    object()
        .field(
            "clusterQueue",
            object_name().rule(Rule::new("self == oldSelf", "field is immutable")),
            "The ClusterQueue that jobs are passed on to. It may be created later; until then jobs wait. Cannot be changed.",
        )
        .field(
            "stopPolicy",
            one_of(&["None", "Hold", "HoldAndDrain"]).default("None"),
            "Hold admits nothing more from this queue. HoldAndDrain also evicts what is running. None is normal operation.",
        )
        .field(
            "fairSharing",
            fair_sharing(),
            "The claim of this queue relative to the other LocalQueues of the same ClusterQueue. Used when that \
             ClusterQueue orders jobs by past usage (admissionScope).",
        )
}

fn status(version: Version) -> Schema {
    let share = object().required("weightedShare", int64(), WEIGHTED_SHARE_DOC).field(
        "admissionFairSharingStatus",
        admission_fair_sharing_status(),
        "The usage over time that admission fair sharing orders the queues by.",
    );
    let usage_field = if version < Version::V1Beta2 { "flavorUsage" } else { "flavorsUsage" };
    object()
        .field("conditions", conditions(), "Active is True when jobs of this queue can be admitted.")
        .field("pendingWorkloads", int32(), "How many jobs wait for admission.")
        .field("reservingWorkloads", int32(), "How many unfinished jobs have quota reserved, admitted ones included.")
        .field("admittedWorkloads", int32(), "How many unfinished jobs are admitted.")
        .field(
            "flavorsReservation",
            flavor_usage(false),
            "The quota reserved by jobs of this queue, admitted or on the way there.",
        )
        .field(usage_field, flavor_usage(false), "The quota used by admitted jobs of this queue.")
        .field("fairSharing", share, "The share of this queue in admission fair sharing.")
        .when(version < Version::V1Beta2, |status| {
            status.field(
                "flavors",
                available_flavors(),
                "Not written any more: see the ClusterQueue for the flavors of the queue. Gone in v1beta2.",
            )
        })
}

fn available_flavors() -> Schema {
    let topology = object().required("name", object_name(), "The Topology.").required(
        "levels",
        list(string().max_len(LABEL_KEY_LENGTH), 16).min_items(1).atomic_list(),
        "The node labels of its levels.",
    );
    let flavor = object()
        .required("name", object_name(), "The ResourceFlavor.")
        .field(
            "resources",
            list(string().max_len(LABEL_KEY_LENGTH), 64).set_list(),
            "The resources that the queue has in this flavor.",
        )
        .field("nodeLabels", map(label_value()).max_entries(8).atomic_map(), "The labels of the flavor's nodes.")
        .field("nodeTaints", taints(), "The taints of the flavor's nodes.")
        .field("topology", topology, "The topology of the flavor's nodes.");
    list(flavor, 64).keyed_by(&["name"])
}
