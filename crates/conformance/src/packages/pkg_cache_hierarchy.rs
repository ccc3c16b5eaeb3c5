//! Cohorts and ClusterQueues as trees.

use std::collections::{BTreeMap, BTreeSet};

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};
use crate::trace::Replay;

pub const RUNNERS: Runners = &[("TestCycles", cycles), ("TestManager", manager)];

fn manager(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let engine = &replay.cluster.engine;
    let queues: BTreeSet<String> = engine.queue_names().map(ToString::to_string).collect();
    equal(&case.arg("wantCqs")?, &queues)?;
    let cohorts = engine.cohorts();
    equal(&case.arg("wantCohorts")?, &cohorts.iter().map(|(name, _)| name.to_string()).collect::<BTreeSet<_>>())?;
    let edges = queues.iter().filter_map(|queue| Some((queue.clone(), engine.cohort_of(queue)?.to_string())));
    equal(&wanted_edges(case, "wantCqEdge"), &edges.collect())?;
    let edges = cohorts.iter().filter_map(|(name, parent)| Some((name.to_string(), parent.as_ref()?.to_string())));
    equal(&wanted_edges(case, "wantCohortEdge"), &edges.collect())
}

fn wanted_edges(case: &Case, field: &str) -> BTreeSet<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let edges = case.raw(field).as_array().into_iter().flatten();
    edges.map(|edge| (text(&edge["child"]), text(&edge["parent"]))).collect()
}

fn cycles(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let engine = &replay.cluster.engine;
    let wanted: BTreeMap<String, bool> = case.arg("wantCycles")?;
    let found = wanted.keys().map(|cohort| (cohort.clone(), engine.cohort_path(cohort).is_err()));
    equal(&wanted, &found.collect())
}
