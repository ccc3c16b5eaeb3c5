//! What webhooks of all kinds fill in and refuse.

use std::collections::BTreeMap;

use kueue_api::kueue::v1beta2::{PodSet, PodSetTopologyRequest};
use kueue_api::meta::ObjectMeta;
use kueue_core::field::Path;
use kueue_jobs::integrations::Integrations;
use kueue_jobs::job::Job as _;
use kueue_jobs::kinds::batch_job::Job;
use kueue_jobs::pod_shape::immutable_shape;
use kueue_jobs::topology_request::{PodIndexes, topology_request as built};
use kueue_jobs::webhook::{defaulting, topology, validation};
use kueue_jobs::workload::{priority_class_name, queue_name, sanitize as sanitized};
use serde_json::{Value, json};

use super::given;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure, decode};
use crate::packages::field_errors::{Compared, same_errors, same_recorded};
use crate::packages::job_webhook::{World, job};

fn failure(error: impl std::fmt::Display) -> Failure {
    Failure(error.to_string())
}

pub(super) fn default_queue(case: &Case) -> Result<(), Failure> {
    let mut world = World::of(case)?;
    for namespace in ["managedNamespace", "unmanagedNamespace"] {
        world.objects.add(case.scope(namespace))?;
    }
    world.settings.namespaces = decode("ls", case.scope("ls"))?;
    world.has_default_queue = true;
    let mut job: Job = job(case, "job")?;
    let meta = job.metadata.clone();
    world.ask(&meta, |around| defaulting::queue(&mut job.metadata, around))?.map_err(failure)?;
    equal(&case.arg::<String>("wantQueueLabel")?.as_str(), &queue_name(&job.metadata))
}

pub(super) fn default_priority_class(case: &Case) -> Result<(), Failure> {
    let mut world = World::of(case)?;
    world.settings.integrations = Integrations::configured(["batch/job"], []);
    let mut job: Job = job(case, "job")?;
    let meta = job.metadata.clone();
    world.ask(&meta, |around| defaulting::priority_class(&mut job.metadata, around))?;
    equal(&case.arg::<String>("wantPriorityClassLabel")?.as_str(), &priority_class_name(&job.metadata))
}

pub(super) fn default(case: &Case) -> Result<(), Failure> {
    let mut job: Job = job(case, "job")?;
    let meta = job.metadata.clone();
    let mut world = World::of(case)?;
    add_queues_of_the_test(&mut world)?;
    if case.raw("withoutIntegrationManager") == true {
        // Without knowing any kind, only who runs the job is filled in.
        world.ask(&meta, |around| defaulting::managed_by(&mut job, around))?;
    } else {
        world.ask(&meta, |around| kueue_jobs::webhook::default(&mut job, around))?.map_err(failure)?;
    }
    let wanted: Job = crate::packages::job_webhook::job(case, "want")?;
    Rules::equate_empty().same(&json!(wanted), &json!(job))
}

/// The test fills its caches in code: a queue whose jobs are sent away, and one whose jobs stay.
fn add_queues_of_the_test(world: &mut World) -> Result<(), Failure> {
    let queue = |name: &str, checks: Value| {
        json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name},
            "spec": {"admissionChecksStrategy": {"admissionChecks": checks}}})
    };
    let local = |name: &str, behind: &str| {
        json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": "default"}, "spec": {"clusterQueue": behind}})
    };
    let check = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck",
        "metadata": {"name": "multikueue"}, "spec": {"controllerName": "kueue.x-k8s.io/multikueue"}});
    world.objects.add(&json!([
        queue("far", json!([{"name": "multikueue"}])),
        queue("near", json!([])),
        check,
        local("multikueue", "far"),
        local("queue", "near"),
    ]))
}

pub(super) fn should_suspend(case: &Case) -> Result<(), Failure> {
    let mut world = World::of(case)?;
    for object in ["managedNamespace", "unmanagedNamespace", "parent"] {
        world.objects.add(case.scope(object))?;
    }
    let gates = world.settings.gates;
    let is_let_through = case.raw("skipAncestorGateOff") != true;
    world.settings.gates = gates.with(kueue_core::gates::Gate::SkipAncestorCheckForDeletedWorkloads, is_let_through);
    world.settings.namespaces = decode("ls", case.scope("ls"))?;
    world.settings.integrations = Integrations::configured(["batch/job"], []);
    let meta: ObjectMeta = decode("obj", case.raw("obj.metadata"))?.unwrap_or_default();
    let answer = world.ask(&meta, |around| match case.raw("tolerateDeleting") == true {
        true => defaulting::should_suspend(&meta, around),
        false => defaulting::is_managed(&meta, around),
    })?;
    match answer {
        Ok(suspends) => equal(&(case.arg::<bool>("wantSuspend")?, false), &(suspends, case.has("wantErr"))),
        Err(_) => equal(&true, &case.has("wantErr")),
    }
}

