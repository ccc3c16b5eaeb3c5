//! `Workload`: the priority class, topology assignments, and one misspelled field.

use kueue_core::field::{Error, Path};
use kueue_core::gates::Gates;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ConversionError, Fields, child, is_given, rename};
use crate::kueue::topology_assignment::{self, TopologyDomainAssignment};
use crate::kueue::v1beta1::PriorityClassSource;
use crate::kueue::v1beta2::{PriorityClassGroup, PriorityClassKind, PriorityClassRef, TopologyAssignment};

pub(super) fn upgrade(workload: &mut Fields, gates: Gates) -> Result<(), ConversionError> {
    if let Some(spec) = child(workload, "spec") {
        upgrade_priority_class(spec).map_err(|error| error.under(&Path::new("spec")))?;
    }
    if let Some(status) = child(workload, "status") {
        rename(status, "accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds");
        each_topology_assignment(status, |assignment| {
            let levels: Vec<String> = read("levels", assignment.get("levels").cloned())?;
            let domains: Vec<TopologyDomainAssignment> = take(assignment, "domains")?;
            let encoded = topology_assignment::encode(&levels, &domains, gates)?;
            if !encoded.slices.is_empty() {
                assignment.insert("slices".to_owned(), serde_json::to_value(encoded.slices)?);
            }
            Ok(())
        })?;
    }
    Ok(())
}

pub(super) fn downgrade(workload: &mut Fields) -> Result<(), ConversionError> {
    if let Some(spec) = child(workload, "spec") {
        downgrade_priority_class(spec).map_err(|error| error.under(&Path::new("spec")))?;
        spec.remove("preemptionGates");
        for pod_set in items(spec, "podSets") {
            if let Some(request) = child(pod_set, "topologyRequest") {
                request.remove("podsetSliceRequiredTopologyConstraints");
            }
        }
    }
    if let Some(status) = child(workload, "status") {
        rename(status, "accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds");
        status.remove("preemptionGates");
        each_topology_assignment(status, |assignment| {
            let levels = read("levels", assignment.get("levels").cloned())?;
            let compact = TopologyAssignment { levels, slices: take(assignment, "slices")? };
            let domains = topology_assignment::decode(&compact)?;
            assignment.insert("domains".to_owned(), domains.into_iter().map(domain_value).collect());
            Ok(())
        })?;
    }
    Ok(())
}

fn upgrade_priority_class(spec: &mut Fields) -> Result<(), ConversionError> {
    let name: String = take(spec, "priorityClassName")?;
    let source: PriorityClassSource = take(spec, "priorityClassSource")?;
    let (group, kind) = match source {
        PriorityClassSource::Workload => (PriorityClassGroup::Workload, PriorityClassKind::WorkloadPriorityClass),
        PriorityClassSource::Pod => (PriorityClassGroup::Pod, PriorityClassKind::PriorityClass),
        PriorityClassSource::Other(_) => return Ok(()),
    };
    spec.insert("priorityClassRef".to_owned(), serde_json::to_value(PriorityClassRef { group, kind, name })?);
    Ok(())
}

fn downgrade_priority_class(spec: &mut Fields) -> Result<(), ConversionError> {
    let reference: PriorityClassRef = take(spec, "priorityClassRef")?;
    let source = match (reference.group, reference.kind) {
        (PriorityClassGroup::Workload, PriorityClassKind::WorkloadPriorityClass) => PriorityClassSource::Workload,
        (PriorityClassGroup::Pod, PriorityClassKind::PriorityClass) => PriorityClassSource::Pod,
        _ => return Ok(()),
    };
    spec.insert("priorityClassSource".to_owned(), source.as_str().into());
    if !reference.name.is_empty() {
        spec.insert("priorityClassName".to_owned(), reference.name.into());
    }
    Ok(())
}

fn each_topology_assignment(
    status: &mut Fields,
    mut change: impl FnMut(&mut Fields) -> Result<(), ConversionError>,
) -> Result<(), ConversionError> {
    let Some(admission) = child(status, "admission") else { return Ok(()) };
    for (index, pod_set) in items(admission, "podSetAssignments").enumerate() {
        if let Some(assignment) = child(pod_set, "topologyAssignment") {
            change(assignment).map_err(|error| {
                let pod_set = Path::new("status").child("admission").child("podSetAssignments").index(index);
                error.under(&pod_set.child("topologyAssignment"))
            })?;
        }
    }
    Ok(())
}

/// The objects in a list.
fn items<'a>(fields: &'a mut Fields, key: &str) -> impl Iterator<Item = &'a mut Fields> {
    fields.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Takes a field out, in typed form.
fn take<T: DeserializeOwned + Default>(fields: &mut Fields, key: &str) -> Result<T, Error> {
    read(key, fields.remove(key))
}

/// The typed form of a field; the zero value when it is not set.
fn read<T: DeserializeOwned + Default>(key: &str, value: Option<Value>) -> Result<T, Error> {
    let Some(value) = value.filter(is_given) else { return Ok(T::default()) };
    let shape = if value.is_array() { "array" } else { "object" };
    let scalar = (!value.is_array() && !value.is_object()).then(|| value.clone());
    serde_json::from_value(value).map_err(|error| {
        let shown = scalar.unwrap_or_else(|| shape.into());
        Error::type_invalid(&Path::new(key), shown, error.to_string())
    })
}

/// What `serde_json` would print, without copying the names.
fn domain_value(domain: TopologyDomainAssignment) -> Value {
    let values = domain.values.into_iter().map(Value::String).collect();
    Value::Object(Fields::from_iter([("count".to_owned(), domain.count.into()), ("values".to_owned(), values)]))
}
