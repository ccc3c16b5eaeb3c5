//! Where pods go, asked of the nodes of one flavor.

use kueue_api::kueue::v1beta2::Workload;
use kueue_core::gates::Gate;
use kueue_engine::{Change, DomainShare, Name, PlaceQuestion, PodSetSpec, TopologyAssignment};
use serde_json::{Value, json};

use crate::cluster::{Cluster, read};
use crate::compare::Rules;
use crate::corpus::{Case, Failure};

const FLAVOR: &str = "flavor";

/// A flavor over the nodes of the case.
fn cluster(case: &Case, levels: &Value) -> Result<Cluster, Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    let levels: Vec<Value> = levels.as_array().into_iter().flatten().map(|level| json!({"nodeLabel": level})).collect();
    let labels = case.raw("nodeLabels");
    let labels = if labels.is_null() { json!({}) } else { labels.clone() };
    cluster.add(&json!([
        {"kind": "Topology", "metadata": {"name": "default"}, "spec": {"levels": levels}},
        {"kind": "ResourceFlavor", "metadata": {"name": FLAVOR},
         "spec": {"nodeLabels": labels, "topologyName": "default"}},
        {"kind": "ResourceFlavor", "metadata": {"name": "sibling"}, "spec": {"topologyName": "default"}},
        {"kind": "ClusterQueue", "metadata": {"name": "siblings"}, "spec": {}},
    ]))?;
    cluster.add(case.raw("nodes"))?;
    cluster.add(case.raw("pods"))?;
    Ok(cluster)
}

pub(super) fn of_flavor(case: &Case) -> Result<(), Failure> {
    let mut cluster = cluster(case, case.raw("levels"))?;
    use_by_sibling(&mut cluster, case.raw("priorFlavorUsage"))?;
    let mut question = PlaceQuestion::default();
    let rows: Vec<&Value> = case.raw("podSets").as_array().into_iter().flatten().collect();
    for row in &rows {
        question.pod_sets.push(pod_set(&mut cluster, row)?);
        question.previous.push(assignment_of(&row["previousAssignment"])?);
    }
    if case.has("workload") {
        let workload: Workload = read(case.raw("workload"))?;
        question.failed_node = workload.status.unhealthy_nodes.first().map(|node| node.name.as_str().into());
        question.is_pinned = case.gates()?.enabled(Gate::SkipReassignmentForPodOwnedWorkloads)
            && workload.metadata.owner_references.len() == 1
            && workload.metadata.owner_references[0].kind == "Pod";
        let assigned = workload.status.admission.iter().flat_map(|admission| &admission.pod_set_assignments);
        let assigned: Vec<_> = assigned.collect();
        for spec in &question.pod_sets {
            let found = assigned.iter().find(|assigned| *assigned.name == *spec.name);
            let compact = found.and_then(|assigned| assigned.topology_assignment.as_ref());
            question.current.push(assignment_of(&json!(compact))?);
        }
    }
    let answers = cluster.engine.places(&FLAVOR.into(), &question);
    for (row, answer) in rows.iter().zip(answers) {
        let group = &row["podSetGroupName"];
        let wanted = json!({"assignment": row["wantAssignment"], "reason": row["wantReason"]});
        let actual = match answer {
            Some(Ok(place)) => json!({"assignment": shown(&place)}),
            Some(Err(reason)) => json!({"reason": reason}),
            // The reason was told of another member of its group.
            None if !group.is_null() => continue,
            None => json!({}),
        };
        Rules::equate_empty().ignoring(&["$type"]).same(&wanted, &actual)?;
    }
    Ok(())
}

