//! Training jobs of Kubeflow: replicas by their role, each with a pod template. The kinds differ in the roles they know
//! and in the field that holds them; [`training_job!`] declares one.

#[cfg(test)]
mod tests;

pub mod jaxjob;
pub mod mpijob;
pub mod paddlejob;
pub mod pytorchjob;
pub mod tfjob;
pub mod xgboostjob;

use std::collections::BTreeMap;

use kueue_api::core_v1::PodTemplateSpec;
use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::meta::{Condition, ConditionStatus, Object};
use kueue_api::pod_set_info::PodSetInfo;
use kueue_api::wire::wire_struct;
use kueue_core::field::{Errors, Path};
use kueue_core::gates::Gates;

use super::templates::{self, Groups};
use crate::job::{self, BadPodSets, CannotStart, Finish};
use crate::topology_request::{PodIndexes, topology_request};
use crate::webhook::{Around, Unanswerable, default, validation};

const REPLICA_INDEX: &str = "training.kubeflow.org/replica-index";
/// Who runs training jobs that do not say who does.
const TRAINING_OPERATOR: &str = "kubeflow.org/training-operator";

/// Replicas by role. The API server lets a role be null, which is none.
pub type Replicas = BTreeMap<String, Option<ReplicaSpec>>;

wire_struct! {
    pub struct ReplicaSpec {
        pub replicas?: Option<i32>,
        pub template: PodTemplateSpec,
        pub ..rest,
    }
}

wire_struct! {
    pub struct RunPolicy {
        pub suspend?: Option<bool>,
        pub managed_by?: Option<String>,
        pub scheduling_policy?: Option<SchedulingPolicy>,
        pub ..rest,
    }
}

wire_struct! {
    pub struct SchedulingPolicy {
        pub priority_class?: String,
        pub ..rest,
    }
}

wire_struct! {
    /// Only ever read.
    pub struct TrainingStatus {
        pub conditions?: Vec<Condition>,
        pub replica_statuses?: BTreeMap<String, Option<ReplicaStatus>>,
    }
}

wire_struct! {
    pub struct ReplicaStatus {
        pub active?: i32,
    }
}

/// A kind of training job: where its parts are, and what is its own.
pub trait TrainingJob: Object + Clone + PartialEq + Send + Sync + 'static {
    const NAME: &'static str;
    const SOURCE: &'static str;
    /// The roles, in the order of their pod sets.
    const ROLES: &'static [&'static str];
    /// The field of the spec that holds the replicas.
    const FIELD: &'static str;
    const PREBUILT: bool;
    const OPERATOR: &'static str = TRAINING_OPERATOR;

    fn run_policy(&self) -> &RunPolicy;
    fn run_policy_mut(&mut self) -> &mut RunPolicy;
    fn replicas(&self) -> &Replicas;
    fn replicas_mut(&mut self) -> &mut Replicas;
    fn status(&self) -> &TrainingStatus;

    /// Adds what only this kind fills in.
    fn fill_in(&mut self, _: Gates) {}

    /// Every mistake in a new job.
    fn mistakes(&self, gates: Gates) -> Errors {
        let mut errors = validation::create(self, gates);
        errors.extend(topology_errors(self, Groups::Unknown, gates));
        errors
    }

    /// Every mistake in a change.
    fn mistakes_in_change(&self, old: &Self, has_default_queue: bool, gates: Gates) -> Errors {
        let mut errors = validation::update(self, old, has_default_queue, gates);
        errors.extend(topology_errors(self, Groups::Unknown, gates));
        errors
    }
}

/// Declares a kind of training job: its name, version and plural, the field with its replicas, and their roles.
macro_rules! training_job {
    ($kind:ident in $version:literal/$plural:literal, $field:ident = $wire:literal, $roles:expr, prebuilt: $prebuilt:literal, $($more:tt)*) => {
        const GROUP: &str = "kubeflow.org";
        const VERSION: &str = $version;

        ::kueue_api::meta::object! {
            /// A training job.
            pub struct $kind in GROUP/VERSION/$plural, namespaced: true {
                pub spec: Spec,
                pub status?: $crate::kinds::kubeflow::TrainingStatus,
            }
        }

        ::kueue_api::wire::wire_struct! {
            pub struct Spec {
                pub run_policy?: $crate::kinds::kubeflow::RunPolicy,
                pub $field?: $crate::kinds::kubeflow::Replicas,
                pub ..rest,
            }
        }

        impl $crate::kinds::kubeflow::TrainingJob for $kind {
            const ROLES: &'static [&'static str] = &$roles;
            const FIELD: &'static str = $wire;
            const PREBUILT: bool = $prebuilt;

            fn run_policy(&self) -> &$crate::kinds::kubeflow::RunPolicy {
                &self.spec.run_policy
            }

            fn run_policy_mut(&mut self) -> &mut $crate::kinds::kubeflow::RunPolicy {
                &mut self.spec.run_policy
            }

            fn replicas(&self) -> &$crate::kinds::kubeflow::Replicas {
                &self.spec.$field
            }

            fn replicas_mut(&mut self) -> &mut $crate::kinds::kubeflow::Replicas {
                &mut self.spec.$field
            }

            fn status(&self) -> &$crate::kinds::kubeflow::TrainingStatus {
                &self.status
            }

            $($more)*
        }
    };
}
pub(crate) use training_job;

