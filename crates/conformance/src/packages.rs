//! One module per corpus package; each lists its runners by test function.

mod apis_config_v1beta1;
mod apis_config_v1beta2;
mod apis_kueue_v1beta1;
mod apis_visibility_v1beta2;
mod cmd_importer_mapping;
mod field_errors;
mod job_kind;
mod job_reconciler;
mod job_webhook;
mod pkg_cache_hierarchy;
mod pkg_cache_queue;
mod pkg_cache_queue_afs;
mod pkg_cache_queue_usage;
mod pkg_cache_scheduler;
mod pkg_config;
mod pkg_controller_admissionchecks_provisioning;
mod pkg_controller_core;
mod pkg_controller_core_indexer;
mod pkg_controller_elasticjobs;
mod pkg_controller_failurerecovery;
mod pkg_controller_jobframework;
mod pkg_controller_jobs_deployment;
mod pkg_controller_jobs_job;
mod pkg_controller_jobs_jobset;
mod pkg_controller_jobs_kubeflow;
mod pkg_controller_jobs_pod;
mod pkg_controller_jobs_ray;
mod pkg_controller_jobs_statefulset;
mod pkg_controller_tas;
mod pkg_features;
mod pkg_metrics;
mod pkg_podset;
mod pkg_resources;
mod pkg_scheduler;
mod pkg_scheduler_flavorassigner;
mod pkg_scheduler_flavorassigner_variants;
mod pkg_scheduler_preemption;
mod pkg_util_admissioncheck;
mod pkg_util_admissionfairsharing;
mod pkg_util_cert;
mod pkg_util_csv;
mod pkg_util_equality;
mod pkg_util_limitrange;
mod pkg_util_math;
mod pkg_util_pod;
mod pkg_util_podset;
mod pkg_util_priority;
mod pkg_util_resource;
mod pkg_util_roletracker;
mod pkg_util_taints;
mod pkg_util_tas;
mod pkg_util_tlsconfig;
mod pkg_util_tolerations;
mod pkg_util_wait;
mod pkg_visibility;
mod pkg_visibility_storage;
mod pkg_webhooks;
mod pkg_workload;
mod pkg_workload_evict;
mod pkg_workload_finish;
mod pkg_workload_patching;
mod pkg_workload_usage;
mod pkg_workloadslicing;

use crate::corpus::{Case, Failure};

/// Runs one execution of one row.
pub type Run = fn(&Case) -> Result<(), Failure>;

/// The runners of one package: test function, code.
pub type Runners = &'static [(&'static str, Run)];

