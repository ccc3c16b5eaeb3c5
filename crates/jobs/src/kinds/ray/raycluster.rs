//! `ray.io/v1` RayCluster: a head and its workers, until somebody deletes them.

use kueue_api::kueue::names::{CONTROLLER_MULTIKUEUE, SCHEDULING_GATE_ELASTIC_JOB, annotation, label};
use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::meta::object;
use kueue_api::pod_set_info::PodSetInfo;
use kueue_api::slices::is_elastic;
use kueue_api::wire::wire_struct;
use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::Gates;
use serde_json::json;

use super::cluster::{RayClusterSpec, layout_errors, topology_errors};
use super::{GROUP, OPERATOR, VERSION, is_managed, validate_update};
use crate::job::{self, BadPodSets, CannotStart, Finish};
use crate::kinds::pod::has_gate;
use crate::kinds::templates;
use crate::webhook::{Around, Unanswerable, default, validation};

object! {
    /// A head and its workers.
    pub struct RayCluster in GROUP/VERSION/"rayclusters", namespaced: true {
        pub spec: RayClusterSpec,
        pub status?: RayClusterStatus,
    }
}

wire_struct! {
    /// Only ever read.
    pub struct RayClusterStatus {
        pub state?: String,
    }
}

impl RayClusterStatus {
    pub(super) fn is_ready(&self) -> bool {
        self.state == "ready"
    }
}

impl job::Job for RayCluster {
    const FRAMEWORK: &'static str = "ray.io/raycluster";
    const EVENT_SOURCE: &'static str = "ray.io/raycluster-kueue-controller";
    const TAKES_PREBUILT: bool = true;
    const MAY_BE_ELASTIC: bool = true;
    const NATIVE_MANAGER: Option<&'static str> = Some(OPERATOR);

    fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    fn suspend(&mut self) {
        self.spec.suspend = Some(true);
    }

    fn pod_sets(&self, gates: Gates) -> Result<Vec<PodSet>, BadPodSets> {
        self.spec.pod_sets(&self.metadata.annotations, gates)
    }

    fn run(&mut self, given: &[PodSetInfo], gates: Gates) -> Result<(), CannotStart> {
        self.spec.suspend = Some(false);
        templates::run(self.spec.templates(), given, gates)
    }

    fn restore(&mut self, original: &[PodSetInfo]) -> bool {
        templates::restore(self.spec.templates(), original)
    }

    fn is_active(&self) -> bool {
        self.status.is_ready()
    }

    fn pods_ready(&self) -> bool {
        self.status.is_ready()
    }

    /// A cluster runs until it is deleted.
    fn finished(&self) -> Option<Finish> {
        None
    }

    fn is_autoscaled(&self) -> bool {
        self.spec.is_autoscaled()
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
            self.spec.gate_pods();
        }
        Ok(())
    }

    fn validate_create(&self, around: &Around<'_>) -> Errors {
        let (at, gates) = (Path::new("spec"), around.settings.gates);
        let mut errors = Errors::new();
        if is_managed(self, around) {
            errors.extend(self.size_errors(&at, gates));
            errors.extend(layout_errors(&self.spec, &at));
        }
        errors.extend(validation::create(self, gates));
        errors.extend(topology_errors(self, &self.spec, &at, gates));
        errors
    }

    fn validate_update(&self, old: &Self, around: &Around<'_>) -> Errors {
        validate_update(self, old, around)
    }
}

impl RayCluster {
    /// Every mistake about how the cluster changes its size.
    fn size_errors(&self, at: &Path, gates: Gates) -> Errors {
        let autoscaling = at.child("enableInTreeAutoscaling");
        if !is_elastic(&self.metadata, gates) {
            let (key, value) = (annotation::ELASTIC_JOB, label::TRUE);
            let detail = format!(
                "a kueue-managed RayCluster can use autoscaling only as an elastic job: \
                 enable the ElasticJobsViaWorkloadSlices feature gate and set the {key:?}: {value:?} annotation"
            );
            let is_wrong = self.spec.is_autoscaled();
            return is_wrong.then(|| Error::invalid(&autoscaling, true, detail)).into_iter().collect();
        }
        let groups = self.spec.worker_group_specs.iter().enumerate();
        let groups = groups.map(|(index, group)| (at.child("workerGroupSpecs").index(index), &group.template));
        let head = (at.child("headGroupSpec"), &self.spec.head_group_spec.template);
        let mut errors = Errors::new();
        for (at, template) in groups.chain([head]) {
            if !has_gate(&template.spec, SCHEDULING_GATE_ELASTIC_JOB) {
                let at = at.child("template").child("spec").child("schedulingGates");
                let detail = "an elastic job must have the ElasticJobSchedulingGate";
                errors.push(Error::invalid(&at, json!(template.spec.scheduling_gates), detail));
            }
        }
        if self.spec.is_autoscaled() && self.spec.managed_by.as_deref() == Some(CONTROLLER_MULTIKUEUE) {
            let detail = "in-tree autoscaling is not supported for a MultiKueue-managed elastic RayCluster";
            errors.push(Error::forbidden(&autoscaling, detail));
        }
        errors
    }
}
