//! Pods of elastic jobs, let run as their slices are admitted.

use std::sync::Arc;

use kueue_api::kueue::v1beta2::Workload;
use kueue_api::slices;
use kueue_jobs::kinds::pod::Pod;
use kueue_jobs::opened::Opened;
use kueue_jobs::ungater::{active, lets_run, slice_name, ungate};

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};
use crate::objects::{Objects, same_objects};

pub const RUNNERS: Runners = &[
    ("TestReconcile", reconcile),
    ("TestRecordPodSchedulingGateRemovalSeconds", removal_seconds),
    ("TestShouldUngate", |case| equal(&case.arg("want")?, &lets_run(&case.arg("workload")?, case.gates()?))),
];

/// Looks at the job of the slice that the case names, or of the newest that lets pods run. Returns how many were let run,
/// and the slice that did it.
fn look(case: &Case) -> Result<(usize, Option<Workload>), Failure> {
    let mut objects = Objects::of_case(case)?;
    let all: Vec<Workload> = objects.all()?;
    let name = case.raw("reconcileKey.Name").as_str().or(case.local("key")["Name"].as_str()).unwrap_or_default();
    let chain = all.iter().find(|workload| workload.metadata.name == name).map(slices::slice_name);
    let of_chain = |workload: &&Workload| Some(slices::slice_name(workload)) == chain;
    let active = active(all.iter().filter(of_chain).cloned(), case.gates()?);
    let mut count = 0;
    if let Some(active) = &active {
        let pods = objects.all::<Pod>()?.into_iter().filter(|pod| slice_name(pod) == chain).map(Arc::new);
        let free = ungate(active, &pods.collect::<Vec<_>>()).map_err(|error| Failure(error.to_string()))?;
        for (old, new) in free {
            objects.update(&*old, &new)?;
            count += 1;
        }
    }
    same_objects(case, "tc.wantPods", &objects.all::<Pod>()?)?;
    Ok((count, active))
}

fn reconcile(case: &Case) -> Result<(), Failure> {
    look(case).map(|_| ())
}

fn removal_seconds(case: &Case) -> Result<(), Failure> {
    let (count, active) = look(case)?;
    equal(&case.arg("wantMetricsCount")?, &count)?;
    let now = case.now()?;
    let seconds = active.and_then(|active| Opened::now("", false, &active, now).map(|opened| opened.waited_s));
    equal(&case.get::<f64>("wantMetricsSeconds")?, &seconds)
}
