//! What queues and cohorts share: resource groups with quotas, fair sharing, and stopping.

use kueue_core::quantity::Quantity;

use crate::wire::{string_enum, wire_struct};

wire_struct! {
    /// Resources that are always taken from the same flavor.
    pub struct ResourceGroup {
        /// Resource names, such as `cpu` and `memory`.
        pub covered_resources?: Vec<String>,
        /// Flavors in the order they are tried.
        pub flavors?: Vec<FlavorQuotas>,
    }
}

wire_struct! {
    /// How much of each resource there is of one flavor.
    pub struct FlavorQuotas {
        /// The ResourceFlavor.
        pub name: String,
        /// One entry per covered resource, in the same order.
        pub resources?: Vec<ResourceQuota>,
    }
}

wire_struct! {
    /// How much there is of one resource.
    pub struct ResourceQuota {
        /// The resource.
        pub name?: String,
        /// What the queue or cohort has of its own.
        pub nominal_quota: Quantity,
        /// How much more it may take from the cohort; not set means any amount.
        pub borrowing_limit?: Option<Quantity>,
        /// How much of its own others may take; not set means all.
        pub lending_limit?: Option<Quantity>,
    }
}

wire_struct! {
    /// How idle quota is divided.
    pub struct FairSharing {
        /// Share relative to others; 0 means that borrowed quota is given back first.
        pub weight?: Option<Quantity>,
    }
}

wire_struct! {
    /// What fair sharing computed.
    pub struct FairSharingStatus {
        /// The largest share of borrowed over lendable quota among the resources, divided by the weight.
        pub weighted_share: i64,
    }
}

string_enum! {
    /// Whether a queue is held.
    pub enum StopPolicy {
        /// It works.
        None,
        /// Nothing new is admitted; what runs goes on.
        Hold,
        /// Nothing new is admitted; what runs is evicted.
        HoldAndDrain,
    }
}
