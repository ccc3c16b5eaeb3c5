//! The API server that an engine believes to talk to: the objects, the clock, and the way in and out.
//!
//! Scenarios and corpus cases share it: what differs between them is only who acts and what is read afterwards.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use kueue_api::core_v1::{LimitRange, ResourceList};
use kueue_api::kueue::names::{FINALIZER_RESOURCE_IN_USE, label};
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::limit_range::Summary;
use kueue_core::resource::Formatter;
use kueue_core::time::Time;
use kueue_engine::{Change, Effect, Engine, FairSharing, Key, Settings, WakePolicy};
use kueue_translate::{MetricLabels, ResourceRules, Surroundings, Transformation, status_from_engine};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::corpus::{Case, Failure};

/// An engine with the objects around it.
pub(crate) struct Cluster {
    pub(crate) engine: Engine,
    pub(crate) now: Time,
    /// By `namespace/name`.
    pub(crate) workloads: BTreeMap<String, Workload>,
    pub(crate) rules: ResourceRules,
    pub(crate) metric_labels: MetricLabels,
    /// The limit ranges of each namespace.
    limits: BTreeMap<String, Vec<LimitRange>>,
    /// What pods need besides, by RuntimeClass.
    overheads: BTreeMap<String, ResourceList>,
    pub(crate) formatter: Formatter,
}

impl Cluster {
    pub(crate) fn new(settings: Settings, rules: ResourceRules, now: Time) -> Self {
        Self {
            engine: Engine::new(settings),
            now,
            workloads: BTreeMap::new(),
            rules,
            metric_labels: MetricLabels::default(),
            limits: BTreeMap::new(),
            overheads: BTreeMap::new(),
            formatter: Formatter::default(),
        }
    }

    /// As the gates and the time of a corpus case say; parked workloads sleep until they are told otherwise.
    pub(crate) fn for_case(case: &Case, fair_sharing: Option<FairSharing>) -> Result<Self, Failure> {
        let settings =
            Settings { gates: case.gates()?, fair_sharing, wake: WakePolicy::Batched, ..Settings::default() };
        let now = case.base_time.parse().map_err(|_| Failure("the base time is not a time".to_owned()))?;
        Ok(Self::new(settings, ResourceRules::default(), now))
    }

    /// Lets resources count for others, as the configuration would.
    pub(crate) fn set_transformations(&mut self, rules: &Value) -> Result<()> {
        for rule in rules.as_array().into_iter().flatten() {
            let input = rule["input"].as_str().context("a transformation has an input")?;
            let transformation = Transformation {
                replaces: rule["strategy"] == "Replace",
                multiply_by: rule["multiplyBy"].as_str().map(str::to_owned),
                outputs: rule.get("outputs").map(read).transpose()?.unwrap_or_default(),
            };
            self.rules.transformations.insert(input.to_owned(), transformation);
        }
        Ok(())
    }

    /// Tells the engine about objects of any kind, one or a list of them.
    pub(crate) fn add(&mut self, objects: &Value) -> Result<()> {
        match objects {
            Value::Array(objects) => objects.iter().try_for_each(|object| self.add(object)),
            Value::Null => Ok(()),
            object => self.add_as(object["kind"].as_str().context("an object has a kind")?, object),
        }
    }

