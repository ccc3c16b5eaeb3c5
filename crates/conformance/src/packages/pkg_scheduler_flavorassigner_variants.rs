//! `pkg/scheduler/flavorassigner`, as far as it is about workloads that may get only some flavors.

use kueue_engine::{Key, Mode, Oracle};
use serde_json::{Value, json};

use super::Runners;
use crate::cluster::Cluster;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[("TestAssignFlavorsWithAllowedFlavors", allowed_flavors)];

/// One pod in an empty queue; only the flavors that its workload names are tried.
fn allowed_flavors(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    let flavors: Vec<Value> =
        case.scope("resourceFlavors").as_object().into_iter().flat_map(|all| all.values().cloned()).collect();
    let objects = json!([flavors, case.scope("cq"), case.local("wl")]);
    cluster.add(&objects)?;
    let part = |key: &str| case.local("wl")["metadata"][key].as_str().unwrap_or_default();
    let key = Key { namespace: part("namespace").into(), name: part("name").into() };
    let queue = case.scope("cq")["metadata"]["name"].as_str().unwrap_or_default();
    let Some(found) = cluster.engine.would_assign(&key, queue, Oracle::Search) else {
        return Err(Failure("nothing is known about the workload".to_owned()));
    };
    equal(&case.arg::<String>("wantRepMode")?, &format!("{:?}", found.mode))?;
    let mut flavor = found.pod_sets.iter().flat_map(|pod_set| &pod_set.flavors).map(|choice| choice.flavor.to_string());
    let flavor = flavor.next().filter(|_| found.mode != Mode::NoFit);
    equal(&case.arg::<String>("wantFlavor")?, &flavor.unwrap_or_default())
}
