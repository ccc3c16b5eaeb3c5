//! What is refused about where pods want to run, as the annotations of their templates say it.

use std::collections::BTreeMap;

use kueue_api::kueue::names::annotation::{
    POD_SET_GROUP_NAME, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY, SLICE_REQUIRED_TOPOLOGY,
    SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS, SLICE_SIZE, UNCONSTRAINED_TOPOLOGY,
};
use kueue_api::kueue::v1beta2::{PodSet, PodSetTopologyRequest, PodsetSliceRequiredTopologyConstraint};
use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::{Gate, Gates};
use kueue_core::label;

use crate::topology_request::go_bool;

type Annotations = BTreeMap<String, String>;

/// How many layers of slices there may be.
const LAYERS_MAX: usize = 3;

/// Every mistake in the request of one pod set; `at` is the metadata of its template.
pub fn request(annotations: &Annotations, at: &Path, gates: Gates) -> Errors {
    let at = at.child("annotations");
    let has = |key: &str| annotations.contains_key(key);
    let mut errors = Errors::new();
    let ways = [REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY];
    if ways.iter().filter(|way| has(way)).count() > 1 {
        let [required, preferred, unconstrained] = ways;
        let detail = format!(
            "must not contain more than one topology annotation: [{required:?}, {preferred:?}, {unconstrained:?}]"
        );
        errors.push(without_value(&at, detail));
    }
    for key in [REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, SLICE_REQUIRED_TOPOLOGY] {
        if let Some(level) = annotations.get(key) {
            errors.extend(label::validate_key(level, &at.key(key)));
        }
    }
    errors.extend(group_name(annotations, &at));
    if let Some(value) = annotations.get(UNCONSTRAINED_TOPOLOGY).filter(|value| go_bool(value).is_none()) {
        errors.push(Error::invalid(&at.key(UNCONSTRAINED_TOPOLOGY), value.as_str(), "must be a boolean value"));
    }
    errors.extend(slice_size(annotations, &at));
    match (has(SLICE_REQUIRED_TOPOLOGY), has(SLICE_SIZE)) {
        (true, false) => {
            let detail = format!("must be set when '{SLICE_REQUIRED_TOPOLOGY}' is specified");
            errors.push(Error::required(&at.key(SLICE_SIZE), detail));
        }
        (false, true) => {
            let detail = format!("may not be set when '{SLICE_REQUIRED_TOPOLOGY}' is not specified");
            errors.push(Error::forbidden(&at.key(SLICE_SIZE), detail));
        }
        _ => {}
    }
    errors.extend(layers(annotations, &at, gates));
    errors
}

/// A mistake that no single value shows.
fn without_value(at: &Path, detail: String) -> Error {
    Error { value: None, ..Error::invalid(at, "", detail) }
}

fn group_name(annotations: &Annotations, at: &Path) -> Errors {
    let Some(name) = annotations.get(POD_SET_GROUP_NAME) else { return Errors::new() };
    let has = |key: &str| annotations.contains_key(key);
    let path = at.key(POD_SET_GROUP_NAME);
    let mut errors = Errors::new();
    if name.parse::<u64>().is_ok() && !name.starts_with('+') {
        errors.push(Error::invalid(&path, name.as_str(), "must not be a number"));
    }
    for key in [SLICE_SIZE, SLICE_REQUIRED_TOPOLOGY].into_iter().filter(|key| has(key)) {
        errors.push(Error::forbidden(&path, format!("may not be set when '{key}' is specified")));
    }
    if !has(PREFERRED_TOPOLOGY) && !has(REQUIRED_TOPOLOGY) {
        let detail =
            format!("may not be set when neither '{PREFERRED_TOPOLOGY}' nor '{REQUIRED_TOPOLOGY}' is specified");
        errors.push(Error::forbidden(&path, detail));
    }
    errors
}

fn slice_size(annotations: &Annotations, at: &Path) -> Option<Error> {
    let text = annotations.get(SLICE_SIZE)?;
    let invalid = |detail| Some(Error::invalid(&at.key(SLICE_SIZE), text.as_str(), detail));
    match text.parse::<i32>() {
        Err(_) => invalid("must be a numeric value"),
        Ok(size) if size < 1 => invalid("must be greater than or equal to 1"),
        Ok(_) => None,
    }
}

/// Layers of slices, from the largest to the smallest.
fn layers(annotations: &Annotations, at: &Path, gates: Gates) -> Errors {
    let Some(text) = annotations.get(SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS) else { return Errors::new() };
    let path = at.key(SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS);
    if !gates.enabled(Gate::TASMultiLayerTopology) {
        let gate = Gate::TASMultiLayerTopology.name();
        return vec![Error::forbidden(
            &path,
            format!("the {gate} feature gate must be enabled to use this annotation"),
        )];
    }
    let mut errors = Errors::new();
    for key in [SLICE_REQUIRED_TOPOLOGY, SLICE_SIZE].into_iter().filter(|key| annotations.contains_key(*key)) {
        errors.push(Error::forbidden(&path, format!("may not be set when '{key}' is specified")));
    }
    if annotations.contains_key(POD_SET_GROUP_NAME) {
        let detail = format!("may not be set when '{SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS}' is specified");
        errors.push(Error::forbidden(&at.key(POD_SET_GROUP_NAME), detail));
    }
    match serde_json::from_str::<Vec<PodsetSliceRequiredTopologyConstraint>>(text) {
        Err(error) => {
            errors.push(Error::invalid(&path, text.as_str(), format!("must be a valid JSON array: {error}")));
        }
        Ok(layers) if layers.is_empty() || layers.len() > LAYERS_MAX => {
            let detail = format!("topology constraints must contain between 1 and {LAYERS_MAX} entries");
            errors.push(Error::invalid(&path, text.as_str(), detail));
        }
        Ok(layers) => errors.extend(each_layer(&layers, &path)),
    }
    errors
}

