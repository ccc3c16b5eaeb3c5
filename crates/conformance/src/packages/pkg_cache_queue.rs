//! Queues of waiting workloads: who is in line, who is aside, in which order, and how many.

mod heads;
mod numbers;
mod places;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};

use kueue_engine::{Engine, Name};
use serde_json::Value;

use super::Runners;

pub const RUNNERS: Runners = &[
    ("TestAddOrUpdateWorkloadCarriesLastAssignment", places::carries_progress),
    ("TestAddWorkload", places::add_workload),
    ("TestBackoffWaitingTimeExpired", places::backoff),
    ("TestBestEffortFIFORequeueIfNotPresent", places::requeue),
    ("TestClusterQueueImpl", places::one_queue),
    ("TestClusterQueuePendingTrackers", numbers::by_labels),
    ("TestGetNoFitReason", shapes::reason),
    ("TestGetPendingWorkloadsInfo", heads::order),
    ("TestHeads", heads::heads),
    ("TestHeadsAsync", heads::heads_after_changes),
    ("TestPendingResourceMetrics", numbers::requests),
    ("TestPendingResourcesAfterLocalQueueResync", numbers::after_resync),
    ("TestPushOrUpdateGenerationChanged", places::push),
    ("TestPushOrUpdateRespectsInadmissibleHashes", shapes::push),
    ("TestQueueInadmissibleWorkloads", places::wake),
    ("TestQueueSecondPassIfNeeded", places::second_pass),
    ("TestRecordInadmissibleHash", shapes::sleep),
    ("TestRequeueHashTriggerByReason", shapes::which_reasons),
    ("TestRequeueWorkloadStrictFIFO", places::requeue_in_manager),
    ("TestSchedulingHashCounts", shapes::count),
    ("TestSchedulingHashCountsInadmissibleTransitions", numbers::after_resync),
    ("TestSnapshotDeterministicOrder", heads::snapshot),
    ("TestStatus", numbers::of_local_queue),
    ("TestStrictFIFO", heads::first_of_two),
    ("TestStrictFIFORequeueIfNotPresent", places::requeue),
    ("TestUpdateUnadmittedWorkload", numbers::unadmitted),
    ("TestUpdateWorkload", places::update_workload),
    ("Test_PushOrUpdate", places::push),
];

/// Who waits in each queue that has anybody: in line, and aside.
type Waiting = BTreeMap<String, BTreeSet<String>>;

fn waiting(engine: &Engine) -> (Waiting, Waiting) {
    let of = |is_active: bool| {
        let queues = engine.queue_names().map(|queue| {
            let pending = engine.pending(queue);
            let keys = if is_active { pending.active } else { pending.parked };
            (queue.to_string(), keys.iter().map(ToString::to_string).collect::<BTreeSet<String>>())
        });
        queues.filter(|(_, keys)| !keys.is_empty()).collect()
    };
    (of(true), of(false))
}

/// The only queue of a case.
fn only_queue(engine: &Engine) -> Name {
    engine.queue_names().next().cloned().unwrap_or_default()
}

fn names(object: &Value) -> (Name, Name) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().into();
    (text("namespace"), text("name"))
}
