//! Labels that the operator adds to metrics, read from the objects that they are about.

use kueue_api::config::v1beta2::{CustomLabel, SourceKind};
use kueue_api::meta::ObjectMeta;
use kueue_core::gates::{Gate, Gates};
use kueue_engine::Name;

/// An object that a metric is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    ClusterQueue(Name),
    Cohort(Name),
    /// Namespace and name.
    LocalQueue(Name, Name),
}

impl Subject {
    fn kind(&self) -> SourceKind {
        match self {
            Self::ClusterQueue(_) => SourceKind::ClusterQueue,
            Self::Cohort(_) => SourceKind::Cohort,
            Self::LocalQueue(..) => SourceKind::LocalQueue,
        }
    }
}

/// Finds labels and annotations of queues and cohorts.
pub trait Lookup: Send + Sync {
    /// None for one that does not exist, or not any more.
    fn find(&self, subject: &Subject) -> Option<ObjectMeta>;
}

/// The labels that the configuration adds.
#[derive(Clone, Debug, Default)]
pub struct CustomLabels(Vec<CustomLabel>);

impl CustomLabels {
    pub fn new(configured: &[CustomLabel], gates: Gates) -> Self {
        Self(if gates.enabled(Gate::CustomMetricLabels) { configured.to_vec() } else { Vec::new() })
    }

    fn of(&self, kind: &SourceKind) -> impl Iterator<Item = &CustomLabel> {
        self.0.iter().filter(move |label| label.is_of(kind))
    }

    /// What they are called in metrics about those kinds, kind by kind and each in the order of the configuration.
    pub fn names(&self, kinds: &[SourceKind]) -> Vec<String> {
        kinds.iter().flat_map(|kind| self.of(kind)).map(|label| format!("custom_{}", label.name)).collect()
    }

    /// Their values for an object. One that does not exist has empty ones.
    pub fn values(&self, kind: &SourceKind, meta: Option<&ObjectMeta>) -> Vec<String> {
        self.of(kind).map(|label| meta.map_or("", |meta| label.value_of(meta)).to_owned()).collect()
    }

    /// Their values for an object that is looked up, if anybody wants to know.
    pub(crate) fn values_of(&self, subject: &Subject, objects: &dyn Lookup) -> Vec<String> {
        let kind = subject.kind();
        if self.of(&kind).next().is_none() {
            return Vec::new();
        }
        self.values(&kind, objects.find(subject).as_ref())
    }
}
