//! Short lists and sums by key, without a tree or an allocation where there are only a few of something.

use kueue_core::amount::Amount;
use smallvec::SmallVec;

use crate::id::PoolId;

/// A list that is rarely longer than this: most workloads name no more resources.
pub(crate) type Few<T> = SmallVec<[T; 3]>;

/// Adds to the amount of a pool.
pub(crate) fn add_amount(amounts: &mut Few<(PoolId, Amount)>, pool: PoolId, amount: Amount) {
    match amounts.iter_mut().find(|(known, _)| *known == pool) {
        Some((_, sum)) => *sum = sum.plus(amount),
        None => amounts.push((pool, amount)),
    }
}

/// Sums by key, in the order of the keys; one of which nothing is left is dropped. Wide enough that none saturates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sums<K>(Vec<(K, i128)>);

impl<K> Default for Sums<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord + Copy> Sums<K> {
    pub(crate) fn add(&mut self, key: K, amount: i64) {
        match self.slot(key) {
            Ok(slot) => self.0[slot].1 += i128::from(amount),
            Err(slot) => self.0.insert(slot, (key, i128::from(amount))),
        }
    }

    pub(crate) fn remove(&mut self, key: K, amount: i64) {
        if let Ok(slot) = self.slot(key) {
            self.0[slot].1 -= i128::from(amount);
            if self.0[slot].1 == 0 {
                self.0.remove(slot);
            }
        }
    }

    pub(crate) fn of(&self, key: K) -> i128 {
        self.slot(key).map_or(0, |slot| self.0[slot].1)
    }

    fn slot(&self, key: K) -> Result<usize, usize> {
        self.0.binary_search_by_key(&key, |(known, _)| *known)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, i128)> {
        self.0.iter().copied()
    }
}