pub(super) fn topology_request(case: &Case) -> Result<(), Failure> {
    // Kinds name their labels in code; the names live as long as the program there, too.
    let label = |field: &str| -> Result<Option<&'static str>, Failure> {
        Ok(case.get::<String>(field)?.map(|label| &*Box::leak(label.into_boxed_str())))
    };
    let indexes = PodIndexes {
        pod_label: label("podIndexLabel")?,
        sub_group_label: label("subGroupIndexLabel")?,
        sub_groups: case.get("subGroupCount")?,
    };
    let annotations: BTreeMap<String, String> = case.arg("meta.annotations")?;
    match built(&annotations, indexes, case.gates()?) {
        Err(_) => equal(&true, &case.has("wantErr")),
        Ok(request) => {
            equal(&false, &case.has("wantErr"))?;
            equal(&case.get::<PodSetTopologyRequest>("wantReq")?, &request)
        }
    }
}

pub(super) fn sanitize(case: &Case) -> Result<(), Failure> {
    let mut pod_sets: Vec<PodSet> = case.arg("podSets")?;
    sanitized(&mut pod_sets);
    Rules::equate_empty().same(&json!(case.arg::<Vec<PodSet>>("expectedPodSets")?), &json!(pod_sets))
}

pub(super) fn immutable_pod_spec(case: &Case) -> Result<(), Failure> {
    let errors = immutable_shape(&case.arg("newPodSpec")?, &case.arg("oldPodSpec")?, &Path::new("spec"));
    same_errors(case.raw("wantErr"), &errors, Compared::Nothing)
}

pub(super) fn job_on_create(case: &Case) -> Result<(), Failure> {
    let gates = case.gates()?;
    let errors = match case.raw("gvk.Kind").as_str() {
        Some("Job") => validation::create(&job::<Job>(case, "job")?, gates),
        // All that the tests know about other kinds is that they cannot be elastic.
        _ => validation::create(&job::<given::Job>(case, "job")?, gates),
    };
    same_errors(case.raw("wantErr"), &errors, Compared::Nothing)
}

pub(super) fn job_on_update(case: &Case) -> Result<(), Failure> {
    let (new, old): (Job, Job) = (job(case, "newJob")?, job(case, "oldJob")?);
    let errors = validation::update(&new, &old, case.arg("nsHasDefaultQueue")?, case.gates()?);
    same_errors(case.raw("wantErr"), &errors, Compared::Nothing)
}

/// What a kind adds is given as data: its mistakes follow those that all kinds share, and a failure of its own replaces
/// them all.
pub(super) fn with_rules_of_the_kind(case: &Case, new: &str, old: Option<&str>) -> Result<(), Failure> {
    let at = if old.is_some() { "args." } else { "" };
    if case.has(&format!("{at}customValidationError")) {
        return equal(&true, &case.has("wantError"));
    }
    let new: given::Job = job(case, new)?;
    let world = World::of(case)?;
    let errors = match old {
        None => world.ask(&new.metadata, |around| new.validate_create(around))?,
        Some(old) => {
            let old: given::Job = job(case, old)?;
            world.ask(&new.metadata, |around| new.validate_update(&old, around))?
        }
    };
    let added = case.raw(&format!("{at}customValidationFailure")).as_array().cloned().unwrap_or_default();
    same_recorded(case.raw("wantError"), &errors, &added, Compared::Detail)
}

fn template_path() -> Path {
    Path::new("spec").child("template").child("metadata")
}

pub(super) fn topology_constraints(case: &Case) -> Result<(), Failure> {
    let errors = topology::request(&case.arg("annotations")?, &template_path(), case.gates()?);
    equal(&case.arg::<usize>("wantErrNum")?, &errors.len())
}

pub(super) fn slice_size_bound(case: &Case) -> Result<(), Failure> {
    let pod_set = PodSet { count: case.arg("podSetCount")?, ..PodSet::default() };
    let errors = topology::slices_in_count(&case.arg("annotations")?, &template_path(), &pod_set);
    equal(&case.arg::<usize>("wantErrNum")?, &errors.len())
}
