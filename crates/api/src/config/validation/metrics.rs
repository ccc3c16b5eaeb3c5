//! `metrics.customLabels`: labels and annotations that become labels of metrics.
//!
//! Each multiplies the number of time series, so their number and their values are limited.

use std::collections::{BTreeMap, BTreeSet};

use kueue_core::field::{Error, Errors, Path};

use super::{label_key_error, shown};
use crate::config::v1beta2::{Configuration, CustomLabel, SourceKind};

const LABELS_MAX: usize = 20;
const LABELS_PER_KIND_MAX: usize = 6;
const LABELS_OF_WORKLOADS_MAX: usize = 2;
const TRACKED_VALUES_MAX: usize = 16;
const TRACKED_VALUES_OF_WORKLOADS_MAX: usize = 12;

/// Every mistake in the custom labels.
pub fn validate_custom_labels(configuration: &Configuration) -> Errors {
    let labels = &configuration.metrics.custom_labels;
    let at = Path::new("metrics").child("customLabels");
    let mut errors = Errors::new();
    if labels.len() > LABELS_MAX {
        errors.push(Error::too_many(&at, labels.len(), LABELS_MAX));
    }
    let mut names = BTreeSet::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (index, label) in labels.iter().enumerate() {
        let at = at.index(index);
        if !is_metric_label_name(&label.name) {
            let why = "must match ^[a-zA-Z][a-zA-Z0-9_]*$";
            errors.push(Error::invalid(&at.child("name"), label.name.as_str(), why));
        }
        if !names.insert(&label.name) {
            errors.push(Error::duplicate(&at.child("name"), label.name.as_str()));
        }
        errors.extend(validate_source(label, &at));
        errors.extend(validate_tracked_values(label, &at.child("trackedValues")));
        *counts.entry(kind_of(label).to_string()).or_default() += 1;
    }
    for (kind, count) in counts {
        let limit = match SourceKind::from(kind.as_str()) {
            SourceKind::Workload => LABELS_OF_WORKLOADS_MAX,
            SourceKind::Cohort | SourceKind::LocalQueue | SourceKind::ClusterQueue => LABELS_PER_KIND_MAX,
            SourceKind::Other(_) => {
                errors.push(Error::invalid(&at, shown(labels), format!("unknown source kind: {kind}")));
                continue;
            }
        };
        if count > limit {
            let why = format!("too many custom labels for source kind {kind}: found {count}, expected <= {limit}");
            errors.push(Error::invalid(&at, shown(labels), why));
        }
    }
    errors
}

fn kind_of(label: &CustomLabel) -> SourceKind {
    label.source_kind.clone().unwrap_or(SourceKind::ClusterQueue)
}

fn is_metric_label_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The key that is read must be one that an object can have.
fn validate_source(label: &CustomLabel, at: &Path) -> Errors {
    let mut errors = Errors::new();
    if !label.source_label_key.is_empty() && !label.source_annotation_key.is_empty() {
        let why = "sourceLabelKey and sourceAnnotationKey are mutually exclusive";
        errors.push(Error::invalid(at, shown(label), why));
    }
    let (field, key) = match (label.source_label_key.as_str(), label.source_annotation_key.as_str()) {
        ("", "") => ("name", label.name.as_str()),
        ("", key) => ("sourceAnnotationKey", key),
        (key, _) => ("sourceLabelKey", key),
    };
    errors.extend(label_key_error(&at.child(field), key));
    errors
}

fn validate_tracked_values(label: &CustomLabel, at: &Path) -> Errors {
    let values = &label.tracked_values;
    let mut errors = Errors::new();
    if kind_of(label) == SourceKind::Workload {
        if values.is_empty() {
            errors.push(Error::invalid(at, shown(values), "must not be empty when sourceKind is 'Workload'"));
        }
        if values.len() > TRACKED_VALUES_OF_WORKLOADS_MAX {
            let limit = TRACKED_VALUES_OF_WORKLOADS_MAX;
            let why = format!("must not be greater than {limit} when sourceKind is 'Workload'");
            errors.push(Error::invalid(at, shown(values), why));
        }
    } else if values.len() > TRACKED_VALUES_MAX {
        errors.push(Error::too_many(at, values.len(), TRACKED_VALUES_MAX));
    }
    if values.iter().collect::<BTreeSet<_>>().len() < values.len() {
        errors.push(Error::invalid(at, shown(values), "must not contain duplicates"));
    }
    errors
}
