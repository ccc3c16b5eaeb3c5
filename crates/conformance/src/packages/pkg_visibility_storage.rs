//! Pages of waiting workloads, as the visibility API answers them.

use kueue_api::kueue::v1beta2::Workload;
use kueue_api::visibility::PendingWorkloadOptions;
use kueue_translate::{pending_in_cluster_queue, pending_in_local_queue};
use serde_json::{Value, json};

use super::Runners;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};
use crate::trace::Replay;

pub const RUNNERS: Runners = &[
    ("TestNewPendingWorkloadPriority", priority),
    ("TestPendingWorkloadsInCQ", in_cluster_queue),
    ("TestPendingWorkloadsInLQ", in_local_queue),
];

fn priority(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    replay.push(case.raw("wl"))?;
    let shown = pending_in_cluster_queue(&replay.cluster.engine, "", page(&Value::Null), |_| None::<&Workload>);
    let shown = shown.unwrap_or_default();
    equal(&vec![case.arg::<i32>("wantPriority")?], &shown.iter().map(|workload| workload.priority).collect())
}

fn in_cluster_queue(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let cluster = &replay.cluster;
    let name = case.arg::<String>("req.queueName")?;
    let page = page(case.raw("req.queryParams"));
    let shown = pending_in_cluster_queue(&cluster.engine, &name, page, |key| cluster.workloads.get(&key.to_string()));
    compare(case, shown.map(|shown| json!(shown)))
}

fn in_local_queue(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let cluster = &replay.cluster;
    let (namespace, name) = (case.arg::<String>("req.nsName")?, case.arg::<String>("req.queueName")?);
    let page = page(case.raw("req.queryParams"));
    let find = |key: &kueue_engine::Key| cluster.workloads.get(&key.to_string());
    let shown = pending_in_local_queue(&cluster.engine, &namespace.into(), &name.into(), page, find);
    compare(case, shown.map(|shown| json!(shown)))
}

fn page(params: &Value) -> PendingWorkloadOptions {
    let number = |key: &str, default| params[key].as_i64().unwrap_or(default);
    PendingWorkloadOptions { offset: number("offset", 0), limit: number("limit", 1000) }
}

fn compare(case: &Case, shown: Option<Value>) -> Result<(), Failure> {
    equal(&case.has("wantResp.wantErr"), &shown.is_none())?;
    Rules::equate_empty().same(case.raw("wantResp.wantPendingWorkloads"), &shown.unwrap_or_default())
}
