//! `pkg/scheduler/preemption` and the packages below it: who has to go, by which rule, in which order.

mod order;
mod targets;

use super::Runners;
pub(super) use targets::wanted_pod_set;

pub const RUNNERS: Runners = &[
    ("TestCandidatesOrdering", order::candidates),
    ("TestFairPreemptions", targets::fair),
    ("TestHierarchicalPreemptions", targets::classical),
    ("TestIssuePreemptionsSkipsDuplicate", targets::not_twice),
    ("TestPreemption", targets::classical),
    ("TestPreemptionMessage", order::message),
    ("TestPreemptionWhenWorkloadModifiedConcurrently", targets::concurrent),
    ("TestPriorityInfo", order::priority),
];

pub const COMMON: Runners = &[("TestSatisfiesPreemptionPolicy", order::policy)];

pub const FAIR_SHARING: Runners = &[("TestMakeClusterQueueOrdering", order::fair_order)];
