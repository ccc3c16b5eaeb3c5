//! `batch/v1` Jobs.

use kueue_api::core_v1::PodSchedulingGate;
use kueue_api::kueue::v1beta2::{PodSet, ReclaimablePod};
use kueue_jobs::job::Job as _;
use kueue_jobs::kinds::batch_job::{Job, settled_indexes};
use serde_json::json;

use super::Runners;
use super::field_errors::Compared;
use super::job_reconciler::reconcile;
use super::job_webhook::{World, default, job, validate_create, validate_update};
use super::pkg_podset::infos;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[
    ("TestCleanLabels", clean_labels),
    ("TestDefault", default::<Job>),
    ("TestPodSets", pod_sets),
    ("TestPodSetsInfo", pod_sets_info),
    ("TestPodsReady", |case| equal(&case.arg::<bool>("want")?, &job::<Job>(case, "job")?.pods_ready())),
    ("TestReclaimablePods", reclaimable_pods),
    ("TestReconciler", reconcile::<Job>),
    ("TestTerminalIndexesCount", terminal_indexes),
    ("TestValidateCreate", |case| validate_create::<Job>(case, "wantValidationErrs", Compared::Everything)),
    ("TestValidateUpdate", |case| validate_update::<Job>(case, "wantValidationErrs", Compared::Everything)),
    ("Test_applyWorkloadSliceSchedulingGate", gate_pods),
];

fn clean_labels(case: &Case) -> Result<(), Failure> {
    let mut job = Job::default();
    job.spec.template.metadata.labels = case.arg("labels")?;
    let pod_sets = job.pod_sets(case.gates()?).map_err(|error| Failure(error.to_string()))?;
    equal(&case.arg("wantLabels")?, &pod_sets[0].template.metadata.labels)
}

fn pod_sets(case: &Case) -> Result<(), Failure> {
    let job: Job = job(case, "job")?;
    let pod_sets = job.pod_sets(case.gates()?).map_err(|error| Failure(error.to_string()))?;
    Rules::equate_empty().same(&json!(case.arg::<Vec<PodSet>>("wantPodSets")?), &json!(pod_sets))
}

fn pod_sets_info(case: &Case) -> Result<(), Failure> {
    let original: Job = job(case, "job")?;
    let mut changed = original.clone();
    let failure = changed.run(&infos(case, "runInfo")?, case.gates()?).err();
    equal(&case.has("wantRunError"), &failure.is_some())?;
    if failure.is_none() {
        equal(&job::<Job>(case, "wantUnsuspended")?.spec, &changed.spec)?;
    }
    changed.restore(&infos(case, "restoreInfo")?);
    changed.suspend();
    equal(&original.spec, &changed.spec)
}

fn reclaimable_pods(case: &Case) -> Result<(), Failure> {
    let job: Job = job(case, "job")?;
    equal(&case.arg::<Vec<ReclaimablePod>>("want")?, &job.reclaimable_pods().unwrap_or_default())
}

fn terminal_indexes(case: &Case) -> Result<(), Failure> {
    let (completed, failed): (String, String) = (case.arg("completedIndexes")?, case.arg("failedIndexes")?);
    equal(&case.arg("want")?, &settled_indexes(&[&completed, &failed], case.arg("completions")?))
}

fn gate_pods(case: &Case) -> Result<(), Failure> {
    let mut job: Job = job(case, "args.job")?;
    let meta = job.metadata.clone();
    let answer = World::of(case)?.ask(&meta, |around| job.complete(around))?;
    answer.map_err(|error| Failure(error.to_string()))?;
    equal(&case.arg::<Vec<PodSchedulingGate>>("want")?, &job.spec.template.spec.scheduling_gates)
}
