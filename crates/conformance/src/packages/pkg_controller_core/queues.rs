//! One look at a ClusterQueue, a LocalQueue, or what queues refer to.

use std::collections::BTreeSet;

use kueue_api::kueue::names::FINALIZER_RESOURCE_IN_USE;
use kueue_api::kueue::v1beta2::{
    ClusterQueue, ClusterQueueStatus, Cohort, LocalQueue, ResourceFlavor, WorkloadPriorityClass,
};
use kueue_api::meta::Object;
use kueue_controllers::cluster_queue::{self, View};
use kueue_controllers::guard::{Guarded as _, guarded, has_other_references, references};
use kueue_controllers::{cohort, local_queue, priority_class};
use kueue_core::amount::Amount;
use kueue_core::duration::Duration;
use kueue_core::resource::Formatter;
use kueue_core::resource_list::{Keep, ResourceList, merge};
use kueue_core::time::Time;
use kueue_engine::Readiness;
use kueue_runtime::informer::Store;
use serde_json::{Value, json};

use super::super::pkg_scheduler::afs;
use crate::cluster::{Cluster, read};
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure, decode};

/// Whether a queue that is to go may, and what it shows until then.
pub(super) fn reconcile(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.add(&case.cluster)?;
    cluster.add(case.raw("workload"))?;
    let object: ClusterQueue = read(&case.cluster[0])?;
    let view = View::of(&cluster.engine, &object.metadata.name).ok_or_else(|| Failure("no view".to_owned()))?;
    let left = guarded(&object, view.usage.reserving > 0);
    equal(&case.arg::<bool>("wantDeleted")?, &!is_guarded(&left))?;
    if case.arg::<bool>("wantDeleted")? {
        return Ok(());
    }
    let shown = cluster_queue::shown(&object, &view, false, cluster.now);
    let active = shown.status.conditions.iter().find(|condition| condition.r#type == "Active");
    equal(&Some(case.arg::<String>("wantReason")?), &active.map(|active| active.reason.clone()))?;
    Rules::default().same(case.raw("wantActive"), &json!(active.map(|active| &active.status)))?;
    equal(&case.arg("wantReserving")?, &shown.status.reserving_workloads)
}

fn is_guarded(object: &impl Object) -> bool {
    object.metadata().finalizers.iter().any(|finalizer| finalizer == FINALIZER_RESOURCE_IN_USE)
}

/// What a queue shows, with a verdict that is given.
pub(super) fn status(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    let (cq, lq) = (case.scope("cqName"), case.scope("lqName"));
    let queue = json!({"kind": "ClusterQueue", "metadata": {"name": cq, "generation": 1},
                       "spec": {"namespaceSelector": {}, "queueingStrategy": "StrictFIFO"}});
    // The two halves of Kueue's memory are one here: a queue is known to both or to none.
    if case.arg::<bool>("insertCqIntoCache")? && case.arg::<bool>("insertCqIntoManager")? {
        cluster.add(&queue)?;
    }
    cluster.add(&json!({"kind": "LocalQueue", "metadata": {"name": lq}, "spec": {"clusterQueue": cq}}))?;
    for workload in case.scope("defaultWls")["items"].as_array().into_iter().flatten() {
        cluster.add_as("Workload", workload)?;
    }
    cluster.add(case.raw("newWl"))?;
    let mut object: ClusterQueue = read(&queue)?;
    object.status = case.arg("cqStatus")?;
    let view = View::of(&cluster.engine, &object.metadata.name);
    equal(&case.has("wantError"), &view.is_none())?;
    let Some(view) = view else { return Ok(()) };
    let reasons = ["Ready", "FlavorNotFound", "Terminating", "Stopped"];
    let told: String = case.arg("newReason")?;
    let reason = reasons.into_iter().find(|reason| *reason == told).unwrap_or_default();
    let message = case.arg::<String>("newMessage")?;
    let readiness = Readiness { is_active: case.raw("newConditionStatus") == "True", reason, message: message.into() };
    let shown = cluster_queue::shown(&object, &View { readiness, ..view }, false, cluster.now);
    let wanted: ClusterQueueStatus = case.arg("wantCqStatus")?;
    Rules::equate_empty().ignoring(&["lastTransitionTime"]).same(&json!(wanted), &json!(shown.status))
}

/// What a LocalQueue shows, and when its usage is counted again.
pub(super) fn local_queue(case: &Case) -> Result<(), Failure> {
    let mut cluster = afs::cluster(case, case.raw("afsConfig"))?;
    let object: LocalQueue = read(case.raw("localQueue"))?;
    let now = cluster.now;
    if !case.arg::<bool>("deleteClusterQueue")? {
        cluster.add(case.raw("clusterQueue"))?;
    }
    open_ledger(case, &mut cluster)?;
    cluster.now = now;
    cluster.add(case.raw("localQueue"))?;
    cluster.add(case.raw("runningWls"))?;
    cluster.engine.sample(now);
    let queue: Option<ClusterQueue> = match case.arg::<bool>("deleteClusterQueue")? {
        true => None,
        false => case.get("clusterQueue")?,
    };
    let (namespace, name) = (object.metadata.namespace.as_str().into(), object.metadata.name.as_str().into());
    let view = local_queue::View::of(&cluster.engine, &namespace, &name);
    let shown = local_queue::shown(&object, queue.as_ref(), view, now);
    let wanted: LocalQueue = read(case.raw("wantLocalQueue"))?;
    let rules = Rules::equate_empty().ignoring(&["lastTransitionTime", "resourceVersion", "lastUpdate"]);
    rules.same(&json!(wanted), &json!(shown))?;
    let ledger = cluster.engine.ledger(&namespace, &name);
    if case.has("wantConsumedResources") {
        let consumed = ledger.map(|ledger| json!(ledger.consumed())).unwrap_or_default();
        rules.same(case.raw("wantConsumedResources.Resources"), &consumed)?;
        equal(&case.get::<Time>("wantConsumedResources.LastUpdate")?, &ledger.map(kueue_engine::Ledger::updated))?;
    }
    if let Some(wait) = case.get::<Duration>("wantRequeueAfter")? {
        let interval: Duration = case.arg("afsConfig.usageSamplingInterval")?;
        equal(&Some(now + wait), &ledger.map(|ledger| ledger.updated() + interval))?;
    }
    Ok(())
}

/// What was known of the usage before: read from the status at the time when it was last counted.
fn open_ledger(case: &Case, cluster: &mut Cluster) -> Result<(), Failure> {
    let Some(at) = case.get::<Time>("initialConsumedResources.LastUpdate")? else { return Ok(()) };
    cluster.now = at;
    let mut used: ResourceList = case.arg("initialConsumedResources.Resources")?;
    if case.raw("initialConsumedResources.StatusAccounted") != true {
        let written = case.raw("localQueue.status.fairSharing.admissionFairSharingStatus.consumedResources");
        merge(&mut used, &decode("usage", written)?.unwrap_or_default(), Keep::Sum);
    }
    Ok(cluster.add(&afs::with_usage(case.raw("localQueue"), used)?)?)
}

/// Quota and usage as metrics show them: what is not limited is infinite.
pub(super) fn resource_metrics(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    for (queue, wanted) in [("queue", "wantMetrics"), ("updatedQueue", "wantUpdatedMetrics")] {
        if !case.has(queue) {
            continue;
        }
        cluster.add(case.raw(queue))?;
        cluster.add(&workload_for(case.raw(queue)))?;
        Rules::equate_empty().ignoring(&["$type"]).same(case.raw(wanted), &measured(&cluster, case.raw(queue)))?;
    }
    Ok(())
}

/// A workload that holds what the status of the queue says is held.
fn workload_for(queue: &Value) -> Value {
    let assigned = queue["status"]["flavorsReservation"].as_array().into_iter().flatten().map(|flavor| {
        let resources = flavor["resources"].as_array().into_iter().flatten();
        let (mut flavors, mut usage) = (json!({}), json!({}));
        for resource in resources {
            let name = resource["name"].as_str().unwrap_or_default();
            flavors[name] = flavor["name"].clone();
            usage[name] = resource["total"].clone();
        }
        json!({"name": "main", "count": 1, "flavors": flavors, "resourceUsage": usage})
    });
    let told = |kind: &str| json!({"type": kind, "status": "True", "reason": "", "message": ""});
    json!({
        "kind": "Workload", "metadata": {"name": "test-wl"}, "spec": {"podSets": [{"name": "main", "count": 1}]},
        "status": {
            "admission": {"clusterQueue": queue["metadata"]["name"], "podSetAssignments": assigned.collect::<Vec<_>>()},
            "conditions": [told("QuotaReserved"), told("Admitted")],
        },
    })
}

fn measured(cluster: &Cluster, queue: &Value) -> Value {
    let name = queue["metadata"]["name"].as_str().unwrap_or_default();
    let (cohort, pools) = (cluster.engine.cohort_of(name), cluster.engine.queue_pools(name).unwrap_or_default());
    let points = |value: fn(&kueue_engine::PoolView) -> Option<Amount>| -> Vec<Value> {
        let configured = pools.iter().filter(|pool| pool.quota.is_some());
        let point = configured.map(|pool| {
            let amount = |amount: Amount| Formatter::default().quantity(&pool.resource, amount.get()).as_f64();
            let number = |number: f64| json!(number as i64);
            json!({
                "Labels": {"cluster_queue": name, "cohort": cohort.as_deref(), "flavor": &*pool.flavor,
                           "replica_role": "standalone", "resource": &*pool.resource},
                "Value": value(pool).map_or(json!("+Inf"), |value| number(amount(value))),
            })
        });
        point.collect()
    };
    json!({
        "NominalDPs": points(|pool| pool.quota.map(|(nominal, _, _)| nominal)),
        "BorrowingDPs": points(|pool| pool.quota.and_then(|(_, borrowing, _)| borrowing)),
        "LendingDPs": points(|pool| pool.quota.and_then(|(_, _, lending)| lending)),
        "UsageDPs": points(|pool| Some(pool.usage)),
    })
}

/// The finalizer of a flavor.
pub(super) fn flavor(case: &Case) -> Result<(), Failure> {
    if case.arg::<bool>("skipStore")? {
        // What is not in the store is not looked at.
        return Ok(());
    }
    let mut object: ResourceFlavor = case.arg("flavor")?;
    let cluster = Cluster::for_case(case, None)?;
    if case.arg::<bool>("wantDeleted")? {
        object.metadata.deletion_timestamp = Some(cluster.now);
    }
    let is_in_use = ResourceFlavor::is_in_use(&object.metadata.name, &cluster.engine, &Store::default());
    let left = guarded(&object, is_in_use);
    if case.arg::<bool>("wantDeleted")? {
        return equal(&false, &is_guarded(&left));
    }
    Rules::equate_empty()
        .ignoring(&["resourceVersion"])
        .same(&json!(case.arg::<ResourceFlavor>("wantFlavor")?), &json!(left))
}

/// Which flavors nobody needs any more when a queue goes: those are let go.
pub(super) fn orphaned_flavors(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.add(case.raw("clusterQueues"))?;
    let gone: ClusterQueue = case.arg("cq")?;
    let (flavors, _) = references(&gone);
    let is_free = |flavor: &&str| !ResourceFlavor::is_in_use(flavor, &cluster.engine, &Store::default());
    let free: BTreeSet<String> = flavors.into_iter().filter(is_free).map(str::to_owned).collect();
    equal(&case.arg::<BTreeSet<String>>("wantEnqueued")?, &free)
}

pub(super) fn other_references(case: &Case) -> Result<(), Failure> {
    let (old, new) = (case.get::<ClusterQueue>("oldCQ")?, case.get::<ClusterQueue>("newCQ")?);
    equal(&case.arg("expectEvent")?, &has_other_references(old.as_ref(), new.as_ref()))
}

pub(super) fn cohort_filter(case: &Case) -> Result<(), Failure> {
    let (old, new) = (case.get::<Cohort>("old")?, case.get::<Cohort>("new")?);
    equal(&case.arg("want")?, &cohort::has_new_spec(old.as_ref(), new.as_ref()))
}

pub(super) fn class_filter(case: &Case) -> Result<(), Failure> {
    let (old, new) = (case.get::<WorkloadPriorityClass>("oldWPC")?, case.get("newWPC")?);
    // Nothing but the class itself makes anybody look at it here.
    let is_change = case.raw("eventType") != "generic";
    equal(&case.arg("want")?, &(is_change && priority_class::has_new_value(old.as_ref(), new.as_ref())))
}
