//! Dominant resource share: how much more than its own a node has, relative to what could be lent to it.

use std::cmp::Ordering;

use kueue_core::amount::Amount;

use super::Quotas;
use crate::id::{Id as _, NodeId, PoolId, ResourceId};

/// The share of one node at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Share {
    weight: f64,
    /// Borrowed per thousand lendable of the dominant resource; negative only for "less than any".
    ratio: f64,
    pub(crate) borrowed: Vec<PoolId>,
    /// The resources with that ratio: one, unless several are equal. Who shows one of them chooses by name.
    pub(crate) dominant: Vec<ResourceId>,
}

impl Share {
    /// One that somebody tells.
    pub(crate) fn told(weight: f64, ratio: f64, borrowed: Vec<PoolId>) -> Self {
        Self { weight, ratio, borrowed, dominant: Vec::new() }
    }

    /// Below every real share.
    pub(crate) fn none() -> Self {
        Self { weight: 1.0, ratio: -1.0, borrowed: Vec::new(), dominant: Vec::new() }
    }

    pub(crate) fn is_borrowing(&self) -> bool {
        !self.borrowed.is_empty()
    }

    pub(crate) fn is_borrowing_on(&self, requests: &[(PoolId, Amount)]) -> bool {
        requests.iter().any(|(pool, amount)| *amount > Amount::ZERO && self.borrowed.contains(pool))
    }

    pub(crate) fn weighted(&self) -> f64 {
        if self.ratio == 0.0 {
            0.0
        } else if self.weight == 0.0 {
            f64::INFINITY
        } else {
            self.ratio / self.weight
        }
    }

    /// The largest ratio counts.
    fn take_ratio(&mut self, resource: ResourceId, ratio: f64) {
        if ratio > self.ratio {
            self.ratio = ratio;
            self.dominant.clear();
        }
        if ratio == self.ratio {
            self.dominant.push(resource);
        }
    }

    fn borrows_without_weight(&self) -> bool {
        self.weight == 0.0 && self.ratio != 0.0
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self.borrows_without_weight(), other.borrows_without_weight()) {
            (true, true) => self.ratio.total_cmp(&other.ratio),
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.weighted().partial_cmp(&other.weighted()).unwrap_or(Ordering::Equal),
        }
    }

    /// As the API shows it.
    pub(crate) fn rounded(&self) -> i64 {
        if self.borrows_without_weight() {
            i64::MAX
        } else {
            // A ratio is at most 1000 times an i64; the conversion saturates.
            #[expect(clippy::cast_possible_truncation)]
            let share = self.weighted().ceil() as i64;
            share
        }
    }
}

impl Quotas {
    /// The share of `node`; `resource_of` says what a pool is made of.
    pub(crate) fn share(&self, node: NodeId, resource_of: impl Fn(PoolId) -> ResourceId) -> Share {
        self.share_with(node, &[], resource_of)
    }

    /// The share that `node` would have if it used `added` as well. In a cycle nobody shares anything.
    pub(crate) fn share_with(
        &self,
        node: NodeId,
        added: &[(PoolId, Amount)],
        resource_of: impl Fn(PoolId) -> ResourceId,
    ) -> Share {
        let here = self.node(node);
        let mut share = Share { weight: here.weight, ratio: 0.0, borrowed: Vec::new(), dominant: Vec::new() };
        let Some(parent) = self.open_parent(node) else { return share };
        let mut borrowed: Vec<(ResourceId, Amount)> = Vec::new();
        for cell in here.cells.iter().filter(|cell| cell.is_named) {
            let more = added.iter().filter(|(pool, _)| *pool == cell.pool);
            let usage = more.fold(cell.usage, |usage, (_, amount)| usage.plus(*amount));
            if usage <= cell.subtree {
                continue;
            }
            share.borrowed.push(cell.pool);
            let (resource, beyond) = (resource_of(cell.pool), usage.minus(cell.subtree));
            match borrowed.iter_mut().find(|(known, _)| *known == resource) {
                Some((_, sum)) => *sum = sum.plus(beyond),
                None => borrowed.push((resource, beyond)),
            }
        }
        if borrowed.is_empty() {
            return share;
        }
        let lendable = self.lendable(parent, &resource_of);
        for (resource, amount) in borrowed {
            let lent = lendable.iter().find(|(known, _)| *known == resource).map_or(Amount::ZERO, |(_, sum)| *sum);
            if lent > Amount::ZERO {
                #[expect(clippy::cast_precision_loss)]
                let ratio = amount.get() as f64 * 1000.0 / lent.get() as f64;
                share.take_ratio(resource, ratio);
            }
        }
        share
    }

    fn lendable(&self, node: NodeId, resource_of: impl Fn(PoolId) -> ResourceId) -> Vec<(ResourceId, Amount)> {
        let mut sums: Vec<(ResourceId, Amount)> = Vec::new();
        for cell in self.node(self.root(node)).cells.iter().filter(|cell| cell.is_named) {
            let resource = resource_of(cell.pool);
            let capacity = self.capacity(node, cell.pool);
            match sums.binary_search_by_key(&resource.index(), |(known, _)| known.index()) {
                Ok(slot) => sums[slot].1 = sums[slot].1.plus(capacity),
                Err(slot) => sums.insert(slot, (resource, capacity)),
            }
        }
        sums
    }
}
