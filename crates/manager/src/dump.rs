//! What the manager knows, in its log: for whoever wonders why something waits and has only the log to look at.

use kueue_controllers::owner::Handle;
use kueue_engine::{Engine, Key, PendingView, UsageView};
use tracing::info;

/// One ClusterQueue.
struct Queue {
    name: String,
    cohort: String,
    readiness: &'static str,
    pending: PendingView,
    usage: UsageView,
}

/// Writes everything to the log, one line per queue.
pub(crate) async fn dump(engine: &Handle) {
    let Some(queues) = engine.ask(read).await else { return };
    info!(cluster_queues = queues.len(), "state of all queues follows");
    for Queue { name, cohort, readiness, pending, usage } in queues {
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
    }
}

fn read(engine: &Engine) -> Vec<Queue> {
    let queue = |name: &kueue_engine::Name| Queue {
        name: name.to_string(),
        cohort: engine.cohort_of(name).map(|cohort| cohort.to_string()).unwrap_or_default(),
        readiness: engine.readiness(name).reason,
        pending: engine.pending(name),
        usage: engine.queue_usage(name).unwrap_or_default(),
    };
    engine.queue_names().map(queue).collect()
}

fn names(keys: &[Key]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