fn each_layer(layers: &[PodsetSliceRequiredTopologyConstraint], at: &Path) -> Errors {
    let mut errors = Errors::new();
    for (index, layer) in layers.iter().enumerate() {
        errors.extend(label::validate_key(&layer.topology, &at.index(index).child("topology")));
        if layer.size < 1 {
            let size = at.index(index).child("size");
            errors.push(Error::invalid(&size, layer.size, "must be greater than or equal to 1"));
        }
    }
    for (index, layer) in layers.iter().enumerate() {
        let first = layers[..index].iter().position(|other| other.topology == layer.topology);
        if let Some(first) = first {
            let value = format!("{} (also at index {first})", layer.topology);
            errors.push(Error::duplicate(&at.index(index).child("topology"), value));
        }
    }
    for (index, pair) in layers.windows(2).enumerate() {
        let [above, below] = pair else { continue };
        if below.size > 0 && above.size % below.size != 0 {
            let size = at.index(index + 1).child("size");
            let detail = format!("must evenly divide the parent layer size {}", above.size);
            errors.push(Error::invalid(&size, below.size, detail));
        }
    }
    errors
}

/// Slices that are larger than the pod set; `at` is the metadata of its template.
pub fn slices_in_count(annotations: &Annotations, at: &Path, pod_set: &PodSet) -> Errors {
    let at = at.child("annotations");
    let detail = || format!("must not be greater than pod set count {}", pod_set.count);
    let mut errors = Errors::new();
    if let Some(text) = annotations.get(SLICE_SIZE) {
        match text.parse::<i32>() {
            Err(_) => return vec![Error::invalid(&at.key(SLICE_SIZE), text.as_str(), "must be a numeric value")],
            Ok(size) if size > pod_set.count => {
                errors.push(Error::invalid(&at.key(SLICE_SIZE), text.as_str(), detail()));
            }
            Ok(_) => {}
        }
    }
    let layers = annotations.get(SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS);
    let layers = layers.and_then(|text| serde_json::from_str::<Vec<PodsetSliceRequiredTopologyConstraint>>(text).ok());
    if let Some(largest) = layers.iter().flatten().next().filter(|largest| largest.size > pod_set.count) {
        errors.push(Error::invalid(&at.key(SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS), largest.size, detail()));
    }
    errors
}

/// Pod sets that want to run near each other do so in pairs: a leader and its workers. `paths` tells where the
/// annotations of each pod set stand.
pub fn groups(pod_sets: &[PodSet], paths: &BTreeMap<&str, Path>) -> Errors {
    let group = |pod_set: &PodSet| pod_set.topology_request.as_ref()?.pod_set_group_name.clone();
    let mut names: Vec<String> = Vec::new();
    for name in pod_sets.iter().filter_map(group) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut errors = Errors::new();
    for name in &names {
        let members: Vec<&PodSet> = pod_sets.iter().filter(|pod_set| group(pod_set).as_ref() == Some(name)).collect();
        errors.extend(one_group(name, &members, paths));
    }
    errors
}

fn one_group(name: &str, members: &[&PodSet], paths: &BTreeMap<&str, Path>) -> Errors {
    let path = |pod_set: &PodSet| paths.get(pod_set.name.as_str()).cloned().unwrap_or_default();
    let of_name = |pod_set: &PodSet, detail: &str| Error::invalid(&path(pod_set).key(POD_SET_GROUP_NAME), name, detail);
    let [one, other] = members else {
        let detail = format!("can only define groups of exactly 2 pod sets, got: {} pod set(s)", members.len());
        return members.iter().map(|pod_set| of_name(pod_set, &detail)).collect();
    };
    let mut errors = Errors::new();
    if one.count != 1 && other.count != 1 {
        let detail = format!(
            "can only define groups where at least one pod set has only 1 replica, got: {} replica(s) and {} replica(s) in the group",
            one.count, other.count
        );
        errors.extend([of_name(one, &detail), of_name(other, &detail)]);
    }
    if !ask_for_the_same(one.topology_request.as_ref(), other.topology_request.as_ref()) {
        for (pod_set, sibling) in [(one, other), (other, one)] {
            let detail = format!(
                "must specify '{REQUIRED_TOPOLOGY}' or '{PREFERRED_TOPOLOGY}' topology consistent with '{}' in group '{name}'",
                path(sibling)
            );
            errors.push(without_value(&path(pod_set), detail));
        }
    }
    errors
}

fn ask_for_the_same(one: Option<&PodSetTopologyRequest>, other: Option<&PodSetTopologyRequest>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    let asks = |request: &PodSetTopologyRequest| request.required.is_some() || request.preferred.is_some();
    asks(one) && asks(other) && one.required == other.required && one.preferred == other.preferred
}
