//! Gates, configuration and the objects that a scenario starts with.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use kueue_api::core_v1::LimitRange;
use kueue_api::limit_range::Summary;
use kueue_core::gates::{Gate, Gates};
use kueue_core::resource::Formatter;
use kueue_core::time::Time;
use kueue_engine::{Change, Engine, FairSharing, FairStrategy, Settings, WakePolicy};
use kueue_translate::{ResourceRules, Transformation};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::state::{Shown, texts};
use super::World;

/// When every scenario starts.
const START: &str = "2026-01-01T00:00:00Z";

impl World {
    pub(in super::super) fn new(setup: &Value) -> Result<Self> {
        if setup.get("topologies").is_some() {
            bail!("topologies are not implemented yet");
        }
        let config = &setup["config"];
        if config.get("admissionFairSharing").is_some() {
            bail!("admission fair sharing is not implemented yet");
        }
        let now: Time = START.parse().context("the start")?;
        let mut world = Self {
            engine: Engine::new(settings(setup)?),
            now,
            workloads: BTreeMap::new(),
            deleted: Vec::new(),
            rules: rules(&config["resources"])?,
            limits: limits(setup)?,
            formatter: Formatter::default(),
            has_fair_sharing: config.get("fairSharing").is_some(),
            cohorts: Vec::new(),
        };
        world.load(setup)?;
        let mut shown = Shown::default();
        world.settle(&mut shown);
        world.engine.flush(now);
        Ok(world)
    }

    fn load(&mut self, setup: &Value) -> Result<()> {
        for namespace in list(setup, "namespaces") {
            let name = namespace["name"].as_str().context("a namespace has a name")?.into();
            let labels = namespace.get("labels").cloned().map(serde_json::from_value).transpose()?.unwrap_or_default();
            self.engine.apply(Change::Namespace { name, labels }, self.now);
        }
        for object in list(setup, "resourceFlavors") {
            self.engine.apply(kueue_translate::flavor(&read(object)?), self.now);
        }
        for object in list(setup, "admissionChecks") {
            self.engine.apply(kueue_translate::admission_check(&read(object)?), self.now);
        }
        for object in list(setup, "cohorts") {
            self.set_cohort(object)?;
        }
        for object in list(setup, "clusterQueues") {
            self.engine.apply(kueue_translate::cluster_queue(&read(object)?), self.now);
        }
        for object in list(setup, "localQueues") {
            self.engine.apply(kueue_translate::local_queue(&read(object)?), self.now);
        }
        Ok(())
    }

    pub(super) fn set_cohort(&mut self, object: &Value) -> Result<()> {
        let cohort: kueue_api::kueue::v1beta2::Cohort = read(object)?;
        if !self.cohorts.contains(&cohort.metadata.name) {
            self.cohorts.push(cohort.metadata.name.clone());
        }
        self.engine.apply(kueue_translate::cohort(&cohort), self.now);
        Ok(())
    }
}

pub(super) fn read<T: DeserializeOwned>(value: &Value) -> Result<T> {
    serde_json::from_value(value.clone()).with_context(|| format!("reading {value}"))
}

fn list<'a>(setup: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    setup[key].as_array().into_iter().flatten()
}

fn limits(setup: &Value) -> Result<BTreeMap<String, Summary>> {
    let mut ranges: BTreeMap<String, Vec<LimitRange>> = BTreeMap::new();
    for object in list(setup, "limitRanges") {
        let range: LimitRange = read(object)?;
        ranges.entry(range.metadata.namespace.clone()).or_default().push(range);
    }
    Ok(ranges.into_iter().map(|(namespace, ranges)| (namespace, Summary::of(&ranges))).collect())
}

fn rules(resources: &Value) -> Result<ResourceRules> {
    let excluded_prefixes = texts(&resources["excludeResourcePrefixes"]);
    let mut rules = ResourceRules { excluded_prefixes, ..ResourceRules::default() };
    for rule in list(resources, "transformations") {
        let input = rule["input"].as_str().context("a transformation has an input")?;
        let transformation = Transformation {
            replaces: rule["strategy"] == "Replace",
            multiply_by: rule["multiplyBy"].as_str().map(str::to_owned),
            outputs: rule.get("outputs").map(read).transpose()?.unwrap_or_default(),
        };
        rules.transformations.insert(input.to_owned(), transformation);
    }
    Ok(rules)
}

fn settings(setup: &Value) -> Result<Settings> {
    let mut gates = Gates::default();
    for (name, value) in setup["featureGates"].as_object().into_iter().flatten() {
        let gate = Gate::named(name).with_context(|| format!("gate {name}"))?;
        gates = gates.with(gate, value.as_bool().unwrap_or(false));
    }
    let fair_sharing = setup["config"].get("fairSharing").map(|fair| {
        let named = fair["preemptionStrategies"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut strategies: Vec<FairStrategy> = named
            .map(|name| match name {
                "LessThanInitialShare" => FairStrategy::LessThanInitialShare,
                _ => FairStrategy::LessThanOrEqualToFinalShare,
            })
            .collect();
        if strategies.is_empty() {
            strategies = vec![FairStrategy::LessThanOrEqualToFinalShare, FairStrategy::LessThanInitialShare];
        }
        FairSharing { strategies }
    });
    let ignores_undeclared = setup["config"]["resources"]["quotaCheckStrategy"] == "IgnoreUndeclared";
    Ok(Settings { gates, fair_sharing, ignores_undeclared, wake: WakePolicy::Batched, ..Settings::default() })
}
