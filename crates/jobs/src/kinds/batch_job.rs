//! `batch/v1` Job. Kubernetes 1.33 and newer.
//!
//! Stopping takes three requests, because pod templates may only change while the job is suspended and says that it has
//! not started; an annotation remembers the first until the last is done.

#[cfg(test)]
mod tests;
mod webhook;

use kueue_api::core_v1::PodTemplateSpec;
use kueue_api::kueue::names::{DEFAULT_POD_SET, annotation, label};
use kueue_api::kueue::v1beta2::{PodSet, ReclaimablePod};
use kueue_api::meta::{Condition, ConditionStatus, object};
use kueue_api::pod_set_info::PodSetInfo;
use kueue_api::wire::wire_struct;
use kueue_core::field::Errors;
use kueue_core::gates::Gates;
use kueue_core::time::Time;

use crate::job::{self, BadPodSets, CannotStart, Finish, Stop, Write};
use crate::topology_request::{PodIndexes, go_bool, topology_request};
use crate::webhook::{Around, Unanswerable, default};

const GROUP: &str = "batch";
const VERSION: &str = "v1";
const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Labels that the job controller puts on the template and that are none of the Workload's business.
const OWN_LABELS: [&str; 3] = ["job-name", "controller-uid", "batch.kubernetes.io/controller-uid"];
const JOB_NAME_LABEL: &str = "batch.kubernetes.io/job-name";

object! {
    /// Pods that run to completion.
    pub struct Job in GROUP/VERSION/"jobs", namespaced: true {
        pub spec: JobSpec,
        pub status?: JobStatus,
    }
}

wire_struct! {
    pub struct JobSpec {
        pub parallelism?: Option<i32>,
        pub completions?: Option<i32>,
        pub completion_mode?: Option<String>,
        pub suspend?: Option<bool>,
        pub managed_by?: Option<String>,
        pub template: PodTemplateSpec,
        pub ..rest,
    }
}

wire_struct! {
    pub struct JobStatus {
        pub start_time?: Option<Time>,
        pub active?: i32,
        pub ready?: Option<i32>,
        pub succeeded?: i32,
        pub completed_indexes?: String,
        pub failed_indexes?: Option<String>,
        pub uncounted_terminated_pods?: Option<UncountedTerminatedPods>,
        pub conditions?: Vec<Condition>,
        pub ..rest,
    }
}

wire_struct! {
    pub struct UncountedTerminatedPods {
        pub succeeded?: Vec<String>,
        pub ..rest,
    }
}

impl Job {
    /// How many pods run at a time at most. The API server sets parallelism where nobody did.
    fn pod_count(&self) -> i32 {
        let parallelism = self.spec.parallelism.unwrap_or(1);
        self.spec.completions.map_or(parallelism, |completions| completions.min(parallelism))
    }

    /// With how few pods the job is content.
    fn least_pods(&self) -> Option<i32> {
        self.metadata.annotations.get(annotation::JOB_MIN_PARALLELISM)?.parse().ok()
    }

    fn set_parallelism(&mut self, pods: i32) {
        self.spec.parallelism = Some(pods);
        if self.syncs_completions() {
            self.spec.completions = Some(pods);
        }
    }

    /// Whether completions follow parallelism.
    fn syncs_completions(&self) -> bool {
        let synced = self.metadata.annotations.get(annotation::JOB_COMPLETIONS_EQUAL_PARALLELISM);
        synced.and_then(|value| go_bool(value)).unwrap_or(false)
    }

    /// Whether each pod has an index of its own.
    fn is_indexed(&self) -> bool {
        self.spec.completion_mode.as_deref() == Some("Indexed")
    }

    fn is_stopping(&self) -> bool {
        self.metadata.annotations.get(annotation::STOPPING).is_some_and(|value| value == label::TRUE)
    }

    /// How many completions are settled for good, one way or the other.
    fn settled(&self, completions: i32) -> i32 {
        if !self.is_indexed() {
            return self.status.succeeded;
        }
        let failed = self.status.failed_indexes.as_deref().unwrap_or_default();
        settled_indexes(&[&self.status.completed_indexes, failed], completions)
    }
}

impl job::Job for Job {
    const FRAMEWORK: &'static str = "batch/job";
    const EVENT_SOURCE: &'static str = "batch/job-kueue-controller";
    const TAKES_PREBUILT: bool = true;
    const MAY_BE_ELASTIC: bool = true;
    const NATIVE_MANAGER: Option<&'static str> = Some("kubernetes.io/job-controller");

    fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true) && !self.is_stopping()
    }

    fn suspend(&mut self) {
        self.spec.suspend = Some(true);
    }

    fn pod_sets(&self, gates: Gates) -> Result<Vec<PodSet>, BadPodSets> {
        let mut template = self.spec.template.clone();
        template.metadata.labels.retain(|key, _| !OWN_LABELS.contains(&key.as_str()));
        let indexes = PodIndexes { pod_label: Some(COMPLETION_INDEX), ..PodIndexes::default() };
        Ok(vec![PodSet {
            name: DEFAULT_POD_SET.to_owned(),
            topology_request: topology_request(&template.metadata.annotations, indexes, gates)?,
            template: template.into(),
            count: self.pod_count(),
            min_count: self.least_pods(),
        }])
    }

    fn run(&mut self, given: &[PodSetInfo], gates: Gates) -> Result<(), CannotStart> {
        let [given] = given else { return Err(CannotStart::PodSets { expected: 1, given: given.len() }) };
        self.spec.suspend = Some(false);
        if self.least_pods().is_some() {
            self.set_parallelism(given.count);
        }
        Ok(given.merge_into(&mut self.spec.template, gates)?)
    }

    fn restore(&mut self, original: &[PodSetInfo]) -> bool {
        let Some(original) = original.first() else { return false };
        let is_resized = self.least_pods().is_some() && self.spec.parallelism.unwrap_or(0) != original.count;
        if is_resized {
            self.set_parallelism(original.count);
        }
        let mut original = original.clone();
        let labels = &self.spec.template.metadata.labels;
        for key in OWN_LABELS.into_iter().chain([JOB_NAME_LABEL]) {
            if let Some(value) = labels.get(key) {
                original.labels.insert(key.to_owned(), value.clone());
            }
        }
        original.restore(&mut self.spec.template) || is_resized
    }

    fn is_active(&self) -> bool {
        self.status.active != 0
    }

    fn pods_ready(&self) -> bool {
        let uncounted = self.status.uncounted_terminated_pods.as_ref().map_or(0, |pods| pods.succeeded.len());
        let uncounted = i32::try_from(uncounted).unwrap_or(i32::MAX);
        let ready = self.status.ready.unwrap_or(0);
        self.status.succeeded.saturating_add(ready).saturating_add(uncounted) >= self.pod_count()
    }

    fn finished(&self) -> Option<Finish> {
        let is_end = |end: &&Condition| matches!(end.r#type.as_str(), "Complete" | "Failed");
        let is_so = |end: &&Condition| end.status == ConditionStatus::True;
        let end = self.status.conditions.iter().filter(is_end).find(is_so)?;
        Some(Finish { is_success: end.r#type == "Complete", message: end.message.clone() })
    }

    fn reclaimable_pods(&self) -> Option<Vec<ReclaimablePod>> {
        let parallelism = self.spec.parallelism.unwrap_or(1);
        let completions = self.spec.completions.unwrap_or(parallelism);
        let settled = self.settled(completions);
        let remaining = completions.saturating_sub(settled).max(0);
        if parallelism <= 1 || settled <= 0 || remaining >= parallelism {
            return Some(Vec::new());
        }
        Some(vec![ReclaimablePod { name: DEFAULT_POD_SET.to_owned(), count: parallelism - remaining }])
    }

    fn stop(&self, _: &Stop<'_>, original: Option<&[PodSetInfo]>) -> Vec<Write<Self>> {
        let mut writes = Vec::new();
        // No server lets anybody take the start time from one that ended, and nothing of it is left to stop.
        if self.finished().is_some() {
            return writes;
        }
        let mut job = self.clone();
        if job.spec.suspend != Some(true) {
            job.suspend();
            job.metadata.annotations.insert(annotation::STOPPING.to_owned(), label::TRUE.to_owned());
            writes.push(Write::Spec(job.clone()));
        }
        if job.status.start_time.take().is_some() {
            writes.push(Write::Status(job.clone()));
        }
        let is_marked = job.metadata.annotations.remove(annotation::STOPPING).is_some();
        if job.restore(original.unwrap_or_default()) || is_marked {
            writes.push(Write::Restored(job));
        }
        writes
    }

    fn managed_by(&self) -> Option<&str> {
        self.spec.managed_by.as_deref()
    }

    fn set_managed_by(&mut self, manager: &str) {
        self.spec.managed_by = Some(manager.to_owned());
    }

    fn complete(&mut self, around: &Around<'_>) -> Result<(), Unanswerable> {
        default(self, around)?;
        webhook::gate_pods(self, around.settings.gates);
        Ok(())
    }

    fn validate_create(&self, around: &Around<'_>) -> Errors {
        webhook::create(self, around)
    }

    fn validate_update(&self, old: &Self, around: &Around<'_>) -> Errors {
        webhook::update(self, old, around)
    }
}

/// How many indexes below the limit are in any of the lists, each like `1,3-5`. What is no index says nothing.
pub fn settled_indexes(lists: &[&str], limit: i32) -> i32 {
    let range = |text: &str| -> Option<(i32, i32)> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last): (i32, i32) = (first.parse().ok()?, last.parse().ok()?);
        (0 <= first && first <= last && first < limit).then_some((first, last.min(limit - 1)))
    };
    let mut ranges: Vec<(i32, i32)> = lists.iter().flat_map(|list| list.split(',')).filter_map(range).collect();
    ranges.sort_unstable();
    let (mut size, mut next) = (0, 0);
    for (first, last) in ranges {
        let first = first.max(next);
        if first <= last {
            size += last - first + 1;
            next = last + 1;
        }
    }
    size
}
