//! Label values that metrics tell workloads apart by, as the configuration asks.

use std::sync::Arc;

use kueue_api::config::v1beta2::{CustomLabel, SourceKind};
use kueue_api::meta::ObjectMeta;
use kueue_core::gates::{Gate, Gates};
use kueue_engine::Name;

/// The labels of workloads that metrics show.
#[derive(Clone, Debug, Default)]
pub struct MetricLabels {
    sources: Vec<CustomLabel>,
}

impl MetricLabels {
    /// What the configuration says about workloads.
    pub fn new(configured: &[CustomLabel], gates: Gates) -> Self {
        match gates.enabled(Gate::CustomMetricLabels) {
            true => Self {
                sources: configured.iter().filter(|label| label.is_of(&SourceKind::Workload)).cloned().collect(),
            },
            false => Self::default(),
        }
    }

    /// One value per label, in the order of the configuration.
    pub(crate) fn values(&self, meta: &ObjectMeta) -> Arc<[Name]> {
        self.sources.iter().map(|source| source.value_of(meta).into()).collect()
    }
}
