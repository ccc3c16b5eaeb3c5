//! How many wait, where they came from, how many shapes they have and what they ask for together.
//!
//! Kept in step with every change of a group, so that status controllers, metrics and the visibility API read
//! numbers instead of counting workloads.

use std::collections::BTreeMap;

use crate::few::Sums;
use crate::id::{LocalQueueId, ResourceId};
use crate::workload::Origin;

/// Waiting workloads by whether they are looked at next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct PendingCount {
    /// In line.
    pub active: usize,
    /// Aside until something changes.
    pub inadmissible: usize,
}

/// The numbers of one ClusterQueue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tally {
    origins: BTreeMap<Origin, PendingCount>,
    /// Classes with a member in line, with one aside, and with both.
    awake_classes: usize,
    resting_classes: usize,
    split_classes: usize,
    /// What all ask for together.
    requests: Sums<ResourceId>,
}

impl Tally {
    pub(crate) fn total(&self) -> PendingCount {
        sum(self.origins.values())
    }

    pub(crate) fn of_local_queue(&self, local_queue: LocalQueueId) -> PendingCount {
        sum(self.origins.range(Origin::all_of(local_queue)).map(|(_, count)| count))
    }

    pub(crate) fn origins(&self) -> impl Iterator<Item = (Origin, PendingCount)> {
        self.origins.iter().map(|(origin, count)| (*origin, *count))
    }

    /// How many classes are in line, and how many aside.
    pub(crate) fn shapes(&self) -> PendingCount {
        PendingCount { active: self.awake_classes, inadmissible: self.resting_classes }
    }

    /// How many classes there are.
    pub(crate) fn distinct_shapes(&self) -> usize {
        self.awake_classes + self.resting_classes - self.split_classes
    }

    pub(crate) fn requests(&self) -> impl Iterator<Item = (ResourceId, i128)> {
        self.requests.iter()
    }

    pub(super) fn move_by(&mut self, origin: Origin, active: isize, inadmissible: isize) {
        let count = self.origins.entry(origin).or_default();
        count.active = count.active.checked_add_signed(active).expect("nobody leaves who is not there");
        count.inadmissible =
            count.inadmissible.checked_add_signed(inadmissible).expect("nobody leaves who is not there");
        if *count == PendingCount::default() {
            self.origins.remove(&origin);
        }
    }

    /// A class had members awake and resting, and now has others.
    pub(super) fn class_changed(&mut self, (was_awake, was_resting): (bool, bool), (awake, resting): (bool, bool)) {
        shift(&mut self.awake_classes, was_awake, awake);
        shift(&mut self.resting_classes, was_resting, resting);
        shift(&mut self.split_classes, was_awake && was_resting, awake && resting);
    }

    pub(super) fn add_requests(&mut self, requests: &[(ResourceId, i64)]) {
        for (resource, amount) in requests {
            self.requests.add(*resource, *amount);
        }
    }

    pub(super) fn remove_requests(&mut self, requests: &[(ResourceId, i64)]) {
        for (resource, amount) in requests {
            self.requests.remove(*resource, *amount);
        }
    }
}

impl PendingCount {
    /// All of them.
    pub fn total(self) -> usize {
        self.active + self.inadmissible
    }

    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { active: self.active + other.active, inadmissible: self.inadmissible + other.inadmissible }
    }
}

fn sum<'a>(counts: impl Iterator<Item = &'a PendingCount>) -> PendingCount {
    counts.fold(PendingCount::default(), |sum, count| sum.plus(*count))
}

fn shift(counter: &mut usize, was: bool, is: bool) {
    *counter = *counter + usize::from(is) - usize::from(was);
}
