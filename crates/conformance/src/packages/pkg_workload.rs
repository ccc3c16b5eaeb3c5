//! What a workload is and asks for: its requests, its status, its place in the order.

mod requests;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kueue_api::kueue::topology_assignment::assigned_nodes;
use kueue_api::kueue::v1beta2::{AdmissionCheckState, ClusterQueue, PodSet, ReclaimablePod, Workload, WorkloadStatus};
use kueue_api::pod_sets;
use kueue_core::duration::Duration;
use kueue_engine::{Engine, Handover, Key, RequeueReason, Settings, Told};
use kueue_translate::ResourceRules;
use serde_json::{Value, json};

use super::Runners;
use crate::cluster::Cluster;
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};
use crate::trace::tried;

pub const RUNNERS: Runners = &[
    ("TestAdjustResources", requests::adjust_resources),
    ("TestAdmissionChecksForWorkload", admission_checks),
    ("TestApplyPodSetCounts", apply_counts),
    ("TestAssignmentClusterQueueState", has_more_flavors),
    ("TestEvictionPendingLatency", status::eviction_latency),
    ("TestExtractPodSetCounts", counts_of_pod_sets),
    ("TestExtractPodSetCountsFromWorkload", counts_of_workload),
    ("TestFilterChecksForAdmission", admission_checks),
    ("TestFromQuotaReservedOrAdmittedToPending", status::loses_quota),
    ("TestGetMaxRetryTime", status::retry_time),
    ("TestGetQueueOrderTimestamp", status::order_time),
    ("TestIsExplicitlyRequestingTAS", asks_for_topology),
    ("TestIsOnHold", status::is_on_hold),
    ("TestLimitReclaimablePodsToPodSetSizes", limit_reclaimable),
    ("TestNeedsSecondPass", needs_second_pass),
    ("TestNewInfo", requests::new_info),
    ("TestPodSetsCounts_HasFewerReplicasThan", has_fewer),
    ("TestPropagateResourceRequests", requests::propagate),
    ("TestReclaimablePodsAreEqual", same_reclaimable),
    ("TestResourceUsage", requests::usage),
    ("TestSchedulingHash", scheduling_hash),
    ("TestSetConditionAndUpdate", status::set_condition),
    ("TestSetQuotaReservation", status::reserve),
    ("TestSetRequeueState", status::back_off),
    ("TestShouldSkipClusterNomination", skips_nomination),
    ("TestSyncAdmittedCondition", status::sync_admitted),
    ("TestTotalExecutionTime", status::execution_time),
    ("TestUpdateWithRebuild", requests::update),
    ("TestUsedNodes", used_nodes),
    ("TestValidateLimitRange", requests::validate_limit_range),
    ("TestValidateResources", requests::validate_resources),
    ("TestWorkloadPriorityClassChanged", priority_changed),
];

/// A queue that everybody may use, and the clock of the case.
pub(super) struct Bench(Cluster);

impl Bench {
    pub(super) fn new(case: &Case, queue: Option<ClusterQueue>, rules: ResourceRules) -> Result<Self, Failure> {
        let now = case.base_time.parse().map_err(|error| Failure(format!("base time: {error}")))?;
        let mut cluster = Cluster::new(Settings { gates: case.gates()?, ..Settings::default() }, rules, now);
        let queue = queue.unwrap_or_else(|| named_queue("cq"));
        let local =
            json!({"metadata": {"name": "lq", "namespace": "ns"}, "spec": {"clusterQueue": queue.metadata.name}});
        let namespace = json!({"metadata": {"name": "ns"}});
        for (kind, object) in [("Namespace", &namespace), ("ClusterQueue", &json!(queue)), ("LocalQueue", &local)] {
            cluster.add_as(kind, object).map_err(|error| Failure(format!("{error:#}")))?;
        }
        Ok(Self(cluster))
    }

    pub(super) fn engine(&mut self) -> &mut Engine {
        &mut self.0.engine
    }

    /// Tells about anything else.
    fn add(&mut self, kind: &str, object: &Value) -> Result<(), Failure> {
        self.0.add_as(kind, object).map_err(|error| Failure(format!("{error:#}")))
    }

    /// Tells about a workload of the bench's queue, under a name of the runner's choice.
    pub(super) fn tell(&mut self, name: &str, object: &Workload) -> Result<Key, Failure> {
        let mut object = object.clone();
        object.metadata.name = name.to_owned();
        object.metadata.namespace = "ns".to_owned();
        object.metadata.uid = name.to_owned();
        object.spec.queue_name = "lq".to_owned();
        self.0.add_as("Workload", &json!(object)).map_err(|error| Failure(format!("{error:#}")))?;
        Ok(Key { namespace: "ns".into(), name: name.into() })
    }
}

fn named_queue(name: &str) -> ClusterQueue {
    let mut queue = ClusterQueue::default();
    name.clone_into(&mut queue.metadata.name);
    queue
}

fn from_json<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|error| Failure(format!("cannot decode: {error}")))
}

fn admission_checks(case: &Case) -> Result<(), Failure> {
    let queue = case.get("cq")?.or(decode("cq", case.local("cq"))?);
    let mut bench = Bench::new(case, queue, ResourceRules::default())?;
    let key = bench.tell("wl", &case.arg("wl")?)?;
    let now = bench.0.now;
    bench.engine().settle(now);
    let status = bench.engine().status(&key).ok_or_else(|| Failure("the workload is not known".to_owned()))?;
    let got: Vec<String> = status.checks.iter().map(|check| check.name.to_string()).collect();
    equal(&case.arg::<Vec<String>>("wantAdmissionChecks")?, &got)
}

