//! What pods and groups say about themselves.

use std::sync::Arc;

use kueue_api::kueue::names::{annotation, label};
use kueue_api::kueue::v1beta2::{PodSet, Workload};
use kueue_api::meta::OwnerReference;
use kueue_jobs::integrations::Integrations;
use kueue_jobs::job::{Job as _, Stop, StopReason};
use kueue_jobs::kinds::pod::Pod;
use kueue_jobs::kinds::pod::group::{Group, check_roles};
use kueue_jobs::kinds::pod::reconciler::Request;
use serde_json::{Value, json};

use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure, decode};
use crate::packages::pkg_podset::infos;

/// A pod, or the one that Kueue's own structure holds.
fn pod(value: &Value) -> Result<Pod, Failure> {
    let value = if value["pod"].is_object() { &value["pod"] } else { value };
    decode("pod", value)?.ok_or_else(|| Failure("there is no pod".to_owned()))
}

fn listed(value: &Value) -> Result<Vec<Arc<Pod>>, Failure> {
    let items = value["list"]["items"].as_array().into_iter().flatten();
    items.map(|item| pod(item).map(Arc::new)).collect()
}

/// A group whose first pod says what all should.
fn group(case: &Case, value: &Value) -> Result<Group<'static>, Failure> {
    Ok(Group { name: "group", pods: vec![Arc::new(pod(value)?)], now: case.now()?, is_settled: true })
}

pub(super) fn role_limit(case: &Case) -> Result<(), Failure> {
    let roles: usize = case.arg("roleCount")?;
    let pods = (0..roles).map(|index| {
        let role = format!("role-{index:02}");
        let meta = json!({"name": format!("pod-{index}"), "labels": {label::POD_GROUP_NAME: "test-group"},
            "annotations": {annotation::ROLE_HASH: role, annotation::POD_GROUP_TOTAL_COUNT: roles.to_string()}});
        pod(&json!({"metadata": meta})).map(Arc::new)
    });
    let pods = pods.collect::<Result<Vec<_>, Failure>>()?;
    let group = Group { name: "test-group", pods, now: case.now()?, is_settled: true };
    let pod_sets = group.pod_sets(&group.pods, case.gates()?);
    let refused = pod_sets.and_then(|pod_sets| check_roles(&pod_sets)).err().map(|error| error.to_string());
    equal(&case.get::<String>("wantErr")?, &refused)
}

pub(super) fn role_hash(case: &Case) -> Result<(), Failure> {
    let pods = case.raw("pods").as_array().into_iter().flatten();
    let mut roles = pods.map(|value| Ok(pod(value)?.role())).collect::<Result<Vec<String>, Failure>>()?;
    roles.dedup();
    equal(&case.arg::<bool>("wantEqualHash")?, &(roles.len() == 1))
}

pub(super) fn index_of_group(case: &Case) -> Result<(), Failure> {
    let keys: Vec<String> = match case.raw("object.kind").as_str() {
        Some("Pod") => match Request::of(&pod(case.raw("object"))?, case.gates()?) {
            Request::Group(key) => vec![key.name.to_string()],
            Request::Pod(_) => Vec::new(),
        },
        _ => Vec::new(),
    };
    equal(&case.arg("wantKeys")?, &keys)
}

pub(super) fn is_owner_managed(case: &Case) -> Result<(), Failure> {
    let owner: OwnerReference = case.arg("ownerReference")?;
    let integrations = Integrations::configured(["batch/job", "ray.io/raycluster"], []);
    equal(&case.arg::<bool>("wantRes")?, &integrations.manages(&owner))
}

pub(super) fn pod_sets(case: &Case) -> Result<(), Failure> {
    let got = pod(case.raw("pod"))?.pod_sets(case.gates()?).map_err(|error| Failure(error.to_string()))?;
    let wanted = case.expected("tc.wantPodSets(tc.pod)").cloned().unwrap_or_default();
    let wanted: Vec<PodSet> = decode("wantPodSets", &wanted)?.unwrap_or_default();
    Rules::equate_empty().same(&json!(wanted), &json!(got))
}

pub(super) fn is_active(case: &Case) -> Result<(), Failure> {
    let (now, gates) = (case.now()?, case.gates()?);
    let is_active = listed(case.raw("fields"))?.iter().any(|pod| pod.is_running(now, gates));
    equal(&case.arg::<bool>("want")?, &is_active)
}

pub(super) fn pods_ready(case: &Case) -> Result<(), Failure> {
    let value = case.raw("pod");
    let are_ready = match value["isGroup"] == true {
        true => group(case, value)?.pods_ready(&listed(value)?),
        false => pod(value)?.pods_ready(),
    };
    equal(&case.arg::<bool>("want")?, &are_ready)
}

pub(super) fn run(case: &Case) -> Result<(), Failure> {
    let mut first = pod(&case.raw("pods")[0])?;
    let failure = first.run(&infos(case, "runInfo")?, case.gates()?).err().map(|error| error.to_string());
    let wanted = case.raw("wantErr.error").as_str().unwrap_or_default();
    equal(&true, &failure.is_some_and(|failure| failure.starts_with(wanted)))
}

pub(super) fn stop(case: &Case) -> Result<(), Failure> {
    let stopped = pod(case.raw("pod"))?;
    let why = Stop {
        reason: StopReason::WorkloadEvicted(String::new()),
        message: case.raw("eventMsg").as_str().unwrap_or_default(),
    };
    let ends = !stopped.stop(&why, None).is_empty();
    equal(&case.arg::<bool>("wantPatched")?, &ends)?;
    // Who is gone when it is to be told that it ends needs not be deleted.
    equal(&case.arg::<bool>("wantDeleted")?, &(ends && !case.arg::<bool>("deleteBeforePatch")?))?;
    equal(&case.arg::<Vec<Value>>("wantStopped")?.len(), &usize::from(ends))
}

pub(super) fn requests_after_deletion(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("workload")?;
    let requests = Request::of_workload(&workload, true, case.gates()?);
    let got: Vec<Value> = requests
        .iter()
        .map(|request| match request {
            Request::Pod(key) => json!({"Namespace": *key.namespace, "Name": *key.name}),
            Request::Group(key) => json!({"Namespace": format!("group/{}", key.namespace), "Name": *key.name}),
        })
        .collect();
    let wanted = case.raw("wantRequests").as_array().cloned().unwrap_or_default();
    let wanted: Vec<Value> = wanted.iter().map(|request| request["NamespacedName"].clone()).collect();
    Rules::default().same(&json!(wanted), &json!(got))
}
