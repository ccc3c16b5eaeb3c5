//! Plays the calls that a case recorded on Kueue's caches and queues, as changes of an engine.
//!
//! Tests whose rows are code have their input here. What they look at afterwards is read from the engine's public
//! view by the runner of the package.

use std::collections::{BTreeMap, BTreeSet};

use kueue_core::gates::Gates;
use kueue_engine::{Change, Handover, Key, Name, RequeueOrder, RequeueReason, Settings, Told, WakePolicy};
use kueue_translate::ResourceRules;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::corpus::{Case, Failure};

/// An engine and the calls it has been given so far.
pub(crate) struct Replay {
    pub(crate) cluster: Cluster,
    namespaces: BTreeSet<String>,
    /// The ClusterQueues as they were last told of.
    queues: BTreeMap<String, Value>,
    /// The ClusterQueue that calls on a single queue go to.
    queue: Value,
    /// What the calls that take heads returned, one list per call.
    pub(crate) heads: Vec<Vec<Key>>,
    /// Whether each call that gives a workload back put it into its queue.
    pub(crate) requeued: Vec<bool>,
}

impl Replay {
    /// An engine that nothing has been told yet; parked workloads sleep until [`wake`](Self::wake).
    pub(crate) fn new(case: &Case) -> Result<Self, Failure> {
        Self::with_gates(case, case.gates()?)
    }

    /// The same with other gates than the case says.
    pub(crate) fn with_gates(case: &Case, gates: Gates) -> Result<Self, Failure> {
        let by_creation = case.raw("workloadOrdering")["PodsReadyRequeuingTimestamp"] == "Creation";
        let requeue_order = if by_creation { RequeueOrder::Creation } else { RequeueOrder::Eviction };
        let settings = Settings { gates, wake: WakePolicy::Batched, requeue_order, ..Settings::default() };
        let now = case.base_time.parse().map_err(|error| Failure(format!("the time of the case: {error}")))?;
        Ok(Self {
            cluster: Cluster::new(settings, ResourceRules::default(), now),
            namespaces: BTreeSet::new(),
            queues: BTreeMap::new(),
            queue: json!({"kind": "ClusterQueue", "metadata": {}, "spec": {"namespaceSelector": {}, "queueingStrategy": "BestEffortFIFO"}}),
            heads: Vec::new(),
            requeued: Vec::new(),
        })
    }

    /// An engine that the calls of the case have been played on.
    pub(crate) fn of(case: &Case) -> Result<Self, Failure> {
        let mut replay = Self::new(case)?;
        replay.play(&case.trace)?;
        Ok(replay)
    }

    pub(crate) fn play(&mut self, calls: &Value) -> Result<(), Failure> {
        for call in calls.as_array().into_iter().flatten() {
            self.call(call["op"].as_str().unwrap_or_default(), &call["args"])?;
        }
        if self.heads.is_empty() {
            self.cluster.engine.check_invariants();
        }
        Ok(())
    }

    pub(crate) fn call(&mut self, operation: &str, args: &Value) -> Result<(), Failure> {
        let (subject, verb) = operation.split_once('.').unwrap_or(("", operation));
        match (subject, verb) {
            ("queue", _) => self.call_queue(verb, args),
            ("hierarchy", _) => self.call_hierarchy(verb, args),
            ("cqSnapshot" | "snapshot", _) => self.call_snapshot(verb, args),
            ("queues", "Heads") => self.take_heads(),
            ("queues", "RequeueWorkload") => self.give_back(&args[0], reason(&args[1])?, &args[2]),
            ("tas", "SyncNode" | "UpdateNonTASUsage") => self.add(&args[0]),
            ("cache" | "queues", _) => self.call_cache(verb, &args[0]),
            _ => Err(Failure(format!("no such call: {operation}"))),
        }
    }

