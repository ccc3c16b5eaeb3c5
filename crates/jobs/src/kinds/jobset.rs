//! `jobset.x-k8s.io/v1alpha2` JobSet: several groups of Jobs that start and end together. JobSet 0.8 and newer.

#[cfg(test)]
mod tests;

use kueue_api::core_v1::PodTemplateSpec;
use kueue_api::kueue::v1beta2::{PodSet, ReclaimablePod};
use kueue_api::meta::{Condition, ConditionStatus, object};
use kueue_api::pod_set_info::PodSetInfo;
use kueue_api::wire::wire_struct;
use kueue_core::field::{Errors, Path};
use kueue_core::gates::Gates;

use super::templates::{self, Groups};
use crate::job::{self, BadPodSets, CannotStart, Finish};
use crate::topology_request::{PodIndexes, topology_request};
use crate::webhook::{Around, validation};

const GROUP: &str = "jobset.x-k8s.io";
const VERSION: &str = "v1alpha2";
const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
const JOB_INDEX: &str = "jobset.sigs.k8s.io/job-index";

object! {
    /// Groups of Jobs.
    pub struct JobSet in GROUP/VERSION/"jobsets", namespaced: true {
        pub spec: JobSetSpec,
        pub status?: JobSetStatus,
    }
}

wire_struct! {
    pub struct JobSetSpec {
        pub suspend?: Option<bool>,
        pub managed_by?: Option<String>,
        pub replicated_jobs?: Vec<ReplicatedJob>,
        pub ..rest,
    }
}

wire_struct! {
    /// So many Jobs of one shape.
    pub struct ReplicatedJob {
        pub name: String,
        pub replicas?: i32,
        pub template: JobTemplate,
        pub ..rest,
    }
}

wire_struct! {
    pub struct JobTemplate {
        pub spec: JobTemplateSpec,
        pub ..rest,
    }
}

wire_struct! {
    pub struct JobTemplateSpec {
        pub parallelism?: Option<i32>,
        pub completions?: Option<i32>,
        pub template: PodTemplateSpec,
        pub ..rest,
    }
}

wire_struct! {
    /// Only ever read.
    pub struct JobSetStatus {
        pub conditions?: Vec<Condition>,
        pub replicated_jobs_status?: Vec<ReplicatedJobStatus>,
    }
}

wire_struct! {
    pub struct ReplicatedJobStatus {
        pub name: String,
        pub ready?: i32,
        pub succeeded?: i32,
        pub active?: i32,
    }
}

impl ReplicatedJob {
    fn pods_per_replica(&self) -> i32 {
        let parallelism = self.template.spec.parallelism.unwrap_or(1);
        self.template.spec.completions.map_or(parallelism, |completions| completions.min(parallelism))
    }

    fn pod_set_name(&self) -> String {
        self.name.to_lowercase()
    }
}

impl JobSet {
    fn templates(&mut self) -> Vec<&mut PodTemplateSpec> {
        self.spec.replicated_jobs.iter_mut().map(|job| &mut job.template.spec.template).collect()
    }

    fn topology_errors(&self, gates: Gates) -> Errors {
        let at = |index| {
            let job = Path::new("spec").child("replicatedJobs").index(index);
            job.child("template").child("spec").child("template").child("metadata")
        };
        let paths: Vec<Path> = (0..self.spec.replicated_jobs.len()).map(at).collect();
        templates::topology_errors(self, &paths, Groups::Allowed, gates)
    }
}

impl job::Job for JobSet {
    const FRAMEWORK: &'static str = "jobset.x-k8s.io/jobset";
    const EVENT_SOURCE: &'static str = "jobset.x-k8s.io/jobset-kueue-controller";
    const TAKES_PREBUILT: bool = true;
    const NATIVE_MANAGER: Option<&'static str> = Some("jobset.sigs.k8s.io/jobset-controller");

    fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    fn suspend(&mut self) {
        self.spec.suspend = Some(true);
    }

    fn pod_sets(&self, gates: Gates) -> Result<Vec<PodSet>, BadPodSets> {
        let pod_set = |job: &ReplicatedJob| {
            let template = job.template.spec.template.clone();
            let indexes = PodIndexes {
                pod_label: Some(COMPLETION_INDEX),
                sub_group_label: Some(JOB_INDEX),
                sub_groups: Some(job.replicas),
            };
            Ok(PodSet {
                name: job.pod_set_name(),
                topology_request: topology_request(&template.metadata.annotations, indexes, gates)?,
                template: template.into(),
                count: job.replicas.saturating_mul(job.pods_per_replica()),
                ..PodSet::default()
            })
        };
        self.spec.replicated_jobs.iter().map(pod_set).collect()
    }

    fn run(&mut self, given: &[PodSetInfo], gates: Gates) -> Result<(), CannotStart> {
        self.spec.suspend = Some(false);
        templates::run(self.templates(), given, gates)
    }

    fn restore(&mut self, original: &[PodSetInfo]) -> bool {
        templates::restore(self.templates(), original)
    }

    fn is_active(&self) -> bool {
        self.status.replicated_jobs_status.iter().any(|jobs| jobs.active > 0)
    }

    fn pods_ready(&self) -> bool {
        let wanted: i64 = self.spec.replicated_jobs.iter().map(|jobs| i64::from(jobs.replicas)).sum();
        let done = |jobs: &ReplicatedJobStatus| i64::from(jobs.ready) + i64::from(jobs.succeeded);
        let ready: i64 = self.status.replicated_jobs_status.iter().map(done).sum();
        wanted == ready
    }

    fn finished(&self) -> Option<Finish> {
        let end = |kind: &str| {
            let is_so = |end: &&Condition| end.r#type == kind && end.status == ConditionStatus::True;
            self.status.conditions.iter().find(is_so).map(|end| end.message.clone())
        };
        let success = end("Completed").map(|message| Finish { is_success: true, message });
        success.or_else(|| end("Failed").map(|message| Finish { is_success: false, message }))
    }

    fn reclaimable_pods(&self) -> Option<Vec<ReclaimablePod>> {
        let done = |jobs: &ReplicatedJob| {
            let status = self.status.replicated_jobs_status.iter().find(|status| status.name == jobs.name)?;
            let is_plausible = 0 < status.succeeded && status.succeeded <= jobs.replicas;
            let count = status.succeeded.saturating_mul(jobs.pods_per_replica());
            is_plausible.then(|| ReclaimablePod { name: jobs.pod_set_name(), count })
        };
        Some(self.spec.replicated_jobs.iter().filter_map(done).collect())
    }

    fn managed_by(&self) -> Option<&str> {
        self.spec.managed_by.as_deref()
    }

    fn set_managed_by(&mut self, manager: &str) {
        self.spec.managed_by = Some(manager.to_owned());
    }

    fn validate_create(&self, around: &Around<'_>) -> Errors {
        let gates = around.settings.gates;
        let mut errors = validation::create(self, gates);
        errors.extend(self.topology_errors(gates));
        errors
    }

    fn validate_update(&self, old: &Self, around: &Around<'_>) -> Errors {
        let mut errors = validation::update(self, old, around.has_default_queue, around.settings.gates);
        errors.extend(self.validate_create(around));
        errors
    }
}
