//! The same for pods that are placed by topology, some of which come a second time for their places.

use std::collections::BTreeSet;

use kueue_api::kueue::topology_assignment::assigned_nodes;
use kueue_core::backoff::Backoff;
use kueue_core::duration::Duration;
use kueue_core::gates::Gate;
use kueue_engine::{Effect, FairSharing, PodsReady, Settings};
use kueue_translate::ResourceRules;
use serde_json::{Map, Value, json};

use super::cycles::{fair_sharing, same, same_events, same_left, same_workloads, wanted_workloads, writes_as_we_do};
use crate::cluster::Cluster;
use crate::compare::equal;
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
    let effects = match case.raw("patchStatusErr") {
        Value::Null => cycle_for_places(&mut cluster),
        error => refused_cycle(&mut cluster, error["status"]["code"] == 404),
    };
    if !wanted_workloads(case).is_null() {
        same_workloads(wanted_workloads(case), &cluster)?;
    }
    same(case.raw("wantNewAssignments"), &new_assignments(&cluster, &settled), "assignments")?;
    same_left(case, &cluster)?;
    if case.gates()?.enabled(Gate::UnadmittedWorkloadsObservability) {
        same_events(case, &effects, !case.has("eventCmpOpts"))?;
    }
    if case.has("patchStatusErr") && !case.has("wantEvents") {
        equal(&0, &effects.len())?;
    }
    Ok(())
}

/// The workload is found as it is, although somebody wrote to it after it was read.
pub(super) fn modified_concurrently(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    // The wait is over at the time of the case.
    cluster.now = cluster.now + Duration::from_seconds(-1);
    cluster.add(&case.cluster)?;
    let effects = cycle_for_places(&mut cluster);
    same_workloads(wanted_workloads(case), &cluster)?;
    same_events(case, &effects, false)
}

/// A cycle after the wait of those that come for places.
fn cycle_for_places(cluster: &mut Cluster) -> Vec<Effect> {
    cluster.now = cluster.engine.next_timer().map_or(cluster.now, |at| at.max(cluster.now));
    let effects = cluster.engine.cycle(cluster.now);
    cluster.perform(&effects);
    cluster.engine.check_invariants();
    effects
}

/// The same where no status can be written. Returns what is told then: nothing about who is gone.
fn refused_cycle(cluster: &mut Cluster, is_gone: bool) -> Vec<Effect> {
    cluster.now = cluster.engine.next_timer().map_or(cluster.now, |at| at.max(cluster.now));
    let decided = cluster.engine.cycle(cluster.now);
    // What comes back is what was there before.
    cluster.refuse();
    cluster.engine.check_invariants();
    let otherwise = |effect: Effect| match effect {
        Effect::Event(event) => event.otherwise.map(|event| Effect::Event(*event)),
        _ => None,
    };
    decided.into_iter().filter(|_| !is_gone).filter_map(otherwise).collect()
}

/// Who has quota gets places, although admissions wait until all pods run.
pub(super) fn despite_block(case: &Case) -> Result<(), Failure> {
    let minute = Duration::from_seconds(60);
    let pods_ready = PodsReady {
        timeout: minute,
        recovery_timeout: None,
        backoff: Backoff::new(minute, 2.0, minute),
        most_attempts: None,
        blocks_admission: true,
    };
    let settings = Settings { gates: case.gates()?, pods_ready: Some(pods_ready), ..Settings::default() };
    let now = case.base_time.parse().map_err(|_| Failure("the base time is not a time".to_owned()))?;
    let mut cluster = Cluster::new(settings, ResourceRules::default(), now);
    cluster.replay(&case.trace)?;
    cluster.add(&case.cluster)?;
    let effects = cycle_for_places(&mut cluster);
    let written = effects.iter().filter(|effect| matches!(effect, Effect::Status { .. })).count();
    equal(&1, &written)?;
    let workload = &cluster.workloads["default/wl"];
    let has_quota = workload
        .status
        .conditions
        .iter()
        .any(|condition| condition.r#type == "QuotaReserved" && condition.status.as_str() == "True");
    let assigned = workload.status.admission.as_ref().and_then(|admission| admission.pod_set_assignments.first());
    let before = &case.raw("workload.status.admission.podSetAssignments")[0];
    let was_delayed = before.get("delayedTopologyRequest").is_some();
    let is_ready = assigned.is_some_and(|assigned| json!(assigned.delayed_topology_request) == "Ready");
    let nodes = assigned_nodes(&workload.status).map_err(|error| Failure(error.to_string()))?;
    equal(&(true, was_delayed, true), &(has_quota, is_ready, !nodes.is_empty()))?;
    equal(&false, &(!was_delayed && nodes.contains("x1")))
}

/// Several cycles, between which quota changes and everybody is looked at again.
pub(super) fn keeps_progress(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, Some(FairSharing::default()))?;
    let flavors = case.scope("resourceFlavors");
    for objects in [flavors, &case.cluster] {
        cluster.add(objects)?;
    }
    for call in case.trace.as_array().into_iter().flatten() {
        match call["op"].as_str() {
            Some("scheduler.schedule") => {
                let effects = cluster.engine.cycle(cluster.now);
                cluster.perform(&effects);
            }
            Some("cache.UpdateClusterQueue") => cluster.add(&call["args"][0])?,
            _ => continue,
        }
        cluster.engine.flush(cluster.now);
    }
    let flavor = |name: &str| {
        let admission = cluster.workloads[&format!("default/{name}")].status.admission.as_ref()?;
        admission.pod_set_assignments.first()?.flavors.values().next().cloned()
    };
    equal(&Some("tas-flavor-1".to_owned()), &flavor("blocker"))?;
    equal(&case.get::<String>("wantPendingFlavor")?, &flavor("pending"))
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