fn counts_of_pod_sets(case: &Case) -> Result<(), Failure> {
    let sets: Vec<PodSet> = case.arg("args.podSets")?;
    equal(&case.arg::<BTreeMap<String, i32>>("want")?, &pod_sets::counts(&sets))
}

fn counts_of_workload(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("args.workload")?;
    equal(&case.arg::<BTreeMap<String, i32>>("want")?, &pod_sets::counts(&workload.spec.pod_sets))
}

fn apply_counts(case: &Case) -> Result<(), Failure> {
    let mut workload: Workload = case.arg("args.wl")?;
    pod_sets::set_counts(&mut workload.spec.pod_sets, &case.arg("args.counts")?);
    equal(&case.arg::<Workload>("want")?, &workload)
}

fn has_fewer(case: &Case) -> Result<(), Failure> {
    let got = pod_sets::has_fewer(&case.arg("c")?, &case.arg("args.in")?);
    equal(&case.arg::<bool>("want")?, &got)
}

fn limit_reclaimable(case: &Case) -> Result<(), Failure> {
    let workload: Workload = decode("wl", case.scope("wl"))?.unwrap_or_default();
    let mut pods: Vec<ReclaimablePod> = case.arg("reclaimablePods")?;
    pod_sets::limit_reclaimable(&mut pods, &workload.spec.pod_sets);
    equal(&case.arg::<Vec<ReclaimablePod>>("want")?, &pods)
}

fn same_reclaimable(case: &Case) -> Result<(), Failure> {
    let side = |pods: Vec<ReclaimablePod>| {
        let status = WorkloadStatus { reclaimable_pods: pods, ..WorkloadStatus::default() };
        kueue_translate::status_to_engine(&status)
    };
    let (a, b) = (side(case.arg("a")?), side(case.arg("b")?));
    equal(&case.arg::<bool>("wantResult")?, &a.reclaims_like(&b))
}

fn scheduling_hash(case: &Case) -> Result<(), Failure> {
    let mut bench = Bench::new(case, None, ResourceRules::default())?;
    let (first, second) = (bench.tell("a", &case.arg("wl1")?)?, bench.tell("b", &case.arg("wl2")?)?);
    equal(&case.arg::<bool>("wantSame")?, &bench.engine().are_alike(&first, &second))
}

/// A workload for which nothing was found stays in line only while there are flavors to try.
fn has_more_flavors(case: &Case) -> Result<(), Failure> {
    let mut bench = Bench::new(case, None, ResourceRules::default())?;
    let key = bench.tell("wl", &Workload::default())?;
    let tried = case.raw("state.LastTriedFlavorIdx").as_array().into_iter().flatten().map(tried).collect();
    let now = bench.0.now;
    equal(&vec![key.clone()], &bench.engine().take_out())?;
    bench.engine().hand_back(
        &key,
        Handover { reason: RequeueReason::Generic, why: "", tried, told: Told::Nothing },
        now,
    );
    let pending = bench.engine().pending("cq");
    equal(&1, &(pending.active.len() + pending.parked.len()))?;
    equal(&case.arg::<bool>("wantPendingFlavors")?, &pending.active.contains(&key))
}

fn skips_nomination(case: &Case) -> Result<(), Failure> {
    let check: Option<AdmissionCheckState> = case.get("acs")?;
    let workload: Workload = case.arg("wl")?;
    let got = workload.status.skips_cluster_nomination(check.as_ref(), case.arg("isElastic")?);
    equal(&case.arg::<bool>("want")?, &got)
}

/// Only a priority that follows its class is worth offering quota again for; shown by a workload that holds some.
fn priority_changed(case: &Case) -> Result<(), Failure> {
    let mut bench = Bench::new(case, None, ResourceRules::default())?;
    let holding: WorkloadStatus = from_json(json!({
        "admission": {"clusterQueue": "cq", "podSetAssignments": []},
        "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "", "lastTransitionTime": case.base_time}],
    }))?;
    bench.tell("wl", &case.arg("oldWorkload")?)?;
    let tell = |bench: &mut Bench, object: Workload| bench.tell("wl", &Workload { status: holding.clone(), ..object });
    tell(&mut bench, case.arg("oldWorkload")?)?;
    let now = bench.0.now;
    bench.engine().flush(now);
    tell(&mut bench, case.arg("newWorkload")?)?;
    equal(&case.arg::<bool>("wantChanged")?, &(bench.engine().scopes().count() > 0))
}

fn asks_for_topology(case: &Case) -> Result<(), Failure> {
    let sets: Vec<PodSet> = case.arg("podSets")?;
    equal(&case.arg::<bool>("want")?, &pod_sets::ask_for_topology(&sets))
}

/// Whether the workload comes for places once more, after the moment that it waits.
fn needs_second_pass(case: &Case) -> Result<(), Failure> {
    let mut workload: Workload = case.arg("wl")?;
    let queue = workload.status.admission.as_ref().map_or("cq", |admission| &admission.cluster_queue).to_owned();
    let mut bench = Bench::new(case, Some(named_queue(&queue)), ResourceRules::default())?;
    let admissions = workload.status.admission.iter_mut().map(Arc::make_mut);
    admissions.for_each(|admission| admission.cluster_queue.clone_from(&queue));
    let key = bench.tell("wl", &workload)?;
    let now = bench.0.now + Duration::from_seconds(1);
    bench.engine().settle(now);
    let comes = bench.engine().second_pass().any(|coming| *coming == key);
    equal(&case.arg::<bool>("want")?, &comes)
}

fn used_nodes(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("wl")?;
    let got = assigned_nodes(&workload.status).map_err(|error| Failure(error.to_string()))?;
    equal(&case.arg::<BTreeSet<String>>("want")?, &got)
}
