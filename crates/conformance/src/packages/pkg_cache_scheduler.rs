//! The state that scheduling works on: quota, usage, readiness and the trees of cohorts.

mod domains;
pub(super) mod nodes;
mod places;
mod readiness;
mod shares;
mod state;
mod tree;
mod usage;

use super::Runners;

pub const RUNNERS: Runners = &[
    ("TestAddAssumedUsage", nodes::used_by_assignment),
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
    ("TestCompareDomainLevelValues", domains::compared),
    ("TestComputeAssumedUsageFromAssignment", nodes::used_by_assignment),
    ("TestCountPodsInAssignment", domains::counted),
    ("TestDeleteClusterQueue_Table", tree::follows_the_objects),
    ("TestDeleteCohortUpdatesAncestorSubtreeQuota", tree::subtree_after_deletion),
    ("TestDominantResourceShare", shares::of_all),
    ("TestFindBestDomainsForBalancedPlacement", domains::best_threshold),
    ("TestFindTopologyAssignments", places::of_flavor),
    ("TestFindTopologyAssignmentsMultiLayerReplacement", places::replacement),
    ("TestGetCacheLQ", usage::local_queue),
    ("TestHasLevel", domains::levels_known),
    ("TestIsAddedCheckWorkload", state::is_added),
    ("TestIsBorrowingOn", shares::is_borrowing_on),
    ("TestIsTopologyAssignmentStale", domains::stale),
    ("TestLocalQueueUsage", usage::of_local_queue),
    ("TestMergeTopologyAssignments", domains::merged),
    ("TestNewTopologyTree", nodes::tree),
    ("TestNodesCache", nodes::usable),
    ("TestNodesCacheFind", nodes::found),
    ("TestNodesCacheGeneration", nodes::bumped),
    ("TestNodesCacheSync", nodes::synced),
    ("TestNonTasUsageCacheIncrementalUpdates", nodes::used_by_pods),
    ("TestNonTasUsageCacheRemovedNode", nodes::freed),
    ("TestPlaceSlicesOnDomainsBalanced", domains::levelled_out),
    ("TestPreciseWeightedShareSerialized", shares::as_text),
    ("TestSelectOptimalDomainSetToFit", domains::fewest),
    ("TestSnapshot", state::snapshot),
    ("TestSnapshotAddRemoveWorkload", state::snapshot_after_changes),
    ("TestSnapshotAddRemoveWorkloadWithLendingLimit", state::snapshot_after_changes),
    ("TestSnapshotLog", nodes::shown),
    ("TestSortedDomains", domains::sorted),
    ("TestSortedDomainsWithLeader", domains::sorted_with_leader),
    ("TestTASFlavorCacheAddAndRemoveUsage", nodes::used_by_workloads),
    ("TestTruncateAssignment", domains::truncated),
    ("TestUpdateClusterQueue_Table", tree::follows_the_objects),
    ("TestWorkloadAncestors", tree::ancestors_of_workload),
];
