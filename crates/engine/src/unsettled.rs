//! The workloads whose next step has to be looked at, in the order in which something happened to them.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use crate::id::WorkloadId;

/// A queue in which everybody stands once. Whoever is taken out of the middle leaves a gap that is skipped later.
#[derive(Debug, Default)]
pub(crate) struct Unsettled {
    line: VecDeque<WorkloadId>,
    members: FxHashSet<WorkloadId>,
}

impl Unsettled {
    pub(crate) fn insert(&mut self, id: WorkloadId) {
        if self.members.insert(id) {
            self.line.push_back(id);
        }
    }

    /// Puts the one that was just taken back to the front, also if it joined the line again in the meantime.
    pub(crate) fn put_back(&mut self, id: WorkloadId) {
        self.members.insert(id);
        self.line.push_front(id);
    }

    pub(crate) fn remove(&mut self, id: WorkloadId) {
        self.members.remove(&id);
    }

    pub(crate) fn pop(&mut self) -> Option<WorkloadId> {
        while let Some(id) = self.line.pop_front() {
            if self.members.remove(&id) {
                return Some(id);
            }
        }
        None
    }

    pub(crate) fn contains(&self, id: WorkloadId) -> bool {
        self.members.contains(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }
}
