//! Every metric: its name, its labels, and when it is shown.

use kueue_api::config::v1beta2::{Metrics as Configured, SourceKind};
use kueue_core::gates::{Gate, Gates};

/// How a metric counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram(Buckets),
}

/// Upper bounds of a histogram, in seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Buckets {
    /// What Prometheus takes by default: up to 10 s.
    Default,
    /// One second, then up to nearly three hours.
    Hours,
    /// One second, then up to half a day.
    HalfDay,
    /// Hundredths of seconds to ten seconds.
    Creation,
}

impl Buckets {
    pub(crate) fn bounds(self) -> Vec<f64> {
        let doubling = |first: f64, count: i32| (0..count).map(move |exponent| first * 2_f64.powi(exponent));
        match self {
            Self::Default => prometheus::DEFAULT_BUCKETS.to_vec(),
            Self::Hours => [1.0].into_iter().chain(doubling(2.5, 13)).collect(),
            Self::HalfDay => [1.0].into_iter().chain(doubling(2.5, 15)).collect(),
            Self::Creation => doubling(0.01, 11).collect(),
        }
    }
}

/// What has to be switched on for a metric to be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    Nothing,
    LocalQueues,
    Cohorts,
    Shapes,
    Unadmitted,
    UnadmittedInLocalQueues,
    CreationLatency,
    Resources,
    LocalQueueResources,
}

/// What the operator switched on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown {
    pub(crate) local_queues: bool,
    pub(crate) cohorts: bool,
    pub(crate) shapes: bool,
    pub(crate) unadmitted: bool,
    pub(crate) creation_latency: bool,
    pub(crate) resources: bool,
    pub(crate) fair_sharing: bool,
}

impl Shown {
    pub fn new(configured: &Configured, shares_fairly: bool, gates: Gates) -> Self {
        let local_queues = configured.local_queue_metrics.as_ref().is_none_or(|metrics| metrics.enable);
        Self {
            local_queues: gates.enabled(Gate::LocalQueueMetrics) && local_queues,
            cohorts: gates.enabled(Gate::MetricsForCohorts),
            shapes: gates.enabled(Gate::SchedulingEquivalenceHashing),
            unadmitted: gates.enabled(Gate::UnadmittedWorkloadsObservability),
            creation_latency: gates.enabled(Gate::MetricForWorkloadCreationLatency),
            resources: configured.enable_cluster_queue_resources,
            fair_sharing: shares_fairly,
        }
    }

    pub(crate) fn has(self, family: &Family) -> bool {
        match family.needs {
            Needs::Nothing => true,
            Needs::LocalQueues => self.local_queues,
            Needs::Cohorts => self.cohorts,
            Needs::Shapes => self.shapes,
            Needs::Unadmitted => self.unadmitted,
            Needs::UnadmittedInLocalQueues => self.unadmitted && self.local_queues,
            Needs::CreationLatency => self.creation_latency,
            Needs::Resources => self.resources,
            Needs::LocalQueueResources => self.resources && self.local_queues,
        }
    }
}

/// One metric. Every one but the build's has the role of the replica as a further label.
#[derive(Debug)]
pub struct Family {
    pub name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: Kind,
    pub(crate) labels: &'static [&'static str],
    /// Whose custom labels follow.
    pub(crate) custom: &'static [SourceKind],
    pub(crate) needs: Needs,
}

/// The label that tells leaders from followers.
pub(crate) const ROLE: &str = "replica_role";

const NOBODY: &[SourceKind] = &[];
const QUEUE: &[SourceKind] = &[SourceKind::ClusterQueue];
const LOCAL: &[SourceKind] = &[SourceKind::LocalQueue];
const COHORT: &[SourceKind] = &[SourceKind::Cohort];
// In the order of the kinds' names, as everywhere.
const QUEUE_AND_WORKLOAD: &[SourceKind] = &[SourceKind::ClusterQueue, SourceKind::Workload];
const LOCAL_AND_WORKLOAD: &[SourceKind] = &[SourceKind::LocalQueue, SourceKind::Workload];

macro_rules! families {
    ($($constant:ident, $name:literal, $kind:expr, $labels:expr, $custom:expr, $needs:expr, $help:literal;)*) => {
        $(pub(crate) static $constant: Family = Family {
            name: $name, help: $help, kind: $kind, labels: &$labels, custom: $custom, needs: $needs };)*

        /// All of them.
        pub static ALL: &[&Family] = &[$(&$constant),*];
    };
}

use Buckets::{Creation, Default as Usual, HalfDay, Hours};
use Kind::{Counter, Gauge, Histogram};

