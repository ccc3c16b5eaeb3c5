//! Looks at a job that is given, and the priorities of its Workloads.

use std::sync::Arc;

use kueue_api::kueue::v1beta2::{PodSet, Workload, WorkloadPriorityClass};
use kueue_core::gates::Gates;
use kueue_jobs::job::Write;
use kueue_jobs::kinds::batch_job;
use kueue_jobs::report::Report;
use kueue_jobs::step::{Action, Family, Outcome, Settings, Surroundings, priority, priority_changes};
use serde_json::{Value, json};

use super::given::Job;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure, decode};
use crate::objects::{Objects, same_events, same_objects};
use crate::packages::job_reconciler::{engine_settings, look, settings};
use crate::packages::job_webhook::job;
use crate::packages::pkg_podset::infos;

/// Puts the job of the case, with its pod sets, among the other objects.
fn world(case: &Case, object: &Value) -> Result<(Objects, Job), Failure> {
    let mut objects = Objects::of_case(case)?;
    let mut object = object.clone();
    object["podSets"] = case.raw("podSets").clone();
    objects.add(&object)?;
    let job = decode("job", &object)?.ok_or_else(|| Failure("the case has no job".to_owned()))?;
    Ok((objects, job))
}

pub(super) fn generic(case: &Case) -> Result<(), Failure> {
    let (mut objects, job) = world(case, case.raw("job"))?;
    let meta = &job.metadata;
    let outcome = look(&objects, Some(&job), &meta.namespace, &meta.name, &settings(case, "batch/job")?)?;
    objects.carry_out(Some(&job), &outcome, &engine_settings(case)?)?;
    let mut workloads = objects.all::<Workload>()?;
    // The recorder's API server counts versions; ours does not.
    for workload in &mut workloads {
        let named = |wanted: &&Value| wanted["metadata"]["name"] == workload.metadata.name.as_str();
        let wanted = case.raw("wantWorkloads").as_array().into_iter().flatten().find(named);
        let version = wanted.and_then(|wanted| wanted["metadata"]["resourceVersion"].as_str()).unwrap_or_default();
        version.clone_into(&mut workload.metadata.resource_version);
    }
    same_objects(case, "tc.wantWorkloads", &workloads)?;
    if case.has("wantPodSets") {
        let started = outcome.actions.iter().find_map(|action| match action {
            Action::Write(Write::Spec(job)) => Some(&job.pod_sets),
            _ => None,
        });
        let mut wanted = job.pod_sets.clone();
        for (pod_set, info) in wanted.iter_mut().zip(infos(case, "wantPodSets")?) {
            info.merge_into(Arc::make_mut(&mut pod_set.template), case.gates()?)
                .map_err(|conflict| Failure(conflict.to_string()))?;
        }
        Rules::equate_empty().same(&json!(wanted), &json!(started))?;
    }
    // Only some rows look at events.
    if case.has("wantEvents") { same_events(case, &objects.events) } else { Ok(()) }
}

pub(super) fn activation(case: &Case) -> Result<(), Failure> {
    let mut object = case.scope("baseJob")["Job"].clone();
    object["active"] = json!(case.arg::<bool>("jobActive")?);
    let (mut objects, mut job) = world(case, &object)?;
    job.pod_sets = decode("basePodSets", case.scope("basePodSets"))?.unwrap_or_default();
    let meta = &job.metadata;
    let outcome = look(&objects, Some(&job), &meta.namespace, &meta.name, &settings(case, "batch/job")?)?;
    objects.carry_out(Some(&job), &outcome, &engine_settings(case)?)?;
    for workload in objects.all::<Workload>()? {
        equal(&case.arg::<bool>("expectedActive")?, &workload.spec.active.unwrap_or(true))?;
    }
    Ok(())
}

pub(super) fn pods_ready(case: &Case) -> Result<(), Failure> {
    let job: batch_job::Job = job(case, "job")?;
    let mut objects = Objects::of_case(case)?;
    objects.add(case.raw("workload"))?;
    objects.add(case.local("managedNamespace"))?;
    let mut settings = settings(case, "batch/job")?;
    settings.waits_for_pods = true;
    let meta = &job.metadata;
    let outcome = look(&objects, Some(&job), &meta.namespace, &meta.name, &settings)?;
    let is_told = |action: &Action<batch_job::Job>| {
        matches!(action, Action::Report(_, Report::PodsReady { reason: "Started", .. }))
    };
    equal(&true, &outcome.actions.iter().any(is_told))
}

/// What there is to be asked for priorities.
fn classes<T>(classes: Vec<WorkloadPriorityClass>, act: impl FnOnce(&Surroundings<'_>) -> T) -> T {
    let settings = Settings { gates: Gates::default(), ..Settings::default() };
    act(&Surroundings {
        settings: &settings,
        namespace: None,
        workloads: Vec::new(),
        prebuilt: None,
        family: Family::TopLevel,
        flavor: &|_| None,
        workload_priority_classes: classes.into_iter().map(Arc::new).collect(),
        priority_classes: Vec::new(),
        ray_cluster: None,
    })
}

pub(super) fn missing_class(case: &Case) -> Result<(), Failure> {
    let job: batch_job::Job = job(case, "job")?;
    let pod_sets: Vec<PodSet> = case.arg("podSets")?;
    let found = classes(Vec::new(), |around| priority(&job, &pod_sets, around));
    let wanted = case.raw("wantErr.error").as_str().map(str::to_owned);
    let Outcome { actions, failure, .. } = found.err().unwrap_or_default();
    equal(&wanted, &failure)?;
    // The missing class of a label is the only one that is told.
    equal(&Vec::new(), &actions)
}

pub(super) fn priorities(case: &Case) -> Result<(), Failure> {
    let object = decode("job", case.local("job"))?;
    let job: batch_job::Job = object.ok_or_else(|| Failure("the case has no job".to_owned()))?;
    let mut class: WorkloadPriorityClass = case.arg("class")?;
    let mut workloads: Vec<Arc<Workload>> = case.arg::<Vec<Workload>>("workloads")?.into_iter().map(Arc::new).collect();
    let wanted = case.raw("want").as_object().cloned().unwrap_or_default();
    let mut writes = 0;
    for step in case.raw("steps").as_array().into_iter().flatten() {
        if !step["before"].is_null() {
            // Code that gives the class the value that is found in the end.
            let value = wanted.values().find_map(|wanted| wanted["priority"].as_i64());
            class.value = value.and_then(|value| i32::try_from(value).ok()).unwrap_or(class.value);
        }
        let changes = classes(vec![class.clone()], |around| priority_changes(&job, &workloads, around));
        let changes = changes.map_err(|outcome| Failure(outcome.failure.unwrap_or_default()))?;
        // Where the step is to fail, its second write does.
        let kept = if step["wantErr"] == true { 1 } else { changes.len() };
        for (index, new) in changes.into_iter().take(kept) {
            workloads[index] = Arc::new(new);
            writes += 1;
        }
    }
    if let Some(expected) = case.get::<i32>("wantWorkloadWrites")? {
        equal(&expected, &writes)?;
    }
    for workload in &workloads {
        let wanted = wanted.get(&workload.metadata.name).unwrap_or(&Value::Null);
        equal(&wanted["priority"].as_i64(), &workload.spec.priority.map(i64::from))?;
        if let Some(name) = wanted["refName"].as_str() {
            let class = workload.spec.priority_class_ref.as_ref();
            equal(&name, &class.map_or("", |class| class.name.as_str()))?;
        }
    }
    Ok(())
}
