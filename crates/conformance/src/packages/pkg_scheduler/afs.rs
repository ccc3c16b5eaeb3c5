//! Admission fair sharing: who goes first, and who is charged.

use kueue_api::config::blocks::AdmissionFairSharing;
use kueue_api::kueue::v1beta2::{AdmissionFairSharingStatus, LocalQueue, LocalQueueFairSharingStatus};
use kueue_core::resource_list::ResourceList;
use kueue_engine::{FairSharing, Settings, WakePolicy};
use kueue_translate::ResourceRules;
use serde_json::{Value, json};

use super::cycles::{same_workloads, writes_as_we_do};
use crate::cluster::Cluster;
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};

/// As many cycles as there are workloads, with nobody who would settle anything in between.
pub(super) fn schedule(case: &Case) -> Result<(), Failure> {
    if !writes_as_we_do(case)? {
        return Ok(());
    }
    let mut cluster = cluster(case, case.scope("afsConfig"))?;
    cluster.add(case.scope("resourceFlavors"))?;
    // A LocalQueue that was deleted is not in the cluster any more, but nobody was told yet.
    let queues = case.scope("queues").as_array().into_iter().flatten();
    let others = case.cluster.as_array().into_iter().flatten().filter(|object| object["kind"] != "LocalQueue");
    for object in queues.chain(others) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let used: ResourceList = decode("usage", &case.raw("initialUsage")[name])?.unwrap_or_default();
        cluster.add(&with_usage(object, used)?)?;
    }
    for _ in case.arg::<Vec<Value>>("workloads")? {
        let effects = cluster.engine.cycle(cluster.now);
        cluster.perform(&effects);
        cluster.engine.check_invariants();
    }
    let wanted = case.expected("wantWorkloads").unwrap_or_else(|| case.raw("wantWorkloads"));
    same_workloads(wanted, &cluster)
}

/// Whether a workload is charged when a cycle gives it quota.
pub(super) fn charges(case: &Case) -> Result<(), Failure> {
    let mut cluster = cluster(case, case.raw("afsConfig"))?;
    let quota = json!({"name": "f", "resources": [{"name": "cpu", "nominalQuota": "100"}]});
    let queue = json!({
        "admissionScope": {"admissionMode": case.arg::<String>("admissionMode")?},
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
    });
    let objects = [
        ("Namespace", json!({"metadata": {"name": "ns"}})),
        ("ResourceFlavor", json!({"metadata": {"name": "f"}})),
        ("ClusterQueue", json!({"metadata": {"name": "cq"}, "spec": queue})),
        ("LocalQueue", json!({"metadata": {"name": "lq", "namespace": "ns"}, "spec": {"clusterQueue": "cq"}})),
        ("Workload", case.raw("wl").clone()),
    ];
    for (kind, object) in &objects {
        cluster.add_as(kind, object)?;
    }
    cluster.engine.cycle(cluster.now);
    let is_charged = cluster.engine.ledger("ns", "lq").is_some_and(kueue_engine::Ledger::has_penalty);
    equal(&case.arg("want")?, &is_charged)
}

/// An empty cluster with the admission fair sharing of the case.
pub(in crate::packages) fn cluster(case: &Case, config: &Value) -> Result<Cluster, Failure> {
    let config: Option<AdmissionFairSharing> = decode("admission fair sharing", config)?;
    let settings = Settings {
        gates: case.gates()?,
        fair_sharing: config.as_ref().map(|_| FairSharing::default()),
        admission_fair_sharing: config.as_ref().map(kueue_translate::admission_fair_sharing),
        wake: WakePolicy::Batched,
        ..Settings::default()
    };
    let now = case.base_time.parse().map_err(|_| Failure("the base time is not a time".to_owned()))?;
    Ok(Cluster::new(settings, ResourceRules::default(), now))
}

/// A LocalQueue whose status says what it used; any other object as it is.
pub(in crate::packages) fn with_usage(object: &Value, used: ResourceList) -> anyhow::Result<Value> {
    if object["kind"] != "LocalQueue" {
        return Ok(object.clone());
    }
    let mut queue: LocalQueue = crate::cluster::read(object)?;
    let status = AdmissionFairSharingStatus { consumed_resources: used, ..Default::default() };
    queue.status.fair_sharing =
        Some(LocalQueueFairSharingStatus { admission_fair_sharing_status: Some(status), ..Default::default() });
    let mut object = json!(queue);
    object["kind"] = json!("LocalQueue");
    Ok(object)
}
