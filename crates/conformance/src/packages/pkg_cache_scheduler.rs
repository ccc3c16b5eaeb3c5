//! The state that scheduling works on: quota, usage, readiness and the trees of cohorts.

mod places;
mod readiness;
mod shares;
mod state;
mod tree;
mod usage;

use super::Runners;

pub const RUNNERS: Runners = &[
    ("TestAddOrUpdateCohort_Table", tree::follows_the_objects),
    ("TestAncestors", tree::ancestors),
    ("TestAvailable", tree::available),
    ("TestCacheClusterQueueOperations", state::cluster_queues),
    ("TestCachePodsReadyForAllAdmittedWorkloads", state::pods_ready),
    ("TestCacheQueueOperations", usage::local_queues),
    ("TestCacheWorkloadOperations", state::workloads),
    ("TestClusterQueueAncestors", tree::ancestors_of_queue),
    ("TestClusterQueueReadiness", readiness::of_queue),
    ("TestClusterQueueReadinessWithTAS", readiness::with_topologies),
    ("TestClusterQueueUpdate", state::generation),
    ("TestClusterQueueUpdateWithAdmissionCheck", readiness::with_checks),
    ("TestClusterQueueUpdateWithFlavors", readiness::with_flavors),
    ("TestClusterQueueUsage", usage::of_cluster_queue),
    ("TestClusterQueuesForResources", readiness::queues_with_resource),
    ("TestClusterQueuesUsingAdmissionChecks", readiness::queues_with_check),
    ("TestClusterQueuesUsingFlavor", readiness::queues_with_flavor),
    ("TestDeleteClusterQueue_Table", tree::follows_the_objects),
    ("TestDeleteCohortUpdatesAncestorSubtreeQuota", tree::subtree_after_deletion),
    ("TestDominantResourceShare", shares::of_all),
    ("TestFindTopologyAssignments", places::of_flavor),
    ("TestGetCacheLQ", usage::local_queue),
    ("TestIsAddedCheckWorkload", state::is_added),
    ("TestIsBorrowingOn", shares::is_borrowing_on),
    ("TestLocalQueueUsage", usage::of_local_queue),
    ("TestPreciseWeightedShareSerialized", shares::as_text),
    ("TestSnapshot", state::snapshot),
    ("TestSnapshotAddRemoveWorkload", state::snapshot_after_changes),
    ("TestSnapshotAddRemoveWorkloadWithLendingLimit", state::snapshot_after_changes),
    ("TestUpdateClusterQueue_Table", tree::follows_the_objects),
    ("TestWorkloadAncestors", tree::ancestors_of_workload),
];
