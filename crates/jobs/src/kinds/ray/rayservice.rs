//! `ray.io/v1` RayService: a RayCluster that answers requests, until somebody deletes it.

use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::meta::{Condition, ConditionStatus, object};
use kueue_api::pod_set_info::PodSetInfo;
use kueue_api::slices::is_elastic;
use kueue_api::wire::wire_struct;
use kueue_core::field::{Errors, Path};
use kueue_core::gates::{Gate, Gates};

use super::autoscaler::slice_name_extra;
use super::cluster::{RayClusterSpec, mistakes, topology_errors};
use super::{GROUP, OPERATOR, VERSION, is_managed, validate_update};
use crate::job::{self, BadPodSets, CannotStart, Finish};
use crate::kinds::templates;
use crate::webhook::{Around, Unanswerable, default, validation};

object! {
    /// A cluster that answers requests.
    pub struct RayService in GROUP/VERSION/"rayservices", namespaced: true {
        pub spec: RayServiceSpec,
        pub status?: RayServiceStatus,
    }
}

wire_struct! {
    pub struct RayServiceSpec {
        pub ray_cluster_config: RayClusterSpec,
        pub managed_by?: Option<String>,
        pub ..rest,
    }
}

wire_struct! {
    /// Only ever read.
    pub struct RayServiceStatus {
        pub conditions?: Vec<Condition>,
        pub active_service_status?: ActiveService,
    }
}

wire_struct! {
    pub struct ActiveService {
        pub ray_cluster_name?: String,
    }
}

impl RayService {
    fn is_ready(&self) -> bool {
        let mut conditions = self.status.conditions.iter();
        conditions.any(|condition| condition.r#type == "Ready" && condition.status == ConditionStatus::True)
    }
}

impl job::Job for RayService {
    const FRAMEWORK: &'static str = "ray.io/rayservice";
    const EVENT_SOURCE: &'static str = "ray.io/rayservice-kueue-controller";
    const TAKES_PREBUILT: bool = true;
    const MAY_BE_ELASTIC: bool = true;
    const RUNS_IN_RAY_CLUSTER: bool = true;
    const NATIVE_MANAGER: Option<&'static str> = Some(OPERATOR);

    fn is_suspended(&self) -> bool {
        self.spec.ray_cluster_config.suspend == Some(true)
    }

    fn suspend(&mut self) {
        self.spec.ray_cluster_config.suspend = Some(true);
    }

    fn pod_sets(&self, gates: Gates) -> Result<Vec<PodSet>, BadPodSets> {
        self.spec.ray_cluster_config.pod_sets(&self.metadata.annotations, gates)
    }

    fn run(&mut self, given: &[PodSetInfo], gates: Gates) -> Result<(), CannotStart> {
        self.spec.ray_cluster_config.suspend = Some(false);
        templates::run(self.spec.ray_cluster_config.templates(), given, gates)
    }

    fn restore(&mut self, original: &[PodSetInfo]) -> bool {
        templates::restore(self.spec.ray_cluster_config.templates(), original)
    }

    fn is_active(&self) -> bool {
        self.is_ready()
    }

    fn pods_ready(&self) -> bool {
        self.is_ready()
    }

    /// A service runs until it is deleted.
    fn finished(&self) -> Option<Finish> {
        None
    }

    /// While one is deleted whose state has to be cleaned up, its quota is needed for that.
    fn is_ours(&self, gates: Gates) -> bool {
        let is_cleaned_up = self.spec.ray_cluster_config.is_fault_tolerant(&self.metadata.annotations);
        let is_deferred = gates.enabled(Gate::DeferRayServiceFinalizationForRedisCleanup) && is_cleaned_up;
        !(is_deferred && self.metadata.deletion_timestamp.is_some())
    }

    fn ray_cluster(&self) -> Option<&str> {
        Some(&self.status.active_service_status.ray_cluster_name).filter(|name| !name.is_empty()).map(String::as_str)
    }

    fn is_autoscaled(&self) -> bool {
        self.spec.ray_cluster_config.is_autoscaled()
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

    fn complete(&mut self, around: &Around<'_>) -> Result<(), Unanswerable> {
        default(self, around)?;
        if is_elastic(&self.metadata, around.settings.gates) {
            self.spec.ray_cluster_config.gate_pods();
        }
        Ok(())
    }

    /// Kueue names the field by its type, and so do we: users compare what they are told.
    fn validate_create(&self, around: &Around<'_>) -> Errors {
        let (at, gates) = (Path::new("spec").child("rayClusterSpec"), around.settings.gates);
        let spec = &self.spec.ray_cluster_config;
        let mut errors = Errors::new();
        if is_managed(self, around) {
            errors.extend(mistakes(self, spec, &at, gates));
        }
        errors.extend(validation::create(self, gates));
        errors.extend(topology_errors(self, spec, &at, gates));
        errors
    }

    fn validate_update(&self, old: &Self, around: &Around<'_>) -> Errors {
        validate_update(self, old, around)
    }
}
