//! `pkg/workloadslicing`: which Workloads an elastic job has, and which one a slice replaces.
//!
//! What Go does through a fake API server is done here to the objects of the case, as the plan says.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::kueue::names::{annotation, condition};
use kueue_api::kueue::v1beta2::{Admission, PodSet, Workload};
use kueue_api::meta::{Condition, ConditionStatus, ObjectMeta};
use kueue_api::slices::{self, Counts, Slice};
use kueue_core::time::Time;
use kueue_engine::{Key, Settings};
use kueue_translate::ResourceRules;
use serde_json::{Value, json};

use super::Runners;
use crate::cluster::{Cluster, read};
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners = &[
    ("TestEnabled", enabled),
    ("TestEnsureWorkloadSlices", ensure),
    ("TestFindLatestActiveWorkload", latest_active),
    ("TestFindNotFinishedWorkloads", not_finished),
    ("TestNormalizeActiveSlices", normalize),
    ("TestPreemptibleSliceKey", replacement_key),
    ("TestReplacedWorkloadSlice", replaced),
    ("TestScaledDown", scaled_down),
];

fn enabled(case: &Case) -> Result<(), Failure> {
    let meta: ObjectMeta = case.arg("args.object.metadata")?;
    equal(&case.arg::<bool>("want")?, &slices::is_elastic(&meta, case.gates()?))
}

fn replacement_key(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("args.wl")?;
    equal(&case.get::<String>("want")?, &slices::replacement_for(&workload).map(str::to_owned))
}

fn scaled_down(case: &Case) -> Result<(), Failure> {
    let old: BTreeMap<String, i32> = case.arg("args.oldCounts")?;
    let new: BTreeMap<String, i32> = case.arg("args.newCounts")?;
    equal(&case.arg::<bool>("want")?, &slices::is_scaled_down(&names(&old), &names(&new)))
}

fn names(counts: &BTreeMap<String, i32>) -> Counts<'_> {
    counts.iter().map(|(name, count)| (name.as_str(), *count)).collect()
}

fn not_finished(case: &Case) -> Result<(), Failure> {
    let rules = Rules::equate_empty();
    rules.same(&json!({"workloads": case.raw("want")}), &json!({"workloads": slices_of_job(case)?}))
}

fn latest_active(case: &Case) -> Result<(), Failure> {
    let slices = slices::unfinished(case.arg::<Vec<Workload>>("workloads")?);
    let name = slices::latest_active(&slices).map(|slice| slice.metadata.name.clone());
    equal(&case.arg::<String>("want")?, &name.unwrap_or_default())
}

/// The unfinished Workloads that belong to the job of the case.
fn slices_of_job(case: &Case) -> Result<Vec<Workload>, Failure> {
    let all: Vec<Workload> = case.arg("args.clnt.$fakeClient")?;
    let (kind, name) = (case.raw("args.jobObjectGVK.Kind"), case.raw("args.jobObject.metadata.name"));
    let is_of_job = |workload: &Workload| {
        let mut owners = workload.metadata.owner_references.iter();
        owners.any(|owner| *kind == owner.kind.as_str() && *name == owner.name.as_str())
    };
    Ok(slices::unfinished(all.into_iter().filter(is_of_job)))
}

fn ensure(case: &Case) -> Result<(), Failure> {
    let mut workloads = slices_of_job(case)?;
    let job: Vec<PodSet> = case.arg("args.jobPodSets")?;
    let plan = slices::plan(&job, &workloads);
    let writes = plan.finish.len() + usize::from(matches!(plan.slice, Slice::Resized(_)));
    if case.raw("want.error") == true {
        // An API server that refuses every write: whoever has nothing to write does not notice.
        return equal(&true, &(writes > 0));
    }
    let (slice, is_compatible) = match plan.slice {
        Slice::New => (None, true),
        Slice::Incompatible => (None, false),
        Slice::Current(index) => (Some(workloads.swap_remove(index)), true),
        Slice::Resized(index) => {
            let mut slice = workloads.swap_remove(index);
            slices::resize(&mut slice.spec.pod_sets, &slices::counts(&job));
            (Some(slice), true)
        }
    };
    equal(&case.arg::<bool>("want.compatible")?, &is_compatible)?;
    let wanted = case.expected("tt.want.workload").unwrap_or_else(|| case.raw("want.workload"));
    let rules = Rules::equate_empty().ignoring(&["resourceVersion"]);
    let wanted: Option<Workload> = decode("want.workload", wanted)?;
    rules.same(&json!({"workload": wanted}), &json!({"workload": slice}))
}

