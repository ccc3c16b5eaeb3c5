//! What is known of Workloads, and of what their requests depend on.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::core_v1::{LimitRange, ResourceList};
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::limit_range::Summary;
use kueue_engine::{Change, WorkloadSpec};
use kueue_runtime::informer::is_newer;
use kueue_runtime::key::Key;
use kueue_translate::{MetricLabels, ResourceRules, Surroundings};

/// The newest version of every Workload that was seen or written, with its surroundings.
#[derive(Debug)]
pub(super) struct Known {
    workloads: BTreeMap<Key, Arc<Workload>>,
    limit_ranges: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<LimitRange>>>,
    /// What the limit ranges of each namespace come to.
    limits: BTreeMap<Arc<str>, Summary>,
    overheads: BTreeMap<String, ResourceList>,
    rules: ResourceRules,
    metric_labels: MetricLabels,
    no_limits: Summary,
}

impl Known {
    pub(super) fn new(rules: ResourceRules, metric_labels: MetricLabels) -> Self {
        Self {
            workloads: BTreeMap::new(),
            limit_ranges: BTreeMap::new(),
            limits: BTreeMap::new(),
            overheads: BTreeMap::new(),
            rules,
            metric_labels,
            no_limits: Summary::default(),
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Workload>> {
        self.workloads.get(key)
    }

    pub(super) fn set(&mut self, key: Key, object: Arc<Workload>) {
        self.workloads.insert(key, object);
    }

    /// Keeps the informer's copy of the version that is known, so that there is one.
    pub(super) fn share(&mut self, key: &Key, object: Arc<Workload>) {
        let known = self.workloads.get_mut(key);
        if let Some(known) = known.filter(|known| known.metadata.resource_version == object.metadata.resource_version) {
            *known = object;
        }
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.workloads.remove(key);
    }

    pub(super) fn keys(&self, is_meant: impl Fn(&Workload) -> bool) -> Vec<Key> {
        let meant = self.workloads.iter().filter(|(_, object)| is_meant(object));
        meant.map(|(key, _)| key.clone()).collect()
    }

    /// Whether this version of an object is older than the one that is known, or the same.
    pub(super) fn has_seen(&self, key: &Key, object: &Workload) -> bool {
        self.get(key).is_some_and(|known| {
            known.metadata.uid == object.metadata.uid
                && !is_newer(&object.metadata.resource_version, &known.metadata.resource_version)
        })
    }

    pub(super) fn set_limit_range(&mut self, key: Key, range: Option<Arc<LimitRange>>) {
        let ranges = self.limit_ranges.entry(Arc::clone(&key.namespace)).or_default();
        match range {
            Some(range) => drop(ranges.insert(key.name, range)),
            None => drop(ranges.remove(&key.name)),
        }
        let summary = Summary::of(ranges.values().map(|range| &**range));
        self.limits.insert(key.namespace, summary);
    }

    pub(super) fn set_overhead(&mut self, class: String, overhead: Option<ResourceList>) {
        match overhead {
            Some(overhead) => drop(self.overheads.insert(class, overhead)),
            None => drop(self.overheads.remove(&class)),
        }
    }

    /// What an object says to the engine.
    pub(super) fn spec_of(&self, object: &Workload) -> Box<WorkloadSpec> {
        let around = Surroundings {
            resources: &self.rules,
            limits: self.limits.get(object.metadata.namespace.as_str()).unwrap_or(&self.no_limits),
            metric_labels: &self.metric_labels,
            overheads: &self.overheads,
        };
        match kueue_translate::workload(object, &around) {
            Change::Workload(spec) => spec,
            other => unreachable!("a Workload is translated to {other:?}"),
        }
    }
}
