//! Pods and groups of pods.

mod rules;
mod webhook;

use std::sync::Arc;

use kueue_api::kueue::names::event;
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::ObjectMeta;
use kueue_engine::Settings as EngineSettings;
use kueue_jobs::job::Job as _;
use kueue_jobs::kinds::pod::Pod;
use kueue_jobs::kinds::pod::group::Group;
use kueue_jobs::kinds::pod::reconciler::{EXCESS, Request};
use kueue_jobs::kinds::pod::step::{Act, Outcome, step, step_gone};
use kueue_jobs::opened::Opened;
use kueue_jobs::step::{Action, Family, Outcome as JobOutcome};
use serde_json::Value;

use super::Runners;
use super::job_reconciler::{engine_settings, fails_as_recorded, look, settings, surrounded};
use crate::compare::equal;
use crate::corpus::{Case, Failure};
use crate::objects::{Objects, same_events, same_objects};

pub const RUNNERS: Runners = &[
    ("TestConstructComposableWorkloadPodGroupRoleLimit", rules::role_limit),
    ("TestDefault", webhook::default),
    ("TestGetRoleHash", rules::role_hash),
    ("TestIndexPodGroupName", rules::index_of_group),
    ("TestIsPodOwnerManagedByQueue", rules::is_owner_managed),
    ("TestPodSets", rules::pod_sets),
    ("TestPod_IsActive", rules::is_active),
    ("TestPodsReady", rules::pods_ready),
    ("TestReconciler", reconcile),
    ("TestRecordPodSchedulingGateRemovalSeconds", removal_seconds),
    ("TestRun", rules::run),
    ("TestStop", rules::stop),
    ("TestValidateCreate", webhook::validate_create),
    ("TestValidateUpdate", webhook::validate_update),
    ("TestWorkloadHandlerDelete", rules::requests_after_deletion),
];

/// Looks once at the pod or group of the case.
fn look_once(case: &Case) -> Result<Objects, Failure> {
    let mut objects = Objects::of_case(case)?;
    let engine = engine_settings(case)?;
    match request(case)? {
        Request::Pod(key) => look_at_pod(case, &mut objects, &key.namespace, &key.name, &engine)?,
        Request::Group(key) => look_at_group(case, &mut objects, &key.namespace, &key.name, &engine)?,
    }
    Ok(objects)
}

/// How long the pods waited whose gates are gone after one look.
fn removal_seconds(case: &Case) -> Result<(), Failure> {
    let before: Vec<Pod> = Objects::of_case(case)?.all()?;
    let objects = look_once(case)?;
    let workloads: Vec<Workload> = objects.all()?;
    let [workload] = &workloads[..] else { return Err(Failure("the case has one Workload".to_owned())) };
    let (mut count, mut seconds) = (0, 0.0);
    for old in &before {
        let new: Option<Pod> = objects.get(&old.metadata.namespace, &old.metadata.name)?;
        let gate = new.as_ref().and_then(|new| old.opened_gate(new));
        if let Some(opened) = gate.and_then(|gate| Opened::now(gate, case.has("isGroup"), workload, case.now().ok()?)) {
            count += 1;
            seconds += opened.waited_s;
        }
    }
    same_objects(case, "tc.wantPods", &objects.all::<Pod>()?)?;
    equal(&(case.arg("wantMetricsCount")?, case.arg("wantMetricsSeconds")?), &(count, seconds))
}

/// Looks once, and compares what that comes to.
fn reconcile(case: &Case) -> Result<(), Failure> {
    let objects = look_once(case)?;
    if case.has("wantPods") {
        same_objects(case, "tc.wantPods", &objects.all::<Pod>()?)?;
    }
    same_objects(case, "tc.wantWorkloads", &objects.all::<Workload>()?)?;
    same_events(case, &objects.events)
}

