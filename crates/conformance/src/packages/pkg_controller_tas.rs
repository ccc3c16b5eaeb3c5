//! `pkg/controller/tas`: pods that are sent to their places, nodes that fail under them, and room that others take.

use kueue_api::core_v1::Pod;
use kueue_api::kueue::topology_assignment::assigned_nodes;
use kueue_api::kueue::v1beta2::Workload;
use kueue_controllers::topology::pods::{AtWork, asks_for_place, is_news, is_over, slice_values, takes_room};
use kueue_controllers::topology::stranded::waiting_pods;
use kueue_controllers::topology::ungater::{BadOffset, Start, opened, pods_to_start, started};
use kueue_core::duration::Duration;
use kueue_engine::{Change, Key, Name};
use kueue_jobs::opened::Opened;
use serde_json::{Value, json};

use super::Runners;
use super::pkg_cache_scheduler::nodes;
use crate::cluster::{Cluster, read};
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[
    ("TestBelongsToNonTASCache", room),
    ("TestGetWorkloadStatus", health),
    ("TestIsTAS", request),
    ("TestNodeFailureReconciler", failing_nodes),
    ("TestNodeHandler_Update", nodes::node_matters),
    ("TestPodUsageReconcilerCreate", came),
    ("TestPodUsageReconcilerDelete", went),
    ("TestPodUsageReconcilerUpdatePredicate", changed),
    ("TestReconcile", ungated),
    ("TestRecordPodSchedulingGateRemovalSeconds", removal_seconds),
];

fn room(case: &Case) -> Result<(), Failure> {
    let pod: Option<Pod> = case.get("pod")?;
    equal(&case.arg("want")?, &pod.as_ref().is_some_and(takes_room))
}

fn request(case: &Case) -> Result<(), Failure> {
    equal(&case.arg("want")?, &asks_for_place(&case.arg::<Pod>("pod")?))
}

fn came(case: &Case) -> Result<(), Failure> {
    equal(&case.arg("want")?, &is_news(None, Some(&case.arg("pod")?)))
}

fn went(case: &Case) -> Result<(), Failure> {
    equal(&case.arg("want")?, &is_news(Some(&case.arg("pod")?), None))
}

fn changed(case: &Case) -> Result<(), Failure> {
    equal(&case.arg("want")?, &is_news(Some(&case.arg("oldPod")?), Some(&case.arg("newPod")?)))
}

/// The pods of the Workload that may go now.
fn starts<'p>(workload: &Workload, all: &'p [Pod]) -> Result<Vec<Start<'p>>, BadOffset> {
    let chain = format!("{}/{}", workload.metadata.namespace, workload.metadata.name);
    let of_workload: Vec<&Pod> = all.iter().filter(|pod| slice_values(pod).contains(&chain)).collect();
    pods_to_start(workload, &of_workload)
}

/// What all pods are when some were let go.
fn after(all: &[Pod], starts: &[Start<'_>]) -> Vec<Pod> {
    let start_of = |pod: &Pod| starts.iter().find(|start| start.pod.metadata.name == pod.metadata.name);
    all.iter().map(|pod| start_of(pod).map_or_else(|| pod.clone(), started)).collect()
}

fn removal_seconds(case: &Case) -> Result<(), Failure> {
    let workload: Workload = read(&case.raw("workloads")[0])?;
    let all: Vec<Pod> = read(case.raw("pods"))?;
    let starts = starts(&workload, &all).map_err(|bad| Failure(bad.to_string()))?;
    let (gates, now) = (case.gates()?, case.now()?);
    let told: Vec<Opened<'_>> = starts.iter().filter_map(|start| opened(start, &workload, gates, now)).collect();
    // The metric is asked for by what the row says of groups, and by the ClusterQueue.
    let (is_group, queue) = (case.raw("isGroup") == true, case.scope("cqName"));
    let told: Vec<f64> = told
        .iter()
        .filter(|opened| opened.is_group == is_group && queue == opened.queue)
        .map(|opened| opened.waited_s)
        .collect();
    Rules::equate_empty().same(case.raw("wantPods"), &json!(after(&all, &starts)))?;
    equal(&(case.arg("wantMetricsCount")?, case.arg("wantMetricsSeconds")?), &(told.len(), told.iter().sum::<f64>()))
}

fn ungated(case: &Case) -> Result<(), Failure> {
    let workload: Workload = read(&case.raw("workloads")[0])?;
    let all: Vec<Pod> = read(case.raw("pods"))?;
    let starts = starts(&workload, &all);
    // An error that only means "look again" has no counterpart; what becomes of the pods counts.
    let is_bad = case.raw("wantErr")["error"].as_str().is_some_and(|error| error.starts_with("failed to parse"));
    equal(&is_bad, &starts.is_err())?;
    let starts = starts.unwrap_or_default();
    let after = after(&all, &starts);
    let is_exact = case.raw("nodeSelectorAssertMode") == case.scope("nodeSelectorAssertExact");
    let shown = |pods: &[Pod]| {
        let pod = |pod: &Pod| {
            let selector = if is_exact { json!(pod.spec.node_selector) } else { Value::Null };
            (pod.metadata.name.clone(), json!({"gates": pod.spec.scheduling_gates, "selector": selector}))
        };
        Value::Object(pods.iter().map(pod).collect())
    };
    Rules::equate_empty().same(&shown(&read::<Vec<Pod>>(case.raw("wantPods"))?), &shown(&after))?;
    let mut counts = serde_json::Map::new();
    for pod in after.iter().filter(|pod| !pod.spec.node_selector.is_empty() && !is_over(pod)) {
        let count = counts.entry(json!(pod.spec.node_selector).to_string()).or_insert(json!(0));
        *count = json!(count.as_i64().unwrap_or_default() + 1);
    }
    let wanted = case.raw("wantCounts").as_array().into_iter().flatten();
    let wanted = wanted.map(|count| (count["NodeSelector"].to_string(), count["Count"].clone())).collect();
    Rules::equate_empty().same(&Value::Object(wanted), &Value::Object(counts))
}

/// The objects of a case in an engine, with the pods as the manager tells of them.
fn cluster(case: &Case, objects: &[&Value]) -> Result<(Cluster, Vec<Pod>), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.add(case.scope("baseResourceFlavor"))?;
    let quota = json!([{"coveredResources": ["cpu"], "flavors": [
        {"name": "unit-test-flavor", "resources": [{"name": "cpu", "nominalQuota": "10"}]}]}]);
    cluster.add(&json!([
        {"kind": "ResourceFlavor", "metadata": {"name": "unit-test-flavor"}, "spec": {}},
        {"kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": {"resourceGroups": quota}},
    ]))?;
    let mut at_work = AtWork::default();
    let mut pods = Vec::new();
    for object in objects {
        if object["kind"] == "Pod" {
            let pod: Pod = read(object)?;
            for change in at_work.changes(None, Some(&pod)) {
                cluster.engine.apply(change, cluster.now);
            }
            pods.push(pod);
        } else {
            cluster.add(object)?;
        }
    }
    Ok((cluster, pods))
}

