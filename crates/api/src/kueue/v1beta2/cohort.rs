//! `Cohort`: queues and cohorts that share quota, as a tree.

use super::{FairSharing, FairSharingStatus, ResourceGroup};
use crate::kueue::GROUP;
use crate::kueue::v1beta2::VERSION;
use crate::meta::object;
use crate::wire::wire_struct;

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
        pub parent_name?: String,
        /// Quota that belongs to no queue in particular.
        pub resource_groups?: Vec<ResourceGroup>,
        /// Its share of idle quota in the cohort above.
        pub fair_sharing?: Option<FairSharing>,
    }
}

wire_struct! {
    /// What was computed for a cohort.
    pub struct CohortStatus {
        /// What fair sharing computed.
        pub fair_sharing?: Option<FairSharingStatus>,
    }
}
