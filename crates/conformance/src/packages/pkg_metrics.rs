//! Labels of metrics, and which LocalQueues have metrics of their own.

use std::collections::BTreeMap;

use kueue_api::config::v1beta2::{CustomLabel, Metrics as Configured, SourceKind};
use kueue_api::meta::ObjectMeta;
use kueue_metrics::{Build, CustomLabels, Lookup, Metrics, Subject};
use serde_json::{Value, json};

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[
    ("TestCustomLabels", custom_labels),
    ("TestShouldExposeLocalQueueMetrics", exposed_local_queue),
    ("TestUpdateRequired", change_of_labels),
];

type Texts = BTreeMap<String, String>;

fn meta(labels: Option<Texts>, annotations: Option<Texts>) -> ObjectMeta {
    let (labels, annotations) = (labels.unwrap_or_default(), annotations.unwrap_or_default());
    ObjectMeta { labels, annotations, ..ObjectMeta::default() }
}

fn labels_of(case: &Case) -> Result<CustomLabels, Failure> {
    Ok(CustomLabels::new(&case.arg::<Vec<CustomLabel>>("entries")?, case.gates()?))
}

fn custom_labels(case: &Case) -> Result<(), Failure> {
    let labels = labels_of(case)?;
    let mut kinds: Vec<SourceKind> = case.arg("sourceKinds")?;
    kinds.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    let object = meta(case.get("labels")?, case.get("annotations")?);
    equal(&case.arg("wantNames")?, &labels.names(&kinds))?;
    let values: Vec<String> = kinds.iter().flat_map(|kind| labels.values(kind, Some(&object))).collect();
    equal(&case.arg("want")?, &values)
}

/// Metrics are read anew at each scrape, so what is left of the test is whether they would show something else.
fn change_of_labels(case: &Case) -> Result<(), Failure> {
    let labels = if case.arg("nilReceiver")? { CustomLabels::default() } else { labels_of(case)? };
    let kind: SourceKind = case.arg("kind")?;
    let (stored, annotations) = (case.get::<Texts>("storeLabels")?, case.get::<Texts>("storeAnnots")?);
    let stored = (stored.is_some() || annotations.is_some()).then(|| meta(stored, annotations));
    let new = meta(case.get("testLabels")?, case.get("testAnnots")?);
    equal(&case.arg("want")?, &(labels.values(&kind, stored.as_ref()) != labels.values(&kind, Some(&new))))
}

/// One LocalQueue with labels.
struct One(Texts);

impl Lookup for One {
    fn find(&self, _: &Subject) -> Option<ObjectMeta> {
        Some(meta(Some(self.0.clone()), None))
    }
}

fn exposed_local_queue(case: &Case) -> Result<(), Failure> {
    let cfg = case.raw("cfg");
    let selector = cfg["QueueSelector"].as_str().and_then(|text| text.split_once('='));
    let selector = selector.map_or(Value::Null, |(key, value)| json!({"matchLabels": {key: value}}));
    let configured = json!({"localQueueMetrics": {"enable": cfg["Enabled"] == true, "localQueueSelector": selector}});
    let configured: Configured =
        serde_json::from_value(configured).map_err(|error| Failure(format!("cannot read cfg: {error}")))?;
    let queue = One(case.get("lqLabels")?.unwrap_or_default());
    let metrics = Metrics::new(&configured, false, case.gates()?, Box::new(queue), Build::default());
    equal(&case.arg("want")?, &metrics.shows_local_queue(&"ns".into(), &"lq".into()))
}