/// What the row says is looked at, or what its first pod is looked at as.
fn request(case: &Case) -> Result<Request, Failure> {
    let part = |name: &str| case.raw("reconcileKey")[name].as_str().unwrap_or_default();
    if case.has("reconcileKey") {
        return Ok(match part("Namespace").strip_prefix("group/") {
            Some(namespace) => Request::Group(kueue_runtime::key::Key::new(namespace, part("Name"))),
            None => Request::Pod(kueue_runtime::key::Key::new(part("Namespace"), part("Name"))),
        });
    }
    let pods: Vec<Pod> = case.arg("pods")?;
    let first = pods.first().ok_or_else(|| Failure("there is nothing to look at".to_owned()))?;
    Ok(Request::of(first, case.gates()?))
}

fn look_at_pod(
    case: &Case,
    objects: &mut Objects,
    namespace: &str,
    name: &str,
    engine: &EngineSettings,
) -> Result<(), Failure> {
    let pod: Option<Pod> = objects.get(namespace, name)?;
    let outcome = look(objects, pod.as_ref(), namespace, name, &settings(case, Pod::FRAMEWORK)?)?;
    objects.carry_out(pod.as_ref(), &outcome, engine)?;
    let is_deleting = outcome.actions.iter().any(|action| matches!(action, Action::DeleteWorkload(_)));
    fails_as_recorded(case, outcome.failure.as_deref(), is_deleting)
}

fn look_at_group(
    case: &Case,
    objects: &mut Objects,
    namespace: &str,
    name: &str,
    engine: &EngineSettings,
) -> Result<(), Failure> {
    let gates = case.gates()?;
    let is_member = |pod: &Pod| matches!(Request::of(pod, gates), Request::Group(key) if *key.name == *name);
    let pods: Vec<Arc<Pod>> = objects.all::<Pod>()?.into_iter().filter(is_member).map(Arc::new).collect();
    let workload = objects.get::<Workload>(namespace, name)?.map(Arc::new);
    if pods.is_empty() {
        return objects.carry_out::<Pod>(None, &step_gone(workload, gates), engine);
    }
    let meta: ObjectMeta = pods[0].metadata.clone();
    let group = Group { name, pods, now: case.now()?, is_settled: !is_expecting(case, namespace, name) };
    let workloads = workload.into_iter().collect();
    let outcome =
        surrounded(objects, &meta, (workloads, Family::TopLevel), &settings(case, Pod::FRAMEWORK)?, |around| {
            step(&group, around)
        })?;
    carry_out(objects, &outcome, engine)?;
    let is_deleting = outcome
        .acts
        .iter()
        .any(|act| matches!(act, Act::Do(_, action) if matches!(**action, Action::DeleteWorkload(_))));
    fails_as_recorded(case, outcome.failure.as_deref(), is_deleting)
}

/// Whether pods of the group were let go and that was not seen yet.
fn is_expecting(case: &Case, namespace: &str, name: &str) -> bool {
    let expected = case.raw("excessPodsExpectations").as_array().into_iter().flatten();
    expected.map(|entry| &entry["key"]).any(|key: &Value| key["Namespace"] == namespace && key["Name"] == name)
}

fn carry_out(objects: &mut Objects, outcome: &Outcome, engine: &EngineSettings) -> Result<(), Failure> {
    for act in &outcome.acts {
        match act {
            Act::Do(pod, action) => {
                objects.carry_out(Some(&**pod), &JobOutcome::from(vec![(**action).clone()]), engine)?;
            }
            Act::LetGo { pod, is_excess } => let_go(objects, pod, *is_excess)?,
            Act::Tell { workload, reason, message } => objects.tell(&**workload, false, reason, message),
        }
    }
    Ok(())
}

fn let_go(objects: &mut Objects, pod: &Pod, is_excess: bool) -> Result<(), Failure> {
    let stored: Option<Pod> = objects.get(&pod.metadata.namespace, &pod.metadata.name)?;
    let Some(stored) = stored else { return Ok(()) };
    if let Some(free) = stored.released() {
        objects.update(&stored, &free)?;
    }
    if is_excess && pod.metadata.deletion_timestamp.is_none() {
        objects.delete(pod);
        objects.tell(pod, false, event::pod::EXCESS_POD_DELETED, EXCESS);
    }
    Ok(())
}
