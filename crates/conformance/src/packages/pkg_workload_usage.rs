//! `pkg/workload`: what the LocalQueue of a workload used.

use std::collections::BTreeMap;

use kueue_core::resource_list::ResourceList;
use kueue_core::time::Time;
use kueue_engine::Ledger;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners = &[("TestCalcLocalQueueFSUsage", usage)];

/// The LocalQueue cannot be found, so nothing but its ledger is known.
fn usage(case: &Case) -> Result<(), Failure> {
    let consumed: Option<ResourceList> = decode("consumed", &case.trace[0]["args"][1])?;
    let weights: Option<BTreeMap<String, f64>> = decode("weights", case.local("resWeights"))?;
    let ledger = Ledger::new(consumed.unwrap_or_default(), Time::default());
    equal(&case.arg("wantUsage")?, &ledger.usage(1.0, &weights.unwrap_or_default()).get())
}
