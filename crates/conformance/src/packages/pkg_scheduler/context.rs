//! Several cycles: what an attempt leaves behind for the next.

use kueue_engine::{Change, RequeueOrder, Settings, Turn};
use kueue_translate::ResourceRules;
use serde_json::{Map, Value, json};

use super::cycles::{assignments, same_events, same_workloads, writes_as_we_do};
use crate::cluster::{Cluster, key_of};
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};

/// The search for flavors goes on where it stopped, unless quota came free.
pub(super) fn last_scheduling_context(case: &Case) -> Result<(), Failure> {
    if !writes_as_we_do(case)? {
        return Ok(());
    }
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.replay(&until_schedule(&case.trace))?;
    cluster.add(&case.cluster)?;
    cycle(&mut cluster);
    same_workloads(case.expected("wantWorkloads").unwrap_or_else(|| case.raw("wantWorkloads")), &cluster)?;
    for gone in case.raw("deleteWorkloads").as_array().into_iter().flatten() {
        let text = |field: &str| gone[field].as_str().unwrap_or_default();
        cluster.workloads.remove(&format!("{}/{}", text("Namespace"), text("Name")));
        let (namespace, name) = (text("Namespace").into(), text("Name").into());
        cluster.engine.apply(Change::WorkloadGone { namespace, name }, cluster.now);
    }
    cluster.engine.flush(cluster.now);
    cycle(&mut cluster);
    cycle(&mut cluster);
    let wanted = json!({"admissions": case.raw("wantAdmissionsOnSecondSchedule")});
    Rules::equate_empty().same(&wanted, &json!({"admissions": assignments(&cluster)}))
}

/// Somebody labels the workload while it is looked at: what we write says nothing about labels.
pub(super) fn modified_concurrently(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.replay(&until_schedule(&case.trace))?;
    cluster.add(case.scope("ns"))?;
    cluster.add(case.raw("workload"))?;
    let effects = cluster.engine.cycle(cluster.now);
    cluster.perform(&effects);
    same_workloads(case.expected("wantWorkloads").unwrap_or_else(|| case.raw("wantWorkloads")), &cluster)?;
    same_events(case, &effects, false)
}

/// In which order heads have their turn, without fair sharing.
pub(super) fn entry_ordering(case: &Case) -> Result<(), Failure> {
    let by_creation = case.raw("workloadOrdering.PodsReadyRequeuingTimestamp") == "Creation";
    let requeue_order = if by_creation { RequeueOrder::Creation } else { RequeueOrder::Eviction };
    let settings = Settings { gates: case.gates()?, requeue_order, ..Settings::default() };
    let now = case.base_time.parse().map_err(|_| Failure("the base time is not a time".to_owned()))?;
    let mut cluster = Cluster::new(settings, ResourceRules::default(), now);
    let mut turns = Vec::new();
    for entry in case.raw("input").as_array().into_iter().flatten() {
        let head = &entry["Head"];
        let object = &head["Info"]["Obj"];
        cluster.add(object)?;
        turns.push(Turn {
            workload: key_of(object)?,
            borrowing: entry["assignment"]["Borrowing"]
                .as_u64()
                .and_then(|height| u32::try_from(height).ok())
                .unwrap_or(0),
            is_preemptor: head["IsPreemptor"] == true,
        });
    }
    let order: Vec<String> = cluster.engine.turns(&turns).iter().map(|key| key.name.to_string()).collect();
    equal(&case.arg::<Vec<String>>("wantOrder")?, &order)
}

/// How much of what a workload needs is kept free for it while it waits.
pub(super) fn resources_to_reserve(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.replay(&case.trace)?;
    let queue = case.scope("cq")["metadata"]["name"].as_str().unwrap_or_default();
    let wanted = case.raw("assignmentUsage").as_object().cloned().unwrap_or_default();
    let usage: Vec<_> = wanted
        .iter()
        .filter_map(|(pool, amount)| {
            let (flavor, resource) = pool.split_once('/')?;
            Some((flavor.into(), resource.into(), kueue_core::amount::Amount::new(amount.as_i64()?)))
        })
        .collect();
    let is_borrowing = case.arg::<u32>("borrowing")? > 0;
    let reserved = if case.raw("assignmentMode") == "Preempt" {
        cluster.engine.would_keep_free(queue, &usage, is_borrowing)
    } else {
        // One that starts takes all of it.
        usage
    };
    let reserved: Map<String, Value> = reserved
        .iter()
        .map(|(flavor, resource, amount)| (format!("{flavor}/{resource}"), json!(amount.get())))
        .collect();
    Rules::equate_empty().same(case.raw("wantReserved"), &Value::Object(reserved))
}

fn cycle(cluster: &mut Cluster) {
    let effects = cluster.engine.cycle(cluster.now);
    cluster.perform(&effects);
    cluster.engine.check_invariants();
}

/// What was told before the first cycle.
fn until_schedule(trace: &Value) -> Value {
    let calls = trace.as_array().into_iter().flatten();
    calls.take_while(|call| call["op"] != "scheduler.schedule").cloned().collect()
}
