//! Topology: how nodes are arranged.

use crate::crd::{Conversion, Kind, Scope, Version, default_columns};
use crate::schema::{Rule, Schema, label_key, list, object};

pub(super) const KIND: Kind = Kind {
    name: "Topology",
    plural: "topologies",
    short_names: &["topo"],
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
    let spec = object().required(
        "levels",
        levels(version),
        "The levels, from the widest (a zone, a block) to the narrowest (a rack, a single host).",
    );
    object()
        .doc(
            "A Topology says by which labels the nodes of a data centre are grouped, so that the pods of a job can be \
             placed near each other. A ResourceFlavor uses it by name.",
        )
        .field("spec", spec, "The levels of the hierarchy.")
}

fn levels(version: Version) -> Schema {
    let level = object().required(
        "nodeLabel",
        label_key().max_len(316),
        "The label of the nodes whose value names the domain of this level, such as cloud.provider.com/topology-rack. \
         kubernetes.io/hostname is allowed as the last level only.",
    );
    let change = if version < Version::V1Beta2 {
        Rule::new("self == oldSelf", "field is immutable")
    } else {
        Rule::new(
            "self == oldSelf || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname' \
             && oldSelf[size(oldSelf) - 1].nodeLabel == 'kubernetes.io/hostname'",
            "levels are mutable only when kubernetes.io/hostname is the lowest level both before and after the change",
        )
    };
    list(level, 16)
        .min_items(1)
        .atomic_list()
        .rule(change)
        .rule(Rule::new("self.all(a, self.exists_one(b, a.nodeLabel == b.nodeLabel))", "must be unique"))
        .rule(Rule::new(
            "!self.exists(l, l.nodeLabel == 'kubernetes.io/hostname') \
             || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'",
            "the kubernetes.io/hostname label can only be used at the lowest level of topology",
        ))
}
