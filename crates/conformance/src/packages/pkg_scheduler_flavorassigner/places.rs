//! The assigner where pods are placed as well.

use std::collections::BTreeMap;

use kueue_engine::{Change, DomainShare, Name, Oracle, Outlook, TopologyAssignment, WantedPodSet};
use serde_json::{Map, Value, json};

use super::super::pkg_scheduler_preemption::wanted_pod_set;
use super::assignments::{assign, list, outlook};
use crate::cluster::{Cluster, key_of, read};
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};

const HOSTNAME: &str = "kubernetes.io/hostname";

/// The flavors of each pod set, and which of them can have no place.
pub(super) fn of_groups(case: &Case) -> Result<(), Failure> {
    let view = assign(case)?;
    let chosen = view.pod_sets.iter().map(|pod_set| {
        let flavors = pod_set.flavors.iter().map(|chosen| {
            let shown =
                json!({"Name": &*chosen.flavor, "Mode": format!("{:?}", chosen.mode), "TriedFlavorIdx": chosen.tried});
            (chosen.resource.to_string(), shown)
        });
        (pod_set.name.to_string(), Value::Object(flavors.collect()))
    });
    let chosen: Map<String, Value> = chosen.collect();
    Rules::equate_empty().ignoring(&["$type"]).same(case.raw("wantPodSetFlavors"), &Value::Object(chosen))?;
    for pod_set in &view.pod_sets {
        let error = case.raw("wantPodSetErrors")[&*pod_set.name]["error"].as_str();
        equal(&(&pod_set.name, error), &(&pod_set.name, pod_set.error.as_deref()))?;
    }
    Ok(())
}

/// Where the scan of flavors stopped.
pub(super) fn bookmark(case: &Case) -> Result<(), Failure> {
    let view = assign(case)?;
    equal(&case.arg::<String>("wantMode")?, &format!("{:?}", view.mode))?;
    let tried = view.pod_sets.iter().flat_map(|pod_set| &pod_set.flavors).map(|chosen| chosen.tried).next();
    equal(&Some(case.arg::<i32>("wantTriedFlavorIdx")?), &tried)
}

/// The same after somebody else took the quota that was free at the first look.
pub(super) fn bookmark_again(case: &Case) -> Result<(), Failure> {
    let calls: Vec<Value> = list(&case.trace).cloned().collect();
    let is_quota = |call: &Value| call["args"][1]["Quota"].is_object();
    let (late, early): (Vec<Value>, Vec<Value>) = calls.into_iter().partition(is_quota);
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.replay(&json!(early))?;
    let workload = &case.local("wlInfo")["Obj"];
    cluster.add(workload)?;
    let key = key_of(workload)?;
    let first = cluster.engine.would_assign(&key, "cq", Oracle::Told(&|_, _| (Outlook::Preempt, 0)));
    let first = first.ok_or_else(|| Failure("the engine does not know the workload".to_owned()))?;
    cluster.replay(&json!(late))?;
    let answers: BTreeMap<String, Value> = case.arg("simulationResult")?;
    let answer = |flavor: &str, resource: &str| match answers.get(&format!("{flavor}/{resource}")) {
        Some(told) => (outlook(&told["preemptionPossiblity"]), 0),
        None => (Outlook::Preempt, 0),
    };
    let again = cluster.engine.would_assign_again(&key, "cq", Oracle::Told(&answer), &first);
    let mut chosen = again.iter().flat_map(|view| &view.pod_sets).flat_map(|pod_set| &pod_set.flavors);
    equal(&Some(case.arg::<i32>("wantRecomputedIdx")?), &chosen.next().map(|chosen| chosen.tried))
}