/// One pod set whose pods of a failed node need other places.
pub(super) fn replacement(case: &Case) -> Result<(), Failure> {
    let levels = if case.has("levels") { case.raw("levels") } else { case.scope("defaultLevels") };
    let mut cluster = cluster(case, levels)?;
    use_by_sibling(&mut cluster, case.raw("priorFlavorUsage"))?;
    let row = json!({
        "podSetName": "main", "count": case.raw("count"), "requests": {"cpu": 1000},
        "topologyRequest": case.raw("topologyRequest"),
    });
    let question = PlaceQuestion {
        pod_sets: vec![pod_set(&mut cluster, &row)?],
        current: vec![assignment_of(case.raw("existingTA"))?],
        failed_node: case.raw("unhealthyNode").as_str().map(Name::from),
        ..PlaceQuestion::default()
    };
    let actual = match cluster.engine.places(&FLAVOR.into(), &question).into_iter().next().flatten() {
        Some(Ok(place)) => json!({"assignment": shown(&place)}),
        Some(Err(reason)) => json!({"reason": reason}),
        None => json!({}),
    };
    let wanted = json!({"assignment": case.raw("wantAssignment"), "reason": case.raw("wantReason")});
    Rules::equate_empty().ignoring(&["$type"]).same(&wanted, &actual)
}

/// What somebody with another flavor over the same nodes uses.
fn use_by_sibling(cluster: &mut Cluster, usage: &Value) -> Result<(), Failure> {
    for (index, used) in usage.as_array().into_iter().flatten().enumerate() {
        let cpu = used["SinglePodRequests"]["cpu"].as_i64().unwrap_or_default();
        let host = &used["Values"][0];
        let count = &used["Count"];
        cluster.add(&json!({
            "kind": "Workload",
            "metadata": {"name": format!("sibling-{index}"), "namespace": "default"},
            "spec": {"podSets": [{"name": "main", "count": count, "template": {"spec": {"containers": [
                {"name": "c", "resources": {"requests": {"cpu": format!("{cpu}m")}}}]}}}]},
            "status": {
                "admission": {"clusterQueue": "siblings", "podSetAssignments": [{
                    "name": "main", "count": count, "flavors": {"cpu": "sibling"}, "resourceUsage": {"cpu": "0"},
                    "topologyAssignment": {"levels": ["kubernetes.io/hostname"], "slices": [
                        {"domainCount": 1, "podCounts": {"universal": count},
                         "valuesPerLevel": [{"universal": host}]}]}}]},
                "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "",
                                "lastTransitionTime": cluster.now}],
            },
        }))?;
    }
    Ok(())
}

pub(super) fn pod_set(cluster: &mut Cluster, row: &Value) -> Result<PodSetSpec, Failure> {
    let mut request = row["topologyRequest"].clone();
    if !row["podSetGroupName"].is_null() {
        request["podSetGroupName"] = row["podSetGroupName"].clone();
    }
    let object = json!({
        "name": row["podSetName"].as_str().unwrap_or_default(),
        "count": row["count"],
        "topologyRequest": request,
        "template": {"spec": {
            "containers": [],
            "tolerations": row["tolerations"],
            "nodeSelector": row["nodeSelector"],
            "affinity": {"nodeAffinity": row["nodeAffinity"]},
        }},
    });
    let asking = json!({"metadata": {"name": "asking", "namespace": "default"}, "spec": {"podSets": [object]}});
    cluster.workloads.insert("default/asking".to_owned(), read(&asking)?);
    let Change::Workload(mut spec) = cluster.change_of("default/asking") else {
        return Err(Failure("a Workload is told as one".to_owned()));
    };
    let mut spec = spec.pod_sets.remove(0);
    let requests = row["requests"].as_object().into_iter().flatten();
    spec.requests =
        requests.map(|(name, amount)| (name.as_str().into(), amount.as_i64().unwrap_or_default())).collect();
    spec.room = None;
    Ok(spec)
}

fn assignment_of(compact: &Value) -> Result<Option<TopologyAssignment>, Failure> {
    if compact.is_null() {
        return Ok(None);
    }
    Ok(kueue_translate::topology_to_engine(&read(compact)?).ok())
}

pub(super) fn shown(place: &TopologyAssignment) -> Value {
    let domain = |share: &DomainShare| {
        let values: Vec<&Name> = share.values.iter().collect();
        json!({"Values": values, "Count": share.count})
    };
    let domains: Vec<Value> = place.domains.iter().map(domain).collect();
    json!({"Levels": &*place.levels, "Domains": domains})
}
