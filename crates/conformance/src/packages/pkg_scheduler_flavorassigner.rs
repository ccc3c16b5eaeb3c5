//! `pkg/scheduler/flavorassigner`: which flavors a workload gets, and what spoke against the others.

mod assignments;
mod parts;
mod places;

use super::Runners;

pub const RUNNERS: Runners = &[
    ("TestAssignFlavors", assignments::whole),
    ("TestAssignFlavors_LeaderWorkerSetTASFlavor", places::of_groups),
    ("TestAssignment_ComputeTASNetUsage", places::net_usage),
    ("TestAssignment_TotalRequestsFor", parts::total_requests),
    ("TestDeletedFlavors", assignments::whole),
    ("TestFlavorScanRecordsLastTriedFlavorIdx", places::bookmark),
    ("TestHierarchical", assignments::flavors_only),
    ("TestIsNoFitDueToCapacityAndLimits", assignments::obstacles),
    ("TestIsPreferred", parts::is_preferred),
    ("TestReclaimBeforePriorityPreemption", assignments::flavors_only),
    ("TestRecomputeRecordsLastTriedFlavorIdx", places::bookmark_again),
    ("TestSearch", parts::partial_search),
    ("TestWorkloadsTopologyRequests_ElasticJobsValidation", places::wanted),
    ("TestWorkloadsTopologyRequests_ErrorBranches", places::wanted),
    ("TestWorkloadsTopologyRequests_ZeroCountPodSetSkipped", places::wanted),
];
