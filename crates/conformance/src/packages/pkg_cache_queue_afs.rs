//! Penalties of workloads that were given quota, per LocalQueue.

use std::collections::BTreeMap;

use kueue_core::quantity::Quantity;
use kueue_core::resource_list::ResourceList;
use kueue_engine::{Key, Ledger};
use serde::Deserialize;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[("TestPenaltyBookkeepingIsIdempotentAndExact", penalties)];

fn penalties(case: &Case) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Step {
        wl: String,
        push: Option<ResourceList>,
    }
    let mut ledger = Ledger::new(ResourceList::new(), kueue_core::time::Time::default());
    for step in case.arg::<Vec<Step>>("ops")? {
        let (namespace, name) = step.wl.split_once('/').unwrap_or_default();
        let workload = Key { namespace: namespace.into(), name: name.into() };
        match step.push {
            Some(penalty) => ledger.charge(workload, penalty),
            None => drop(ledger.waive(&workload)),
        }
    }
    equal(&case.arg("wantHas")?, &ledger.has_penalty())?;
    for (resource, wanted) in case.arg::<BTreeMap<String, i64>>("wantMilli")? {
        equal(&(&resource, wanted), &(&resource, ledger.penalty().get(&resource).map_or(0, Quantity::milli_value)))?;
    }
    Ok(())
}