#[rustfmt::skip]
families! {
    BUILD_INFO, "kueue_build_info", Gauge, ["git_version", "git_commit", "build_date", "go_version", "compiler", "platform"], NOBODY, Needs::Nothing, "What was built, as labels; always 1";
    ADMISSION_ATTEMPTS, "kueue_admission_attempts_total", Counter, ["result"], NOBODY, Needs::Nothing, "Scheduling cycles, by whether they admitted anything";
    ADMISSION_ATTEMPT_DURATION, "kueue_admission_attempt_duration_seconds", Histogram(Usual), ["result"], NOBODY, Needs::Nothing, "How long scheduling cycles took";
    PREEMPTION_SKIPS, "kueue_admission_cycle_preemption_skips", Gauge, ["cluster_queue"], QUEUE, Needs::Nothing, "Workloads whose preemptions overlapped with others' in the last cycle, so that they have to try again";
    RECOMPUTATIONS, "kueue_preemption_target_recomputations_total", Counter, ["cluster_queue", "result"], QUEUE, Needs::Nothing, "How often victims were chosen anew because of what else was decided in the cycle";
    PENDING, "kueue_pending_workloads", Gauge, ["cluster_queue", "status"], QUEUE_AND_WORKLOAD, Needs::Nothing, "Workloads that wait, in line or until something changes";
    LQ_PENDING, "kueue_local_queue_pending_workloads", Gauge, ["name", "namespace", "status"], LOCAL, Needs::LocalQueues, "Workloads of a LocalQueue that wait";
    PENDING_SHAPES, "kueue_pending_scheduling_hashes", Gauge, ["cluster_queue", "status"], QUEUE, Needs::Shapes, "Kinds of workloads that wait and are treated alike";
    FINISHED_NOW, "kueue_finished_workloads", Gauge, ["cluster_queue"], QUEUE, Needs::Nothing, "Workloads that are finished and not deleted";
    LQ_FINISHED_NOW, "kueue_local_queue_finished_workloads", Gauge, ["name", "namespace"], LOCAL, Needs::LocalQueues, "Workloads of a LocalQueue that are finished and not deleted";
    RESERVED, "kueue_quota_reserved_workloads_total", Counter, ["cluster_queue", "priority_class"], QUEUE, Needs::Nothing, "Workloads that got quota";
    LQ_RESERVED, "kueue_local_queue_quota_reserved_workloads_total", Counter, ["name", "namespace", "priority_class"], LOCAL, Needs::LocalQueues, "Workloads of a LocalQueue that got quota";
    RESERVED_WAIT, "kueue_quota_reserved_wait_time_seconds", Histogram(Hours), ["cluster_queue", "priority_class"], QUEUE, Needs::Nothing, "From being queued to having quota";
    LQ_RESERVED_WAIT, "kueue_local_queue_quota_reserved_wait_time_seconds", Histogram(Hours), ["name", "namespace", "priority_class"], LOCAL, Needs::LocalQueues, "From being queued to having quota, of a LocalQueue";
    ADMITTED, "kueue_admitted_workloads_total", Counter, ["cluster_queue", "priority_class"], QUEUE, Needs::Nothing, "Workloads that were admitted";
    LQ_ADMITTED, "kueue_local_queue_admitted_workloads_total", Counter, ["name", "namespace", "priority_class"], LOCAL_AND_WORKLOAD, Needs::LocalQueues, "Workloads of a LocalQueue that were admitted";
    COHORT_ADMITTED, "kueue_cohort_subtree_admitted_workloads_total", Counter, ["cohort", "priority_class"], COHORT, Needs::Cohorts, "Workloads that were admitted anywhere below a cohort";
    ADMISSION_WAIT, "kueue_admission_wait_time_seconds", Histogram(HalfDay), ["cluster_queue", "priority_class"], QUEUE, Needs::Nothing, "From being queued to being admitted";
    LQ_ADMISSION_WAIT, "kueue_local_queue_admission_wait_time_seconds", Histogram(Hours), ["name", "namespace", "priority_class"], LOCAL_AND_WORKLOAD, Needs::LocalQueues, "From being queued to being admitted, of a LocalQueue";
    CHECKS_WAIT, "kueue_admission_checks_wait_time_seconds", Histogram(Hours), ["cluster_queue", "priority_class"], QUEUE, Needs::Nothing, "From having quota to being admitted";
    LQ_CHECKS_WAIT, "kueue_local_queue_admission_checks_wait_time_seconds", Histogram(Hours), ["name", "namespace", "priority_class"], LOCAL, Needs::LocalQueues, "From having quota to being admitted, of a LocalQueue";
    READY_WAIT, "kueue_ready_wait_time_seconds", Histogram(Hours), ["cluster_queue", "priority_class"], QUEUE, Needs::Nothing, "From being queued to all pods being ready";
    LQ_READY_WAIT, "kueue_local_queue_ready_wait_time_seconds", Histogram(Hours), ["name", "namespace", "priority_class"], LOCAL, Needs::LocalQueues, "From being queued to all pods being ready, of a LocalQueue";
    ADMITTED_TO_READY, "kueue_admitted_until_ready_wait_time_seconds", Histogram(Hours), ["cluster_queue", "priority_class"], QUEUE, Needs::Nothing, "From being admitted to all pods being ready";
    LQ_ADMITTED_TO_READY, "kueue_local_queue_admitted_until_ready_wait_time_seconds", Histogram(Hours), ["name", "namespace", "priority_class"], LOCAL, Needs::LocalQueues, "From being admitted to all pods being ready, of a LocalQueue";
    FINISHED, "kueue_finished_workloads_total", Counter, ["cluster_queue", "priority_class"], QUEUE, Needs::Nothing, "Workloads that finished";
    LQ_FINISHED, "kueue_local_queue_finished_workloads_total", Counter, ["name", "namespace", "priority_class"], LOCAL, Needs::LocalQueues, "Workloads of a LocalQueue that finished";
    EXECUTION_TIME, "kueue_execution_time_seconds", Histogram(HalfDay), ["cluster_queue", "priority_class"], QUEUE, Needs::Nothing, "How long finished workloads ran, all their runs together";
    LQ_EXECUTION_TIME, "kueue_local_queue_execution_time_seconds", Histogram(HalfDay), ["name", "namespace", "priority_class"], LOCAL, Needs::LocalQueues, "How long finished workloads of a LocalQueue ran";
    CREATION_LATENCY, "kueue_workload_creation_latency_seconds", Histogram(Creation), ["job_kind"], LOCAL, Needs::CreationLatency, "From the creation of a job to that of its Workload";
    GATE_REMOVAL, "kueue_pod_scheduling_gate_removal_seconds", Histogram(Usual), ["name", "cluster_queue", "is_group"], QUEUE, Needs::Nothing, "From admission to the removal of a scheduling gate of a pod";
    EVICTED, "kueue_evicted_workloads_total", Counter, ["cluster_queue", "reason", "underlying_cause", "priority_class"], QUEUE, Needs::Nothing, "Evictions";
    LQ_EVICTED, "kueue_local_queue_evicted_workloads_total", Counter, ["name", "namespace", "reason", "underlying_cause", "priority_class"], LOCAL, Needs::LocalQueues, "Evictions in a LocalQueue";
    EVICTED_ONCE, "kueue_evicted_workloads_once_total", Counter, ["cluster_queue", "reason", "underlying_cause", "priority_class"], QUEUE, Needs::Nothing, "Workloads that were evicted at least once for a reason";
    READY_TO_EVICTED, "kueue_pods_ready_to_evicted_time_seconds", Histogram(Hours), ["cluster_queue", "reason", "underlying_cause"], QUEUE, Needs::Nothing, "From all pods being ready to eviction";
    PREEMPTED, "kueue_preempted_workloads_total", Counter, ["preempting_cluster_queue", "reason"], QUEUE, Needs::Nothing, "Preemptions, by who needed the room and by which rule";
    EVICTION_LATENCY, "kueue_workload_eviction_latency_seconds", Histogram(Hours), ["cluster_queue", "reason"], QUEUE, Needs::Nothing, "From an eviction to its quota being free";
    RESERVING, "kueue_reserving_active_workloads", Gauge, ["cluster_queue"], QUEUE, Needs::Nothing, "Workloads that hold quota";
    LQ_RESERVING, "kueue_local_queue_reserving_active_workloads", Gauge, ["name", "namespace"], LOCAL, Needs::LocalQueues, "Workloads of a LocalQueue that hold quota";
    ADMITTED_NOW, "kueue_admitted_active_workloads", Gauge, ["cluster_queue"], QUEUE_AND_WORKLOAD, Needs::Nothing, "Workloads that are admitted and not finished";
    LQ_ADMITTED_NOW, "kueue_local_queue_admitted_active_workloads", Gauge, ["name", "namespace"], LOCAL_AND_WORKLOAD, Needs::LocalQueues, "Workloads of a LocalQueue that are admitted and not finished";
    COHORT_ADMITTED_NOW, "kueue_cohort_subtree_admitted_active_workloads", Gauge, ["cohort"], COHORT, Needs::Cohorts, "Workloads that are admitted and not finished anywhere below a cohort";
    QUEUE_STATUS, "kueue_cluster_queue_status", Gauge, ["cluster_queue", "status"], QUEUE, Needs::Nothing, "1 for the status that a ClusterQueue has, 0 for the others";
    LQ_STATUS, "kueue_local_queue_status", Gauge, ["name", "namespace", "active"], LOCAL, Needs::LocalQueues, "1 for the status of the condition Active that a LocalQueue has, 0 for the others";
    UNADMITTED, "kueue_unadmitted_workloads", Gauge, ["cluster_queue", "reason", "underlying_cause"], QUEUE, Needs::Unadmitted, "Workloads that are not admitted, by why";
    LQ_UNADMITTED, "kueue_local_queue_unadmitted_workloads", Gauge, ["name", "namespace", "cluster_queue", "reason", "underlying_cause"], LOCAL, Needs::UnadmittedInLocalQueues, "Workloads of a LocalQueue that are not admitted, by why";
    RESERVATION, "kueue_cluster_queue_resource_reservation", Gauge, ["cohort", "cluster_queue", "flavor", "resource"], QUEUE, Needs::Resources, "Quota that is reserved";
    USAGE, "kueue_cluster_queue_resource_usage", Gauge, ["cohort", "cluster_queue", "flavor", "resource"], QUEUE, Needs::Resources, "Quota that admitted workloads use";
    RESOURCES_PENDING, "kueue_cluster_queue_resource_pending", Gauge, ["cluster_queue", "resource"], QUEUE, Needs::Resources, "What workloads that wait ask for";
    LQ_RESERVATION, "kueue_local_queue_resource_reservation", Gauge, ["name", "namespace", "flavor", "resource"], LOCAL, Needs::LocalQueueResources, "Quota that is reserved, by LocalQueue";
    LQ_USAGE, "kueue_local_queue_resource_usage", Gauge, ["name", "namespace", "flavor", "resource"], LOCAL, Needs::LocalQueueResources, "Quota that admitted workloads use, by LocalQueue";
    LQ_FAIR_USAGE, "kueue_local_queue_admission_fair_sharing_usage", Gauge, ["name", "namespace", "cluster_queue"], LOCAL, Needs::LocalQueues, "What a LocalQueue used lately, as fair sharing of admissions counts it";
    NOMINAL, "kueue_cluster_queue_nominal_quota", Gauge, ["cohort", "cluster_queue", "flavor", "resource"], QUEUE, Needs::Resources, "Quota of a ClusterQueue's own";
    BORROWING_LIMIT, "kueue_cluster_queue_borrowing_limit", Gauge, ["cohort", "cluster_queue", "flavor", "resource"], QUEUE, Needs::Resources, "How much a ClusterQueue may borrow";
    LENDING_LIMIT, "kueue_cluster_queue_lending_limit", Gauge, ["cohort", "cluster_queue", "flavor", "resource"], QUEUE, Needs::Resources, "How much a ClusterQueue lends at most";
    WEIGHTED_SHARE, "kueue_cluster_queue_weighted_share", Gauge, ["cluster_queue", "cohort"], QUEUE, Needs::Resources, "How much a ClusterQueue borrows of what others could lend, by its weight; not a number when its weight is 0 and it borrows";
    COHORT_SHARE, "kueue_cohort_weighted_share", Gauge, ["cohort"], COHORT, Needs::Cohorts, "How much a cohort borrows of what others could lend, by its weight";
    COHORT_QUOTA, "kueue_cohort_subtree_quota", Gauge, ["cohort", "flavor", "resource"], COHORT, Needs::Cohorts, "Quota of a cohort and everything below it";
    COHORT_RESERVATIONS, "kueue_cohort_subtree_resource_reservations", Gauge, ["cohort", "flavor", "resource"], COHORT, Needs::Cohorts, "Quota that is reserved anywhere below a cohort";
    COHORT_INFO, "kueue_cohort_info", Gauge, ["cohort", "parent_cohort", "root_cohort"], COHORT, Needs::Cohorts, "Where a cohort stands in its tree, as labels; always 1";
    QUEUE_INFO, "kueue_cluster_queue_info", Gauge, ["cluster_queue", "parent_cohort", "root_cohort"], QUEUE, Needs::Cohorts, "Where a ClusterQueue stands in its tree, as labels; always 1";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn bounds_are_those_that_dashboards_know() {
        let shown = |buckets: Buckets| buckets.bounds().iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(shown(Hours), "1 2.5 5 10 20 40 80 160 320 640 1280 2560 5120 10240");
        assert!(shown(HalfDay).ends_with(" 10240 20480 40960"), "{}", shown(HalfDay));
        assert_eq!(shown(Creation), "0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56 5.12 10.24");
    }

    #[test]
    fn names_are_unique_and_say_what_they_count() {
        let names: BTreeSet<&str> = ALL.iter().map(|family| family.name).collect();
        assert_eq!(names.len(), ALL.len());
        for family in ALL {
            assert_eq!(family.name.ends_with("_total"), family.kind == Counter, "{}", family.name);
        }
    }
}
