//! Usage of queues, as their statuses show it.

use std::collections::BTreeMap;

use kueue_core::resource::Formatter;
use kueue_engine::{Name, UsageView};
use kueue_translate::{Holders, cluster_queue_usage, local_queue_usage};
use serde_json::{Value, json};

use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};
use crate::trace::Replay;

pub(super) fn of_cluster_queue(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let queue: String = case.arg("clusterQueue.metadata.name")?;
    let usage = replay.cluster.engine.queue_usage(&queue).unwrap_or_default();
    let shown = |holders| json!(cluster_queue_usage(&usage, holders, &Formatter::default()));
    equal(&case.arg("wantReservingWorkloads")?, &usage.reserving)?;
    equal(&case.arg("wantAdmittedWorkloads")?, &usage.admitted)?;
    Rules::default().same(case.raw("wantReservedResources"), &shown(Holders::Reserving))?;
    Rules::default().same(case.raw("wantUsedResources"), &shown(Holders::Admitted))
}

pub(super) fn of_local_queue(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let (namespace, name) = names(case.scope("localQueue"));
    let usage = replay.cluster.engine.local_queue_usage(&namespace, &name);
    equal(&case.has("wantErr"), &usage.is_none())?;
    let shown = local_queue_usage(&usage.unwrap_or_default(), Holders::Reserving, &Formatter::default());
    Rules::equate_empty().same(case.raw("wantUsage"), &json!(shown))
}

/// Every LocalQueue whose ClusterQueue is there.
pub(super) fn local_queues(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let engine = &replay.cluster.engine;
    let mut found = BTreeMap::new();
    for object in case.scope("queues").as_array().into_iter().flatten() {
        let (namespace, name) = names(object);
        let has_queue =
            engine.queue_behind(&namespace, &name).is_some_and(|queue| engine.queue_usage(&queue).is_some());
        if has_queue && let Some(usage) = engine.local_queue_usage(&namespace, &name) {
            found.insert(format!("{namespace}/{name}"), shown(&usage));
        }
    }
    let wanted = case.raw("wantLocalQueues").as_object().into_iter().flatten();
    equal(&wanted.map(|(key, queue)| (key.clone(), wanted_queue(queue))).collect(), &found)
}

pub(super) fn local_queue(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let (namespace, name) = names(case.raw("getLq"));
    let queue: String = case.arg("getCQReference")?;
    let engine = &replay.cluster.engine;
    let error = if engine.queue_usage(&queue).is_none() {
        Some("cluster queue not found".to_owned())
    } else {
        let leads_there = engine.queue_behind(&namespace, &name).is_some_and(|target| *target == *queue);
        (!leads_there).then(|| "queue not found".to_owned())
    };
    equal(&case.get::<String>("wantErr.error")?, &error)
}

fn names(object: &Value) -> (Name, Name) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().into();
    (text("namespace"), text("name"))
}

/// Workloads and amounts that are not nothing: reserved, then admitted.
type Shown = (usize, usize, BTreeMap<String, i64>, BTreeMap<String, i64>);

fn shown(usage: &UsageView) -> Shown {
    let amounts = |is_admitted: bool| {
        let flavors = usage.flavors.iter();
        let pools = flavors.flat_map(|flavor| flavor.resources.iter().map(move |used| (flavor, used)));
        let amount = |(flavor, used): (&kueue_engine::FlavorUsageView, &kueue_engine::ResourceUsageView)| {
            let amount = if is_admitted { used.admitted } else { used.reserved };
            (format!("{}/{}", flavor.flavor, used.resource), amount.get())
        };
        pools.map(amount).filter(|(_, amount)| *amount != 0).collect()
    };
    (usage.reserving, usage.admitted, amounts(false), amounts(true))
}

fn wanted_queue(queue: &Value) -> Shown {
    let count = |field: &str| usize::try_from(queue[field].as_u64().unwrap_or(0)).unwrap_or(0);
    let amounts = |field: &str| {
        let pools = queue[field].as_object().into_iter().flatten();
        let amounts = pools.map(|(pool, amount)| (pool.clone(), amount.as_i64().unwrap_or(0)));
        amounts.filter(|(_, amount)| *amount != 0).collect()
    };
    (count("reservingWorkloads"), count("admittedWorkloads"), amounts("totalReserved"), amounts("admittedUsage"))
}
