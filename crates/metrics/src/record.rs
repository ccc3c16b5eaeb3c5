//! What happens to Workloads and in cycles, as counters and histograms.

use kueue_api::config::v1beta2::SourceKind;
use kueue_api::kueue::v1beta2::Workload;
use kueue_engine::{CycleSummary, Name};

use crate::events::Event;
use crate::families as family;
use crate::families::Family;
use crate::labels::Subject;
use crate::registry::Metrics;

/// A Workload as metrics see it.
struct Seen<'a> {
    metrics: &'a Metrics,
    queue: &'a str,
    class: &'a str,
    namespace: Name,
    local_queue: Name,
    of_queue: Vec<String>,
    /// Values of custom labels, none when the LocalQueue has no metrics of its own.
    of_local_queue: Option<Vec<String>>,
    of_workload: Vec<String>,
}

impl Metrics {
    /// Counts what happened to a Workload that waits or runs in a ClusterQueue below those cohorts.
    pub fn record(&self, workload: &Workload, events: &[Event], cohorts: impl Fn(&str) -> Vec<Name>) {
        if events.is_empty() {
            return;
        }
        let admission = workload.status.admission.as_ref();
        let queue = admission.map_or("", |admission| admission.cluster_queue.as_str());
        let seen = Seen::new(self, workload, queue);
        for event in events {
            seen.record(event);
            if let Event::Admitted { .. } = event {
                for cohort in cohorts(queue) {
                    let custom = self.custom_values(&Subject::Cohort(cohort.clone()));
                    self.count(&family::COHORT_ADMITTED, &[&cohort, seen.class], &custom, 1);
                }
            }
        }
    }

    /// Counts a preemption for a workload of that ClusterQueue.
    pub fn preempted(&self, preempting_queue: &str, reason: &str) {
        let custom = self.custom_values(&Subject::ClusterQueue(preempting_queue.into()));
        self.count(&family::PREEMPTED, &[preempting_queue, reason], &custom, 1);
    }

    /// Counts a scheduling cycle.
    pub fn cycle(&self, has_admitted: bool, took_seconds: f64, summary: &CycleSummary) {
        let result = [if has_admitted { "success" } else { "inadmissible" }];
        self.count(&family::ADMISSION_ATTEMPTS, &result, &[], 1);
        self.observe(&family::ADMISSION_ATTEMPT_DURATION, &result, &[], took_seconds);
        for ((queue, result), times) in &summary.recomputations {
            let custom = self.custom_values(&Subject::ClusterQueue(queue.clone()));
            self.count(&family::RECOMPUTATIONS, &[queue, result.as_str()], &custom, *times);
        }
    }

    /// Counts the first Workload of a job that was created so long ago.
    pub fn workload_created(&self, job_kind: &str, namespace: &Name, local_queue: &Name, took_seconds: f64) {
        let custom = self.custom_values(&Subject::LocalQueue(namespace.clone(), local_queue.clone()));
        self.observe(&family::CREATION_LATENCY, &[job_kind], &custom, took_seconds);
    }

    /// Counts a scheduling gate that was taken off a pod so long after admission.
    pub fn gate_removed(&self, gate: &str, queue: &str, is_group: bool, took_seconds: f64) {
        let custom = self.custom_values(&Subject::ClusterQueue(queue.into()));
        let is_group = if is_group { "true" } else { "false" };
        self.observe(&family::GATE_REMOVAL, &[gate, queue, is_group], &custom, took_seconds);
    }
}

