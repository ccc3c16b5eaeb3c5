//! By what objects are found. An informer here keeps one kind, so an object of another kind never gets to its index.

use kueue_api::core_v1::{LimitRange, Pod};
use kueue_api::kueue::v1beta2::{LocalQueue, Workload};
use kueue_api::limit_range::Summary;
use kueue_api::meta::Object;
use kueue_api::slices;
use kueue_controllers::local_queue::queue_values;
use kueue_controllers::priority_class::class_values;
use kueue_controllers::provisioning::check::check_values;
use kueue_engine::{Change, ConditionKind};
use kueue_jobs::reconciler::owner_values;
use kueue_translate::runtime_classes;
use serde_json::{Value, json};

use super::Runners;
use crate::cluster::Cluster;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners = &[
    ("TestIndexDeviceClassExtendedResourceName", other_kind),
    ("TestIndexLimitRangeHasContainerOrPodType", limit_range),
    ("TestIndexPodWorkloadSliceName", pod_slice),
    ("TestIndexQueueClusterQueue", |case| values::<LocalQueue>(case, queue_values)),
    ("TestIndexWorkloadAdmissionCheck", |case| values::<Workload>(case, check_values)),
    ("TestIndexWorkloadClusterQueue", cluster_queue),
    ("TestIndexWorkloadExtendedResources", other_kind),
    ("TestIndexWorkloadPriorityClass", |case| values::<Workload>(case, class_values)),
    ("TestIndexWorkloadQueue", local_queue),
    ("TestIndexWorkloadQuotaReserved", quota_reserved),
    ("TestIndexWorkloadRuntimeClass", |case| values::<Workload>(case, runtime_classes)),
    ("TestOwnerReferenceIndexKey", owner_kind),
    ("TestWorkloadOwnerIndexFunc", owner_name),
];

fn object<T: Object>(case: &Case) -> Result<Option<T>, Failure> {
    let object = case.raw("obj");
    if object["kind"] == T::KIND { decode("obj", object) } else { Ok(None) }
}

fn found(case: &Case, values: &[String]) -> Result<(), Failure> {
    equal(&case.arg::<Vec<String>>("want")?.as_slice(), &values)
}

fn values<T: Object>(case: &Case, values: fn(&T) -> Vec<String>) -> Result<(), Failure> {
    found(case, &object::<T>(case)?.map(|object| values(&object)).unwrap_or_default())
}

/// Rows about devices need what is not built; nothing else is found by them.
fn other_kind(case: &Case) -> Result<(), Failure> {
    found(case, &[])
}

/// Whether pods of the namespace have to be completed and judged.
fn limit_range(case: &Case) -> Result<(), Failure> {
    let concerns =
        |range: LimitRange| ["Container", "Pod"].iter().any(|kind| Summary::of([&range]).0.contains_key(*kind));
    let is_concerned = object(case)?.is_some_and(concerns);
    found(case, &is_concerned.then(|| "true".to_owned()).into_iter().collect::<Vec<_>>())
}

/// What the engine is told about a Workload.
fn told(case: &Case) -> Result<Option<Box<kueue_engine::WorkloadSpec>>, Failure> {
    let Some(workload) = object::<Workload>(case)? else { return Ok(None) };
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.add(case.raw("obj"))?;
    let key = format!("{}/{}", workload.metadata.namespace, workload.metadata.name);
    match cluster.change_of(&key) {
        Change::Workload(spec) => Ok(Some(spec)),
        other => Err(Failure(format!("not a workload: {other:?}"))),
    }
}

fn local_queue(case: &Case) -> Result<(), Failure> {
    let queue = told(case)?.map(|spec| spec.local_queue.to_string());
    found(case, &queue.into_iter().collect::<Vec<_>>())
}

fn cluster_queue(case: &Case) -> Result<(), Failure> {
    let queue = told(case)?.and_then(|spec| Some(spec.status.admission.as_ref()?.queue.to_string()));
    found(case, &queue.into_iter().collect::<Vec<_>>())
}

/// Who holds quota; everybody else does not.
fn quota_reserved(case: &Case) -> Result<(), Failure> {
    let holds =
        told(case)?.map(|spec| if spec.status.is_true(ConditionKind::QuotaReserved) { "True" } else { "False" });
    found(case, &holds.into_iter().map(str::to_owned).collect::<Vec<_>>())
}

/// The Workload that a pod belongs to: the first of its slices.
fn pod_slice(case: &Case) -> Result<(), Failure> {
    values::<Pod>(case, |pod| slices::of_pod(&pod.metadata).into_iter().map(str::to_owned).collect())
}

/// The part of an owner's value that tells its kind.
fn owner_kind(case: &Case) -> Result<(), Failure> {
    let text = |field: &str| case.raw("gvk")[field].as_str().unwrap_or_default().to_owned();
    let (group, kind) = (text("Group"), text("Kind"));
    let version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    let owner = json!({"apiVersion": version, "kind": kind, "name": "n", "uid": ""});
    let workload = json!({"metadata": {"name": "w", "namespace": "ns", "ownerReferences": [owner]}, "spec": {}});
    let values = owner_values(&decode("workload", &workload)?.unwrap_or_default());
    let shown = values.iter().map(|value| value.split('/').next().unwrap_or_default().to_owned());
    // Kueue has an index per kind, named so; ours has the kind in each value.
    let wanted: String = case.arg("want")?;
    let wanted = wanted.trim_start_matches(".metadata.ownerReferences[").trim_end_matches(']');
    let (group, kind) = wanted.rsplit_once('.').unwrap_or_default();
    equal(&vec![format!("{kind}.{group}")], &shown.collect::<Vec<_>>())
}

/// The jobs whose Workload it is.
fn owner_name(case: &Case) -> Result<(), Failure> {
    let values = object::<Workload>(case)?.map(|workload| owner_values(&workload)).unwrap_or_default();
    let jobs =
        values.iter().filter_map(|value| value.strip_prefix("Job.batch/ns/")).map(Value::from).collect::<Vec<_>>();
    Rules::equate_empty().same(case.raw("want"), &json!(jobs))
}
