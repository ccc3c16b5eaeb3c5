//! How much may be taken, and what taking and giving back does to the nodes above.

use kueue_core::amount::Amount;

use super::{Quota, Quotas};
use crate::id::{NodeId, PoolId};

/// The smallest part of the tree that could hold a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LowestFit {
    /// 0 when the ClusterQueue's own quota is enough.
    pub(crate) height: u32,
    /// Whether that part is smaller than the tree, so that others may have to give back what they borrowed from it.
    pub(crate) is_below_root: bool,
}

impl Quotas {
    pub(crate) fn nominal(&self, node: NodeId, pool: PoolId) -> Amount {
        self.cell(node, pool).quota.nominal
    }

    pub(crate) fn borrowing_limit(&self, node: NodeId, pool: PoolId) -> Option<Amount> {
        self.cell(node, pool).quota.borrowing_limit
    }

    pub(crate) fn usage(&self, node: NodeId, pool: PoolId) -> Amount {
        self.cell(node, pool).usage
    }

    /// What the object at `node` says about the pool.
    pub(crate) fn configured(&self, node: NodeId, pool: PoolId) -> Option<Quota> {
        self.node(node).quotas.iter().find(|(known, _)| *known == pool).map(|(_, quota)| *quota)
    }

    /// Every pool that is known at `node`, with its quota below and its usage.
    pub(crate) fn pools(&self, node: NodeId) -> impl Iterator<Item = (PoolId, Amount, Amount)> {
        self.node(node).cells.iter().map(|cell| (cell.pool, cell.subtree, cell.usage))
    }

    /// Every pool in use at `node`, with its usage.
    pub(crate) fn usages(&self, node: NodeId) -> impl Iterator<Item = (PoolId, Amount)> {
        self.node(node).cells.iter().filter(|cell| cell.usage != Amount::ZERO).map(|cell| (cell.pool, cell.usage))
    }

    /// Counts what is taken, here and above. Says whether the sums are exact; if not, only a recount can tell later
    /// what is left of them.
    pub(crate) fn add_usage(&mut self, node: NodeId, pool: PoolId, amount: Amount) -> bool {
        let cell = self.cell(node, pool);
        let usage = cell.usage.plus(amount);
        self.set_usage(node, pool, usage);
        let is_exact = !usage.is_unlimited();
        let local = cell.local_available();
        match self.open_parent(node) {
            Some(parent) if amount > local => self.add_usage(parent, pool, amount.minus(local)) && is_exact,
            _ => is_exact,
        }
    }

    /// Gives back what was taken; says whether the sums are exact.
    pub(crate) fn remove_usage(&mut self, node: NodeId, pool: PoolId, amount: Amount) -> bool {
        let cell = self.cell(node, pool);
        self.set_usage(node, pool, cell.usage.minus(amount));
        let is_exact = !cell.usage.is_unlimited();
        let in_parent = cell.usage.minus(cell.local_quota());
        match self.open_parent(node) {
            Some(parent) if in_parent > Amount::ZERO => {
                self.remove_usage(parent, pool, amount.min(in_parent)) && is_exact
            }
            _ => is_exact,
        }
    }

    /// Sets what the ClusterQueue at `node` uses, and sums up everything above it again.
    pub(crate) fn set_usages(&mut self, node: NodeId, usages: &[(PoolId, Amount)]) {
        for cell in &mut self.nodes[node].cells {
            cell.usage = Amount::ZERO;
        }
        for (pool, usage) in usages {
            self.cell_mut(node, *pool).usage = *usage;
        }
        self.rebuild(node);
    }

    /// What the ClusterQueue at `node` may take now.
    pub(crate) fn available(&self, node: NodeId, pool: PoolId) -> Amount {
        self.available_or_overdrawn(node, pool).max(Amount::ZERO)
    }

    fn available_or_overdrawn(&self, node: NodeId, pool: PoolId) -> Amount {
        let cell = self.cell(node, pool);
        let Some(parent) = self.open_parent(node) else {
            return cell.subtree.minus(cell.usage);
        };
        let mut from_parent = self.available_or_overdrawn(parent, pool);
        if let Some(limit) = cell.quota.borrowing_limit {
            let lent = cell.subtree.minus(cell.local_quota());
            from_parent = from_parent.min(lent.minus(cell.used_in_parent()).plus(limit));
        }
        cell.local_available().plus(from_parent)
    }

    /// What the node could take if nothing were in use anywhere.
    pub(crate) fn capacity(&self, node: NodeId, pool: PoolId) -> Amount {
        let cell = self.cell(node, pool);
        let Some(parent) = self.open_parent(node) else {
            return cell.subtree;
        };
        let reachable = cell.local_quota().plus(self.capacity(parent, pool));
        match cell.quota.borrowing_limit {
            Some(limit) => reachable.min(cell.subtree.plus(limit)),
            None => reachable,
        }
    }

    /// Whether the node would use more than its quota if `amount` were added.
    pub(crate) fn is_borrowing_with(&self, node: NodeId, pool: PoolId, amount: Amount) -> bool {
        let cell = self.cell(node, pool);
        let own = if self.node(node).queue.is_some() { cell.quota.nominal } else { cell.subtree };
        own < cell.usage.plus(amount)
    }

    pub(crate) fn is_borrowing(&self, node: NodeId, pool: PoolId) -> bool {
        self.is_borrowing_with(node, pool, Amount::ZERO)
    }

    pub(crate) fn is_within_nominal(&self, node: NodeId, pools: &[PoolId]) -> bool {
        pools.iter().all(|pool| {
            let cell = self.cell(node, *pool);
            cell.subtree >= cell.usage
        })
    }

    /// Whether all requests fit in the quota of `node`, and what of each is left for its parent.
    pub(crate) fn fit_in_quota(&self, node: NodeId, requests: &mut [(PoolId, Amount)]) -> bool {
        let mut fits = true;
        for (pool, amount) in requests {
            let cell = self.cell(node, *pool);
            fits &= cell.subtree >= cell.usage.plus(*amount);
            *amount = amount.minus(cell.local_available()).max(Amount::ZERO);
        }
        fits
    }

    pub(crate) fn lowest_fit(&self, node: NodeId, pool: PoolId, amount: Amount) -> LowestFit {
        let has_parent = self.node(node).parent.is_some();
        if !has_parent || !self.is_borrowing_with(node, pool, amount) {
            return LowestFit { height: 0, is_below_root: has_parent };
        }
        let mut remaining = amount.minus(self.cell(node, pool).local_available());
        let mut root = node;
        for above in self.ancestors(node) {
            if !self.is_borrowing_with(above, pool, remaining) {
                let here = self.node(above);
                return LowestFit { height: here.height, is_below_root: here.parent.is_some() };
            }
            remaining = remaining.minus(self.cell(above, pool).local_available());
            root = above;
        }
        LowestFit { height: self.node(root).height, is_below_root: false }
    }

    /// The parent, unless the node is in a cycle: then it stands alone, so that no walk runs for ever.
    pub(super) fn open_parent(&self, node: NodeId) -> Option<NodeId> {
        let here = self.node(node);
        if here.is_in_cycle { None } else { here.parent }
    }
}
