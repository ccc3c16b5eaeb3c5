//! Fair sharing: how much more than its own a ClusterQueue or cohort has, or would have.

use std::fmt;

use kueue_core::amount::Amount;

use crate::engine::Engine;
use crate::id::{Name, NodeId, PoolId};
use crate::quota::share::Share;

/// The share of a ClusterQueue or cohort of what could be lent to it.
#[derive(Clone, PartialEq, Debug)]
pub struct ShareView {
    /// As the API shows it: per thousand, by weight, rounded up; the largest number for who borrows without a weight.
    pub rounded: i64,
    /// The same before rounding, as metrics and logs show it; infinite for who borrows without a weight.
    pub precise: f64,
    /// The resource that decides; of several alike the first by name. None when nothing borrowed can be lent.
    pub dominant: Option<Name>,
    /// The pools of which it has more than its own, by flavor and resource.
    pub borrowed: Vec<(Name, Name)>,
}

impl fmt::Display for ShareView {
    /// The precise share, in a form that JSON can carry as a string.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.precise.is_infinite() { f.write_str("+Inf") } else { write!(f, "{}", self.precise) }
    }
}

impl Engine {
    /// A ClusterQueue's share of what its cohort lends, as if it used `added` (flavor, resource, amount) as well.
    pub fn queue_share(&self, queue: &str, added: &[(Name, Name, Amount)]) -> Option<ShareView> {
        Some(self.share_view(&self.share_of(self.queue(queue)?.node, added)))
    }

    /// The same for a cohort, whether or not it has an object.
    pub fn cohort_share(&self, cohort: &str, added: &[(Name, Name, Amount)]) -> Option<ShareView> {
        Some(self.share_view(&self.share_of(self.quotas.cohort(cohort)?, added)))
    }

    /// Whether a ClusterQueue has more than its own of anything that is asked for: more of it would be borrowed.
    pub fn is_queue_borrowing_on(&self, queue: &str, requests: &[(Name, Name, Amount)]) -> Option<bool> {
        let node = self.queue(queue)?.node;
        Some(self.share_of(node, &[]).is_borrowing_on(&self.known_pools(requests)))
    }

    fn share_of(&self, node: NodeId, added: &[(Name, Name, Amount)]) -> Share {
        self.quotas.share_with(node, &self.known_pools(added), |pool| self.names.resource_of(pool))
    }

    /// Nobody has quota for a pool that nobody named, so it counts for no share.
    fn known_pools(&self, amounts: &[(Name, Name, Amount)]) -> Vec<(PoolId, Amount)> {
        let known = |(flavor, resource, amount): &(Name, Name, Amount)| {
            self.names.known_pool_named(flavor, resource).map(|pool| (pool, *amount))
        };
        amounts.iter().filter_map(known).collect()
    }

    fn share_view(&self, share: &Share) -> ShareView {
        let pool = |pool: &PoolId| {
            let (flavor, resource) = self.names.pool(*pool);
            (flavor.clone(), resource.clone())
        };
        ShareView {
            rounded: share.rounded(),
            precise: share.weighted(),
            dominant: share.dominant.iter().map(|resource| self.names.resource(*resource)).min().cloned(),
            borrowed: share.borrowed.iter().map(pool).collect(),
        }
    }
}
