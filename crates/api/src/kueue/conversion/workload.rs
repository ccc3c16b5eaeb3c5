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
        upgrade_priority_class(spec)?;
    }
    if let Some(status) = child(workload, "status") {
        rename(status, "accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds");
        each_topology_assignment(status, |assignment, at| {
            let levels: Vec<String> = read(assignment.get("levels").cloned(), &at.child("levels"))?;
            let domains: Vec<TopologyDomainAssignment> = read(assignment.remove("domains"), &at.child("domains"))?;
            let encoded = topology_assignment::encode(&levels, &domains, gates, at)?;
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
        downgrade_priority_class(spec)?;
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
        each_topology_assignment(status, |assignment, at| {
            let compact = TopologyAssignment {
                levels: read(assignment.get("levels").cloned(), &at.child("levels"))?,
                slices: read(assignment.remove("slices"), &at.child("slices"))?,
            };
            let domains = topology_assignment::decode(&compact, at)?;
            assignment.insert("domains".to_owned(), domains.into_iter().map(domain_value).collect());
            Ok(())
        })?;
    }
    Ok(())
}

fn upgrade_priority_class(spec: &mut Fields) -> Result<(), ConversionError> {
    let at = Path::new("spec");
    let name: String = read(spec.remove("priorityClassName"), &at.child("priorityClassName"))?;
    let source: PriorityClassSource = read(spec.remove("priorityClassSource"), &at.child("priorityClassSource"))?;
    let (group, kind) = match source {
        PriorityClassSource::Workload => (PriorityClassGroup::Workload, PriorityClassKind::WorkloadPriorityClass),
        PriorityClassSource::Pod => (PriorityClassGroup::Pod, PriorityClassKind::PriorityClass),
        PriorityClassSource::Other(_) => return Ok(()),
    };
    spec.insert("priorityClassRef".to_owned(), serde_json::to_value(PriorityClassRef { group, kind, name })?);
    Ok(())
}

fn downgrade_priority_class(spec: &mut Fields) -> Result<(), ConversionError> {
    let reference: PriorityClassRef =
        read(spec.remove("priorityClassRef"), &Path::new("spec").child("priorityClassRef"))?;
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
    mut change: impl FnMut(&mut Fields, &Path) -> Result<(), ConversionError>,
) -> Result<(), ConversionError> {
    let Some(admission) = child(status, "admission") else { return Ok(()) };
    let at = Path::new("status").child("admission").child("podSetAssignments");
    for (index, pod_set) in items(admission, "podSetAssignments").enumerate() {
        if let Some(assignment) = child(pod_set, "topologyAssignment") {
            change(assignment, &at.index(index).child("topologyAssignment"))?;
        }
    }
    Ok(())
}

/// The objects in a list.
fn items<'a>(fields: &'a mut Fields, key: &str) -> impl Iterator<Item = &'a mut Fields> {
    fields.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// The typed form of a field; the zero value when it is not set.
fn read<T: DeserializeOwned + Default>(value: Option<Value>, at: &Path) -> Result<T, Error> {
    let Some(value) = value.filter(is_given) else { return Ok(T::default()) };
    let shown = match &value {
        Value::Array(_) => "array".into(),
        Value::Object(_) => "object".into(),
        scalar => scalar.clone(),
    };
    serde_json::from_value(value).map_err(|error| Error::type_invalid(at, shown, error.to_string()))
}

/// What `serde_json` would print, without copying the names.
fn domain_value(domain: TopologyDomainAssignment) -> Value {
    let values = domain.values.into_iter().map(Value::String).collect();
    Value::Object(Fields::from_iter([("count".to_owned(), domain.count.into()), ("values".to_owned(), values)]))
}
