//! Cohorts above queues, and how much there is of each pool.

use std::collections::BTreeMap;

use kueue_engine::{CohortCycle, Engine, Name};
use serde_json::Value;

use crate::compare::equal;
use crate::corpus::{Case, Failure};
use crate::trace::Replay;

/// Amounts by `flavor/resource`; nothing is the same as none.
type Pools = BTreeMap<String, i64>;

pub(super) fn ancestors(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let cohort: String = case.arg("cohortName")?;
    compare_path(case, replay.cluster.engine.cohort_path(&cohort))
}

pub(super) fn ancestors_of_queue(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let cohort: String = case.arg("cq.spec.cohortName")?;
    let path = replay.cluster.engine.cohort_path(&cohort);
    // The root is left out.
    compare_path(case, path.map(|path| path.split_last().map_or_else(Vec::new, |(_, below)| below.to_vec())))
}

pub(super) fn ancestors_of_workload(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let engine = &replay.cluster.engine;
    let queue: String = case.arg("wl.status.admission.clusterQueue")?;
    let cohort = engine.cohort_of(&queue);
    compare_path(case, cohort.map_or(Ok(Vec::new()), |cohort| engine.cohort_path(&cohort)))
}

fn compare_path(case: &Case, path: Result<Vec<Name>, CohortCycle>) -> Result<(), Failure> {
    equal(&case.has("wantErr"), &path.is_err())?;
    let path: Vec<String> = path.unwrap_or_default().iter().map(ToString::to_string).collect();
    equal(&case.arg("wantAncestors")?, &path)
}

/// Before anything is used, with it, and after it is given back.
pub(super) fn available(case: &Case) -> Result<(), Failure> {
    let potential: BTreeMap<String, Pools> = case.arg("wantPotentiallyAvailable")?;
    let mut replay = Replay::new(case)?;
    let calls = case.trace.as_array().map(Vec::as_slice).unwrap_or_default();
    let is = |call: &&Value, operation: &str| call["op"] == operation;
    let play = |replay: &mut Replay, passes: &dyn Fn(&&Value) -> bool| {
        calls
            .iter()
            .filter(passes)
            .try_for_each(|call| replay.call(call["op"].as_str().unwrap_or_default(), &call["args"]))
    };
    play(&mut replay, &|call| !call["op"].as_str().is_some_and(|operation| operation.starts_with("cqSnapshot")))?;
    let read = |engine: &Engine, wanted: &BTreeMap<String, Pools>, is_potential: bool| -> BTreeMap<String, Pools> {
        let amount = |queue: &str, pool: &str| {
            let (flavor, resource) = pool.split_once('/').unwrap_or((pool, ""));
            let (now, ever) = engine.available(queue, flavor, resource).unwrap_or_default();
            if is_potential { ever.get() } else { now.get() }
        };
        let of_queue = |(queue, pools): (&String, &Pools)| {
            (queue.clone(), pools.keys().map(|pool| (pool.clone(), amount(queue, pool))).collect())
        };
        wanted.iter().map(of_queue).collect()
    };
    equal(&potential, &read(&replay.cluster.engine, &potential, true))?;
    equal(&potential, &read(&replay.cluster.engine, &potential, false))?;
    play(&mut replay, &|call| is(call, "cqSnapshot.AddUsage"))?;
    let wanted: BTreeMap<String, Pools> = case.arg("wantAvailable")?;
    equal(&wanted, &read(&replay.cluster.engine, &wanted, false))?;
    equal(&potential, &read(&replay.cluster.engine, &potential, true))?;
    play(&mut replay, &|call| is(call, "cqSnapshot.RemoveUsage"))?;
    equal(&potential, &read(&replay.cluster.engine, &potential, false))
}

pub(super) fn subtree_after_deletion(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    for call in case.trace.as_array().into_iter().flatten() {
        if call["op"] == "cache.DeleteCohort" {
            compare_subtrees(&replay.cluster.engine, &case.arg("wantBefore")?)?;
        }
        replay.call(call["op"].as_str().unwrap_or_default(), &call["args"])?;
    }
    compare_subtrees(&replay.cluster.engine, &case.arg("wantAfter")?)
}

fn compare_subtrees(engine: &Engine, wanted: &BTreeMap<String, Pools>) -> Result<(), Failure> {
    let of_cohort = |cohort: &String| {
        let pools = engine.cohort_pools(cohort).unwrap_or_default().into_iter();
        let pools = pools.map(|pool| (format!("{}/{}", pool.flavor, pool.resource), pool.subtree.get()));
        (cohort.clone(), pools.collect::<Pools>())
    };
    equal(wanted, &wanted.keys().map(of_cohort).collect())
}

/// What these cases expect is code. What can be told from their calls: the trees are those of the last objects.
pub(super) fn follows_the_objects(case: &Case) -> Result<(), Failure> {
    let mut parents: BTreeMap<(bool, String), String> = BTreeMap::new();
    for call in case.trace.as_array().into_iter().flatten() {
        let arg = &call["args"][0];
        let name = arg.as_str().or(arg["metadata"]["name"].as_str()).unwrap_or_default().to_owned();
        let parent = |field: &str| arg["spec"][field].as_str().unwrap_or_default().to_owned();
        match call["op"].as_str().unwrap_or_default() {
            "cache.AddClusterQueue" | "cache.UpdateClusterQueue" => {
                parents.insert((true, name), parent("cohortName"));
            }
            "cache.AddOrUpdateCohort" => {
                parents.insert((false, name), parent("parentName"));
            }
            "cache.DeleteClusterQueue" => drop(parents.remove(&(true, name))),
            "cache.DeleteCohort" => drop(parents.remove(&(false, name))),
            _ => {}
        }
    }
    let replay = Replay::of(case)?;
    let engine = &replay.cluster.engine;
    let path = |start: &str| {
        let above =
            |cohort: &String| parents.get(&(false, cohort.clone())).filter(|parent| !parent.is_empty()).cloned();
        let first = (!start.is_empty()).then(|| start.to_owned());
        std::iter::successors(first, above).collect::<Vec<String>>()
    };
    for ((is_queue, name), parent) in &parents {
        let cohort = if *is_queue { engine.cohort_of(name).unwrap_or_default().to_string() } else { name.clone() };
        let found = engine.cohort_path(&cohort).map_err(|CohortCycle| Failure(format!("{name} is in a cycle")))?;
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        equal(&path(if *is_queue { parent } else { name }), &found)?;
    }
    let queues: Vec<String> = engine.queue_names().map(ToString::to_string).collect();
    equal(&parents.keys().filter(|(is_queue, _)| *is_queue).map(|(_, name)| name.clone()).collect(), &queues)
}
