//! Every kind in every version: damaged samples are decoded, printed, converted and judged.

use std::path::Path;

use kueue_api::kueue::conversion::convert;
use kueue_api::kueue::kinds::{KINDS, KindInfo};
use kueue_api::kueue::v1beta2::{ClusterQueue, Cohort, ResourceFlavor, Workload};
use kueue_api::validation;
use kueue_core::gates::Gates;
use serde_json::Value;

use super::{Samples, Target, documents};

const GROUP: &str = "kueue.x-k8s.io";

pub(super) fn target() -> Target {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../api/samples");
    Target { name: "kinds", samples: Samples::Documents(documents(&folder)), check, explain: None }
}

fn check(input: &str) -> Result<(), String> {
    let Ok(object) = serde_json::from_str::<Value>(input) else { return Ok(()) };
    for info in KINDS {
        if object["kind"] == info.kind {
            convert_to(&object, info)?;
            if object["apiVersion"] == format!("{GROUP}/{}", info.version) {
                recodes(&object, info)?;
            }
        }
    }
    judge(&object);
    Ok(())
}

/// What decodes prints to something that decodes to the same.
fn recodes(object: &Value, info: &KindInfo) -> Result<(), String> {
    let Ok(printed) = (info.recode)(object.clone()) else { return Ok(()) };
    match (info.recode)(printed.clone()) {
        Ok(again) if again == printed => Ok(()),
        Ok(again) => Err(format!("prints as {printed}, then as {again}")),
        Err(error) => Err(format!("prints as {printed}, which is refused: {error}")),
    }
}

/// What converts can be converted once more, and an object of the version asked for comes back as it was.
fn convert_to(object: &Value, info: &KindInfo) -> Result<(), String> {
    let version = format!("{GROUP}/{}", info.version);
    let Ok(converted) = convert(object.clone(), &version, Gates::default()) else { return Ok(()) };
    match convert(converted.clone(), &version, Gates::default()) {
        Ok(again) if again == converted => Ok(()),
        Ok(_) => Err(format!("changes when converted to {version} twice")),
        Err(error) => Err(format!("converted to {version} it is refused: {error}")),
    }
}

/// Validation takes anything that decodes.
fn judge(object: &Value) {
    let gates = Gates::default();
    match object["kind"].as_str() {
        Some("Workload") => {
            if let Ok(workload) = serde_json::from_value::<Workload>(object.clone()) {
                let _ = validation::workload::validate(&workload, gates);
                let _ = validation::workload::validate_update(&workload, &Workload::default(), gates);
            }
        }
        Some("ClusterQueue") => {
            if let Ok(queue) = serde_json::from_value::<ClusterQueue>(object.clone()) {
                let _ = validation::cluster_queue::validate_update(&queue, &ClusterQueue::default(), gates);
            }
        }
        Some("Cohort") => {
            if let Ok(cohort) = serde_json::from_value::<Cohort>(object.clone()) {
                let _ = validation::cohort::validate(&cohort);
            }
        }
        Some("ResourceFlavor") => {
            if let Ok(flavor) = serde_json::from_value::<ResourceFlavor>(object.clone()) {
                let _ = validation::resource_flavor::validate(&flavor);
            }
        }
        _ => {}
    }
}
