//! Who has to go for a workload whose flavors are given.

use std::collections::{BTreeMap, BTreeSet};

use kueue_api::kueue::v1beta2::Workload;
use kueue_engine::{Decision, Effect, FairSharing, FairStrategy, Victim, WantedFlavor, WantedPodSet};
use serde_json::{Value, json};

use crate::cluster::{Cluster, key_of, read};
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};

/// Classical preemption: the number of victims, and what each of them says afterwards.
pub(super) fn classical(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    for objects in [case.scope("flavors"), case.raw("cohorts"), case.raw("clusterQueues"), case.raw("admitted")] {
        cluster.add(objects)?;
    }
    let wanted: Vec<WantedPodSet> = list(case.raw("assignment.PodSets")).map(wanted_pod_set).collect();
    let victims = victims(case, &mut cluster, &case.arg::<String>("targetCQ")?, &wanted)?;
    equal(&case.arg::<usize>("wantPreempted")?, &victims.len())?;
    same_victims(case, &cluster, &victims)
}

/// The same while somebody else writes to the victims: what we write does not depend on it.
pub(super) fn concurrent(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    for objects in [case.scope("rf"), case.scope("cq"), case.raw("workloads")] {
        cluster.add(objects)?;
    }
    let queue = case.scope("cq")["metadata"]["name"].as_str().unwrap_or_default();
    let wanted: Vec<WantedPodSet> = list(case.raw("assignment.PodSets")).map(wanted_pod_set).collect();
    let victims = victims(case, &mut cluster, queue, &wanted)?;
    same_victims(case, &cluster, &victims)
}

/// One that is on its way out is not asked to go again.
pub(super) fn not_twice(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    let queue = &case.scope("cq")["metadata"]["name"];
    let line = json!({"kind": "LocalQueue", "metadata": {"name": "line"}, "spec": {"clusterQueue": queue}});
    // The room that is left has to be taken for the incoming one to need any.
    let mut incoming = case.raw("incoming").clone();
    incoming["spec"]["queueName"] = json!("line");
    incoming["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("6");
    for objects in [case.scope("rf"), case.scope("cq"), &line, case.raw("workloads"), &incoming] {
        cluster.add(objects)?;
    }
    cluster.add(&json!({"kind": "Namespace", "metadata": {"name": ""}}))?;
    let mut preempted = 0;
    for _ in 0..2 {
        let effects = cluster.engine.cycle(cluster.now);
        let is_preemption =
            |effect: &&Effect| matches!(effect, Effect::Status { decision: Decision::Preempted { .. }, .. });
        preempted += effects.iter().filter(is_preemption).count();
        cluster.perform(&effects);
    }
    equal(&1, &preempted)
}

fn same_victims(case: &Case, cluster: &Cluster, victims: &[Victim]) -> Result<(), Failure> {
    let mut told = Vec::new();
    for object in list(case.raw("wantWorkloads")) {
        told.extend(as_told(&read(object)?));
    }
    told.sort_by_key(ToString::to_string);
    let mut found: Vec<Value> = victims
        .iter()
        .map(|victim| json!({"key": victim.workload.to_string(), "reason": victim.reason, "message": victim.message}))
        .collect();
    // One that was on its way out already keeps what it said before.
    for object in cluster.workloads.values() {
        if let Some(old) = as_told(object) {
            found.retain(|victim| victim["key"] != old["key"]);
            found.push(old);
        }
    }
    found.sort_by_key(ToString::to_string);
    Rules::default().same(&json!({"victims": told}), &json!({"victims": found}))
}

/// What a workload says about its preemption, if it was preempted.
fn as_told(workload: &Workload) -> Option<Value> {
    let is_true =
        |kind: &str| workload.status.conditions.iter().find(|c| c.r#type == kind && c.status.as_str() == "True");
    let evicted = is_true("Evicted")?;
    let key = format!("{}/{}", workload.metadata.namespace, workload.metadata.name);
    let reason = is_true("Preempted").map(|preempted| preempted.reason.clone());
    Some(json!({"key": key, "reason": reason, "message": evicted.message}))
}

/// Preemption with fair sharing: the victims with their reasons.
pub(super) fn fair(case: &Case) -> Result<(), Failure> {
    let named: Vec<String> = case.arg("strategies")?;
    let strategies: Vec<FairStrategy> = named.iter().map(|name| strategy(name)).collect();
    let fair = if strategies.is_empty() { FairSharing::default() } else { FairSharing { strategies } };
    let mut cluster = Cluster::for_case(case, Some(fair))?;
    let flavors = if case.has("flavors") { case.raw("flavors") } else { case.scope("flavors") };
    for objects in [flavors, case.raw("cohorts"), case.raw("clusterQueues")] {
        cluster.add(objects)?;
    }
    for object in list(case.raw("admitted")) {
        let mut object = object.clone();
        object["metadata"]["uid"] = object["metadata"]["name"].clone();
        cluster.add(&object)?;
    }
    let flavor = case.arg::<Option<String>>("assignmentFlavor")?.unwrap_or_else(|| "default".to_owned());
    let cpu = WantedFlavor { resource: "cpu".into(), flavor: flavor.into(), needs_room: true };
    let queue = case.arg::<String>("targetCQ")?;
    let victims = victims(case, &mut cluster, &queue, &[WantedPodSet { count: 1, flavors: vec![cpu] }])?;
    let found: BTreeSet<String> =
        victims.iter().map(|victim| format!("{}:{}", victim.workload, victim.reason)).collect();
    equal(&case.arg::<BTreeSet<String>>("wantPreempted")?, &found)
}

fn strategy(name: &str) -> FairStrategy {
    match name {
        "LessThanInitialShare" => FairStrategy::LessThanInitialShare,
        _ => FairStrategy::LessThanOrEqualToFinalShare,
    }
}

/// Asks about the incoming workload, which the API server does not have.
fn victims(case: &Case, cluster: &mut Cluster, queue: &str, wanted: &[WantedPodSet]) -> Result<Vec<Victim>, Failure> {
    let admitted = cluster.workloads.clone();
    let mut incoming: Workload = read(case.raw("incoming"))?;
    // It is only asked about: whatever it says that it holds was never given.
    incoming.status.admission = None;
    cluster.add(&json!(incoming))?;
    let key = key_of(case.raw("incoming"))?;
    let usage = usage(cluster);
    let victims = cluster.engine.victims(&key, queue, wanted);
    cluster.engine.check_invariants();
    equal(&usage, &self::usage(cluster))?;
    cluster.workloads = admitted;
    Ok(victims)
}

fn usage(cluster: &Cluster) -> BTreeMap<String, String> {
    let queues = cluster.engine.queue_names();
    queues.map(|queue| (queue.to_string(), format!("{:?}", cluster.engine.usage(queue)))).collect()
}

pub(in crate::packages) fn wanted_pod_set(assigned: &Value) -> WantedPodSet {
    let flavors = assigned["Flavors"].as_object().into_iter().flatten();
    WantedPodSet {
        count: assigned["Count"].as_i64().and_then(|count| i32::try_from(count).ok()).unwrap_or_default(),
        flavors: flavors
            .map(|(resource, flavor)| WantedFlavor {
                resource: resource.as_str().into(),
                flavor: flavor["Name"].as_str().unwrap_or_default().into(),
                needs_room: flavor["Mode"] == "Preempt",
            })
            .collect(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
