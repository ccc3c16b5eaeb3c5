//! One look at a workload, with the queues of the case around it.

use kueue_api::kueue::v1beta2::Workload;
use kueue_core::backoff::Backoff;
use kueue_core::duration::Duration;
use kueue_core::time::Time;
use kueue_engine::{Effect, Handover, Key, PodsReady, RequeueReason, Retention, Settings, Told, WakePolicy};
use kueue_translate::{ResourceRules, status_to_engine};
use serde_json::{Value, json};

use super::super::pkg_scheduler::cycles::{same, same_events, writes_as_we_do};
use crate::cluster::{Cluster, key_of, read};
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure, decode};

pub(super) fn reconcile(case: &Case) -> Result<(), Failure> {
    if !writes_as_we_do(case)? {
        return Ok(());
    }
    let mut cluster = Cluster::new(settings(case)?, ResourceRules::default(), now(case)?);
    for object in case.cluster.as_array().into_iter().flatten() {
        match object["kind"] == "ClusterQueue" {
            true => add_queue(object, &mut cluster)?,
            false => cluster.add(object)?,
        }
    }
    let key = key_of(case.raw("workload"))?;
    // Changing an object, which rows do too, was recorded.
    if case.has("beforeReconcile") {
        put_aside(&mut cluster, &key);
    }
    let (effects, again) = cluster.engine.step_by_hand(&key, cluster.now);
    if case.has("patchErr") {
        // Nothing was written, so what comes back is what was there before.
        let change = cluster.change_of(&key.to_string());
        cluster.engine.apply(change, cluster.now);
    } else {
        cluster.perform(&effects);
    }
    let wait: Option<Duration> = case.get("wantResult.RequeueAfter")?;
    equal(&wait.map(|wait| cluster.now + wait), &again)?;
    if case.has("wantWorkload") {
        let actual = cluster.workloads.get(&key.to_string()).map(shown);
        Rules::equate_empty()
            .ignoring(&["resourceVersion", "lastTransitionTime", "requeueAt"])
            .same(&shown(&read(wanted(case))?), &actual.unwrap_or_default())?;
    }
    let has_events = effects.iter().any(|effect| matches!(effect, Effect::Event(_)));
    if has_events && !case.has("wantEvents") {
        return same(&Value::Null, &json!(format!("{effects:?}")), "events");
    }
    same_events(case, &effects, true)
}

/// How long a workload may still take to get its pods running, and what it would be evicted for.
pub(super) fn not_ready(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("workload")?;
    let now = now(case)?;
    let limits = case.has("waitForPodsReady").then(|| pods_ready(case.raw("waitForPodsReady"))).transpose()?;
    let told = limits.and_then(|limits| status_to_engine(&workload.status).ready_by(&limits));
    let wait: Duration = case.arg("wantRecheckAfter")?;
    equal(&(now + wait), &told.map_or(now, |(by, _)| by.max(now)))?;
    let cause = told.map_or("", |(_, is_recovery)| if is_recovery { "WaitForRecovery" } else { "WaitForStart" });
    equal(&case.arg::<String>("wantUnderlyingCause")?.as_str(), &cause)
}

/// The checks of a workload after a look beside its queue.
pub(super) fn sync_checks(case: &Case) -> Result<(), Failure> {
    let wanted = case.raw("wantChecks");
    same_checks(case, case.raw("cq"), case.raw("wl"), wanted)
}

/// The same for a queue that wants the listed checks.
pub(super) fn check_states(case: &Case) -> Result<(), Failure> {
    let checks: Vec<Value> = case.arg::<Vec<String>>("list")?.into_iter().map(|name| json!({"name": name})).collect();
    let queue = json!({"kind": "ClusterQueue", "metadata": {"name": "cq"},
                       "spec": {"namespaceSelector": {}, "admissionChecksStrategy": {"admissionChecks": checks}}});
    let workload = json!({"kind": "Workload", "metadata": {"name": "wl", "namespace": "ns"},
                          "spec": {"podSets": []}, "status": {"admissionChecks": case.raw("states")}});
    same_checks(case, &queue, &workload, case.raw("wantStates"))
}

fn same_checks(case: &Case, queue: &Value, workload: &Value, wanted: &Value) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.add(&json!({"kind": "Namespace", "metadata": {"name": "ns"}}))?;
    cluster.add(queue)?;
    let meta = json!({"name": "lq", "namespace": "ns"});
    cluster
        .add(&json!({"kind": "LocalQueue", "metadata": meta, "spec": {"clusterQueue": queue["metadata"]["name"]}}))?;
    let mut workload = workload.clone();
    workload["spec"]["queueName"] = json!("lq");
    cluster.add(&workload)?;
    let key = key_of(&workload)?;
    let (effects, _) = cluster.engine.step_by_hand(&key, cluster.now);
    cluster.perform(&effects);
    let checks = &cluster.workloads[&key.to_string()].status.admission_checks;
    let ignored: &[&str] = if case.raw("ignoreTransitionTime") == false { &[] } else { &["lastTransitionTime"] };
    Rules::equate_empty().ignoring(ignored).same(wanted, &json!(checks))
}

