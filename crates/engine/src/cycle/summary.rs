//! What the last cycle had to give up or do again, by ClusterQueue: the numbers behind two of Kueue's metrics.

use std::collections::BTreeMap;

use crate::id::Name;

/// Numbers about one cycle.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CycleSummary {
    /// How often a workload that needed preemption was passed over because of what an earlier one took or preempts.
    pub skipped_preemptions: BTreeMap<Name, u32>,
    /// How often victims were chosen anew because an earlier workload preempts them, and what came of it.
    pub recomputations: BTreeMap<(Name, Recomputation), u32>,
}

/// What came of choosing victims anew.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Recomputation {
    /// Other victims.
    NewTargets,
    /// None are needed once those of earlier workloads have left.
    DeferredFit,
    /// Nothing better.
    Skipped,
}

impl CycleSummary {
    pub(super) fn count_skip(&mut self, queue: &Name) {
        *self.skipped_preemptions.entry(queue.clone()).or_default() += 1;
    }

    pub(super) fn count_recomputation(&mut self, queue: &Name, result: Recomputation) {
        *self.recomputations.entry((queue.clone(), result)).or_default() += 1;
    }
}

impl Recomputation {
    /// As the metric's label has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NewTargets => "new_targets",
            Self::DeferredFit => "deferred_fit",
            Self::Skipped => "skipped",
        }
    }
}