    /// The same for one object whose kind is known; kinds that the engine does not know do not concern it.
    pub(crate) fn add_as(&mut self, kind: &str, object: &Value) -> Result<()> {
        let change = match kind {
            "Namespace" => namespace(object)?,
            "ResourceFlavor" => kueue_translate::flavor(&read(object)?),
            "AdmissionCheck" => kueue_translate::admission_check(&read(object)?),
            "Topology" => kueue_translate::topology(&read(object)?),
            "Node" => kueue_translate::node(&read(object)?),
            "Pod" => kueue_translate::plain_pod(&read(object)?),
            "Cohort" => kueue_translate::cohort(&read(object)?),
            "ClusterQueue" => kueue_translate::cluster_queue(&read(object)?),
            "LocalQueue" => kueue_translate::local_queue(&read(object)?),
            "LimitRange" => {
                let range: LimitRange = read(object)?;
                self.limits.entry(range.metadata.namespace.clone()).or_default().push(range);
                return Ok(());
            }
            "RuntimeClass" => {
                let name = object["metadata"]["name"].as_str().context("a RuntimeClass has a name")?;
                let overhead = object["overhead"].get("podFixed").map(read).transpose()?.unwrap_or_default();
                self.overheads.insert(name.to_owned(), overhead);
                return Ok(());
            }
            "Workload" => {
                let workload: Workload = read(object)?;
                let key = format!("{}/{}", workload.metadata.namespace, workload.metadata.name);
                self.workloads.insert(key.clone(), workload);
                self.change_of(&key)
            }
            _ => return Ok(()),
        };
        self.engine.apply(change, self.now);
        Ok(())
    }

