//! ResourceFlavor: a sort of nodes.

use super::pods::{taints, tolerations};
use crate::crd::{Conversion, Kind, Scope, Version, default_columns};
use crate::schema::{Rule, Schema, labels, object, object_name};

pub(super) const KIND: Kind = Kind {
    name: "ResourceFlavor",
    plural: "resourceflavors",
    short_names: &["flavor", "flavors", "rf"],
    scope: Scope::Cluster,
    versions: &[Version::V1Beta2, Version::V1Beta1],
    deprecated: &[Version::V1Beta1],
    conversion: Conversion::None,
    has_status: false,
    selectable_fields: &[],
    columns: default_columns,
    schema,
};

fn schema(_: Version) -> Schema {
    object()
        .doc(
            "A ResourceFlavor stands for a sort of nodes, such as spot instances or machines with a certain accelerator. \
             ClusterQueues give quota per flavor, and an admitted job runs only on nodes of the flavors it was given. \
             An empty one stands for any node.",
        )
        .field("spec", spec(), "Which nodes belong to the flavor and how pods get there.")
}

fn spec() -> Schema {
    object()
        .field(
            "nodeLabels",
            labels(8).atomic_map(),
            "The labels of the nodes. An admitted pod gets them as nodeSelector. A job that selects other values of one of \
             these keys is never given this flavor.",
        )
        .field(
            "nodeTaints",
            taints().rule(Rule::new(
                "self.all(t, self.exists_one(u, u.key == t.key && u.effect == t.effect))",
                "taints must be unique by key and effect pair",
            )),
            "The taints that the nodes have. A job that does not tolerate those with effect NoSchedule or NoExecute is \
             never given this flavor.",
        )
        .field(
            "tolerations",
            tolerations(),
            "Tolerations that pods get on admission to this flavor, so that they can run on its tainted nodes without \
             saying so themselves.",
        )
        .field(
            "topologyName",
            object_name(),
            "The Topology that the nodes are arranged in, which makes placement topology-aware. Needs at least one node \
             label and cannot be changed once set.",
        )
        .rule(Rule::new(
            "!has(self.topologyName) || has(self.nodeLabels) && size(self.nodeLabels) > 0",
            "at least one nodeLabel is required when topology is set",
        ))
        .rule(
            Rule::new(
                "!has(oldSelf.topologyName) || has(self.topologyName) && self.topologyName == oldSelf.topologyName",
                "topologyName is immutable when topologyName is set",
            ),
        )
}
