//! RayClusters, RayJobs and RayServices.

use std::collections::BTreeMap;

use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::slices;
use kueue_core::field::Path;
use kueue_jobs::job::Job;
use kueue_jobs::kinds::ray::raycluster::RayCluster;
use kueue_jobs::kinds::ray::rayjob::RayJob;
use kueue_jobs::kinds::ray::rayservice::RayService;
use kueue_jobs::kinds::ray::{RayClusterSpec, mistakes, notes, resize};
use serde_json::json;

use super::Runners;
use super::field_errors::{Compared, same_errors};
use super::job_kind::{pod_sets, pods_ready, restore};
use super::job_reconciler::reconcile;
use super::job_webhook::{World, job, validate_create, validate_update};
use super::pkg_podset::infos;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure, decode};

pub const CLUSTER: Runners = &[
    ("TestBuildPodSets", pod_sets_of_spec),
    ("TestComparePodSetCounts", is_resized),
    ("TestGetWorkloadslicingCustomAnnotations", notes_of),
    ("TestPodSets", |case| pod_sets::<RayCluster>(case, "rayCluster")),
    ("TestReconciler", reconcile::<RayCluster>),
    ("TestRestorePodSetsInfo", restore_spec),
    ("TestUpdatePodSets", follow_cluster),
    ("TestUpdateRayClusterSpecToRunWithPodSetsInfo", run_spec),
    ("TestValidateCreate", |case| validate_create::<RayCluster>(case, "wantErr", Compared::Everything)),
    ("TestValidateCreateRayClusterSpec", validate_spec),
    ("TestValidateDefault", default::<RayCluster>),
    ("TestValidateUpdate", |case| validate_update::<RayCluster>(case, "wantErr", Compared::Everything)),
];

pub const JOB: Runners = &[
    ("TestDefault", default::<RayJob>),
    ("TestGetCustomAnnotations", notes_of_job),
    ("TestNodeSelectors", run_and_restore),
    ("TestPodSets", |case| pod_sets::<RayJob>(case, "rayJob")),
    ("TestRestorePodSetsInfo", |case| restore::<RayJob>(case, "job")),
    ("TestValidateCreate", |case| validate_create::<RayJob>(case, "wantErr", Compared::Everything)),
    ("TestValidateUpdate", |case| validate_update::<RayJob>(case, "wantErr", Compared::Everything)),
    ("Test_RayJobFinished", is_finished),
    ("Test_RayJobIsOnHold", is_on_hold),
];

pub const SERVICE: Runners = &[
    ("TestIsActive", |case| equal(&case.arg::<bool>("want")?, &job::<RayService>(case, "rayService")?.is_active())),
    ("TestIsSuspended", |case| {
        equal(&case.arg::<bool>("want")?, &job::<RayService>(case, "rayService")?.is_suspended())
    }),
    ("TestPodSets", pod_sets_of_service),
    ("TestPodsReady", |case| pods_ready::<RayService>(case, "rayService")),
    ("TestValidateCreate", is_refused),
    ("TestValidateUpdate", change_of_service),
];

fn spec(case: &Case, field: &str) -> Result<RayClusterSpec, Failure> {
    Ok(decode(field, case.raw(field))?.unwrap_or_default())
}

/// The object that a function gets beside the description of a cluster.
fn object(case: &Case) -> Result<RayCluster, Failure> {
    job(case, "object")
}

fn pod_sets_of_spec(case: &Case) -> Result<(), Failure> {
    let made = spec(case, "rayClusterSpec")?.pod_sets(&case.arg::<BTreeMap<_, _>>("annotations")?, case.gates()?);
    equal(&case.has("wantErr"), &made.is_err())?;
    let Ok(made) = made else { return Ok(()) };
    let rules = Rules::equate_empty().ignoring(&["topologyRequest"]);
    rules.same(&json!(case.arg::<Vec<PodSet>>("wantPodSets")?), &json!(made))
}

/// The size of a job is what the counts of its pod sets say.
fn is_resized(case: &Case) -> Result<(), Failure> {
    let pod_sets: Vec<PodSet> = case.arg("podSets")?;
    let before: BTreeMap<String, i32> = case.arg("referenceCounts")?;
    let before: slices::Counts<'_> = before.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    equal(&case.arg::<bool>("wantChanged")?, &(slices::counts(&pod_sets) != before))
}

/// What a job remembers of its cluster; a cluster that belongs to nobody remembers nothing.
fn notes_of(case: &Case) -> Result<(), Failure> {
    let cluster = RayCluster::default();
    let cluster = case.has("createRayCluster").then_some(&cluster);
    let mut owner = RayJob::default();
    owner.metadata.annotations = case.arg("annotations")?;
    let alone = RayCluster { metadata: owner.metadata.clone(), ..RayCluster::default() };
    let found = match case.has("standalone") {
        true => notes(&alone, cluster, case.gates()?),
        false => notes(&owner, cluster, case.gates()?),
    };
    equal(&case.arg("wantAnnotation")?, &found)
}

fn notes_of_job(case: &Case) -> Result<(), Failure> {
    let (job, gates) = (job::<RayJob>(case, "rayJob")?, case.gates()?);
    let cluster: RayCluster =
        case.get("rayCluster")?.ok_or_else(|| Failure("the case has no rayCluster".to_owned()))?;
    equal(&case.arg("wantCustomAnnotation")?, &notes(&job, Some(&cluster), gates))?;
    let mut made = job.pod_sets(gates).map_err(|error| Failure(error.to_string()))?;
    resize(&job, &mut made, Some(&cluster), gates).map_err(|error| Failure(error.to_string()))?;
    equal(&case.arg::<i32>("wantGroupCount")?, &made[1].count)
}