/// What a placed workload uses beyond what it was admitted with, by flavor and domain.
pub(super) fn net_usage(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    let mut workload = case.raw("wl.Obj").clone();
    workload["metadata"] = json!({"name": "asking", "namespace": "default"});
    cluster.add(&json!({"kind": "Namespace", "metadata": {"name": "default"}}))?;
    cluster.workloads.insert("default/asking".to_owned(), read(&workload)?);
    let Change::Workload(spec) = cluster.change_of("default/asking") else {
        return Err(Failure("a Workload is told as one".to_owned()));
    };
    let with_topology = case.raw("cq")["TASFlavors"].as_object().cloned().unwrap_or_default();
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for assigned in list(&case.raw("assignment")["PodSets"]) {
        let placed = plain(&assigned["TopologyAssignment"]);
        let held = list(&case.raw("prevAdmission")["podSetAssignments"]).find(|held| held["name"] == assigned["Name"]);
        let held = held.map(|held| read(&held["topologyAssignment"])).transpose()?;
        let held = held.and_then(|held| kueue_translate::topology_to_engine(&held).ok());
        let more = held.map_or_else(|| placed.clone(), |held| placed.beyond(&held));
        let pod_set =
            spec.pod_sets.iter().find(|pod_set| *pod_set.name == *assigned["Name"].as_str().unwrap_or_default());
        let needs = pod_set.map(|pod_set| pod_set.room.as_ref().unwrap_or(&pod_set.requests).clone());
        let needs: Map<String, Value> =
            needs.into_iter().flatten().map(|(name, amount)| (name.to_string(), json!(amount))).collect();
        let flavors = assigned["Flavors"].as_object().into_iter().flat_map(Map::values);
        let flavor =
            flavors.filter_map(|chosen| chosen["Name"].as_str()).find(|name| with_topology.contains_key(*name));
        for share in more.domains {
            let values: Vec<&Name> = share.values.iter().collect();
            let usage = json!({"Count": share.count, "SinglePodRequests": needs, "Values": values});
            found.entry(flavor.unwrap_or_default().to_owned()).or_default().push(usage);
        }
    }
    Rules::equate_empty().ignoring(&["$type"]).same(case.raw("want"), &json!(found))
}

fn plain(assignment: &Value) -> TopologyAssignment {
    let names = |value: &Value| list(value).filter_map(Value::as_str).map(Name::from).collect::<Vec<_>>();
    let count = |domain: &Value| domain["Count"].as_i64().and_then(|count| i32::try_from(count).ok()).unwrap_or(0);
    let share = |domain: &Value| DomainShare { values: names(&domain["Values"]).into(), count: count(domain) };
    TopologyAssignment {
        levels: names(&assignment["Levels"]).into(),
        domains: list(&assignment["Domains"]).map(share).collect(),
    }
}

/// Which pod sets are placed where the flavors are given, or why they cannot be.
pub(super) fn wanted(case: &Case) -> Result<(), Failure> {
    let (mut workload, pod_sets) = if case.has("workload") {
        (case.raw("workload.Obj").clone(), case.raw("assignment.PodSets"))
    } else {
        (case.local("wl")["Obj"].clone(), case.raw("podSets"))
    };
    workload["metadata"]["name"] = json!("asking");
    workload["metadata"]["namespace"] = json!("default");
    let mut cluster = Cluster::for_case(case, None)?;
    let trees = case.raw("cq.TASFlavors").as_object().cloned();
    // The test of finished pod sets builds its queue in code: with the one flavor that is assigned.
    let trees = trees.unwrap_or_else(|| Map::from_iter([("tas".to_owned(), json!({}))]));
    let mut flavors: Vec<String> = trees.keys().cloned().collect();
    // One that the queue has and Kueue has no nodes of; it is not the only one.
    if trees.values().any(Value::is_null) {
        flavors.push("another".to_owned());
    }
    for flavor in list(pod_sets).flat_map(|set| set["Flavors"].as_object().into_iter().flat_map(Map::values)) {
        let name = flavor["Name"].as_str().unwrap_or_default().to_owned();
        if !flavors.contains(&name) {
            flavors.push(name);
        }
    }
    cluster
        .add(&json!({"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": HOSTNAME}]}}))?;
    let mut quotas = Vec::new();
    for flavor in &flavors {
        let has_tree = flavor == "another" || trees.get(flavor).is_some_and(|tree| !tree.is_null());
        let spec = if has_tree { json!({"topologyName": "t"}) } else { json!({}) };
        cluster.add(&json!({"kind": "ResourceFlavor", "metadata": {"name": flavor}, "spec": spec}))?;
        quotas.push(json!({"name": flavor, "resources": [{"name": "cpu", "nominalQuota": "10"}]}));
    }
    let groups = json!([{"coveredResources": ["cpu"], "flavors": quotas}]);
    cluster.add(&json!({"kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": {"resourceGroups": groups}}))?;
    cluster.add(&workload)?;
    let given: Vec<WantedPodSet> = list(pod_sets).map(wanted_pod_set).collect();
    let placed = cluster.engine.would_place(&key_of(&workload)?, "cq", &given);
    let error = case.raw("wantErr")["error"].as_str().map(str::to_owned);
    equal(&error, &placed.clone().err())?;
    if case.has("workload") {
        return Ok(());
    }
    let placed: Vec<String> = placed.unwrap_or_default().iter().map(ToString::to_string).collect();
    equal(&case.arg::<Vec<String>>("wantTASPodSets")?, &placed)
}
