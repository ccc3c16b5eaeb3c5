//! Cohorts: what belongs to what, and how much of each pool is where.

use kueue_core::amount::Amount;

use crate::engine::Engine;
use crate::id::{Name, NodeId, PoolId};
use crate::queue::Holdings;

/// One pool at a ClusterQueue or cohort.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolView {
    /// The flavor.
    pub flavor: Name,
    /// The resource.
    pub resource: Name,
    /// What is configured here: guaranteed, borrowing limit, lending limit.
    pub quota: Option<(Amount, Option<Amount>, Option<Amount>)>,
    /// With what those below have and lend.
    pub subtree: Amount,
    /// What is used here, and by those below beyond what they keep for themselves.
    pub usage: Amount,
    /// What workloads that may run use here; nothing at a cohort.
    pub admitted: Amount,
}

/// The cohorts above something run in a circle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CohortCycle;

impl Engine {
    /// All cohorts, whether or not they have an object, by name, each with the one above it.
    pub fn cohorts(&self) -> Vec<(Name, Option<Name>)> {
        let mut all: Vec<(Name, Option<Name>)> =
            self.quotas.cohorts().map(|node| (self.quotas.node(node).name.clone(), self.parent_name(node))).collect();
        all.sort();
        all
    }

    /// The cohort that a ClusterQueue belongs to.
    pub fn cohort_of(&self, queue: &str) -> Option<Name> {
        self.parent_name(self.queue(queue)?.node)
    }

    /// A cohort and all above it up to the root. Nothing when there is no such cohort.
    ///
    /// # Errors
    /// When the cohorts run in a circle.
    pub fn cohort_path(&self, cohort: &str) -> Result<Vec<Name>, CohortCycle> {
        let Some(node) = self.quotas.cohort(cohort) else { return Ok(Vec::new()) };
        if self.quotas.node(node).is_in_cycle {
            return Err(CohortCycle);
        }
        let path = std::iter::once(node).chain(self.quotas.ancestors(node));
        Ok(path.map(|above| self.quotas.node(above).name.clone()).collect())
    }

    /// What a ClusterQueue may take of a pool now, and what it could if nothing were in use.
    pub fn available(&self, queue: &str, flavor: &str, resource: &str) -> Option<(Amount, Amount)> {
        let node = self.queue(queue)?.node;
        let pool = self.names.known_pool_named(flavor, resource)?;
        Some((self.quotas.available(node, pool), self.quotas.capacity(node, pool)))
    }

    /// The pools at a ClusterQueue.
    pub fn queue_pools(&self, queue: &str) -> Option<Vec<PoolView>> {
        let queue = self.queue(queue)?;
        Some(self.pools_at(queue.node, &queue.holdings.all))
    }

    /// The pools at a cohort.
    pub fn cohort_pools(&self, cohort: &str) -> Option<Vec<PoolView>> {
        Some(self.pools_at(self.quotas.cohort(cohort)?, &Holdings::default()))
    }

    fn pools_at(&self, node: NodeId, holdings: &Holdings) -> Vec<PoolView> {
        let view = |(pool, subtree, usage): (PoolId, Amount, Amount)| {
            let (flavor, resource) = self.names.pool(pool);
            let quota = self.quotas.configured(node, pool);
            PoolView {
                flavor: flavor.clone(),
                resource: resource.clone(),
                quota: quota.map(|quota| (quota.nominal, quota.borrowing_limit, quota.lending_limit)),
                subtree,
                usage,
                admitted: holdings.admitted.amount(pool),
            }
        };
        self.quotas.pools(node).map(view).collect()
    }

    fn parent_name(&self, node: NodeId) -> Option<Name> {
        self.quotas.node(node).parent.map(|parent| self.quotas.node(parent).name.clone())
    }
}
