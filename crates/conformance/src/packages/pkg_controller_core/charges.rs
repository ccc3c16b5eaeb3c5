//! When the penalty of a workload that was given quota becomes usage, and when it is dropped.

use std::collections::BTreeMap;

use kueue_core::duration::Duration;
use kueue_core::quantity::Quantity;
use kueue_core::resource_list::ResourceList;
use kueue_core::time::Time;
use kueue_engine::{Key, Ledger};
use serde_json::{Value, json};

use super::super::pkg_scheduler::afs;
use crate::cluster::{Cluster, key_of};
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};
use crate::trace::split;

/// The arithmetic of a settlement. That what was written down before is in it needs no mark: a ledger is opened with
/// its LocalQueue.
pub(super) fn settlement(case: &Case) -> Result<(), Failure> {
    let now: Time = decode("now", case.scope("now"))?.unwrap_or_default();
    let half_life: Duration = decode("half-life", &case.scope("afsConfig")["usageHalfLifeTime"])?.unwrap_or_default();
    let opened = case.get("initialEntry.LastUpdate")?.unwrap_or(now);
    let mut ledger = Ledger::new(case.arg("initialEntry.Resources")?, opened);
    let workload = split("ns/wl");
    ledger.charge(workload.clone(), cpus("2"));
    ledger.settle(&workload, &ResourceList::new(), half_life, now);
    equal(&case.arg::<i64>("wantCPUMilli")?, &ledger.consumed().get("cpu").map_or(0, Quantity::milli_value))?;
    equal(&case.get("wantLastUpdate")?.unwrap_or(now), &ledger.updated())
}

fn cpus(amount: &str) -> ResourceList {
    amount.parse().map(|amount| ResourceList::from([("cpu".to_owned(), amount)])).unwrap_or_default()
}

/// A change of a workload that was charged settles the penalty, drops it or leaves it.
pub(super) fn change(case: &Case) -> Result<(), Failure> {
    let config = json!({"usageHalfLifeTime": "5m", "usageSamplingInterval": "5m"});
    let mut cluster = afs::cluster(case, &config)?;
    let queue = json!({"kind": "ClusterQueue", "metadata": {"name": "cq"},
                       "spec": {"namespaceSelector": {}, "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}});
    cluster.add(&json!({"kind": "Namespace", "metadata": {"name": "ns"}}))?;
    cluster.add(&queue)?;
    for name in ["lq", "lq2"] {
        let meta = json!({"name": name, "namespace": "ns"});
        cluster.add(&json!({"kind": "LocalQueue", "metadata": meta, "spec": {"clusterQueue": "cq"}}))?;
    }
    tell(&mut cluster, case.raw("oldWl"))?;
    let workload = key_of(case.raw("oldWl"))?;
    cluster.engine.charge_by_hand(&split("ns/lq"), workload.clone(), cpus("1"));
    let mut new = case.raw("newWl").clone();
    let has_quota = |workload: &Value| !workload["status"]["admission"].is_null();
    if has_quota(case.raw("oldWl")) && new["status"].is_null() && new["spec"]["active"] != false {
        // Who lost its quota was evicted, which the row leaves out.
        let told = json!({"type": "Evicted", "status": "True", "reason": "Preempted", "message": "",
                          "lastTransitionTime": cluster.now});
        new["status"] = json!({"conditions": [told]});
    }
    tell(&mut cluster, &new)?;
    let is_charged = |lq: &Key| {
        let ledger = cluster.engine.ledger(&lq.namespace, &lq.name);
        ledger.is_some_and(|ledger| ledger.has_charged(&workload))
    };
    for (lq, wanted) in case.arg::<BTreeMap<String, bool>>("wantPendingOn")? {
        equal(&(&lq, wanted), &(&lq, is_charged(&split(&lq))))?;
    }
    if case.has("wantPendingOn") {
        return Ok(());
    }
    equal(&case.arg("wantPending")?, &is_charged(&split("ns/lq")))?;
    let consumed = cluster.engine.ledger("ns", "lq").and_then(|ledger| ledger.consumed().get("cpu").cloned());
    equal(&case.arg("wantFolded")?, &consumed.is_some_and(|cpu| !cpu.is_zero()))
}

fn tell(cluster: &mut Cluster, workload: &Value) -> Result<(), Failure> {
    cluster.add(workload)?;
    cluster.engine.settle(cluster.now);
    Ok(())
}