    /// Calls on the whole cache or on all queues: an object came, changed or went.
    fn call_cache(&mut self, verb: &str, arg: &Value) -> Result<(), Failure> {
        let name = || name(arg);
        match verb {
            "AddClusterQueue"
            | "UpdateClusterQueue"
            | "AddLocalQueue"
            | "AddOrUpdateCohort"
            | "AddOrUpdateResourceFlavor"
            | "AddOrUpdateAdmissionCheck"
            | "AddOrUpdateTopology"
            | "AddOrUpdateWorkload"
            | "UpdateUnadmittedWorkload" => self.add(arg),
            "DeleteClusterQueue" => self.apply(Change::QueueGone(name())),
            "DeleteCohort" => self.apply(Change::CohortGone(name())),
            "DeleteAdmissionCheck" => self.apply(Change::CheckGone(name())),
            "DeleteLocalQueue" => {
                let namespace = arg["metadata"]["namespace"].as_str().unwrap_or_default().into();
                self.apply(Change::LocalQueueGone { namespace, name: name() })
            }
            "DeleteWorkload" => self.remove(arg.as_str().unwrap_or_default()),
            "TerminateClusterQueue" => self.terminate(arg),
            other => Err(Failure(format!("no such call: {other}"))),
        }
    }

    /// Calls on one queue, outside of any manager: its LocalQueues are made up as workloads need them.
    fn call_queue(&mut self, verb: &str, args: &Value) -> Result<(), Failure> {
        match verb {
            "Update" => {
                self.queue = args[0].clone();
                self.add(&args[0])
            }
            "PushOrUpdate" => self.push(&args[0]["Obj"]),
            "Delete" => self.remove(args[0].as_str().unwrap_or_default()),
            "Pop" => self.take_heads(),
            "RequeueIfNotPresent" => {
                self.lead_here(&args[0]["Obj"])?;
                self.give_back(&args[0], reason(&args[1])?, &args[2])
            }
            "requeueIfNotPresent" => {
                self.lead_here(&args[0]["Obj"])?;
                let is_strict = self.queue["spec"]["queueingStrategy"] == "StrictFIFO";
                // The caller has decided already; these are the reasons for which the queue would decide the same.
                let reason = match (args[1].as_bool().unwrap_or(false), is_strict) {
                    (true, _) => RequeueReason::FailedAfterNomination,
                    (false, true) => RequeueReason::NamespaceMismatch,
                    (false, false) => reason(&args[2])?,
                };
                self.give_back(&args[0], reason, &args[3])
            }
            other => Err(Failure(format!("no such call: {other}"))),
        }
    }

    fn call_hierarchy(&mut self, verb: &str, args: &Value) -> Result<(), Failure> {
        let (first, second) = (name(&args[0]), name(&args[1]));
        let queue = |cohort: &Name| json!({"kind": "ClusterQueue", "metadata": {"name": &*first}, "spec": {"cohortName": &**cohort}});
        let cohort =
            |parent: &Name| json!({"kind": "Cohort", "metadata": {"name": &*first}, "spec": {"parentName": &**parent}});
        match verb {
            "AddClusterQueue" => self.add(&queue(&"".into())),
            "UpdateClusterQueueEdge" => self.add(&queue(&second)),
            "DeleteClusterQueue" => self.apply(Change::QueueGone(first)),
            "AddCohort" => self.add(&cohort(&"".into())),
            "UpdateCohortEdge" => self.add(&cohort(&second)),
            "DeleteCohort" => self.apply(Change::CohortGone(first)),
            other => Err(Failure(format!("no such call: {other}"))),
        }
    }

    /// Calls on a copy of the state; ours is never copied, so they change it.
    fn call_snapshot(&mut self, verb: &str, args: &Value) -> Result<(), Failure> {
        match verb {
            "AddWorkload" => self.add(&args[0]["Obj"]),
            "RemoveWorkload" => self.remove(&key_of(&args[0]["Obj"])),
            "AddUsage" => self.add(&holder(&args[0], &args[1]["Quota"]["Assigned"])),
            "RemoveUsage" => self.remove(&key_of(&holder(&args[0], &Value::Null))),
            other => Err(Failure(format!("no such call: {other}"))),
        }
    }

    /// Wakes all who sleep, where something happened since the last time.
    pub(crate) fn wake(&mut self) {
        self.cluster.engine.flush(self.cluster.now);
    }

