//! Label values that metrics tell workloads apart by, as the configuration asks.

use std::sync::Arc;

use kueue_api::config::v1beta2::{CustomLabel, SourceKind};
use kueue_api::meta::ObjectMeta;
use kueue_core::gates::{Gate, Gates};
use kueue_engine::Name;

/// Stands for every value that is not tracked, so that users cannot make metrics grow without bound.
const UNTRACKED: &str = "kueue.x-k8s.io/_UNTRACKED_VALUE_";

/// The labels of workloads that metrics show.
#[derive(Clone, Debug, Default)]
pub struct MetricLabels {
    sources: Vec<CustomLabel>,
}

impl MetricLabels {
    /// What the configuration says about workloads.
    pub fn new(configured: &[CustomLabel], gates: Gates) -> Self {
        let is_about_workloads = |label: &&CustomLabel| label.source_kind == Some(SourceKind::Workload);
        match gates.enabled(Gate::CustomMetricLabels) {
            true => Self { sources: configured.iter().filter(is_about_workloads).cloned().collect() },
            false => Self::default(),
        }
    }

    /// One value per label, in the order of the configuration.
    pub(crate) fn values(&self, meta: &ObjectMeta) -> Arc<[Name]> {
        self.sources.iter().map(|source| value(source, meta)).collect()
    }
}

fn value(source: &CustomLabel, meta: &ObjectMeta) -> Name {
    let value = if !source.source_annotation_key.is_empty() {
        meta.annotations.get(&source.source_annotation_key)
    } else if !source.source_label_key.is_empty() {
        meta.labels.get(&source.source_label_key)
    } else {
        meta.labels.get(&source.name)
    };
    let value = value.map_or("", String::as_str);
    let is_tracked = source.tracked_values.is_empty() || source.tracked_values.iter().any(|known| known == value);
    if is_tracked { value.into() } else { UNTRACKED.into() }
}
