//! How close to each other the pods of a pod set should run, as the annotations of its template say.

use std::collections::BTreeMap;

use kueue_api::kueue::names::annotation;
use kueue_api::kueue::v1beta2::{PodSetTopologyRequest, PodsetSliceRequiredTopologyConstraint};
use kueue_core::gates::{Gate, Gates};

const LAYERS: &str = annotation::SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS;

/// An annotation does not say what it should.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadTopologyRequest {
    #[error("annotation {annotation}: {value:?} is not {expected}")]
    Value { annotation: &'static str, value: String, expected: &'static str },
    #[error("annotation {LAYERS}: {0}")]
    Constraints(String),
    #[error("annotation {LAYERS}: between 1 and 3 entries are possible, not {0}")]
    Layers(usize),
}

/// Which labels tell the pods of a pod set apart; what a kind knows about its pods.
#[derive(Clone, Copy, Debug, Default)]
pub struct PodIndexes {
    pub pod_label: Option<&'static str>,
    pub sub_group_label: Option<&'static str>,
    pub sub_groups: Option<i32>,
}

/// What the annotations ask for; none when they ask for nothing and the kind has nothing to add.
pub fn topology_request(
    annotations: &BTreeMap<String, String>,
    indexes: PodIndexes,
    gates: Gates,
) -> Result<Option<PodSetTopologyRequest>, BadTopologyRequest> {
    if !gates.enabled(Gate::TopologyAwareScheduling) {
        return Ok(None);
    }
    let get = |key: &str| annotations.get(key).cloned();
    let mut request = PodSetTopologyRequest {
        pod_index_label: indexes.pod_label.map(str::to_owned),
        sub_group_index_label: indexes.sub_group_label.map(str::to_owned),
        sub_group_count: indexes.sub_groups,
        ..PodSetTopologyRequest::default()
    };
    if let Some(level) = get(annotation::REQUIRED_TOPOLOGY) {
        request.required = Some(level);
    } else if let Some(level) = get(annotation::PREFERRED_TOPOLOGY) {
        request.preferred = Some(level);
    } else if let Some(value) = get(annotation::UNCONSTRAINED_TOPOLOGY) {
        let read = go_bool(&value);
        let expected = "true or false";
        let bad = BadTopologyRequest::Value { annotation: annotation::UNCONSTRAINED_TOPOLOGY, value, expected };
        request.unconstrained = Some(read.ok_or(bad)?);
    }
    let (level, size) = (get(annotation::SLICE_REQUIRED_TOPOLOGY), get(annotation::SLICE_SIZE));
    let constraints = get(LAYERS);
    match (constraints, level, size) {
        (Some(text), _, _) if gates.enabled(Gate::TASMultiLayerTopology) => {
            request.podset_slice_required_topology_constraints = layers(&text)?;
        }
        (_, Some(level), Some(size)) => {
            let read = size.parse();
            let expected = "a number";
            let bad = |_| BadTopologyRequest::Value { annotation: annotation::SLICE_SIZE, value: size, expected };
            request.pod_set_slice_size = Some(read.map_err(bad)?);
            request.pod_set_slice_required_topology = Some(level);
        }
        _ => {}
    }
    if request.required.is_some() || request.preferred.is_some() {
        request.pod_set_group_name = get(annotation::POD_SET_GROUP_NAME);
    }
    Ok((request != PodSetTopologyRequest::default()).then_some(request))
}

fn layers(text: &str) -> Result<Vec<PodsetSliceRequiredTopologyConstraint>, BadTopologyRequest> {
    let layers: Vec<PodsetSliceRequiredTopologyConstraint> =
        serde_json::from_str(text).map_err(|error| BadTopologyRequest::Constraints(error.to_string()))?;
    match layers.len() {
        1..=3 => Ok(layers),
        count => Err(BadTopologyRequest::Layers(count)),
    }
}

/// What Go's `strconv.ParseBool` takes for a boolean.
pub(crate) fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(annotations: &[(&str, &str)], expected: &str) {
        let annotations = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let gates = Gates::default().with(Gate::TopologyAwareScheduling, true).with(Gate::TASMultiLayerTopology, true);
        let shown = match topology_request(&annotations, PodIndexes::default(), gates) {
            Ok(None) => "none".to_owned(),
            Ok(Some(request)) => json!(request).to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{annotations:?}");
    }

    #[test]
    fn annotations_become_a_request() {
        check(&[], "none");
        check(
            &[(annotation::REQUIRED_TOPOLOGY, "rack"), (annotation::POD_SET_GROUP_NAME, "g")],
            r#"{"podSetGroupName":"g","required":"rack"}"#,
        );
        check(
            &[(annotation::UNCONSTRAINED_TOPOLOGY, "T"), (annotation::POD_SET_GROUP_NAME, "g")],
            r#"{"unconstrained":true}"#,
        );
        check(&[(annotation::SLICE_SIZE, "2")], "none");
        check(
            &[(annotation::SLICE_SIZE, "2"), (annotation::SLICE_REQUIRED_TOPOLOGY, "host")],
            r#"{"podSetSliceRequiredTopology":"host","podSetSliceSize":2}"#,
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        check(
            &[(annotation::UNCONSTRAINED_TOPOLOGY, "maybe")],
            &format!("annotation {}: \"maybe\" is not true or false", annotation::UNCONSTRAINED_TOPOLOGY),
        );
        check(
            &[(annotation::SLICE_SIZE, "two"), (annotation::SLICE_REQUIRED_TOPOLOGY, "host")],
            &format!("annotation {}: \"two\" is not a number", annotation::SLICE_SIZE),
        );
        check(
            &[(annotation::SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS, "[]")],
            &format!(
                "annotation {}: between 1 and 3 entries are possible, not 0",
                annotation::SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS
            ),
        );
    }

    #[test]
    fn without_the_gate_nothing_is_asked_for() {
        let annotations = BTreeMap::from([(annotation::REQUIRED_TOPOLOGY.to_owned(), "rack".to_owned())]);
        let gates = Gates::default().with(Gate::TopologyAwareScheduling, false);
        assert_eq!(
            topology_request(&annotations, PodIndexes { pod_label: Some("i"), ..PodIndexes::default() }, gates),
            Ok(None)
        );
    }
}