    /// Tells the engine about an object; namespaces exist before their first object.
    pub(crate) fn add(&mut self, object: &Value) -> Result<(), Failure> {
        if let Some(namespace) = object["metadata"].get("namespace").and_then(Value::as_str)
            && self.namespaces.insert(namespace.to_owned())
        {
            let namespace = json!({"kind": "Namespace", "metadata": {"name": namespace}});
            self.cluster.add(&namespace).map_err(|error| wrong(&error))?;
        }
        if object["kind"] == "Namespace" {
            self.namespaces.insert(name(object).to_string());
        }
        if object["kind"] == "ClusterQueue" {
            self.queues.insert(name(object).to_string(), object.clone());
        }
        self.cluster.add(object).map_err(|error| wrong(&error))
    }

    /// Puts a workload into the queue that calls on a single queue go to.
    pub(crate) fn push(&mut self, workload: &Value) -> Result<(), Failure> {
        self.lead_here(workload)?;
        self.add(workload)
    }

    fn lead_here(&mut self, workload: &Value) -> Result<(), Failure> {
        let queue = self.queue.clone();
        if !self.cluster.engine.queue_names().any(|known| **known == *name(&queue)) {
            self.add(&queue)?;
        }
        let local_queue = json!({
            "kind": "LocalQueue",
            "metadata": {"namespace": workload["metadata"]["namespace"].as_str().unwrap_or_default(),
                         "name": workload["spec"]["queueName"].as_str().unwrap_or_default()},
            "spec": {"clusterQueue": &*name(&queue)},
        });
        self.add(&local_queue)
    }

    pub(crate) fn apply(&mut self, change: Change) -> Result<(), Failure> {
        self.cluster.engine.apply(change, self.cluster.now);
        Ok(())
    }

    fn remove(&mut self, key: &str) -> Result<(), Failure> {
        self.cluster.workloads.remove(key);
        let Key { namespace, name } = split(key);
        self.apply(Change::WorkloadGone { namespace, name })
    }

