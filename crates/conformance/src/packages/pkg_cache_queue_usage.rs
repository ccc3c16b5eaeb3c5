//! `pkg/cache/queue`: the order of a ClusterQueue whose LocalQueues compete by usage.

use kueue_core::resource_list::ResourceList;
use kueue_engine::Effect;
use serde_json::{Value, json};

use super::Runners;
use super::pkg_scheduler::afs::{cluster, with_usage};
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners = &[("TestFsAdmission", serves_first)];

/// Who is served first, and who is shown to be.
fn serves_first(case: &Case) -> Result<(), Failure> {
    let mut cluster = cluster(case, case.raw("afsConfig"))?;
    cluster.add_as("Namespace", &json!({"metadata": {"name": "default"}}))?;
    cluster.add(case.raw("cq"))?;
    for object in case.arg::<Vec<Value>>("lqs")? {
        let mut object = object;
        object["spec"]["clusterQueue"] = case.raw("cq.metadata.name").clone();
        let meta = &object["metadata"];
        let key =
            format!("{}/{}", meta["namespace"].as_str().unwrap_or_default(), meta["name"].as_str().unwrap_or_default());
        let used: ResourceList = decode("usage", &case.raw("initConsumedResources")[&key])?.unwrap_or_default();
        cluster.add(&with_usage(&object, used)?)?;
    }
    cluster.add(case.raw("wls"))?;
    let wanted: String = case.arg("wantWl.metadata.name")?;
    let shown = cluster.engine.pending(&case.arg::<String>("cq.metadata.name")?).active;
    equal(&Some(wanted.as_str()), &shown.first().map(|key| &*key.name))?;
    let effects = cluster.engine.cycle(cluster.now);
    let served = effects.iter().find_map(|effect| match effect {
        Effect::Status { workload, .. } => Some(&*workload.name),
        _ => None,
    });
    equal(&Some(wanted.as_str()), &served)
}
