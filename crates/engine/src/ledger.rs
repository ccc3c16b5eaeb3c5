//! What a LocalQueue has used of late: the memory behind admission fair sharing.
//!
//! Usage fades with a half-life. Between two looks at what runs, a workload that was given quota is charged a penalty
//! in advance, so that a LocalQueue cannot take everything before its usage shows. All arithmetic is decimal and in a
//! fixed order, so that equal histories give equal numbers everywhere.

mod keeping;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use kueue_core::duration::Duration;
use kueue_core::quantity::Quantity;
use kueue_core::resource_list::{Keep, ResourceList, merge};
use kueue_core::time::Time;

use crate::effect::Key;

/// What one LocalQueue used. The sum of the penalties is that of the single ones; what is zero is not in it.
#[derive(Clone, PartialEq, Debug)]
pub struct Ledger {
    consumed: ResourceList,
    penalties: BTreeMap<Key, ResourceList>,
    penalty: ResourceList,
    updated: Time,
}

impl Ledger {
    /// One that is opened at a time from which usage counts, with what was written down before.
    pub fn new(consumed: ResourceList, now: Time) -> Self {
        Self { consumed, penalties: BTreeMap::new(), penalty: ResourceList::new(), updated: now }
    }

    /// What was used, older usage counting less.
    pub fn consumed(&self) -> &ResourceList {
        &self.consumed
    }

    /// The sum of all penalties.
    pub fn penalty(&self) -> &ResourceList {
        &self.penalty
    }

    /// Whether any penalty amounts to something.
    pub fn has_penalty(&self) -> bool {
        self.penalty.values().any(|quantity| !quantity.is_zero())
    }

    /// When usage was last counted.
    pub fn updated(&self) -> Time {
        self.updated
    }

    /// Whether the workload was charged.
    pub fn has_charged(&self, workload: &Key) -> bool {
        self.penalties.contains_key(workload)
    }

    /// Charges a workload; one that was charged before is charged anew, not twice.
    pub fn charge(&mut self, workload: Key, penalty: ResourceList) {
        self.waive(&workload);
        merge(&mut self.penalty, &penalty, Keep::Sum);
        self.penalties.insert(workload, penalty);
    }

    /// Takes a workload's penalty back, and says what it was.
    pub fn waive(&mut self, workload: &Key) -> Option<ResourceList> {
        let penalty = self.penalties.remove(workload)?;
        for (resource, amount) in &penalty {
            if let Some(sum) = self.penalty.get_mut(resource) {
                *sum -= amount;
            }
        }
        self.penalty.retain(|_, sum| !sum.is_zero());
        Some(penalty)
    }

    /// Lets what was used fade, and counts what is used now for the time since the last look.
    pub fn count(&mut self, usage: &ResourceList, half_life: Duration, now: Time) {
        let share = share_of_new(seconds_between(self.updated, now), seconds(half_life));
        let mut consumed = scaled(&self.consumed, 1.0 - share);
        merge(&mut consumed, &scaled(usage, share), Keep::Sum);
        self.consumed = consumed;
        self.updated = self.updated.max(now);
    }

    /// The workload runs: its penalty becomes usage.
    pub fn settle(&mut self, workload: &Key, usage: &ResourceList, half_life: Duration, now: Time) {
        self.count(usage, half_life, now);
        if let Some(penalty) = self.waive(workload) {
            merge(&mut self.consumed, &penalty, Keep::Sum);
        }
    }

    /// A regular look. Without a half-life nothing is remembered.
    pub fn sample(&mut self, usage: &ResourceList, half_life: Duration, now: Time) {
        if half_life == Duration::ZERO {
            self.consumed.clear();
            self.updated = self.updated.max(now);
        } else {
            self.count(usage, half_life, now);
        }
    }

    /// Everything in one number, as the order of LocalQueues compares it.
    pub fn usage(&self, weight: f64, resource_weights: &BTreeMap<String, f64>) -> Usage {
        weighted_usage(&self.consumed, &self.penalty, weight, resource_weights)
    }
}

/// Consumption and penalties in one number: weighted by resource, divided by the LocalQueue's own weight. Who has no
/// weight comes after all others.
pub fn weighted_usage(
    consumed: &ResourceList,
    penalty: &ResourceList,
    weight: f64,
    resource_weights: &BTreeMap<String, f64>,
) -> Usage {
    if weight <= 0.0 {
        return Usage::new(f64::INFINITY);
    }
    let mut all = consumed.clone();
    merge(&mut all, penalty, Keep::Sum);
    let weighted = |(resource, amount): (&String, &Quantity)| {
        resource_weights.get(resource).copied().unwrap_or(1.0) * amount.as_f64()
    };
    Usage::new(all.iter().map(weighted).fold(0.0, |sum, part| sum + part) / weight)
}

/// What a workload that needs `requests` is charged until it is counted.
pub fn entry_penalty(requests: &ResourceList, interval: Duration, half_life: Duration) -> ResourceList {
    scaled(requests, share_of_new(seconds(interval), seconds(half_life)))
}

/// How much a LocalQueue used.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Usage(f64);

impl Usage {
    /// One zero instead of two, and no "not a number", so that comparing is the same as telling apart.
    fn new(number: f64) -> Self {
        Self(if number.is_nan() { f64::INFINITY } else { number + 0.0 })
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Eq for Usage {}

impl PartialOrd for Usage {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Usage {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// How much the time since the last look counts beside everything before it.
fn share_of_new(elapsed_s: f64, half_life_s: f64) -> f64 {
    if half_life_s <= 0.0 { 0.0 } else { 1.0 - half_to_the(elapsed_s / half_life_s) }
}

/// 0.5 to a power that is not negative. Written out because the result of `powf` is not the same on every machine.
fn half_to_the(power: f64) -> f64 {
    let whole = power.floor();
    if whole > 1074.0 {
        return 0.0;
    }
    let x = -(power - whole) * std::f64::consts::LN_2;
    let mut term = 1.0;
    let mut sum = 1.0;
    for n in 1..=20 {
        term *= x / f64::from(n);
        sum += term;
    }
    let mut left = whole;
    while left > 0.0 {
        sum *= 0.5;
        left -= 1.0;
    }
    sum
}

fn scaled(list: &ResourceList, factor: f64) -> ResourceList {
    list.iter().map(|(resource, amount)| (resource.clone(), amount.scaled_by(factor))).collect()
}

fn seconds(duration: Duration) -> f64 {
    duration.nanos() as f64 / 1e9
}

/// Never negative: a clock that went back counts nothing.
fn seconds_between(from: Time, to: Time) -> f64 {
    crate::text::seconds_between(from, to).max(0) as f64
}
