//! One round of scheduling.
//!
//! Every queue that may admit offers its first workload. Each is assigned flavors as if it were alone; then, in a
//! fair order, each is checked again against what those before it took, and starts, preempts or waits. All of that
//! happens on the live quota tree inside a mark; when everything is decided the mark is closed and the decisions are
//! carried out, so a cycle costs what its heads touch and never a copy of the state.

#[cfg(feature = "by-hand")]
mod by_hand;
mod commit;
mod entry;
mod nominate;
mod order;
mod process;
mod summary;

use kueue_core::time::Time;

use crate::engine::Engine;
use crate::id::{QueueId, WorkloadId};
use crate::second_pass::Returning;
use crate::workload::Place;

#[cfg(feature = "by-hand")]
pub use by_hand::{Handover, Told};
#[cfg(feature = "by-hand")]
pub use entry::RequeueReason;
pub(crate) use order::Contender;
pub use summary::{CycleSummary, Recomputation};

/// The first workload of a queue.
#[derive(Clone, Copy, Debug)]
struct Head {
    workload: WorkloadId,
    queue: QueueId,
    is_preemptor: bool,
    /// How often it has come for places before, if that is what it comes for.
    returns: Option<u32>,
}

impl Engine {
    pub(crate) fn run_cycle(&mut self, now: Time) {
        self.ready_second_passes(now);
        if self.waits_for_pods() && !self.second_pass.has_ready() {
            return;
        }
        self.is_held_by_pods = false;
        self.flush_before_cycle(now);
        let returning = self.take_returning().into_iter().map(|Returning { workload, queue, attempt }| Head {
            workload,
            queue,
            is_preemptor: false,
            returns: Some(attempt),
        });
        let mut heads: Vec<Head> = returning.collect();
        heads.extend(self.take_heads());
        if heads.is_empty() {
            return;
        }
        self.cycles += 1;
        self.last_cycle = CycleSummary::default();
        let mut entries = Vec::with_capacity(heads.len());
        let mut refused = Vec::new();
        for head in heads {
            self.nominate(head, &mut entries, &mut refused);
        }
        let mark = self.quotas.open_mark();
        let order = self.process_all(&mut entries);
        self.quotas.close_mark(mark);
        self.commit(entries, &order, refused, now);
    }

    /// Whether a cycle would only find that pods of others do not run yet.
    pub(crate) fn waits_for_pods(&self) -> bool {
        self.is_held_by_pods && self.unready > 0
    }

    fn take_heads(&mut self) -> Vec<Head> {
        let ready: Vec<QueueId> = self.ready.iter().copied().filter(|queue| self.queues[*queue].is_active).collect();
        ready.into_iter().filter_map(|queue| self.take_head(queue)).collect()
    }

    fn take_head(&mut self, queue: QueueId) -> Option<Head> {
        let pending = &mut self.queues[queue].pending;
        pending.pop_cycle += 1;
        pending.reorder_if_unsettled();
        let sticky = pending.preemptor.filter(|preemptor| preemptor.is_sticky).and_then(|preemptor| {
            match &self.workloads[preemptor.workload].place {
                Place::Queued(seat) if seat.queue == queue => Some(seat),
                _ => None,
            }
        });
        let id = pending.first(sticky)?;
        let preemptor = pending.preemptor;
        self.vacate(id);
        self.queues[queue].pending.reorder();
        self.queues[queue].pending.in_flight = Some(self.seat(id, queue));
        let workload = &mut self.workloads[id];
        workload.place = Place::InFlight(queue);
        workload.evaluated_generation = workload.generation;
        let is_preemptor =
            preemptor.is_some_and(|preemptor| preemptor.workload == id && preemptor.generation == workload.generation);
        Some(Head { workload: id, queue, is_preemptor, returns: None })
    }
}
