//! What is put into the pods of a job that starts and taken out when it stops.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::core_v1::{Affinity, PodSchedulingGate, Toleration};
use kueue_api::kueue::v1beta2::{PodSet, PodSetAssignment, ResourceFlavor};
use kueue_api::pod_set_info::PodSetInfo;
use serde::Deserialize;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners = &[("TestFromAssignment", from_assignment), ("TestMergeRestore", merge_restore)];

/// The information by the names of its Go fields.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct GoInfo {
    name: String,
    count: i32,
    annotations: BTreeMap<String, String>,
    labels: BTreeMap<String, String>,
    node_selector: BTreeMap<String, String>,
    affinity: Option<Affinity>,
    tolerations: Vec<Toleration>,
    scheduling_gates: Vec<PodSchedulingGate>,
}

fn info(case: &Case, field: &str) -> Result<PodSetInfo, Failure> {
    case.arg(field).map(from_go)
}

/// What pod sets are given, in order.
pub(super) fn infos(case: &Case, field: &str) -> Result<Vec<PodSetInfo>, Failure> {
    Ok(case.arg::<Vec<GoInfo>>(field)?.into_iter().map(from_go).collect())
}

fn from_go(info: GoInfo) -> PodSetInfo {
    let GoInfo { name, count, annotations, labels, node_selector, affinity, tolerations, scheduling_gates } = info;
    PodSetInfo { name, count, annotations, labels, node_selector, affinity, tolerations, scheduling_gates }
}

fn from_assignment(case: &Case) -> Result<(), Failure> {
    let assignment: PodSetAssignment = case.arg("assignment")?;
    let flavors: Vec<ResourceFlavor> = case.arg("flavors")?;
    let pod_set: PodSet = decode("podSet", case.local("podSet"))?.unwrap_or_default();
    let flavor = |name: &str| flavors.iter().find(|flavor| flavor.metadata.name == name);
    let got = PodSetInfo::from_assignment(&assignment, &pod_set, case.gates()?, flavor);
    let want_error: Option<String> = case.get("wantError.error")?;
    match got {
        Err(error) => equal(&want_error, &Some(error.to_string())),
        Ok(mut got) => {
            equal(&want_error, &None)?;
            let mut want = info(case, "wantInfo")?;
            for info in [&mut want, &mut got] {
                info.tolerations.sort_by(|a, b| a.key.cmp(&b.key));
            }
            equal(&want, &got)
        }
    }
}

fn merge_restore(case: &Case) -> Result<(), Failure> {
    let original: PodSet = case.arg("podSet")?;
    let mut pod_set = original.clone();
    let merged = info(case, "info")?.merge_into(Arc::make_mut(&mut pod_set.template), case.gates()?);
    equal(&case.arg::<bool>("wantError")?, &merged.is_err())?;
    if merged.is_err() {
        return Ok(());
    }
    equal(&case.arg::<PodSet>("wantPodSet")?.template, &pod_set.template)?;
    let changed = PodSetInfo::from_pod_set(&original).restore(Arc::make_mut(&mut pod_set.template));
    equal(&case.arg::<bool>("wantRestoreChanges")?, &changed)?;
    equal(&original.template, &pod_set.template)
}
