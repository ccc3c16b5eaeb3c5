//! `ray.io/v1` RayJob: a RayCluster with something to do, gone when that is done.
//!
//! How the work gets to the cluster decides what is counted: a Job of its own is one more pod set, a sidecar one more
//! container of the head, and anything else nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::core_v1::{PodSpec, PodTemplateSpec, ResourceRequirements};
use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::meta::object;
use kueue_api::pod_set_info::PodSetInfo;
use kueue_api::wire::wire_struct;
use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::Gates;
use serde_json::json;

use super::autoscaler::slice_name_extra;
use super::cluster::{RayClusterSpec, mistakes, pod_set, topology_errors};
use super::raycluster::RayClusterStatus;
use super::{GROUP, OPERATOR, VERSION, added_container, is_managed, resources, validate_update};
use crate::job::{self, BadPodSets, CannotStart, Finish};
use crate::kinds::templates;
use crate::webhook::{Around, validation};

/// The pod set of the Job that brings the work.
const SUBMITTER: &str = "submitter";
const SUBMITTER_CONTAINER: &str = "ray-job-submitter";
const BY_JOB: &str = "K8sJobMode";
const BY_SIDECAR: &str = "SidecarMode";

object! {
    /// A cluster with something to do.
    pub struct RayJob in GROUP/VERSION/"rayjobs", namespaced: true {
        pub spec: RayJobSpec,
        pub status?: RayJobStatus,
    }
}

wire_struct! {
    pub struct RayJobSpec {
        pub suspend?: bool,
        pub managed_by?: Option<String>,
        /// The labels of a cluster that is there already. Such a job brings no pods, so it needs no quota.
        pub cluster_selector?: BTreeMap<String, String>,
        pub ray_cluster_spec?: Option<RayClusterSpec>,
        pub shutdown_after_job_finishes?: bool,
        pub submission_mode?: String,
        pub submitter_pod_template?: Option<PodTemplateSpec>,
        pub ..rest,
    }
}

wire_struct! {
    /// Only ever read.
    pub struct RayJobStatus {
        pub job_status?: String,
        pub job_deployment_status?: String,
        pub message?: String,
        pub ray_cluster_name?: String,
        pub ray_cluster_status?: RayClusterStatus,
    }
}

impl RayJob {
    fn has_submitter(&self) -> bool {
        self.spec.submission_mode == BY_JOB
    }

    /// What the pod of the submitter is made from: what the job says, or what KubeRay makes of it.
    fn submitter(&self) -> PodTemplateSpec {
        if let Some(template) = &self.spec.submitter_pod_template {
            return template.clone();
        }
        let mut container = added_container(SUBMITTER_CONTAINER, of_a_submitter());
        let head =
            self.spec.ray_cluster_spec.as_ref().and_then(|spec| spec.head_group_spec.template.spec.containers.first());
        if let Some(image) = head.and_then(|head| head.rest.get("image")) {
            container.rest.insert("image".to_owned(), image.clone());
        }
        let spec = PodSpec { containers: vec![container], restart_policy: "Never".to_owned(), ..PodSpec::default() };
        PodTemplateSpec { spec, ..PodTemplateSpec::default() }
    }

    /// The templates that are written down, in the order of their pod sets.
    fn templates(&mut self) -> Vec<&mut PodTemplateSpec> {
        let is_submitted = self.has_submitter();
        let cluster = self.spec.ray_cluster_spec.iter_mut().flat_map(RayClusterSpec::templates);
        cluster.chain(self.spec.submitter_pod_template.as_mut().filter(|_| is_submitted)).collect()
    }

    fn pod_set_count(&self) -> usize {
        let cluster = self.spec.ray_cluster_spec.as_ref().map_or(0, |spec| 1 + spec.worker_group_specs.len());
        cluster + usize::from(self.has_submitter())
    }
}

impl job::Job for RayJob {
    const FRAMEWORK: &'static str = "ray.io/rayjob";
    const EVENT_SOURCE: &'static str = "ray.io/rayjob-kueue-controller";
    const TAKES_PREBUILT: bool = true;
    const MAY_BE_ELASTIC: bool = true;
    const RUNS_IN_RAY_CLUSTER: bool = true;
    const NATIVE_MANAGER: Option<&'static str> = Some(OPERATOR);

    fn is_suspended(&self) -> bool {
        self.spec.suspend
    }

    fn suspend(&mut self) {
        self.spec.suspend = true;
    }

