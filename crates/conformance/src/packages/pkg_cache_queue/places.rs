//! In line or aside: where a workload is put when it comes, changes, or is given back.

use std::collections::{BTreeMap, BTreeSet};

use kueue_api::config::v1beta2::{CustomLabel, SourceKind};
use kueue_core::duration::Duration;
use kueue_core::gates::Gate;
use kueue_engine::{Handover, RequeueReason, Told};
use kueue_translate::MetricLabels;
use serde_json::{Value, json};

use super::{Waiting, names, only_queue, waiting};
use crate::cluster::Cluster;
use crate::compare::equal;
use crate::corpus::{Case, Failure};
use crate::trace::{Replay, key_of, split, tried};

/// One queue, whatever was pushed into it, given back to it and taken from it.
pub(super) fn push(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    let calls = case.trace.as_array().into_iter().flatten();
    // Taking the head at the end only reads, but for cases that go on afterwards.
    let is_last_pop = |call: &Value| call["op"] == "queue.Pop" && case.has("workload");
    replay.play(&json!(calls.filter(|call| !is_last_pop(call)).collect::<Vec<_>>()))?;
    let (active, parked) = waiting(&replay.cluster.engine);
    let count = |waiting: &Waiting| waiting.values().map(BTreeSet::len).sum::<usize>();
    let wanted = |number: &str, object: &str| match case.raw(number) {
        Value::Null => {
            case.raw(object).as_object().map_or(0, |object| if object.contains_key("Obj") { 1 } else { object.len() })
        }
        count => usize::try_from(count.as_u64().unwrap_or(0)).unwrap_or(0),
    };
    equal(&wanted("wantActiveWorkloads", "wantWorkload"), &count(&active))?;
    equal(&wanted("wantInadmissibleWorkloads", "wantInAdmissibleWorkloads"), &count(&parked))
}

pub(super) fn backoff(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    replay.push(case.raw("workloadInfo.Obj"))?;
    let (active, _) = waiting(&replay.cluster.engine);
    equal(&case.arg("want")?, &!active.is_empty())
}

/// Given back twice: the second time it is there already.
pub(super) fn requeue(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::of(case)?;
    equal(&vec![true, false], &replay.requeued)?;
    let (active, parked) = waiting(&replay.cluster.engine);
    equal(&case.arg("wantInadmissible")?, &!parked.is_empty())?;
    equal(&!case.arg::<bool>("wantInadmissible")?, &!active.is_empty())?;
    let workload = case.local("wl");
    let mut urgent = workload.clone();
    urgent["metadata"]["name"] = json!("urgent");
    urgent["spec"]["priority"] = json!(1000);
    replay.push(&urgent)?;
    let engine = &replay.cluster.engine;
    let first = engine.pending(&only_queue(engine)).active.first().map(ToString::to_string);
    equal(&case.arg("wantSticky")?, &(first == Some(key_of(workload))))
}

pub(super) fn one_queue(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    for object in case.scope("cl")["$fakeClient"].as_array().into_iter().flatten() {
        replay.add(object)?;
    }
    replay.play(&case.trace)?;
    let count = |replay: &Replay| replay.cluster.engine.pending_count("cq").unwrap_or_default();
    let before = count(&replay).active;
    if case.arg("queueInadmissibleWorkloads")? {
        replay.wake();
        equal(&case.arg("wantInadmissibleWorkloadsRequeued")?, &(count(&replay).active - before))?;
    }
    let (mut active, _) = waiting(&replay.cluster.engine);
    equal(&case.arg("wantActiveWorkloads")?, &active.remove("cq").unwrap_or_default())?;
    equal(&case.arg("wantPending")?, &count(&replay).total())
}

/// What happened concerns the named queues and those of their trees.
pub(super) fn wake(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    let calls = case.trace.as_array().into_iter().flatten();
    let (back, objects): (Vec<&Value>, Vec<&Value>) = calls.partition(|call| call["op"] == "queues.RequeueWorkload");
    replay.play(&json!(objects))?;
    replay.play(&json!(back))?;
    let active = |replay: &Replay| waiting(&replay.cluster.engine).0.values().map(BTreeSet::len).sum::<usize>();
    let before = active(&replay);
    for queue in case.arg::<Vec<String>>("cqNames")? {
        replay.touch_queue(&queue)?;
    }
    replay.wake();
    equal(&case.arg("wantMovedCount")?, &(active(&replay) - before))?;
    let (in_line, aside) = waiting(&replay.cluster.engine);
    equal(&case.arg("wantActive")?, &in_line)?;
    equal(&case.arg("wantInadmissible")?, &aside)
}

pub(super) fn requeue_in_manager(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    let calls = case.trace.as_array().into_iter().flatten();
    let is_known = case.arg("inClient")?;
    // Nobody gives back what is not in the API server.
    let calls = calls.filter(|call| is_known || call["op"] != "queues.RequeueWorkload");
    replay.play(&json!(calls.collect::<Vec<_>>()))?;
    equal(&case.arg("wantRequeued")?, &replay.requeued.last().copied().unwrap_or(false))
}

pub(super) fn add_workload(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    equal(&case.arg("wantAssigned")?, &replay.assigned())?;
    equal(&case.get::<String>("wantErr.error")?, &problem(&replay, case.raw("workload")))
}

