//! Gates, groups and shapes of pods.

use kueue_api::core_v1::PodSpec;
use kueue_api::kueue::v1beta2::Workload;
use kueue_jobs::kinds::pod::group::index_below;
use kueue_jobs::kinds::pod::{Pod, add_gate, group_name, has_gate, remove_gate};
use kueue_jobs::opened::Opened;
use kueue_jobs::pod_shape::{role_hash, spec_shape};
use serde_json::{Value, json};

use super::Runners;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners = &[
    ("TestGate", |case| gate(case, add_gate)),
    ("TestGenerateRoleHash", generate_role_hash),
    ("TestGetPodGroupName", name_of_group),
    ("TestHasGate", |case| {
        equal(&case.arg::<bool>("want")?, &has_gate(&case.arg::<Pod>("pod")?.spec, &case.arg::<String>("gateName")?))
    }),
    ("TestIsTerminated", |case| equal(&case.arg::<bool>("wantTerminated")?, &case.arg::<Pod>("pod")?.is_terminated())),
    ("TestReadUIntFromLabel", read_index),
    ("TestRecordPodSchedulingGateRemovalSeconds", waited),
    ("TestRecordPodSchedulingGateRemovalSecondsReplicaRole", counted),
    ("TestSpecShape", shape),
    ("TestUngate", |case| gate(case, remove_gate)),
];

/// The order of gates means nothing, so it is not compared.
fn gate(case: &Case, change: fn(&mut PodSpec, &str) -> bool) -> Result<(), Failure> {
    let mut pod: Pod = case.arg("pod")?;
    let changed = change(&mut pod.spec, &case.arg::<String>("gateName")?);
    equal(&case.arg::<bool>("want")?, &changed)?;
    let names = |pod: &Pod| {
        let mut names: Vec<String> = pod.spec.scheduling_gates.iter().map(|gate| gate.name.clone()).collect();
        names.sort();
        names
    };
    equal(&names(&case.arg("wantPod")?), &names(&pod))
}

fn generate_role_hash(case: &Case) -> Result<(), Failure> {
    let is_base = role_hash(&case.arg("podSpec")?) == case.scope("baseHash").as_str().unwrap_or_default();
    equal(&case.arg::<bool>("wantBaseHash")?, &is_base)
}

fn name_of_group(case: &Case) -> Result<(), Failure> {
    let pod: Pod = case.arg("pod")?;
    equal(&case.arg::<String>("want")?, &group_name(&pod.metadata, case.gates()?).unwrap_or_default().to_owned())
}

fn read_index(case: &Case) -> Result<(), Failure> {
    let pod: Pod = case.arg("obj")?;
    let got = index_below(&pod.metadata, &case.arg::<String>("label")?, case.arg("max")?);
    match case.raw("wantErr.error").as_str() {
        // Who asks for a label that may be missing is told so by a value.
        Some("label not found") => equal(&Ok(None), &got),
        Some(wanted) => equal(&true, &got.is_err_and(|error| error.to_string().starts_with(wanted))),
        None => equal(&Ok(case.get("wantVal")?), &got),
    }
}

fn waited(case: &Case) -> Result<(), Failure> {
    let workload: Workload = decode("wl", case.local("wl"))?.unwrap_or_default();
    let opened = Opened::now("example.com/gate", false, &workload, case.now()?);
    equal(&Some(case.arg::<f64>("wantSeconds")?), &opened.map(|opened| opened.waited_s))
}

/// The role of a replica is a label of all its metrics, whoever counts.
fn counted(case: &Case) -> Result<(), Failure> {
    let workload: Workload = decode("wl", case.local("wl"))?.unwrap_or_default();
    let opened = Opened::now("example.com/gate", false, &workload, case.now()?);
    equal(&case.arg::<usize>("wantCount")?, &opened.iter().count())
}

fn shape(case: &Case) -> Result<(), Failure> {
    let shape = spec_shape(&case.arg("podSpec")?);
    equal(&case.arg::<bool>("wantPresent")?, &shape.contains_key("resources"))?;
    let resources = shape.get("resources").cloned().unwrap_or(Value::Null);
    Rules::equate_empty().same(case.raw("wantResources"), &json!(resources))
}