    /// Does what the recorded calls did: objects become known, usage is charged to queues.
    pub(crate) fn replay(&mut self, trace: &Value) -> Result<()> {
        for call in trace.as_array().into_iter().flatten() {
            let args = &call["args"];
            match call["op"].as_str().unwrap_or_default() {
                "cache.DeleteResourceFlavor" => {
                    let name = args[0]["metadata"]["name"].as_str().context("a flavor has a name")?;
                    self.engine.apply(Change::FlavorGone(name.into()), self.now);
                }
                "cqSnapshot.AddUsage" => {
                    let queue = args[0].as_str().context("usage is charged to a queue")?;
                    self.charge(queue, &args[1]["Quota"]["Assigned"])?;
                    for (flavor, domains) in args[1]["TAS"].as_object().into_iter().flatten() {
                        for domain in domains.as_array().into_iter().flatten() {
                            self.occupy(queue, flavor, domain)?;
                        }
                    }
                }
                "tas.SyncNode" => self.add(&args[0])?,
                op if op.starts_with("cache.Add") || op.starts_with("queues.Add") => self.add(&args[0])?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Lets a workload of nobody use so much of a queue: amounts by `flavor/resource`.
    fn charge(&mut self, queue: &str, usage: &Value) -> Result<()> {
        let mut pod_sets = Vec::new();
        let mut assigned = Vec::new();
        for (index, (pool, amount)) in usage.as_object().into_iter().flatten().enumerate() {
            let (flavor, resource) = pool.split_once('/').context("a pool is a flavor and a resource")?;
            let quantity = self.formatter.quantity(resource, amount.as_i64().context("an amount is a number")?);
            let name = format!("p{index}");
            pod_sets.push(json!({"name": name, "count": 1}));
            let (flavors, used) = (json!({resource: flavor}), json!({resource: quantity}));
            assigned.push(json!({"name": name, "count": 1, "flavors": flavors, "resourceUsage": used}));
        }
        let reserved = json!({"type": "QuotaReserved", "status": "True", "reason": "Charged", "message": "",
                              "lastTransitionTime": self.now});
        self.add(&json!({
            "kind": "Workload",
            "metadata": {"name": format!("usage-{}", self.workloads.len()), "namespace": "usage"},
            "spec": {"podSets": pod_sets},
            "status": {"admission": {"clusterQueue": queue, "podSetAssignments": assigned}, "conditions": [reserved]},
        }))
    }

    /// Lets pods of nobody use so much of a node, and nothing of the queue's quota.
    pub(crate) fn occupy(&mut self, queue: &str, flavor: &str, domain: &Value) -> Result<()> {
        let needs = domain["SinglePodRequests"].as_object().into_iter().flatten();
        let needs: serde_json::Map<String, Value> = needs
            .map(|(name, amount)| (name.clone(), json!(self.formatter.quantity(name, amount.as_i64().unwrap_or(0)))))
            .collect();
        let flavors: serde_json::Map<String, Value> = needs.keys().map(|name| (name.clone(), json!(flavor))).collect();
        let nothing: serde_json::Map<String, Value> = needs.keys().map(|name| (name.clone(), json!("0"))).collect();
        let count = &domain["Count"];
        let values: Vec<Value> =
            domain["Values"].as_array().into_iter().flatten().map(|value| json!({"universal": value})).collect();
        let placed = json!({"levels": ["kubernetes.io/hostname"], "slices": [
            {"domainCount": 1, "podCounts": {"universal": count}, "valuesPerLevel": values}]});
        let reserved = json!({"type": "QuotaReserved", "status": "True", "reason": "Charged", "message": "",
                              "lastTransitionTime": self.now});
        self.add(&json!({
            "kind": "Workload",
            "metadata": {"name": format!("pods-{}", self.workloads.len()), "namespace": "usage"},
            "spec": {"podSets": [{"name": "main", "count": count, "template": {"spec": {"containers": [
                {"name": "c", "resources": {"requests": needs}}]}}}]},
            "status": {"conditions": [reserved], "admission": {"clusterQueue": queue, "podSetAssignments": [{
                "name": "main", "count": count, "flavors": flavors, "resourceUsage": nothing,
                "topologyAssignment": placed}]}},
        }))
    }

    /// What a workload is like now.
    pub(crate) fn change_of(&self, key: &str) -> Change {
        let object = &self.workloads[key];
        let limits = self.limits.get(&object.metadata.namespace).map(Summary::of).unwrap_or_default();
        let around = Surroundings {
            resources: &self.rules,
            limits: &limits,
            metric_labels: &self.metric_labels,
            overheads: &self.overheads,
        };
        kueue_translate::workload(object, &around)
    }

    /// Writes nothing of what the engine decided: what comes back is what was there before.
    pub(crate) fn refuse(&mut self) {
        let keys: Vec<String> = self.workloads.keys().cloned().collect();
        for key in keys {
            let change = self.change_of(&key);
            self.engine.apply(change, self.now);
        }
    }

    /// Writes what the engine decided, and tells it that it is done.
    pub(crate) fn perform(&mut self, effects: &[Effect]) {
        let gates = self.engine.settings().gates;
        let mut written = Vec::new();
        for effect in effects {
            let (workload, edit): (_, &dyn Fn(&mut Workload)) = match effect {
                Effect::Status { workload, status, .. } => {
                    (workload, &|object| status_from_engine(status, &self.formatter, gates, &mut object.status))
                }
                Effect::Deactivate(workload) => (workload, &|object| object.spec.active = Some(false)),
                Effect::MarkParent(workload) => (workload, &|object| {
                    object.metadata.labels.insert(label::CONCURRENT_ADMISSION_PARENT.to_owned(), "true".to_owned());
                }),
                Effect::Unguard(workload) => (workload, &|object| {
                    object.metadata.finalizers.retain(|finalizer| finalizer != FINALIZER_RESOURCE_IN_USE);
                }),
                Effect::Delete(workload) => {
                    self.workloads.remove(&workload.to_string());
                    let Key { namespace, name } = workload.clone();
                    self.engine.apply(Change::WorkloadGone { namespace, name }, self.now);
                    continue;
                }
                Effect::Event(_) | Effect::Consumed { .. } | Effect::DeleteJob(_) => continue,
            };
            let key = workload.to_string();
            if let Some(object) = self.workloads.get_mut(&key) {
                edit(object);
                written.push(key);
            }
        }
        for key in written {
            let change = self.change_of(&key);
            self.engine.apply(change, self.now);
        }
    }
}

pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Result<T> {
    serde_json::from_value(value.clone()).with_context(|| format!("reading {value}"))
}

/// The name of a Workload, from its object.
pub(crate) fn key_of(object: &Value) -> Result<Key> {
    let workload: Workload = read(object)?;
    Ok(Key { namespace: workload.metadata.namespace.into(), name: workload.metadata.name.into() })
}

fn namespace(object: &Value) -> Result<Change> {
    let meta = &object["metadata"];
    let name = meta["name"].as_str().context("a namespace has a name")?.into();
    let labels = meta.get("labels").map(read).transpose()?.unwrap_or_default();
    Ok(Change::Namespace { name, labels })
}
