//! Queues, cohorts, and the workloads that hold quota in them.

use std::collections::{BTreeMap, BTreeSet};

use kueue_engine::{Engine, PoolView};
use serde_json::{Value, json};

use super::nodes;
use crate::compare::equal;
use crate::corpus::{Case, Failure};
use crate::trace::{Replay, key_of};

/// Amounts by `flavor/resource`; nothing is the same as none.
type Pools = BTreeMap<String, i64>;

pub(super) fn cluster_queues(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    for object in case.raw("clientObjects").as_array().into_iter().flatten() {
        replay.add(object)?;
    }
    replay.play(&case.trace)?;
    let engine = &replay.cluster.engine;
    let wanted = case.raw("wantClusterQueues").as_object().cloned().unwrap_or_default();
    equal(&wanted.keys().cloned().collect::<Vec<_>>(), &engine.queue_names().map(ToString::to_string).collect())?;
    for (name, queue) in &wanted {
        let status = if engine.readiness(name).is_active { "active" } else { "pending" };
        equal(&queue["Status"].as_str().unwrap_or_default(), &status)?;
        equal(&keys(&queue["Workloads"]), &holders(engine, name))?;
        equal(&amounts(&queue["AdmittedUsage"]), &sums(engine.queue_pools(name), |pool| pool.admitted.get()))?;
    }
    let mut cohorts: BTreeMap<String, BTreeSet<String>> =
        engine.cohorts().iter().map(|(name, _)| (name.to_string(), BTreeSet::new())).collect();
    for queue in wanted.keys() {
        if let Some(cohort) = engine.cohort_of(queue) {
            cohorts.entry(cohort.to_string()).or_default().insert(queue.clone());
        }
    }
    equal(
        &case
            .arg::<BTreeMap<String, Option<BTreeSet<String>>>>("wantCohorts")?
            .into_iter()
            .map(|(name, queues)| (name, queues.unwrap_or_default()))
            .collect(),
        &cohorts,
    )
}

pub(super) fn pods_ready(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    equal(&case.arg("wantReady")?, &replay.cluster.engine.are_all_pods_ready())
}

/// The workloads that exist before the queues, then the calls.
pub(super) fn workloads(case: &Case) -> Result<(), Failure> {
    let mut replay = with_client(case)?;
    replay.play(&case.trace)?;
    let engine = &replay.cluster.engine;
    for (name, wanted) in case.raw("wantResults").as_object().into_iter().flatten() {
        let workloads: BTreeSet<String> = serde_json::from_value(wanted["Workloads"].clone()).unwrap_or_default();
        equal(&workloads, &holders(engine, name))?;
        equal(&amounts(&wanted["UsedResources"]), &used(engine.queue_pools(name)))?;
    }
    let assigned = engine.queue_names().flat_map(|queue| {
        holders(engine, queue).into_iter().map(|workload| (workload, queue.to_string())).collect::<Vec<_>>()
    });
    let wanted = case.expected("wantQueuesAssigned").cloned().unwrap_or_default();
    equal(&serde_json::from_value(wanted).unwrap_or_default(), &assigned.collect::<BTreeMap<String, String>>())
}