fn now(case: &Case) -> Result<Time, Failure> {
    case.base_time.parse().map_err(|_| Failure("the base time is not a time".to_owned()))
}

/// What the options of the reconciler say.
fn settings(case: &Case) -> Result<Settings, Failure> {
    let mut settings = Settings { gates: case.gates()?, wake: WakePolicy::Batched, ..Settings::default() };
    for option in case.raw("reconcilerOpts").as_array().into_iter().flatten() {
        let sets = &option["sets"];
        if let Some(kept) = decode("retention", &sets["workloadRetention"]["afterFinished"])? {
            settings.retention = Retention { finished: Some(kept), deactivated: None };
        }
        if !sets["waitForPodsReady"].is_null() {
            settings.pods_ready = Some(pods_ready(&sets["waitForPodsReady"])?);
        }
    }
    Ok(settings)
}

pub(super) fn pods_ready(config: &Value) -> Result<PodsReady, Failure> {
    let duration = |field: &str| decode::<Duration>(field, &config[field]);
    let base = config["requeuingBackoffBaseSeconds"].as_i64().unwrap_or(0);
    let limit = duration("requeuingBackoffMaxDuration")?.unwrap_or(Duration::ZERO);
    Ok(PodsReady {
        timeout: duration("timeout")?.unwrap_or(Duration::ZERO),
        recovery_timeout: duration("recoveryTimeout")?,
        backoff: Backoff::new(Duration::from_seconds(base), 2.0, limit),
        most_attempts: decode("limit", &config["requeuingBackoffLimitCount"])?,
        blocks_admission: false,
    })
}

/// A ClusterQueue that is said to be active has all that it refers to; any other one lacks something.
fn add_queue(queue: &Value, cluster: &mut Cluster) -> Result<(), Failure> {
    let mut queue = queue.clone();
    let conditions = queue["status"]["conditions"].as_array().into_iter().flatten();
    let is_active = conditions.into_iter().any(|told| told["type"] == "Active" && told["status"] == "True");
    if !is_active {
        let missing = json!({"coveredResources": [], "flavors": [{"name": "missing", "resources": []}]});
        match queue["spec"]["resourceGroups"].as_array_mut() {
            Some(groups) => groups.push(missing),
            None => queue["spec"]["resourceGroups"] = json!([missing]),
        }
        return Ok(cluster.add(&queue)?);
    }
    let spec = &queue["spec"];
    let groups = spec["resourceGroups"].as_array().into_iter().flatten();
    for flavor in groups.filter_map(|group| group["flavors"].as_array()).flatten() {
        cluster.add(&json!({"kind": "ResourceFlavor", "metadata": {"name": flavor["name"]}, "spec": {}}))?;
    }
    let checks = spec["admissionChecksStrategy"]["admissionChecks"].as_array();
    for check in checks.into_iter().flatten() {
        let active = json!([{"type": "Active", "status": "True", "reason": "", "message": "",
                             "lastTransitionTime": cluster.now}]);
        cluster.add(&json!({"kind": "AdmissionCheck", "metadata": {"name": check["name"]},
                            "spec": {"controllerName": "c"}, "status": {"conditions": active}}))?;
    }
    Ok(cluster.add(&queue)?)
}

/// What the rows do before that are code: a failed attempt puts the workload and those like it aside.
fn put_aside(cluster: &mut Cluster, workload: &Key) {
    cluster.engine.take_out();
    let told = Told::Nothing;
    let handover = Handover { reason: RequeueReason::NoFit, why: "WaitingForQuota", tried: Vec::new(), told };
    cluster.engine.hand_back(workload, handover, cluster.now);
}

fn wanted(case: &Case) -> &Value {
    let told = || {
        ["wantWorkloadUseMergePatch", "wantWorkload"]
            .into_iter()
            .map(|name| case.raw(name))
            .find(|value| !value.is_null())
    };
    case.expected("wantWl").or_else(told).unwrap_or(&Value::Null)
}

/// The object as the API shows it, conditions in one order.
fn shown(workload: &Workload) -> Value {
    let mut workload = workload.clone();
    workload.status.conditions.sort_by(|a, b| a.r#type.cmp(&b.r#type));
    json!(workload)
}
