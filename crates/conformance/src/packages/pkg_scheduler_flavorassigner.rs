//! `pkg/scheduler/flavorassigner`: which flavors a workload gets, and what spoke against the others.

mod assignments;
mod parts;

use super::Runners;

pub const RUNNERS: Runners = &[
    ("TestAssignFlavors", assignments::whole),
    ("TestAssignment_TotalRequestsFor", parts::total_requests),
    ("TestDeletedFlavors", assignments::whole),
    ("TestHierarchical", assignments::flavors_only),
    ("TestIsNoFitDueToCapacityAndLimits", assignments::obstacles),
    ("TestIsPreferred", parts::is_preferred),
    ("TestReclaimBeforePriorityPreemption", assignments::flavors_only),
    ("TestSearch", parts::partial_search),
];