pub(super) fn is_added(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    for (name, queue) in case.raw("clusterQueues").as_object().into_iter().flatten() {
        replay.add(&json!({"kind": "ClusterQueue", "metadata": {"name": name}, "spec": {}}))?;
        for info in queue["Workloads"].as_object().into_iter().flat_map(|workloads| workloads.values()) {
            let mut workload = info["Obj"].clone();
            workload["spec"] = json!({"podSets": []});
            workload["status"] = json!({
                "admission": {"clusterQueue": name, "podSetAssignments": []},
                "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            });
            replay.add(&workload)?;
        }
    }
    let queue: String = case.arg("workload.ClusterQueue")?;
    let is_added = holders(&replay.cluster.engine, &queue).contains(&key_of(case.raw("workload.Obj")));
    equal(&case.arg("expected")?, &is_added)
}

/// Whether what is remembered about flavors is out of date after the last call.
pub(super) fn generation(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    let calls = case.trace.as_array().map(Vec::as_slice).unwrap_or_default();
    let (last, before) = calls.split_last().ok_or_else(|| Failure("no calls".to_owned()))?;
    replay.play(&json!(before))?;
    let queue: String = case.arg("cq.metadata.name")?;
    let old = replay.cluster.engine.scan_generation(&queue);
    replay.play(&json!([last]))?;
    let is_newer = replay.cluster.engine.scan_generation(&queue) > old;
    equal(&(case.arg::<i64>("wantLastAssignmentGeneration")? > 1), &is_newer)
}

pub(super) fn snapshot(case: &Case) -> Result<(), Failure> {
    if case.has("wantTASUsage") {
        return nodes::shared(case);
    }
    let mut replay = Replay::of(case)?;
    // In the test, workloads exist before the queues that they are admitted to.
    for workload in case.raw("wls").as_array().into_iter().flatten() {
        replay.add(workload)?;
    }
    let wanted = case.expected("tc.wantSnapshot").unwrap_or(case.raw("wantSnapshot"));
    compare_snapshot(&replay.cluster.engine, wanted, true)
}

pub(super) fn snapshot_after_changes(case: &Case) -> Result<(), Failure> {
    let mut replay = with_client(case)?;
    for field in ["flavors", "clusterQueues"] {
        for object in case.scope(field).as_array().into_iter().flatten() {
            replay.add(object)?;
        }
    }
    replay.play(&case.trace)?;
    compare_snapshot(&replay.cluster.engine, case.raw("want"), false)
}

fn with_client(case: &Case) -> Result<Replay, Failure> {
    let mut replay = Replay::new(case)?;
    for object in case.scope("cl")["$fakeClient"].as_array().into_iter().flatten() {
        replay.add(object)?;
    }
    Ok(replay)
}

/// Sums and usage, and if it is whole also quotas and workloads, of every queue that takes part in scheduling and of every cohort that is not in a circle.
fn compare_snapshot(engine: &Engine, wanted: &Value, is_whole: bool) -> Result<(), Failure> {
    let wanted = |part: &str| wanted["Manager"][part].as_object().cloned().unwrap_or_default();
    let has_cycle = |cohort: &str| engine.cohort_path(cohort).is_err();
    let takes_part = |queue: &str| {
        engine.readiness(queue).is_active && !engine.cohort_of(queue).is_some_and(|cohort| has_cycle(&cohort))
    };
    let queues: Vec<String> = engine.queue_names().filter(|queue| takes_part(queue)).map(ToString::to_string).collect();
    equal(&wanted("clusterQueues").keys().cloned().collect(), &queues)?;
    for (name, queue) in &wanted("clusterQueues") {
        compare_node(&queue["ResourceNode"], engine.queue_pools(name), is_whole)?;
        if is_whole {
            equal(&keys(&queue["Workloads"]), &holders(engine, name))?;
        }
    }
    let cohorts: BTreeSet<String> =
        engine.cohorts().iter().map(|(name, _)| name.to_string()).filter(|name| !has_cycle(name)).collect();
    equal(&wanted("cohorts").keys().cloned().collect(), &cohorts)?;
    for (name, cohort) in &wanted("cohorts") {
        compare_node(&cohort["ResourceNode"], engine.cohort_pools(name), is_whole)?;
    }
    Ok(())
}

fn compare_node(wanted: &Value, pools: Option<Vec<PoolView>>, with_quotas: bool) -> Result<(), Failure> {
    equal(&amounts(&wanted["SubtreeQuota"]), &sums(pools.clone(), |pool| pool.subtree.get()))?;
    equal(&amounts(&wanted["Usage"]), &used(pools.clone()))?;
    if !with_quotas {
        return Ok(());
    }
    let wanted = wanted["Quotas"].as_object().into_iter().flatten();
    let limit = |quota: &Value, field: &str| quota[field].as_i64();
    let wanted = wanted.map(|(pool, quota)| {
        (
            pool.clone(),
            (limit(quota, "Nominal").unwrap_or(0), limit(quota, "BorrowingLimit"), limit(quota, "LendingLimit")),
        )
    });
    let found = pools.into_iter().flatten().filter_map(|pool| {
        let (nominal, borrowing, lending) = pool.quota?;
        let limit = |amount: Option<kueue_core::amount::Amount>| amount.map(kueue_core::amount::Amount::get);
        Some((name(&pool), (nominal.get(), limit(borrowing), limit(lending))))
    });
    equal(&wanted.collect::<BTreeMap<_, _>>(), &found.collect())
}

fn name(pool: &PoolView) -> String {
    format!("{}/{}", pool.flavor, pool.resource)
}

fn sums(pools: Option<Vec<PoolView>>, amount: impl Fn(&PoolView) -> i64) -> Pools {
    let pools = pools.into_iter().flatten().map(|pool| (name(&pool), amount(&pool)));
    pools.filter(|(_, amount)| *amount != 0).collect()
}

fn used(pools: Option<Vec<PoolView>>) -> Pools {
    sums(pools, |pool| pool.usage.get())
}

fn amounts(wanted: &Value) -> Pools {
    let pools = wanted.as_object().into_iter().flatten();
    pools
        .map(|(pool, amount)| (pool.clone(), amount.as_i64().unwrap_or(0)))
        .filter(|(_, amount)| *amount != 0)
        .collect()
}

fn holders(engine: &Engine, queue: &str) -> BTreeSet<String> {
    engine.reserving(queue).iter().map(ToString::to_string).collect()
}

fn keys(map: &Value) -> BTreeSet<String> {
    map.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect()
}