/// Every covered package, in alphabetical order. One that is large may be listed with several modules.
pub const PACKAGES: &[(&str, Runners)] = &[
    ("apis-config-v1beta1", apis_config_v1beta1::RUNNERS),
    ("apis-config-v1beta2", apis_config_v1beta2::RUNNERS),
    ("apis-kueue-v1beta1", apis_kueue_v1beta1::RUNNERS),
    ("apis-visibility-v1beta1", apis_visibility_v1beta2::RUNNERS),
    ("apis-visibility-v1beta2", apis_visibility_v1beta2::RUNNERS),
    ("cmd-importer-mapping", cmd_importer_mapping::RUNNERS),
    ("pkg-cache-hierarchy", pkg_cache_hierarchy::RUNNERS),
    ("pkg-cache-queue", pkg_cache_queue::RUNNERS),
    ("pkg-cache-queue", pkg_cache_queue_usage::RUNNERS),
    ("pkg-cache-queue-afs", pkg_cache_queue_afs::RUNNERS),
    ("pkg-cache-scheduler", pkg_cache_scheduler::RUNNERS),
    ("pkg-config", pkg_config::RUNNERS),
    ("pkg-controller-admissionchecks-provisioning", pkg_controller_admissionchecks_provisioning::RUNNERS),
    ("pkg-controller-core", pkg_controller_core::RUNNERS),
    ("pkg-controller-core-indexer", pkg_controller_core_indexer::RUNNERS),
    ("pkg-controller-elasticjobs", pkg_controller_elasticjobs::RUNNERS),
    ("pkg-controller-failurerecovery", pkg_controller_failurerecovery::RUNNERS),
    ("pkg-controller-jobframework", pkg_controller_jobframework::RUNNERS),
    ("pkg-controller-jobs-deployment", pkg_controller_jobs_deployment::RUNNERS),
    ("pkg-controller-jobs-job", pkg_controller_jobs_job::RUNNERS),
    ("pkg-controller-jobs-jobset", pkg_controller_jobs_jobset::RUNNERS),
    ("pkg-controller-jobs-kubeflow-jobs-jaxjob", pkg_controller_jobs_kubeflow::JAX),
    ("pkg-controller-jobs-kubeflow-jobs-paddlejob", pkg_controller_jobs_kubeflow::PADDLE),
    ("pkg-controller-jobs-kubeflow-jobs-pytorchjob", pkg_controller_jobs_kubeflow::PYTORCH),
    ("pkg-controller-jobs-kubeflow-jobs-tfjob", pkg_controller_jobs_kubeflow::TF),
    ("pkg-controller-jobs-kubeflow-jobs-xgboostjob", pkg_controller_jobs_kubeflow::XGBOOST),
    ("pkg-controller-jobs-mpijob", pkg_controller_jobs_kubeflow::MPI),
    ("pkg-controller-jobs-pod", pkg_controller_jobs_pod::RUNNERS),
    ("pkg-controller-jobs-raycluster", pkg_controller_jobs_ray::CLUSTER),
    ("pkg-controller-jobs-rayjob", pkg_controller_jobs_ray::JOB),
    ("pkg-controller-jobs-rayservice", pkg_controller_jobs_ray::SERVICE),
    ("pkg-controller-jobs-statefulset", pkg_controller_jobs_statefulset::RUNNERS),
    ("pkg-controller-tas", pkg_controller_tas::RUNNERS),
    ("pkg-features", pkg_features::RUNNERS),
    ("pkg-metrics", pkg_metrics::RUNNERS),
    ("pkg-podset", pkg_podset::RUNNERS),
    ("pkg-resources", pkg_resources::RUNNERS),
    ("pkg-scheduler", pkg_scheduler::RUNNERS),
    ("pkg-scheduler-flavorassigner", pkg_scheduler_flavorassigner::RUNNERS),
    ("pkg-scheduler-flavorassigner", pkg_scheduler_flavorassigner_variants::RUNNERS),
    ("pkg-scheduler-preemption", pkg_scheduler_preemption::RUNNERS),
    ("pkg-scheduler-preemption-common", pkg_scheduler_preemption::COMMON),
    ("pkg-scheduler-preemption-fairsharing", pkg_scheduler_preemption::FAIR_SHARING),
    ("pkg-util-admissionfairsharing", pkg_util_admissionfairsharing::RUNNERS),
    ("pkg-util-admissioncheck", pkg_util_admissioncheck::RUNNERS),
    ("pkg-util-cert", pkg_util_cert::RUNNERS),
    ("pkg-util-csv", pkg_util_csv::RUNNERS),
    ("pkg-util-equality", pkg_util_equality::RUNNERS),
    ("pkg-util-limitrange", pkg_util_limitrange::RUNNERS),
    ("pkg-util-math", pkg_util_math::RUNNERS),
    ("pkg-util-pod", pkg_util_pod::RUNNERS),
    ("pkg-util-podset", pkg_util_podset::RUNNERS),
    ("pkg-util-priority", pkg_util_priority::RUNNERS),
    ("pkg-util-resource", pkg_util_resource::RUNNERS),
    ("pkg-util-roletracker", pkg_util_roletracker::RUNNERS),
    ("pkg-util-statefulset", pkg_controller_jobs_statefulset::UTIL),
    ("pkg-util-taints", pkg_util_taints::RUNNERS),
    ("pkg-util-tas", pkg_util_tas::RUNNERS),
    ("pkg-util-tlsconfig", pkg_util_tlsconfig::RUNNERS),
    ("pkg-util-tolerations", pkg_util_tolerations::RUNNERS),
    ("pkg-util-wait", pkg_util_wait::RUNNERS),
    ("pkg-visibility", pkg_visibility::RUNNERS),
    ("pkg-visibility-storage", pkg_visibility_storage::RUNNERS),
    ("pkg-webhooks", pkg_webhooks::RUNNERS),
    ("pkg-workload", pkg_workload::RUNNERS),
    ("pkg-workload-evict", pkg_workload_evict::RUNNERS),
    ("pkg-workload-finish", pkg_workload_finish::RUNNERS),
    ("pkg-workload-patching", pkg_workload_patching::RUNNERS),
    ("pkg-workload", pkg_workload_usage::RUNNERS),
    ("pkg-workloadslicing", pkg_workloadslicing::RUNNERS),
];

/// The runner of a test function, if there is one.
pub fn runner(package: &str, test: &str) -> Option<Run> {
    let runners = PACKAGES.iter().filter(|(name, _)| *name == package).flat_map(|(_, runners)| *runners);
    runners.into_iter().find(|(name, _)| *name == test).map(|(_, run)| *run)
}