    fn pod_sets(&self, gates: Gates) -> Result<Vec<PodSet>, BadPodSets> {
        let Some(cluster) = &self.spec.ray_cluster_spec else {
            return Err(BadPodSets::Incomplete(
                "spec.rayClusterSpec is missing: there is no telling what the job needs",
            ));
        };
        let mut pod_sets = cluster.pod_sets(&self.metadata.annotations, gates)?;
        match self.spec.submission_mode.as_str() {
            BY_JOB => pod_sets.push(pod_set(SUBMITTER.to_owned(), &self.submitter(), 1, gates)?),
            BY_SIDECAR => {
                let submitter = added_container(SUBMITTER_CONTAINER, of_a_submitter());
                Arc::make_mut(&mut pod_sets[0].template).spec.containers.push(submitter);
            }
            _ => {}
        }
        Ok(pod_sets)
    }

    fn run(&mut self, given: &[PodSetInfo], gates: Gates) -> Result<(), CannotStart> {
        let expected = self.pod_set_count();
        if given.len() != expected {
            return Err(CannotStart::PodSets { expected, given: given.len() });
        }
        self.spec.suspend = false;
        if self.has_submitter() {
            self.spec.submitter_pod_template = Some(self.submitter());
        }
        templates::run(self.templates(), given, gates)
    }

    fn restore(&mut self, original: &[PodSetInfo]) -> bool {
        if original.len() != self.pod_set_count() {
            return false;
        }
        let templates = self.templates();
        let written = templates.len();
        templates::restore(templates, &original[..written])
    }

    fn is_active(&self) -> bool {
        !matches!(self.status.job_deployment_status.as_str(), "" | "Suspended")
    }

    fn pods_ready(&self) -> bool {
        self.status.ray_cluster_status.is_ready()
    }

    fn finished(&self) -> Option<Finish> {
        let is_over = matches!(self.status.job_deployment_status.as_str(), "Failed" | "Complete");
        let end = || Finish { is_success: self.status.job_status == "SUCCEEDED", message: self.status.message.clone() };
        is_over.then(end)
    }

    /// Work for a cluster that is there already needs no quota.
    fn is_ours(&self, _: Gates) -> bool {
        self.spec.cluster_selector.is_empty()
    }

    /// KubeRay does not run what it finds wrong; the one who wrote it may mend it.
    fn is_on_hold(&self) -> Option<bool> {
        Some(self.status.job_deployment_status == "ValidationFailed")
    }

    fn ray_cluster(&self) -> Option<&str> {
        Some(&self.status.ray_cluster_name).filter(|name| !name.is_empty()).map(String::as_str)
    }

    fn is_autoscaled(&self) -> bool {
        self.spec.ray_cluster_spec.as_ref().is_some_and(RayClusterSpec::is_autoscaled)
    }

    fn slice_name_extra(&self) -> String {
        slice_name_extra(self)
    }

    fn managed_by(&self) -> Option<&str> {
        self.spec.managed_by.as_deref()
    }

    fn set_managed_by(&mut self, manager: &str) {
        self.spec.managed_by = Some(manager.to_owned());
    }

    fn validate_create(&self, around: &Around<'_>) -> Errors {
        let (at, gates) = (Path::new("spec"), around.settings.gates);
        let spec = self.spec.ray_cluster_spec.as_ref();
        let mut errors = Errors::new();
        if is_managed(self, around) {
            match (spec, self.spec.cluster_selector.is_empty()) {
                (Some(_), false) => {
                    let detail = "a kueue managed job should not use an existing cluster";
                    return vec![Error::invalid(
                        &at.child("clusterSelector"),
                        json!(self.spec.cluster_selector),
                        detail,
                    )];
                }
                (None, false) => return errors,
                (None, true) => {
                    let detail = "rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector";
                    return vec![Error::required(&at.child("rayClusterSpec"), detail)];
                }
                (Some(spec), true) => {
                    if !self.spec.shutdown_after_job_finishes {
                        let detail = "a kueue managed job should delete the cluster after finishing";
                        errors.push(Error::invalid(&at.child("shutdownAfterJobFinishes"), false, detail));
                    }
                    errors.extend(mistakes(self, spec, &at.child("rayClusterSpec"), gates));
                }
            }
        }
        errors.extend(validation::create(self, gates));
        errors.extend(
            spec.map(|spec| topology_errors(self, spec, &at.child("rayClusterSpec"), gates)).into_iter().flatten(),
        );
        errors
    }

    fn validate_update(&self, old: &Self, around: &Around<'_>) -> Errors {
        validate_update(self, old, around)
    }
}

/// What KubeRay gives a submitter whose resources nobody chose.
fn of_a_submitter() -> ResourceRequirements {
    ResourceRequirements {
        requests: resources("500m", "200Mi"),
        limits: resources("1", "1Gi"),
        ..ResourceRequirements::default()
    }
}