impl<'a> Seen<'a> {
    fn new(metrics: &'a Metrics, workload: &'a Workload, queue: &'a str) -> Self {
        let namespace: Name = workload.metadata.namespace.as_str().into();
        let local_queue: Name = workload.spec.queue_name.as_str().into();
        let is_shown = metrics.shows_local_queue(&namespace, &local_queue);
        let subject = Subject::LocalQueue(namespace.clone(), local_queue.clone());
        Self {
            metrics,
            queue,
            class: workload.spec.priority_class_ref.as_ref().map_or("", |class| class.name.as_str()),
            of_queue: metrics.custom_values(&Subject::ClusterQueue(queue.into())),
            of_local_queue: is_shown.then(|| metrics.custom_values(&subject)),
            of_workload: metrics.custom().values(&SourceKind::Workload, Some(&workload.metadata)),
            namespace,
            local_queue,
        }
    }

    fn record(&self, event: &Event) {
        match event {
            Event::Reserved { queued_for } => {
                self.count(&family::RESERVED, &family::LQ_RESERVED, &[]);
                self.observe(&family::RESERVED_WAIT, &family::LQ_RESERVED_WAIT, *queued_for);
            }
            Event::Admitted { queued_for, checks_took } => {
                self.count(&family::ADMITTED, &family::LQ_ADMITTED, &[]);
                self.observe(&family::ADMISSION_WAIT, &family::LQ_ADMISSION_WAIT, *queued_for);
                if let Some(seconds) = checks_took {
                    self.observe(&family::CHECKS_WAIT, &family::LQ_CHECKS_WAIT, *seconds);
                }
            }
            Event::Ready { queued_for, admitted_for } => {
                self.observe(&family::READY_WAIT, &family::LQ_READY_WAIT, *queued_for);
                self.observe(&family::ADMITTED_TO_READY, &family::LQ_ADMITTED_TO_READY, *admitted_for);
            }
            Event::Evicted { reason, cause, is_first, ready_for } => {
                self.count(&family::EVICTED, &family::LQ_EVICTED, &[reason, cause]);
                if *is_first {
                    let labels = [self.queue, reason, cause, self.class];
                    self.metrics.count(&family::EVICTED_ONCE, &labels, &self.of_queue, 1);
                }
                if let Some(seconds) = ready_for {
                    let labels = [self.queue, reason, cause];
                    self.metrics.observe(&family::READY_TO_EVICTED, &labels, &self.of_queue, *seconds);
                }
            }
            Event::Released { queue, reason, took } => {
                // It is in no ClusterQueue any more.
                let custom = self.metrics.custom_values(&Subject::ClusterQueue(queue.as_str().into()));
                self.metrics.observe(&family::EVICTION_LATENCY, &[queue, reason], &custom, *took);
            }
            Event::Finished { ran_for } => {
                self.count(&family::FINISHED, &family::LQ_FINISHED, &[]);
                if let Some(seconds) = ran_for {
                    self.observe(&family::EXECUTION_TIME, &family::LQ_EXECUTION_TIME, *seconds);
                }
            }
        }
    }

    /// The values of custom labels of a LocalQueue's metric.
    fn local_custom(&self, local: &Family, of_local_queue: &[String]) -> Vec<String> {
        let has_workload = local.custom.contains(&SourceKind::Workload);
        let of_workload = if has_workload { self.of_workload.as_slice() } else { &[] };
        [of_local_queue, of_workload].concat()
    }

    fn count(&self, queue: &'static Family, local: &'static Family, between: &[&str]) {
        let labels = [&[self.queue], between, &[self.class]].concat();
        self.metrics.count(queue, &labels, &self.of_queue, 1);
        if let Some(custom) = &self.of_local_queue {
            let labels = [&[&*self.local_queue, &*self.namespace], between, &[self.class]].concat();
            self.metrics.count(local, &labels, &self.local_custom(local, custom), 1);
        }
    }

    fn observe(&self, queue: &'static Family, local: &'static Family, seconds: f64) {
        self.metrics.observe(queue, &[self.queue, self.class], &self.of_queue, seconds);
        if let Some(custom) = &self.of_local_queue {
            let labels = [&*self.local_queue, &*self.namespace, self.class];
            self.metrics.observe(local, &labels, &self.local_custom(local, custom), seconds);
        }
    }
}