pub(super) fn update_workload(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    let calls = case.trace.as_array().into_iter().flatten();
    let calls: Vec<&Value> = calls.filter(|call| call["op"] != "queue.Pop").collect();
    replay.play(&json!(calls))?;
    let engine = &replay.cluster.engine;
    let order = |queue: &String| {
        let keys = engine.positions(queue).map(|position| position.workload.to_string()).collect::<Vec<_>>();
        (queue.clone(), keys)
    };
    let wanted: BTreeMap<String, Option<Vec<String>>> = case.arg("wantQueueOrder")?;
    let wanted: BTreeMap<String, Vec<String>> =
        wanted.into_iter().map(|(queue, keys)| (queue, keys.unwrap_or_default())).collect();
    equal(&wanted, &wanted.keys().map(order).collect())?;
    let assigned = replay.assigned();
    equal(&case.arg("wantAssigned")?, &assigned)?;
    let wanted: BTreeMap<String, Option<BTreeSet<String>>> = case.arg("wantQueueMembers")?;
    for (queue, members) in wanted {
        let found = assigned.iter().filter(|(_, through)| **through == queue).map(|(workload, _)| workload.clone());
        equal(&members.unwrap_or_default(), &found.collect())?;
    }
    let updated = calls.last().map_or(&Value::Null, |call| &call["args"][0]);
    equal(&case.get::<String>("wantErr.error")?, &problem(&replay, updated))
}

/// Why a workload is not in a queue, in Kueue's words.
fn problem(replay: &Replay, workload: &Value) -> Option<String> {
    let engine = &replay.cluster.engine;
    let (namespace, _) = names(workload);
    let local_queue = workload["spec"]["queueName"].as_str().unwrap_or_default().into();
    let problem = if engine.queue_behind(&namespace, &local_queue).is_none() {
        "localQueue doesn't exist or inactive"
    } else if !replay.assigned().contains_key(&key_of(workload)) {
        "workload is inadmissible and can't be added to a LocalQueue"
    } else if engine.queue_behind(&namespace, &local_queue).is_some_and(|queue| engine.pending_count(&queue).is_none())
    {
        "clusterQueue doesn't exist"
    } else {
        return None;
    };
    Some(problem.to_owned())
}

/// What a scan of flavors found survives an update that does not change what is asked for.
pub(super) fn carries_progress(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    // The update touches a label only; metrics that show it let the engine see that.
    let shown =
        [CustomLabel { name: "updated".to_owned(), source_kind: Some(SourceKind::Workload), ..CustomLabel::default() }];
    replay.cluster.metric_labels = MetricLabels::new(&shown, case.gates()?.with(Gate::CustomMetricLabels, true));
    let calls: Vec<&Value> =
        case.trace.as_array().into_iter().flatten().filter(|call| call["op"] != "queue.Pop").collect();
    let (update, before) = calls.split_last().ok_or_else(|| Failure("no calls".to_owned()))?;
    replay.play(&json!(before))?;
    let key = split(case.local("key").as_str().unwrap_or_default());
    let recorded: Vec<_> =
        case.raw("recorded.LastTriedFlavorIdx").as_array().into_iter().flatten().map(tried).collect();
    replay.take_heads()?;
    let handover = Handover {
        reason: RequeueReason::FailedAfterNomination,
        why: "",
        tried: recorded.clone(),
        told: Told::Nothing,
    };
    replay.cluster.engine.hand_back(&key, handover, replay.cluster.now);
    if case.arg("inflight")? {
        replay.take_heads()?;
    }
    replay.call("queues.AddOrUpdateWorkload", &update["args"])?;
    let wanted = case.arg::<bool>("wantCarried")?.then_some(recorded);
    equal(&wanted, &replay.cluster.engine.tried_flavors(&key))
}

/// Who comes for places after the wait, and whether a change of a workload lets it begin to wait.
pub(super) fn second_pass(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.add(&json!([
        {"kind": "Namespace", "metadata": {"name": "default"}},
        {"kind": "AdmissionCheck", "metadata": {"name": "prov-check"},
         "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request"},
         "status": {"conditions": [{"type": "Active", "status": "True", "reason": "", "message": "",
                                    "lastTransitionTime": cluster.now}]}},
        {"kind": "Topology", "metadata": {"name": "t"},
         "spec": {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}},
        {"kind": "ResourceFlavor", "metadata": {"name": "tas-default"}, "spec": {"topologyName": "t"}},
        {"kind": "ClusterQueue", "metadata": {"name": "tas-main"}, "spec": {
            "namespaceSelector": {},
            "admissionChecksStrategy": {"admissionChecks": [{"name": "prov-check"}]},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
                {"name": "tas-default", "resources": [{"name": "cpu", "nominalQuota": "10"}]}]}]}},
        {"kind": "LocalQueue", "metadata": {"name": "tas-main", "namespace": "default"},
         "spec": {"clusterQueue": "tas-main"}},
    ]))?;
    for workload in case.raw("workloads").as_array().into_iter().flatten().chain([case.raw("updateWorkload")]) {
        cluster.add(workload)?;
        cluster.engine.settle(cluster.now);
    }
    let wait: Duration = case.arg::<String>("passTime")?.parse().map_err(|_| Failure("the time to pass".to_owned()))?;
    cluster.engine.settle(cluster.now + wait);
    let ready: BTreeSet<String> = cluster.engine.second_pass().map(ToString::to_string).collect();
    equal(&case.arg::<BTreeSet<String>>("wantReady")?, &ready)
}