    fn terminate(&mut self, queue: &Value) -> Result<(), Failure> {
        let Some(mut queue) = self.queues.get(&*name(queue)).cloned() else { return Ok(()) };
        queue["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        self.add(&queue)
    }

    pub(crate) fn take_heads(&mut self) -> Result<(), Failure> {
        let mut heads = self.cluster.engine.take_out();
        heads.sort();
        self.heads.push(heads);
        Ok(())
    }

    /// Gives a workload back wherever it is.
    pub(crate) fn hand_back(&mut self, workload: &Value, reason: RequeueReason) -> bool {
        let handover = Handover { reason, why: "", tried: Vec::new(), told: Told::Nothing };
        self.cluster.engine.hand_back(&split(&key_of(workload)), handover, self.cluster.now)
    }

    /// Gives a workload back as a cycle does. One that is in line already stays where it is.
    fn give_back(&mut self, info: &Value, reason: RequeueReason, why: &Value) -> Result<(), Failure> {
        let workload = &info["Obj"];
        let key = split(&key_of(workload));
        let place = |replay: &Self| {
            let engine = &replay.cluster.engine;
            let pending: Vec<_> = engine.queue_names().map(|queue| engine.pending(queue)).collect();
            let is_in = |keys: &[Key]| keys.contains(&key);
            (pending.iter().any(|pending| is_in(&pending.active)), pending.iter().any(|pending| is_in(&pending.parked)))
        };
        let (was_in_line, was_aside) = place(self);
        if was_in_line {
            self.requeued.push(false);
            return Ok(());
        }
        if self.cluster.engine.status(&key).is_none() {
            self.add(workload)?;
        }
        let tried = info["LastAssignment"]["LastTriedFlavorIdx"].as_array().into_iter().flatten().map(tried).collect();
        let handover = Handover { reason, why: words(why)?, tried, told: Told::Nothing };
        let is_back = self.cluster.engine.hand_back(&key, handover, self.cluster.now);
        self.requeued.push(is_back && (!was_aside || place(self).0));
        Ok(())
    }

    /// Every workload that is queued, with the LocalQueue that it was queued through.
    pub(crate) fn assigned(&self) -> BTreeMap<String, String> {
        let through = |key: &String| {
            let Key { namespace, .. } = split(key);
            Some((key.clone(), format!("{namespace}/{}", self.cluster.engine.queued_through(&split(key))?)))
        };
        self.cluster.workloads.keys().filter_map(through).collect()
    }

    /// Something about a ClusterQueue changes that nobody else sees.
    pub(crate) fn touch_queue(&mut self, name: &str) -> Result<(), Failure> {
        let mut queue = self.queues.get(name).cloned().unwrap_or_default();
        queue["spec"]["fairSharing"] = json!({"weight": "7"});
        self.add(&queue)
    }

    /// Halts the queue that calls on a single queue go to.
    pub(crate) fn stop_queue(&mut self) -> Result<(), Failure> {
        let mut queue = self.queue.clone();
        queue["spec"]["stopPolicy"] = json!("Hold");
        self.add(&queue)
    }
}

pub(crate) fn split(key: &str) -> Key {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    Key { namespace: namespace.into(), name: name.into() }
}

pub(crate) fn key_of(object: &Value) -> String {
    let meta = &object["metadata"];
    format!("{}/{}", meta["namespace"].as_str().unwrap_or_default(), meta["name"].as_str().unwrap_or_default())
}

/// The name of an object, or the text that stands for it.
fn name(arg: &Value) -> Name {
    arg.as_str()
        .or_else(|| arg["metadata"]["name"].as_str())
        .or_else(|| arg["name"].as_str())
        .unwrap_or_default()
        .into()
}

fn wrong(error: &anyhow::Error) -> Failure {
    Failure(format!("{error:#}"))
}

pub(crate) fn reason(arg: &Value) -> Result<RequeueReason, Failure> {
    Ok(match arg.as_str().unwrap_or_default() {
        "" => RequeueReason::Generic,
        "PreemptionGated" => RequeueReason::PreemptionGated,
        "FailedAfterNomination" | "PreemptionFailed" => RequeueReason::FailedAfterNomination,
        "NamespaceMismatch" => RequeueReason::NamespaceMismatch,
        "PendingPreemption" => RequeueReason::PendingPreemption,
        "PendingMigration" => RequeueReason::PendingMigration,
        "NoFit" => RequeueReason::NoFit,
        "PreemptionNoCandidates" => RequeueReason::NoCandidates,
        other => return Err(Failure(format!("no reason to requeue is called {other}"))),
    })
}

/// The reasons of a missing reservation that occur, as words of ours.
pub(crate) fn words(arg: &Value) -> Result<&'static str, Failure> {
    let known = [
        "",
        "AdmissionGated",
        "WaitingForQuota",
        "WaitingForPreemptedWorkloads",
        "ExceedsMaxQuota",
        "NoMatchingFlavor",
        "PendingEvaluation",
    ];
    let name = arg.as_str().unwrap_or_default();
    known.into_iter().find(|word| *word == name).ok_or_else(|| Failure(format!("no reason is called {name}")))
}

pub(crate) fn tried(pod_set: &Value) -> Vec<(Name, i32)> {
    let flavors = pod_set.as_object().into_iter().flatten();
    flavors
        .map(|(resource, index)| {
            (resource.as_str().into(), index.as_i64().and_then(|index| i32::try_from(index).ok()).unwrap_or(0))
        })
        .collect()
}

/// A workload that holds so much of each pool in a ClusterQueue.
fn holder(queue: &Value, usage: &Value) -> Value {
    let queue = queue.as_str().unwrap_or_default();
    let pools = usage.as_object().into_iter().flatten();
    // One pod set per pool: a pod set has one flavor per resource.
    let assignments: Vec<Value> = pools
        .enumerate()
        .map(|(index, (pool, amount))| {
            let (flavor, resource) = pool.split_once('/').unwrap_or((pool, ""));
            let unit = if resource == "cpu" { "m" } else { "" };
            json!({"name": format!("set{index}"), "count": 1, "flavors": {resource: flavor}, "resourceUsage": {resource: format!("{amount}{unit}")}})
        })
        .collect();
    let pod_sets: Vec<Value> = assignments
        .iter()
        .map(|assigned| json!({"name": assigned["name"], "count": 1, "template": {"spec": {"containers": []}}}))
        .collect();
    json!({
        "kind": "Workload",
        "metadata": {"name": format!("usage-of-{queue}")},
        "spec": {"podSets": pod_sets},
        "status": {
            "admission": {"clusterQueue": queue, "podSetAssignments": assignments},
            "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        },
    })
}
