//! What is counted for metrics.

use std::sync::Arc;
use std::time::Duration;

use kueue_api::kueue::v1beta2::Workload;
use kueue_engine::{Decision, Effect, Engine, Name};
use kueue_metrics::Event;

use super::Owner;

impl Owner {
    /// A cycle took so long and came to this.
    pub(super) fn count_cycle(&self, effects: &[Effect], took: Duration) {
        let decisions = || {
            effects.iter().filter_map(|effect| match effect {
                Effect::Status { decision, .. } => Some(decision),
                _ => None,
            })
        };
        let has_admitted = decisions().any(|decision| matches!(decision, Decision::Reserved | Decision::Placed));
        self.metrics.cycle(has_admitted, took.as_secs_f64(), self.engine.last_cycle());
        for decision in decisions() {
            if let Decision::Preempted { reason, preemptor } = decision
                && let Some(local_queue) = self.engine.queued_through(preemptor)
                && let Some(queue) = self.engine.queue_behind(&preemptor.namespace, &local_queue)
            {
                self.metrics.preempted(&queue, reason);
            }
        }
    }

    /// Something that we wrote, or others while we wrote, is there now.
    pub(super) fn count_change(&self, old: Option<&Arc<Workload>>, new: &Workload) {
        if let Some(old) = old.filter(|old| old.metadata.uid == new.metadata.uid) {
            let events = Event::between(old, new, self.clock.time());
            self.metrics.record(new, &events, |queue| cohorts_above(&self.engine, queue));
        }
    }
}

fn cohorts_above(engine: &Engine, queue: &str) -> Vec<Name> {
    let cohort = engine.cohort_of(queue);
    cohort.and_then(|cohort| engine.cohort_path(&cohort).ok()).unwrap_or_default()
}
