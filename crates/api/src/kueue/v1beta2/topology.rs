//! `Topology`: how nodes are grouped into racks, blocks and so on.

use crate::kueue::GROUP;
use crate::kueue::v1beta2::VERSION;
use crate::meta::object;
use crate::wire::wire_struct;

object! {
    /// How nodes are grouped.
    pub struct Topology in GROUP/VERSION/"topologies", namespaced: false {
        /// The levels.
        pub spec: TopologySpec,
    }
}

wire_struct! {
    /// The levels of a topology.
    pub struct TopologySpec {
        /// From the highest level to the lowest.
        pub levels?: Vec<TopologyLevel>,
    }
}

wire_struct! {
    /// One level.
    pub struct TopologyLevel {
        /// The node label whose values are the domains.
        pub node_label?: String,
    }
}