/// The roles that a job has, in order.
pub fn roles<J: TrainingJob>(job: &J) -> Vec<&'static str> {
    let is_there = |role: &&'static str| job.replicas().get(*role).is_some_and(Option::is_some);
    J::ROLES.iter().copied().filter(|role| is_there(role)).collect()
}

fn specs<J: TrainingJob>(job: &J) -> Vec<(&'static str, &ReplicaSpec)> {
    let spec = |role: &'static str| Some((role, job.replicas().get(role)?.as_ref()?));
    roles(job).into_iter().filter_map(spec).collect()
}

/// The templates in the order of their roles, which is not that of the map.
fn templates_of<J: TrainingJob>(job: &mut J) -> Vec<&mut PodTemplateSpec> {
    let order = roles(job);
    let at = |role: &str| order.iter().position(|known| *known == role);
    let all = job.replicas_mut().iter_mut();
    let mut found: Vec<(usize, &mut PodTemplateSpec)> =
        all.filter_map(|(role, spec)| Some((at(role)?, &mut spec.as_mut()?.template))).collect();
    found.sort_by_key(|(position, _)| *position);
    found.into_iter().map(|(_, template)| template).collect()
}

fn topology_errors<J: TrainingJob>(job: &J, groups: Groups, gates: Gates) -> Errors {
    let at = |role: &str| Path::new("spec").child(J::FIELD).key(role).child("template").child("metadata");
    let paths: Vec<Path> = roles(job).into_iter().map(at).collect();
    templates::topology_errors(job, &paths, groups, gates)
}

fn is_true(status: &TrainingStatus, kind: &str) -> bool {
    status.conditions.iter().any(|state| state.r#type == kind && state.status == ConditionStatus::True)
}

impl<J: TrainingJob> job::Job for J {
    const FRAMEWORK: &'static str = J::NAME;
    const EVENT_SOURCE: &'static str = J::SOURCE;
    const TAKES_PREBUILT: bool = J::PREBUILT;
    const NATIVE_MANAGER: Option<&'static str> = Some(J::OPERATOR);

    fn is_suspended(&self) -> bool {
        self.run_policy().suspend == Some(true)
    }

    fn suspend(&mut self) {
        self.run_policy_mut().suspend = Some(true);
    }

    fn pod_sets(&self, gates: Gates) -> Result<Vec<PodSet>, BadPodSets> {
        let pod_set = |(role, spec): (&str, &ReplicaSpec)| {
            let indexes = PodIndexes { pod_label: Some(REPLICA_INDEX), ..PodIndexes::default() };
            Ok(PodSet {
                name: role.to_lowercase(),
                topology_request: topology_request(&spec.template.metadata.annotations, indexes, gates)?,
                template: spec.template.clone().into(),
                count: spec.replicas.unwrap_or(1),
                ..PodSet::default()
            })
        };
        specs(self).into_iter().map(pod_set).collect()
    }

    fn run(&mut self, given: &[PodSetInfo], gates: Gates) -> Result<(), CannotStart> {
        self.run_policy_mut().suspend = Some(false);
        templates::run(templates_of(self), given, gates)
    }

    fn restore(&mut self, original: &[PodSetInfo]) -> bool {
        templates::restore(templates_of(self), original)
    }

    fn is_active(&self) -> bool {
        self.status().replica_statuses.values().flatten().any(|replicas| replicas.active != 0)
    }

    fn pods_ready(&self) -> bool {
        is_true(self.status(), "Running")
    }

    fn finished(&self) -> Option<Finish> {
        let is_end = |end: &&Condition| matches!(end.r#type.as_str(), "Succeeded" | "Failed");
        let is_so = |end: &&Condition| end.status == ConditionStatus::True;
        let end = self.status().conditions.iter().filter(is_end).find(is_so)?;
        Some(Finish { is_success: end.r#type == "Succeeded", message: end.message.clone() })
    }

    /// That of the whole job before those of its roles.
    fn priority_class(&self) -> Option<String> {
        let policy = self.run_policy().scheduling_policy.as_ref().map(|policy| &policy.priority_class);
        let of_roles = specs(self).into_iter().map(|(_, spec)| &spec.template.spec.priority_class_name);
        Some(policy.into_iter().chain(of_roles).find(|name| !name.is_empty()).cloned().unwrap_or_default())
    }

    fn managed_by(&self) -> Option<&str> {
        self.run_policy().managed_by.as_deref()
    }

    fn set_managed_by(&mut self, manager: &str) {
        self.run_policy_mut().managed_by = Some(manager.to_owned());
    }

    fn complete(&mut self, around: &Around<'_>) -> Result<(), Unanswerable> {
        default(self, around)?;
        self.fill_in(around.settings.gates);
        Ok(())
    }

    fn validate_create(&self, around: &Around<'_>) -> Errors {
        self.mistakes(around.settings.gates)
    }

    fn validate_update(&self, old: &Self, around: &Around<'_>) -> Errors {
        self.mistakes_in_change(old, around.has_default_queue, around.settings.gates)
    }
}
