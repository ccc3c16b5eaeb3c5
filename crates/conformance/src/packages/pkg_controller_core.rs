//! `pkg/controller/core`: what one look at a workload, a queue or what queues refer to comes to.

mod charges;
mod classes;
mod queues;
mod workloads;

use super::Runners;

pub const RUNNERS: Runners = &[
    ("TestAdmittedNotReadyWorkload", workloads::not_ready),
    ("TestClusterQueueReconcile", queues::reconcile),
    ("TestCohortReconcilerFilters", queues::cohort_filter),
    ("TestCqHandlerGeneric", queues::orphaned_flavors),
    ("TestLocalQueueReconcile", queues::local_queue),
    ("TestNotifyClusterQueueUpdate", queues::other_references),
    ("TestReconcile", workloads::reconcile),
    ("TestReconcileDRA", workloads::reconcile),
    ("TestReconcileEviction", workloads::reconcile),
    ("TestReconcileInadmissible", workloads::reconcile),
    ("TestReconcileRequeue", workloads::reconcile),
    ("TestReconcileSyncAdmissionChecks", workloads::sync_checks),
    ("TestRecordResourceMetrics", queues::resource_metrics),
    ("TestResourceFlavorReconcile", queues::flavor),
    ("TestSyncCheckStates", workloads::check_states),
    ("TestUpdateAfsConsumedUsage", charges::settlement),
    ("TestUpdateCqStatusIfChanged", queues::status),
    ("TestUpdateDropsUnsettleableAfsEntryPenalty", charges::change),
    ("TestUpdateSettlesAfsEntryPenalty", charges::change),
    ("TestWorkloadPriorityClassPredicates", queues::class_filter),
    ("TestWorkloadPriorityClassReconcile", classes::reconcile),
];
