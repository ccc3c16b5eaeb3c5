//! `apps/v1` StatefulSets.

use std::sync::Arc;

use kueue_api::kueue::names::condition;
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::OwnerReference;
use kueue_jobs::integrations::Integrations;
use kueue_jobs::kinds::pod::{Pod, group_name};
use kueue_jobs::kinds::statefulset::reconciler::is_controller;
use kueue_jobs::kinds::statefulset::step::{Act, hold, step};
use kueue_jobs::kinds::statefulset::{FRAMEWORK, StatefulSet, join_group, ungate};
use kueue_jobs::step::{Family, Outcome};
use serde_json::{Value, json};

use super::Runners;
use super::field_errors::{Compared, same_errors};
use super::job_reconciler::{engine_settings, fails_as_recorded, settings, surrounded};
use super::job_webhook::World;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};
use crate::objects::{Objects, same_events, same_objects};

pub const RUNNERS: Runners = &[
    ("TestDefault", default),
    ("TestGetWorkloadName", workload_name),
    ("TestHandle", handle),
    ("TestPodReconciler", pod_reconciler),
    ("TestReconciler", reconcile),
    ("TestReleaseScaleDownReservation", release),
    ("TestValidateCreate", validate_create),
    ("TestValidateUpdate", validate_update),
];

/// Package `pkg-util-statefulset`.
pub const UTIL: Runners = &[("TestUngatePod", ungate_pod)];

fn default(case: &Case) -> Result<(), Failure> {
    let mut set: StatefulSet = case.arg("statefulset")?;
    let meta = set.metadata.clone();
    let failure = World::of(case)?.ask(&meta, |around| set.complete(around))?.err();
    equal(&case.has("wantErr"), &failure.is_some())?;
    Rules::equate_empty().same(&json!(case.arg::<StatefulSet>("want")?), &json!(set))
}

fn validate_create(case: &Case) -> Result<(), Failure> {
    let set: StatefulSet = case.arg("sts")?;
    let errors = World::of(case)?.ask(&set.metadata, |around| set.validate_create(around))?;
    same_errors(case.raw("wantErr"), &errors, Compared::Nothing)
}

fn validate_update(case: &Case) -> Result<(), Failure> {
    let (new, old): (StatefulSet, StatefulSet) = (case.arg("newObj")?, case.arg("oldObj")?);
    let mut world = World::of(case)?;
    let enabled: Vec<String> = case.arg("integrations")?;
    world.settings.integrations = Integrations::configured(enabled.iter().map(String::as_str), []);
    let errors = world.ask(&new.metadata, |around| new.validate_update(&old, around))?;
    let errors = errors.map_err(|error| Failure(error.to_string()))?;
    same_errors(case.raw("wantErr"), &errors, Compared::Nothing)
}

/// The Workload of a StatefulSet, by its name or the one that older versions gave it.
fn find_workload(objects: &Objects, set: &StatefulSet, case: &Case) -> Result<Option<Arc<Workload>>, Failure> {
    for name in set.workload_names(case.gates()?) {
        if let Some(found) = objects.get::<Workload>(&set.metadata.namespace, &name)? {
            return Ok(Some(Arc::new(found)));
        }
    }
    Ok(None)
}

fn workload_name(case: &Case) -> Result<(), Failure> {
    let gates = case.gates()?;
    let name = |name: &str, uid: &str| -> Result<String, Failure> {
        let mut set = StatefulSet::default();
        (set.metadata.name, set.metadata.uid) = (case.arg(name)?, case.arg(uid)?);
        let [named, _] = set.workload_names(gates);
        Ok(named)
    };
    equal(&case.arg::<bool>("wantEqual")?, &(name("name1", "uid1")? == name("name2", "uid2")?))
}

/// What is no StatefulSet is not kept back; ours never asks about it.
fn handle(case: &Case) -> Result<(), Failure> {
    let is_set = case.raw("obj.kind") == "StatefulSet";
    let is_looked_at = !is_set || !case.arg::<StatefulSet>("obj")?.is_managed_elsewhere();
    equal(&case.arg::<bool>("want")?, &is_looked_at)
}

