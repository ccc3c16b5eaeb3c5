//! The same for pods that are placed by topology, some of which come a second time for their places.

use std::collections::BTreeSet;

use kueue_core::gates::Gate;
use serde_json::{Map, Value};

use super::cycles::{fair_sharing, same, same_events, same_left, same_workloads, wanted_workloads, writes_as_we_do};
use crate::cluster::Cluster;
use crate::corpus::{Case, Failure};

/// One cycle, after the wait of those that come for places.
pub(super) fn schedule(case: &Case) -> Result<(), Failure> {
    if !writes_as_we_do(case)? {
        return Ok(());
    }
    let mut cluster = Cluster::for_case(case, fair_sharing(case))?;
    cluster.set_transformations(case.raw("resourceTransformations"))?;
    for objects in [
        case.raw("topologies"),
        case.raw("resourceFlavors"),
        case.raw("admissionChecks"),
        case.raw("cohorts"),
        &case.cluster,
        case.raw("pods"),
    ] {
        cluster.add(objects)?;
    }
    let settled = settled(&cluster);
    let comes_later = cluster.engine.next_timer();
    cluster.now = comes_later.map_or(cluster.now, |at| at.max(cluster.now));
    let effects = cluster.engine.cycle(cluster.now);
    cluster.perform(&effects);
    cluster.engine.check_invariants();
    if !wanted_workloads(case).is_null() {
        same_workloads(wanted_workloads(case), &cluster)?;
    }
    same(case.raw("wantNewAssignments"), &new_assignments(&cluster, &settled), "assignments")?;
    same_left(case, &cluster)?;
    if case.gates()?.enabled(Gate::UnadmittedWorkloadsObservability) && !case.has("patchStatusErr") {
        same_events(case, &effects, !case.has("eventCmpOpts"))?;
    }
    Ok(())
}

/// Workloads that ran before the cycle and have no reason to move.
fn settled(cluster: &Cluster) -> BTreeSet<String> {
    let is_settled = |object: &kueue_api::kueue::v1beta2::Workload| {
        let mut conditions = object.status.conditions.iter();
        conditions.any(|condition| condition.r#type == "Admitted" && condition.status.as_str() == "True")
            && object.status.unhealthy_nodes.is_empty()
    };
    cluster.workloads.iter().filter(|(_, object)| is_settled(object)).map(|(key, _)| key.clone()).collect()
}

/// The admissions of all others that hold quota.
fn new_assignments(cluster: &Cluster, settled: &BTreeSet<String>) -> Value {
    let all = super::cycles::assignments(cluster);
    let new = all.as_object().into_iter().flatten().filter(|(key, _)| !settled.contains(*key));
    Value::Object(new.map(|(key, admission)| (key.clone(), admission.clone())).collect::<Map<_, _>>())
}
