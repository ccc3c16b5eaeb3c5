//! What the manager knows, in its log: for whoever wonders why something waits and has only the log to look at.

use kueue_controllers::owner::Handle;
use kueue_engine::{Engine, Explanation, Key, PendingView, UsageView};
use tracing::info;

/// Of how many workloads that wait in a queue the reasons are told: a log is no place for thousands.
const MOST_EXPLAINED: usize = 10;

/// One ClusterQueue.
struct Queue {
    name: String,
    cohort: String,
    readiness: &'static str,
    pending: PendingView,
    usage: UsageView,
    /// Why the first of those that wait do.
    explanations: Vec<Explanation>,
}

/// Writes everything to the log, one line per queue and one for each of the first that wait there.
pub(crate) async fn dump(engine: &Handle) {
    let Some(queues) = engine.ask(read).await else { return };
    info!(cluster_queues = queues.len(), "state of all queues follows");
    for Queue { name, cohort, readiness, pending, usage, explanations } in queues {
        let UsageView { reserving, admitted, flavors } = usage;
        let held = flavors.iter().flat_map(|flavor| {
            let of = |resource: &kueue_engine::ResourceUsageView| {
                format!("{}/{}: {}", flavor.flavor, resource.resource, resource.reserved)
            };
            flavor.resources.iter().map(of)
        });
        info!(
            cluster_queue = name,
            cohort,
            readiness,
            reserving,
            admitted,
            held = held.collect::<Vec<_>>().join(", "),
            in_line = names(&pending.active),
            parked = names(&pending.parked),
            "state of a queue"
        );
        for explanation in explanations {
            info!(workload = %explanation.workload, why = in_one_line(&explanation), "why a workload waits");
        }
    }
}

fn read(engine: &Engine) -> Vec<Queue> {
    let queue = |name: &kueue_engine::Name| {
        let pending = engine.pending(name);
        let first = pending.active.iter().chain(&pending.parked).take(MOST_EXPLAINED);
        Queue {
            name: name.to_string(),
            cohort: engine.cohort_of(name).map(|cohort| cohort.to_string()).unwrap_or_default(),
            readiness: engine.readiness(name).reason,
            usage: engine.queue_usage(name).unwrap_or_default(),
            explanations: first.filter_map(|workload| engine.explain(workload)).collect(),
            pending,
        }
    };
    engine.queue_names().map(queue).collect()
}

fn in_one_line(explanation: &Explanation) -> String {
    explanation.to_string().lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

fn names(keys: &[Key]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
