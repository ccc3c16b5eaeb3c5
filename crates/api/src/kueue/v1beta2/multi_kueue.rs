//! `MultiKueueConfig` and `MultiKueueCluster`: other clusters that may run the jobs.

use crate::kueue::GROUP;
use crate::kueue::v1beta2::VERSION;
use crate::meta::{Condition, object};
use crate::wire::{string_enum, wire_struct};

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
        pub clusters?: Vec<String>,
        /// Whether the manager's quota follows that of the workers.
        pub quota_management?: Option<MultiKueueConfigQuotaManagementMode>,
    }
}

string_enum! {
    /// Whether the manager's quota follows that of the workers.
    pub enum MultiKueueConfigQuotaManagementMode {
        /// The administrator sets it.
        Manual,
        /// It is the sum of the workers'.
        Automated,
    }
}

object! {
    /// A worker cluster.
    pub struct MultiKueueCluster in GROUP/VERSION/"multikueueclusters", namespaced: false {
        /// How to reach it.
        pub spec?: MultiKueueClusterSpec,
        /// Whether it can be reached.
        pub status?: MultiKueueClusterStatus,
    }
}

wire_struct! {
    /// How to reach a worker cluster.
    pub struct MultiKueueClusterSpec {
        /// Where the credentials are.
        pub cluster_source: ClusterSource,
    }
}

wire_struct! {
    /// Where the credentials of a worker cluster are; exactly one field is set.
    pub struct ClusterSource {
        /// A kubeconfig.
        pub kube_config?: Option<KubeConfig>,
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
        pub location_type?: Option<LocationType>,
    }
}

string_enum! {
    /// What a location is.
    pub enum LocationType {
        /// A file in the manager's container.
        Path,
        /// A Secret.
        Secret,
    }
}

wire_struct! {
    /// A ClusterProfile of the cluster inventory.
    pub struct ClusterProfileReference {
        /// Its name.
        pub name?: String,
    }
}

wire_struct! {
    /// Whether a worker cluster can be reached.
    pub struct MultiKueueClusterStatus {
        /// `Active` says whether it is connected.
        pub conditions?: Vec<Condition>,
    }
}
