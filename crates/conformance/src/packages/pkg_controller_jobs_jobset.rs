//! JobSets.

use kueue_jobs::kinds::jobset::JobSet;

use super::Runners;
use super::field_errors::Compared;
use super::job_kind::{default, pod_sets, pods_ready, reclaimable, restore};
use super::job_reconciler::reconcile;
use super::job_webhook::{validate_create, validate_update};

pub const RUNNERS: Runners = &[
    ("TestDefault", |case| default::<JobSet>(case, "jobSet")),
    ("TestPodSets", |case| pod_sets::<JobSet>(case, "jobSet")),
    ("TestPodsReady", |case| pods_ready::<JobSet>(case, "jobSet")),
    ("TestReclaimablePods", |case| reclaimable::<JobSet>(case, "jobSet")),
    ("TestReconciler", reconcile::<JobSet>),
    ("TestRestorePodSetsInfo", |case| restore::<JobSet>(case, "jobSet")),
    ("TestValidateCreate", |case| validate_create::<JobSet>(case, "wantErr", Compared::Everything)),
    ("TestValidateUpdate", |case| validate_update::<JobSet>(case, "wantValidationErrs", Compared::Everything)),
];