/// The pods that are ended on a node.
fn stranded(cluster: &Cluster, pods: &[Pod], node: &Name) -> Vec<String> {
    let on_node = pods
        .iter()
        .filter(|pod| pod.spec.node_selector.get("kubernetes.io/hostname").is_some_and(|host| **host == **node));
    let is_stranded = |workload: kueue_runtime::key::Key| {
        let workload = Key { namespace: workload.namespace, name: workload.name };
        cluster.engine.strands_pods(&workload, node)
    };
    let waiting = waiting_pods(on_node).into_iter();
    waiting.filter(|(_, key)| is_stranded(key.clone())).map(|(pod, _)| pod.metadata.name.clone()).collect()
}

fn failing_nodes(case: &Case) -> Result<(), Failure> {
    let objects: Vec<&Value> = case.raw("initObjs").as_array().into_iter().flatten().collect();
    let (mut cluster, pods) = cluster(case, &objects)?;
    let requests = case.raw("reconcileRequests").as_array().into_iter().flatten();
    let nodes: Vec<Name> =
        requests.filter_map(|request| request["NamespacedName"]["Name"].as_str()).map(Name::from).collect();
    let is_told =
        |node: &str| objects.iter().any(|object| object["kind"] == "Node" && object["metadata"]["name"] == node);
    // A row tells of the nodes that it asks about. The others that pods have are there: Kueue is not asked about them.
    let placed = &cluster.workloads["default/test-workload"].status;
    for node in assigned_nodes(placed).map_err(|error| Failure(error.to_string()))? {
        if !is_told(&node) && !nodes.iter().any(|asked| **asked == *node) {
            let ready = json!([{"type": "Ready", "status": "True"}]);
            cluster.add(&json!({"kind": "Node", "metadata": {"name": node}, "status": {"conditions": ready}}))?;
        }
    }
    for node in &nodes {
        if !is_told(node) {
            cluster.add(&json!({"kind": "Node", "metadata": {"name": node}}))?;
            cluster.engine.apply(Change::NodeGone(node.clone()), cluster.now);
        }
    }
    let effects = cluster.engine.settle(cluster.now);
    cluster.perform(&effects);
    let workload = &cluster.workloads["default/test-workload"];
    if case.raw("ignoreUnhealthyNodes") != true {
        Rules::equate_empty().same(case.raw("wantUnhealthyNodes"), &json!(workload.status.unhealthy_nodes))?;
    }
    if case.raw("wantRequeue").is_string() {
        // The only time that is waited for: how long a node may be away.
        equal(&Some(cluster.now + Duration::from_seconds(30)), &cluster.engine.next_timer())?;
    }
    let evicted = workload.status.conditions.iter().find(|condition| condition.r#type == "Evicted");
    Rules::equate_empty().ignoring(&["lastTransitionTime"]).same(case.raw("wantEvictedCond"), &json!(evicted))?;
    if case.has("wantPatchedPods") {
        let ended: Vec<String> = nodes.iter().flat_map(|node| stranded(&cluster, &pods, node)).collect();
        Rules::equate_empty().same(case.raw("wantPatchedPods"), &json!(ended))?;
    }
    Ok(())
}

/// Kueue asks after the time that a node may be away; so do we.
fn health(case: &Case) -> Result<(), Failure> {
    let mut objects: Vec<&Value> = case.raw("initObjs").as_array().into_iter().flatten().collect();
    objects.push(case.raw("node"));
    let (mut cluster, pods) = cluster(case, &objects)?;
    cluster.now = cluster.now + Duration::from_seconds(60);
    let effects = cluster.engine.settle(cluster.now);
    cluster.perform(&effects);
    let node: Name = case.arg::<String>("nodeName")?.as_str().into();
    let workload = cluster.workloads.get("default/test-workload");
    let is_failed =
        workload.is_some_and(|workload| workload.status.unhealthy_nodes.iter().any(|failed| *failed.name == *node));
    equal(&case.arg::<i64>("wantStatus")?, &i64::from(is_failed))?;
    Rules::equate_empty().same(case.raw("wantDeleted"), &json!(stranded(&cluster, &pods, &node)))
}