fn normalize(case: &Case) -> Result<(), Failure> {
    let workloads: Vec<Workload> = case.arg("workloads")?;
    let (finish, selected) = slices::normalize(&workloads);
    let name = |index: usize| workloads[index].metadata.name.clone();
    equal(&case.arg::<String>("want.survivor")?, &selected.map(name).unwrap_or_default())?;
    let kept = [case.arg::<String>("want.survivor")?, case.arg("want.keptAdmitted")?];
    let expected: Vec<String> = (0..workloads.len()).map(name).filter(|name| !kept.contains(name)).collect();
    let finished: Vec<String> = finish.iter().map(|over| name(over.workload)).collect();
    equal(&expected, &finished)
}

/// The queue and its Workloads come as the inside of a snapshot.
fn replaced(case: &Case) -> Result<(), Failure> {
    let now: Time = case.base_time.parse().map_err(|_| Failure("the base time is not a time".to_owned()))?;
    let settings = Settings { gates: case.gates()?, ..Settings::default() };
    let mut cluster = Cluster::new(settings, ResourceRules::default(), now);
    for (queue, snapshot) in queues(case) {
        let object = json!({"metadata": {"name": queue}, "spec": {"namespaceSelector": {}}});
        cluster.add_as("ClusterQueue", &object).map_err(failure)?;
        for info in snapshot["Workloads"].as_object().into_iter().flat_map(|all| all.values()) {
            let mut old: Workload = read(&info["Obj"]).map_err(failure)?;
            hold_quota(&mut old, queue);
            submit(&mut cluster, old, queue)?;
        }
    }
    let Some(mut new) = case.get::<Workload>("args.wl.Obj")? else {
        // Go's nil: there is nobody to ask about.
        return Ok(());
    };
    name_in_full(&mut new, case);
    new.status.admission = None;
    let key = submit(&mut cluster, new, &case.arg::<String>("args.wl.ClusterQueue")?)?;
    let wanted = case.expected("tt.want.wl").unwrap_or_else(|| case.raw("want.wl"));
    let wanted = wanted["Obj"]["metadata"]["name"].as_str();
    equal(&wanted, &cluster.engine.replaces(&key).map(|old| &*old.name))
}

fn queues(case: &Case) -> impl Iterator<Item = (&String, &Value)> {
    case.raw("args.snap.Manager.clusterQueues").as_object().into_iter().flatten()
}

/// In the snapshot some Workloads are known by their bare name; everywhere else the namespace is part of the key.
fn name_in_full(new: &mut Workload, case: &Case) {
    let Some(text) = new.metadata.annotations.get_mut(annotation::WORKLOAD_SLICE_REPLACEMENT_FOR) else { return };
    let known = queues(case).map(|(_, queue)| &queue["Workloads"][text.as_str()]["Obj"]["metadata"]);
    if let Some(meta) = known.into_iter().find(|meta| !meta.is_null()) {
        let part = |key: &str| meta[key].as_str().unwrap_or_default();
        *text = format!("{}/{}", part("namespace"), part("name"));
    }
}

fn hold_quota(workload: &mut Workload, queue: &str) {
    workload.status.admission = Some(Arc::new(Admission { cluster_queue: queue.to_owned(), ..Admission::default() }));
    workload.status.conditions.push(Condition {
        r#type: condition::QUOTA_RESERVED.to_owned(),
        status: ConditionStatus::True,
        ..Condition::default()
    });
}

/// Submits a Workload to a LocalQueue with the name of its ClusterQueue.
fn submit(cluster: &mut Cluster, mut workload: Workload, queue: &str) -> Result<Key, Failure> {
    queue.clone_into(&mut workload.spec.queue_name);
    let (namespace, name) = (workload.metadata.namespace.as_str(), workload.metadata.name.as_str());
    let local = json!({"metadata": {"namespace": namespace, "name": queue}, "spec": {"clusterQueue": queue}});
    cluster.add_as("LocalQueue", &local).map_err(failure)?;
    cluster.add_as("Workload", &json!(workload)).map_err(failure)?;
    Ok(Key { namespace: namespace.into(), name: name.into() })
}

fn failure(error: impl std::fmt::Display) -> Failure {
    Failure(format!("{error:#}"))
}
