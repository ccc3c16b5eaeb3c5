//! The small rules of the assigner, asked one by one.

use std::collections::BTreeMap;

use kueue_engine::{Fungibility, Grade, Outlook, WantedPodSet};
use serde_json::{Value, json};

use super::super::pkg_scheduler_preemption::wanted_pod_set;
use super::assignments::{list, old_slice};
use crate::cluster::{Cluster, key_of};
use crate::compare::equal;
use crate::corpus::{Case, Failure};

/// Which of two flavors is better.
pub(super) fn is_preferred(case: &Case) -> Result<(), Failure> {
    let fungibility = Fungibility {
        prefers_preemption: case.raw("config.preference") == "PreemptionOverBorrowing",
        ..Fungibility::default()
    };
    let preferred = grade(case.raw("a")).is_preferred_to(grade(case.raw("b")), fungibility);
    equal(&case.arg::<bool>("wantPreferred")?, &preferred)
}

fn grade(recorded: &Value) -> Grade {
    let outlooks = [Outlook::NoFit, Outlook::NoCandidates, Outlook::Preempt, Outlook::Reclaim, Outlook::Fit];
    let number = |field: &str| recorded[field].as_u64().unwrap_or_default();
    let outlook = usize::try_from(number("preemptionMode")).ok().and_then(|index| outlooks.get(index).copied());
    Grade {
        outlook: outlook.unwrap_or(Outlook::NoFit),
        borrow: u32::try_from(number("borrowingLevel")).unwrap_or(u32::MAX),
    }
}

/// With how many pods a workload starts where the queue has room for so many.
pub(super) fn partial_search(case: &Case) -> Result<(), Failure> {
    let is_reducible =
        |pod_set: &Value| pod_set["minCount"].as_i64().is_some_and(|min| Some(min) < pod_set["count"].as_i64());
    if !list(case.raw("podSets")).any(is_reducible) {
        // It starts as a whole or not at all, so there is nothing to search.
        return equal(&case.arg::<bool>("wantFound")?, &false);
    }
    let mut cluster = Cluster::for_case(case, None)?;
    let quota = json!([{"name": "pods", "nominalQuota": case.arg::<i64>("countLimit")?.to_string()}]);
    let groups = json!([{"coveredResources": ["pods"], "flavors": [{"name": "f", "resources": quota}]}]);
    cluster.add(&json!([
        {"kind": "Namespace", "metadata": {"name": "ns"}},
        {"kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}},
        {"kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": {"namespaceSelector": {}, "resourceGroups": groups}},
        {"kind": "LocalQueue", "metadata": {"name": "q", "namespace": "ns"}, "spec": {"clusterQueue": "q"}},
        {"kind": "Workload", "metadata": {"name": "w", "namespace": "ns"},
         "spec": {"queueName": "q", "podSets": case.raw("podSets")}},
    ]))?;
    let effects = cluster.engine.cycle(cluster.now);
    cluster.perform(&effects);
    let admission = cluster.workloads["ns/w"].status.admission.as_ref();
    let count =
        admission.map(|admission| admission.pod_set_assignments.iter().filter_map(|set| set.count).sum::<i32>());
    let wanted = (case.arg::<bool>("wantFound")?, case.arg::<i32>("wantCount")?);
    equal(&wanted, &(count.is_some(), count.unwrap_or_default()))
}

/// What a workload with given flavors needs, per flavor and resource.
pub(super) fn total_requests(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.add(&json!({"kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": {}}))?;
    let mut workload = case.raw("args.wl.Obj").clone();
    let old = case.raw("fields.replaceWorkloadSlice");
    if !old.is_null() {
        let namespace = workload["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        cluster.add(&old_slice(old, &namespace, "q"))?;
        workload["metadata"]["annotations"] =
            json!({"kueue.x-k8s.io/workload-slice-replacement-for": format!("{namespace}/old-slice")});
    }
    cluster.add(&workload)?;
    let mut wanted: Vec<WantedPodSet> = list(case.raw("fields.PodSets")).map(wanted_pod_set).collect();
    if !old.is_null() {
        // A slice is never started in part, so it always asks for all of its pods.
        for (pod_set, total) in wanted.iter_mut().zip(list(case.raw("args.wl.TotalRequests"))) {
            pod_set.count = total["Count"].as_i64().and_then(|count| i32::try_from(count).ok()).unwrap_or_default();
        }
    }
    let found = cluster.engine.demand(&key_of(&workload)?, "q", &wanted);
    let found: BTreeMap<String, i64> =
        found.iter().map(|(flavor, resource, amount)| (format!("{flavor}/{resource}"), amount.get())).collect();
    equal(&case.arg::<BTreeMap<String, i64>>("want")?, &found)
}
