//! Gates, configuration and the objects that a scenario starts with.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use kueue_core::gates::{Gate, Gates};
use kueue_core::time::Time;
use kueue_engine::{FairSharing, FairStrategy, Settings, WakePolicy};
use kueue_translate::ResourceRules;
use serde_json::{Value, json};

use crate::cluster::{Cluster, read};

use super::super::state::{Shown, texts};
use super::World;

/// When every scenario starts.
const START: &str = "2026-01-01T00:00:00Z";

impl World {
    pub(in super::super) fn new(setup: &Value) -> Result<Self> {
        let config = &setup["config"];
        let now: Time = START.parse().context("the start")?;
        let mut world = Self {
            cluster: cluster(setup, now)?,
            deleted: Vec::new(),
            has_fair_sharing: config.get("fairSharing").is_some(),
            cohorts: Vec::new(),
            local_queues: Vec::new(),
            flavor_labels: placed_flavors(setup),
            plain_pods: BTreeMap::new(),
        };
        world.load(setup)?;
        let mut shown = Shown::default();
        world.settle(&mut shown);
        world.cluster.engine.flush(now);
        world.sample(&mut shown);
        Ok(world)
    }

    fn load(&mut self, setup: &Value) -> Result<()> {
        for namespace in list(setup, "namespaces") {
            self.cluster.add_as("Namespace", &json!({"metadata": namespace}))?;
        }
        for (kind, key) in [
            ("LimitRange", "limitRanges"),
            ("Topology", "topologies"),
            ("ResourceFlavor", "resourceFlavors"),
            ("Node", "nodes"),
            ("AdmissionCheck", "admissionChecks"),
        ] {
            list(setup, key).try_for_each(|object| self.cluster.add_as(kind, object))?;
        }
        list(setup, "pods").try_for_each(|pod| self.add_pod(pod))?;
        list(setup, "cohorts").try_for_each(|object| self.set_cohort(object))?;
        list(setup, "clusterQueues").try_for_each(|object| self.cluster.add_as("ClusterQueue", object))?;
        for object in list(setup, "localQueues") {
            let name = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
            self.local_queues.push((name("namespace"), name("name")));
            self.cluster.add_as("LocalQueue", object)?;
        }
        Ok(())
    }

    pub(super) fn add_pod(&mut self, object: &Value) -> Result<()> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let meta = &object["metadata"];
        let key = format!("{}/{}", text(&meta["namespace"]), text(&meta["name"]));
        self.plain_pods.insert(key, text(&object["spec"]["nodeName"]));
        self.cluster.add_as("Pod", object)
    }

    pub(super) fn set_cohort(&mut self, object: &Value) -> Result<()> {
        let name = object["metadata"]["name"].as_str().context("a cohort has a name")?;
        if !self.cohorts.iter().any(|known| known == name) {
            self.cohorts.push(name.to_owned());
        }
        self.cluster.add_as("Cohort", object)
    }
}

fn placed_flavors(setup: &Value) -> Vec<Value> {
    let placed = list(setup, "resourceFlavors").filter(|flavor| flavor["spec"].get("topologyName").is_some());
    placed.map(|flavor| flavor["spec"]["nodeLabels"].clone()).collect()
}

fn list<'a>(setup: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    setup[key].as_array().into_iter().flatten()
}

fn cluster(setup: &Value, now: Time) -> Result<Cluster> {
    let resources = &setup["config"]["resources"];
    let excluded_prefixes = texts(&resources["excludeResourcePrefixes"]);
    let rules = ResourceRules { excluded_prefixes, ..ResourceRules::default() };
    let mut cluster = Cluster::new(settings(setup)?, rules, now);
    cluster.set_transformations(&resources["transformations"])?;
    Ok(cluster)
}

fn settings(setup: &Value) -> Result<Settings> {
    let mut gates = Gates::default();
    for (name, value) in setup["featureGates"].as_object().into_iter().flatten() {
        let gate = Gate::named(name).with_context(|| format!("gate {name}"))?;
        gates = gates.with(gate, value.as_bool().unwrap_or(false));
    }
    let fair_sharing = setup["config"].get("fairSharing").map(|fair| {
        let named = fair["preemptionStrategies"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let strategies: Vec<FairStrategy> = named
            .map(|name| match name {
                "LessThanInitialShare" => FairStrategy::LessThanInitialShare,
                _ => FairStrategy::LessThanOrEqualToFinalShare,
            })
            .collect();
        if strategies.is_empty() { FairSharing::default() } else { FairSharing { strategies } }
    });
    let by_usage = setup["config"].get("admissionFairSharing").map(read).transpose()?;
    let ignores_undeclared = setup["config"]["resources"]["quotaCheckStrategy"] == "IgnoreUndeclared";
    Ok(Settings {
        gates,
        fair_sharing,
        admission_fair_sharing: by_usage.as_ref().map(kueue_translate::admission_fair_sharing),
        ignores_undeclared,
        wake: WakePolicy::Batched,
        ..Settings::default()
    })
}