fn pod_reconciler(case: &Case) -> Result<(), Failure> {
    let mut objects = Objects::of_case(case)?;
    let (pod, gates): (Pod, _) = (case.arg("pod")?, case.gates()?);
    let owner = pod.metadata.owner_references.iter().find(|owner: &&OwnerReference| is_controller(owner));
    let owner = owner.map(|owner| objects.get::<StatefulSet>(&pod.metadata.namespace, &owner.name)).transpose()?;
    if let Some(set) = owner.flatten() {
        let found = find_workload(&objects, &set, case)?;
        let [named, _] = set.workload_names(gates);
        let name = found.map_or(named, |workload| workload.metadata.name.clone());
        let manages_unqueued = case.arg("manageJobsWithoutQueueName")?;
        if let Some(member) = join_group(&pod, &set, &name, manages_unqueued, gates) {
            objects.update(&pod, &member)?;
        }
    }
    same_objects(case, "tc.wantPods", &objects.all::<Pod>()?)
}

fn reconcile(case: &Case) -> Result<(), Failure> {
    let mut objects = Objects::of_case(case)?;
    let part = |name: &str| case.raw("stsKey")[name].as_str().unwrap_or_default();
    let set: Option<StatefulSet> = objects.get(part("Namespace"), part("Name"))?;
    if let Some(set) = set {
        let gates = case.gates()?;
        let workload = find_workload(&objects, &set, case)?;
        let [named, _] = set.workload_names(gates);
        let name = workload.as_ref().map_or(named, |workload| workload.metadata.name.clone());
        let pods = objects.all::<Pod>()?;
        let members = pods.into_iter().filter(|pod| group_name(&pod.metadata, gates) == Some(name.as_str()));
        let members: Vec<Arc<Pod>> = members.map(Arc::new).collect();
        let found = (workload.into_iter().collect(), Family::TopLevel);
        let settings = settings(case, FRAMEWORK)?;
        let outcome = surrounded(&objects, &set.metadata, found, &settings, |around| step(&set, &members, around))?;
        for act in &outcome.acts {
            match act {
                Act::Pod { old, new } => objects.update(&**old, &**new)?,
                Act::Do(action) => {
                    objects.carry_out::<Pod>(
                        None,
                        &Outcome::from(vec![(**action).clone()]),
                        &engine_settings(case)?,
                    )?;
                }
                Act::Tell { is_warning, reason, message } => objects.tell(&set, *is_warning, reason, message),
            }
        }
        fails_as_recorded(case, outcome.failure.as_deref(), false)?;
    }
    same_objects(case, "tc.wantPods", &objects.all::<Pod>()?)?;
    same_objects(case, "tc.wantWorkloads", &objects.all::<Workload>()?)?;
    same_events(case, &objects.events)
}

fn release(case: &Case) -> Result<(), Failure> {
    let mut objects = Objects::of_case(case)?;
    objects.add(case.raw("workload"))?;
    let workload: Workload = case.arg("workload")?;
    let mut empty = StatefulSet::default();
    empty.spec.replicas = Some(0);
    if let Some(report) = hold(&empty, &workload) {
        objects.note(&workload, &report, &engine_settings(case)?)?;
    }
    let meta = &workload.metadata;
    let left = objects.raw("Workload", &meta.namespace, &meta.name).cloned().unwrap_or_default();
    equal(&case.arg::<bool>("wantAdmissionNil")?, &left["status"]["admission"].is_null())?;
    let conditions = left["status"]["conditions"].as_array().into_iter().flatten();
    let reserved = conditions.into_iter().find(|state| state["type"] == condition::QUOTA_RESERVED);
    let part = |state: Option<&Value>| state.map(|state| json!([state["status"], state["reason"]]));
    let wanted = case.raw("wantQuotaReserved");
    equal(&part((!wanted.is_null()).then_some(wanted)), &part(reserved))
}

fn ungate_pod(case: &Case) -> Result<(), Failure> {
    let (mut pod, set): (Pod, StatefulSet) = (case.arg("pod")?, case.arg("statefulSet")?);
    // Who opens the gates by force does not ask the owner.
    let owner = (!case.arg::<bool>("force")?).then_some(&set);
    equal(&case.arg::<bool>("wantChanged")?, &ungate(owner, &mut pod))?;
    Rules::equate_empty().same(case.raw("wantGates"), &json!(pod.spec.scheduling_gates))
}
