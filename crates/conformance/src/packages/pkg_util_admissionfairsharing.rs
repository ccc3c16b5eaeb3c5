//! What LocalQueues used, in one number, and their weights.

use std::collections::BTreeMap;

use kueue_api::kueue::v1beta2::LocalQueue;
use kueue_core::resource_list::ResourceList;
use kueue_engine::{Change, weighted_usage};

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[
    ("TestCalculateUsageWithDRA", |case| equal(&case.arg("wantUsage")?, &usage(case)?)),
    ("TestCalculateUsageWithNonPositiveWeight", |case| equal(&f64::INFINITY, &usage(case)?)),
    ("TestResolveLQWeight", weight),
];

fn usage(case: &Case) -> Result<f64, Failure> {
    let (consumed, penalty): (ResourceList, ResourceList) = (case.arg("consumed")?, case.arg("penalty")?);
    let weights: BTreeMap<String, f64> = case.arg("resWeights")?;
    Ok(weighted_usage(&consumed, &penalty, case.arg("lqWeight")?, &weights).get())
}

/// The weight that the engine is told; a LocalQueue that is not there has that of one which says nothing.
fn weight(case: &Case) -> Result<(), Failure> {
    let object: LocalQueue = case.arg("localQueue")?;
    match kueue_translate::local_queue(&object) {
        Change::LocalQueue(spec) => equal(&case.arg("wantWeight")?, &spec.weight),
        other => Err(Failure(format!("a LocalQueue became {other:?}"))),
    }
}