fn restore_spec(case: &Case) -> Result<(), Failure> {
    let mut cluster = RayCluster { spec: spec(case, "rayClusterSpec")?, ..RayCluster::default() };
    let is_changed = cluster.restore(&infos(case, "podSetsInfo")?);
    equal(&case.arg::<bool>("wantChanged")?, &is_changed)?;
    Rules::equate_empty().same(&json!(spec(case, "wantSpec")?), &json!(cluster.spec))
}

fn run_spec(case: &Case) -> Result<(), Failure> {
    let mut cluster = RayCluster { spec: spec(case, "rayClusterSpec")?, ..RayCluster::default() };
    let failure = cluster.run(&infos(case, "podSetsInfo")?, case.gates()?).err();
    equal(&case.has("wantErr"), &failure.is_some())?;
    // Whether the cluster is suspended is none of the compared function's business.
    cluster.spec.suspend = None;
    Rules::equate_empty().same(&json!(spec(case, "wantSpec")?), &json!(cluster.spec))
}

fn follow_cluster(case: &Case) -> Result<(), Failure> {
    let mut object = object(case)?;
    object.spec.enable_in_tree_autoscaling = case.get("enableInTreeAutoscaling")?;
    let mut pod_sets: Vec<PodSet> = case.arg("podSets")?;
    let cluster: Option<RayCluster> = case.get("rayClusterInClient")?;
    let failure = resize(&object, &mut pod_sets, cluster.as_ref(), case.gates()?).err();
    equal(&case.has("wantErr"), &failure.is_some())?;
    if failure.is_some() {
        return Ok(());
    }
    let rules = Rules::equate_empty().ignoring(&["template"]);
    rules.same(&json!(case.arg::<Vec<PodSet>>("wantPodSets")?), &json!(pod_sets))
}

fn validate_spec(case: &Case) -> Result<(), Failure> {
    let errors = mistakes(&object(case)?, &spec(case, "rayClusterSpec")?, &Path::new("spec"), case.gates()?);
    same_errors(case.raw("wantErrors"), &errors, Compared::Nothing)
}

/// Rows name the job before and after.
fn default<J: Job>(case: &Case) -> Result<(), Failure> {
    let mut new: J = job(case, "oldJob")?;
    let meta = new.metadata().clone();
    let answer = World::of(case)?.ask(&meta, |around| new.complete(around))?;
    answer.map_err(|failure| Failure(failure.to_string()))?;
    Rules::equate_empty().same(&json!(job::<J>(case, "newJob")?), &json!(new))
}

fn run_and_restore(case: &Case) -> Result<(), Failure> {
    let mut started: RayJob = job(case, "job")?;
    let failure = started.run(&infos(case, "runInfo")?, case.gates()?).err();
    equal(&case.has("wantRunError"), &failure.is_some())?;
    if failure.is_some() {
        return Ok(());
    }
    Rules::equate_empty().same(&json!(job::<RayJob>(case, "wantAfterRun")?), &json!(started))?;
    started.restore(&infos(case, "restoreInfo")?);
    started.suspend();
    Rules::equate_empty().same(&json!(job::<RayJob>(case, "wantFinal")?), &json!(started))
}

fn is_finished(case: &Case) -> Result<(), Failure> {
    let job = RayJob { status: case.arg("status")?, ..RayJob::default() };
    let end = job.finished();
    equal(&case.arg::<bool>("expectedFinished")?, &end.is_some())?;
    equal(&case.arg::<bool>("expectedSuccess")?, &end.is_some_and(|end| end.is_success))
}

fn is_on_hold(case: &Case) -> Result<(), Failure> {
    let mut job = RayJob::default();
    job.status.job_deployment_status = case.arg("jobDeploymentStatus")?;
    equal(&Some(case.arg::<bool>("expectedOnHold")?), &job.is_on_hold())
}

fn pod_sets_of_service(case: &Case) -> Result<(), Failure> {
    let (service, gates) = (job::<RayService>(case, "rayService")?, case.gates()?);
    let mut made = service.pod_sets(gates).map_err(|error| Failure(error.to_string()))?;
    let cluster: Option<RayCluster> = case.get("rayCluster")?;
    resize(&service, &mut made, cluster.as_ref(), gates).map_err(|error| Failure(error.to_string()))?;
    let wanted: Vec<PodSet> = decode("wantPodSets", case.wanted("wantPodSets"))?.unwrap_or_default();
    Rules::equate_empty().same(&json!(wanted), &json!(made))
}

fn is_refused(case: &Case) -> Result<(), Failure> {
    let service: RayService = job(case, "service")?;
    let errors = World::of(case)?.ask(&service.metadata, |around| service.validate_create(around))?;
    equal(&case.has("wantErr"), &!errors.is_empty())
}

fn change_of_service(case: &Case) -> Result<(), Failure> {
    let (new, old): (RayService, RayService) = (job(case, "newService")?, job(case, "oldService")?);
    let errors = World::of(case)?.ask(&new.metadata, |around| new.validate_update(&old, around))?;
    same_errors(case.raw("wantErr"), &errors, Compared::Everything)
}
