//! Topology assignments as they are stored: whatever they announce, they are read or refused.

use kueue_api::kueue::topology_assignment::{decode, encode};
use kueue_api::kueue::v1beta2::TopologyAssignment;
use kueue_core::gates::{Gate, Gates};
use serde_json::json;

use super::{Samples, Target};

pub(super) fn target() -> Target {
    let samples = vec![
        json!({"levels": ["block", "rack"], "slices": [{"domainCount": 2, "podCounts": {"universal": 2},
            "valuesPerLevel": [{"universal": "b1"}, {"individual": {"prefix": "r", "suffix": ".x", "roots": ["1", "22"]}}]}]}),
        json!({"levels": ["kubernetes.io/hostname"], "slices": [
            {"domainCount": 2, "podCounts": {"individual": [1, 2]}, "valuesPerLevel": [{"individual": {"roots": ["a", "ä"]}}]},
            {"domainCount": 1, "podCounts": {"universal": 2147483647}, "valuesPerLevel": [{"universal": "x"}]}]}),
        json!({"levels": [], "slices": []}),
    ];
    Target { name: "topology-assignment", samples: Samples::Documents(samples), check, explain: None }
}

/// What can be read is written to something that reads the same, in either form.
fn check(input: &str) -> Result<(), String> {
    let Ok(assignment) = serde_json::from_str::<TopologyAssignment>(input) else { return Ok(()) };
    let Ok(domains) = decode(&assignment) else { return Ok(()) };
    for by_prefix in [false, true] {
        let gates = Gates::default().with(Gate::TASAssignmentsEncodingByHostnamePrefix, by_prefix);
        let written = encode(&assignment.levels, &domains, gates).map_err(|error| format!("not written: {error}"))?;
        match decode(&written) {
            Ok(again) if again == domains => {}
            Ok(_) => return Err(format!("reads otherwise when written (by prefix: {by_prefix})")),
            Err(error) => return Err(format!("not read when written (by prefix: {by_prefix}): {error}")),
        }
    }
    Ok(())
}
