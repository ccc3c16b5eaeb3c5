//! Usage of queues as their statuses show it.

use kueue_api::kueue::v1beta2::{FlavorUsage, LocalQueueFlavorUsage, LocalQueueResourceUsage, ResourceUsage};
use kueue_core::amount::Amount;
use kueue_core::resource::Formatter;
use kueue_engine::{ResourceUsageView, UsageView};

/// Which workloads count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holders {
    /// All that hold quota.
    Reserving,
    /// Those that may run.
    Admitted,
}

/// The usage in a ClusterQueue's status.
pub fn cluster_queue_usage(usage: &UsageView, holders: Holders, formatter: &Formatter) -> Vec<FlavorUsage> {
    let resource = |used: &ResourceUsageView| {
        let (total, borrowed) = match holders {
            Holders::Reserving => (used.reserved, used.reserved_borrowed),
            Holders::Admitted => (used.admitted, used.admitted_borrowed),
        };
        let quantity = |amount: Amount| formatter.quantity(&used.resource, amount.get());
        ResourceUsage { name: used.resource.to_string(), total: quantity(total), borrowed: quantity(borrowed) }
    };
    let flavors = usage.flavors.iter();
    flavors
        .map(|flavor| FlavorUsage {
            name: flavor.flavor.to_string(),
            resources: flavor.resources.iter().map(resource).collect(),
        })
        .collect()
}

/// The usage in a LocalQueue's status.
pub fn local_queue_usage(usage: &UsageView, holders: Holders, formatter: &Formatter) -> Vec<LocalQueueFlavorUsage> {
    let resource = |used: &ResourceUsageView| {
        let total = match holders {
            Holders::Reserving => used.reserved,
            Holders::Admitted => used.admitted,
        };
        LocalQueueResourceUsage {
            name: used.resource.to_string(),
            total: formatter.quantity(&used.resource, total.get()),
        }
    };
    let flavors = usage.flavors.iter();
    flavors
        .map(|flavor| LocalQueueFlavorUsage {
            name: flavor.flavor.to_string(),
            resources: flavor.resources.iter().map(resource).collect(),
        })
        .collect()
}
