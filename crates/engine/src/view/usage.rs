//! Who holds how much of what.

use kueue_core::amount::Amount;

use crate::engine::Engine;
use crate::id::{LocalQueueId, Name};
use crate::queue::{Holdings, Queue, Taken};

/// What is held in a ClusterQueue or through a LocalQueue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UsageView {
    /// How many workloads hold quota.
    pub reserving: usize,
    /// How many of them may run.
    pub admitted: usize,
    /// Per flavor, in the order of the ClusterQueue.
    pub flavors: Vec<FlavorUsageView>,
}

/// What is held of one flavor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlavorUsageView {
    /// The flavor.
    pub flavor: Name,
    /// Per resource, by name.
    pub resources: Vec<ResourceUsageView>,
}

/// What is held of one resource in one flavor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceUsageView {
    /// The resource.
    pub resource: Name,
    /// Held by all workloads with quota.
    pub reserved: Amount,
    /// Held by those that may run.
    pub admitted: Amount,
    /// How much of what is reserved is not the ClusterQueue's own.
    pub reserved_borrowed: Amount,
    /// The same of what is held by those that may run.
    pub admitted_borrowed: Amount,
}

impl Engine {
    /// What is held in a ClusterQueue.
    pub fn queue_usage(&self, queue: &str) -> Option<UsageView> {
        let queue = self.queue(queue)?;
        Some(self.usage_view(queue, &queue.holdings.all))
    }

    /// What is held through a LocalQueue in the ClusterQueue that it leads to: nothing while that does not exist.
    pub fn local_queue_usage(&self, namespace: &Name, name: &Name) -> Option<UsageView> {
        let (id, queue) = self.local_queue_target(namespace, name)?;
        let Some(queue) = self.queue(queue) else { return Some(UsageView::default()) };
        Some(
            queue
                .holdings
                .of(id)
                .map_or_else(|| self.usage_view(queue, &Holdings::default()), |held| self.usage_view(queue, held)),
        )
    }

    /// The ClusterQueue that a LocalQueue names, whether or not either of them runs.
    fn local_queue_target(&self, namespace: &Name, name: &Name) -> Option<(LocalQueueId, &Name)> {
        let id = self.names.known_local_queue(namespace, name)?;
        Some((id, &self.local_queues.get(&id)?.object.as_ref()?.queue))
    }

    /// Whether the pods of every workload that holds quota are ready.
    pub fn are_all_pods_ready(&self) -> bool {
        self.unready == 0
    }

    fn usage_view(&self, queue: &Queue, holdings: &Holdings) -> UsageView {
        let groups = queue.rules.groups.iter();
        let flavors = groups.flat_map(|group| group.flavors.iter().map(move |flavor| (group, *flavor)));
        let flavors = flavors.map(|(group, flavor)| {
            let mut resources: Vec<ResourceUsageView> = group
                .resources
                .iter()
                .map(|resource| {
                    let name = self.names.resource(*resource).clone();
                    match self.names.known_pool(flavor, *resource) {
                        Some(pool) => self.resource_usage(queue, holdings, name, pool),
                        None => ResourceUsageView::none(name),
                    }
                })
                .collect();
            resources.sort_by(|a, b| a.resource.cmp(&b.resource));
            FlavorUsageView { flavor: self.names.flavor(flavor).clone(), resources }
        });
        UsageView {
            reserving: holdings.reserved.workloads,
            admitted: holdings.admitted.workloads,
            flavors: flavors.collect(),
        }
    }

    fn resource_usage(
        &self,
        queue: &Queue,
        holdings: &Holdings,
        resource: Name,
        pool: crate::id::PoolId,
    ) -> ResourceUsageView {
        let has_cohort = self.quotas.node(queue.node).parent.is_some();
        let nominal = self.quotas.nominal(queue.node, pool);
        let borrowed = |held: &Taken| match has_cohort {
            true => held.amount(pool).minus(nominal).max(Amount::ZERO),
            false => Amount::ZERO,
        };
        ResourceUsageView {
            resource,
            reserved: holdings.reserved.amount(pool),
            admitted: holdings.admitted.amount(pool),
            reserved_borrowed: borrowed(&holdings.reserved),
            admitted_borrowed: borrowed(&holdings.admitted),
        }
    }
}

impl ResourceUsageView {
    fn none(resource: Name) -> Self {
        Self {
            resource,
            reserved: Amount::ZERO,
            admitted: Amount::ZERO,
            reserved_borrowed: Amount::ZERO,
            admitted_borrowed: Amount::ZERO,
        }
    }
}
