//! `kueue.x-k8s.io/v1alpha1`: only `Cohort`, as it was in Kueue 0.9 to 0.12; manifests in use still say so.

use super::GROUP;
use super::v1beta2::{CohortStatus, FairSharing, ResourceGroup};
use crate::meta::object;
use crate::wire::wire_struct;

/// The version's name.
pub const VERSION: &str = "v1alpha1";

object! {
    /// A group of queues and cohorts that share quota.
    pub struct Cohort in GROUP/VERSION/"cohorts", namespaced: false {
        /// Its place in the tree and its own quota.
        pub spec: CohortSpec,
        /// What fair sharing computed.
        pub status?: CohortStatus,
    }
}

wire_struct! {
    /// A cohort's place in the tree and its own quota.
    pub struct CohortSpec {
        /// The Cohort above; empty means that this one is a root.
        pub parent?: String,
        /// Quota that belongs to no queue in particular.
        pub resource_groups?: Vec<ResourceGroup>,
        /// Its share of idle quota in the cohort above.
        pub fair_sharing?: Option<FairSharing>,
    }
}
