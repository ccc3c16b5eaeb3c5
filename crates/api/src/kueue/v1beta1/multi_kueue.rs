//! `MultiKueueConfig` and `MultiKueueCluster` with the credentials at the top of the spec.

use super::VERSION;
use crate::kueue::GROUP;
use crate::kueue::v1beta2::{ClusterProfileReference, LocationType, MultiKueueClusterStatus};
use crate::meta::object;
use crate::wire::wire_struct;

object! {
    /// The worker clusters of one admission check.
    pub struct MultiKueueConfig in GROUP/VERSION/"multikueueconfigs", namespaced: false {
        /// The clusters.
        pub spec: MultiKueueConfigSpec,
    }
}

wire_struct! {
    /// The worker clusters of one admission check.
    pub struct MultiKueueConfigSpec {
        /// MultiKueueCluster names, in the order they are tried where that matters.
        pub clusters: Vec<String>,
    }
}

object! {
    /// A worker cluster.
    pub struct MultiKueueCluster in GROUP/VERSION/"multikueueclusters", namespaced: false {
        /// How to reach it.
        pub spec: MultiKueueClusterSpec,
        /// Whether it can be reached.
        pub status?: MultiKueueClusterStatus,
    }
}

wire_struct! {
    /// How to reach a worker cluster.
    pub struct MultiKueueClusterSpec {
        /// A kubeconfig; its location is empty when there is none.
        pub kube_config: KubeConfig,
        /// A ClusterProfile.
        pub cluster_profile_ref?: Option<ClusterProfileReference>,
    }
}

wire_struct! {
    /// Where a kubeconfig is.
    pub struct KubeConfig {
        /// Name of the Secret in the manager's namespace, or a path.
        pub location: String,
        /// Which of the two `location` is.
        pub location_type: LocationType,
    }
}
